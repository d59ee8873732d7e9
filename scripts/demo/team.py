"""The sessions of the team: Maya (web shop), Jonas (billing) and Priya (reports), and the agents of its CI."""
from model import Session, Step, agent, denied, edit, failed_edit, fetch, grep, mcp, read, run, write

SHOP, BILLING, REPORTS = "/home/maya/code/storefront", "/home/jonas/code/billing", "/home/priya/code/reports"
OPUS, NEW_OPUS, SONNET, HAIKU = "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5-20251001"
GPT, GEMINI = "gpt-5.5", "gemini-3.1-pro-preview"
# Dollars for a million tokens, for runtimes that log costs: input, output, cache reads, cache writes.
PRICES = {SONNET: (2, 10, 0.2, 2.5), GPT: (5, 30, 0.5, 0), "gpt-5.4-mini": (0.75, 4.5, 0.075, 0)}


def exploring(directory, names, tokens=3_200, output=210):
    """A response for each file that is read."""
    return [Step(calls=[read(f"{directory}/{name}", tokens)], output=output) for name in names]


def failing(command, lines, tokens=1_100):
    return run(command, "\n".join(lines), 21.4, 1, tokens)


CHECKOUT = Session(
    "checkout-rounding", "2026-11-03T08:12:00Z", OPUS, SHOP, "checkout-rounding", base=70_000, steps=[
        Step(prompt="Orders in JPY are one yen off when a voucher is applied. Find the cause and fix it, with tests.", output=1_300,
             text="I will find where amounts are rounded, in the shop and in its packages.", calls=[
                 agent("Explore", HAIKU, "List every place where an amount of money is rounded, with file and line.", [
                     Step(calls=[grep("Math.round", f"{SHOP}/src/cart/total.ts:41\n{SHOP}/src/vouchers/apply.ts:18", 3_900)], output=290),
                     Step(calls=[read(f"{SHOP}/src/cart/total.ts", 5_800), read(f"{SHOP}/src/vouchers/apply.ts", 4_200)], output=400),
                     Step(calls=[grep("toFixed", f"{SHOP}/src/mail/receipt.ts:77", 2_800)], output=250),
                     Step(text="Amounts are rounded in cart/total.ts, vouchers/apply.ts and mail/receipt.ts.", output=1_430)]),
                 agent("Explore", HAIKU, "How are currencies and their minor units configured?", [
                     Step(calls=[grep("minorUnit", f"{SHOP}/src/money/currency.ts:9", 2_600)], output=250),
                     Step(calls=[read(f"{SHOP}/src/money/currency.ts", 3_400)], output=270),
                     Step(text="currency.ts has two decimals for every currency but BHD.", output=880)])]),
        *exploring(f"{SHOP}/src", ["cart/total.ts", "vouchers/apply.ts", "money/currency.ts", "mail/receipt.ts"], 6_200, 260),
        Step(calls=[fetch("https://www.iso.org/iso-4217-currency-codes.html")], output=710),
        Step(text="JPY has no minor unit, but both places round to cents. One function should round.", output=3_990,
             calls=[write(f"{SHOP}/src/money/round.ts", "import { minorUnits } from './currency'\n\nexport function round(amount: number, currency: string): number {\n  const factor = 10 ** minorUnits(currency)\n  return Math.round(amount * factor) / factor\n}\n")]),
        Step(calls=[edit(f"{SHOP}/src/money/currency.ts", "export const decimals = 2", "const MINOR_UNITS: Record<string, number> = { JPY: 0, KRW: 0, BHD: 3 }\nexport const minorUnits = (code: string) => MINOR_UNITS[code] ?? 2")], output=1_850),
        Step(calls=[edit(f"{SHOP}/src/cart/total.ts", "  return Math.round(sum * 100) / 100", "  return round(sum, cart.currency)")], output=1_090),
        Step(calls=[edit(f"{SHOP}/src/vouchers/apply.ts", "  const off = Math.round(amount * rate * 100) / 100", "  const off = round(amount * rate, currency)")], output=1_130),
        Step(calls=[failing("npm test -- money", ["FAIL src/money/round.test.ts", "  expected 1200 but received 1199.5", "Tests: 1 failed, 41 passed"])], output=650),
        Step(text="The receipt rounds a second time.", calls=[read(f"{SHOP}/src/mail/receipt.ts", 6_200)], output=1_470),
        Step(calls=[edit(f"{SHOP}/src/mail/receipt.ts", "  total: total.toFixed(2),", "  total: format(total, order.currency),")], output=1_280),
        Step(calls=[run("npm test -- money", "Tests: 42 passed", 19.8)], output=500),
        Step(calls=[write(f"{SHOP}/test/yen.test.ts", "import { round } from '../src/money/round'\n\ntest('yen have no decimals', () => {\n  expect(round(1199.5, 'JPY')).toBe(1200)\n})\n")], output=2_020),
        Step(calls=[run("npm test", "Tests: 618 passed", 64.2, tokens=2_400)], output=460),
        Step(calls=[run("git commit -am 'Round amounts once, by the currency'", "[checkout-rounding 4f1c2ab] 5 files changed", 0.6)], output=550),
        Step(text="Amounts are rounded by one function that knows the minor units of each currency. All 618 tests pass.", output=1_130)])

SEARCH = Session(
    "search-filters", "2026-11-10T09:03:00Z", OPUS, SHOP, "search-filters", base=78_000, steps=[
        Step(prompt="Add filters for size and colour to the search page. The design is in docs/search.md.", output=1_090,
             calls=[read(f"{SHOP}/docs/search.md", 7_800)]),
        *exploring(f"{SHOP}/src/search", ["page.tsx", "query.ts", "index.ts", "facets.ts", "page.test.tsx"], 9_600, 230),
        Step(calls=[mcp("figma", "get_frame", "Frame search/filters: two lists of checkboxes", 11_700)], output=590),
        Step(text="The index already counts facets. The page needs state and two lists.", output=5_460,
             calls=[write(f"{SHOP}/src/search/filters.tsx", "export function Filters({ facets, chosen, onChange }: Props) {\n  return facets.map((facet) => <FacetList key={facet.name} facet={facet} chosen={chosen} onChange={onChange} />)\n}\n")]),
        Step(calls=[edit(f"{SHOP}/src/search/page.tsx", "  <Results hits={hits} />", "  <Filters facets={facets} chosen={chosen} onChange={setChosen} />\n  <Results hits={hits} />")], output=2_940),
        Step(calls=[failing("npm test -- search", ["FAIL src/search/page.test.tsx", "  Unable to find an element with the text: Size", "Tests: 2 failed, 31 passed"], 3_600)], output=550),
        Step(calls=[edit(f"{SHOP}/src/search/query.ts", "  facets: [],", "  facets: ['size', 'colour'],")], output=1_890),
        Step(calls=[run("npm test -- search", "Tests: 33 passed", 17.0, tokens=2_800)], output=500),
        Step(text="Filters for size and colour work. Shall I keep them in the address?", output=800),
        Step(prompt="Yes, in the address, so that a link keeps them.", wait=4_260, output=3_570,
             text="I will put them into the query string.", calls=[read(f"{SHOP}/src/search/url.ts", 7_200)]),
        Step(calls=[edit(f"{SHOP}/src/search/url.ts", "  return { text }", "  return { text, size: all('size'), colour: all('colour') }")], output=2_520),
        Step(calls=[run("npm test -- search", "Tests: 36 passed", 17.9, tokens=2_800)], output=550),
        Step(compacts=True, calls=[run("npm run lint", "0 problems", 12.3, tokens=400)], output=380),
        Step(text="The filters are in the address now, and a link keeps them.", output=690)])

FLAKY = Session(
    "flaky-cart-test", "2026-11-18T10:31:00Z", NEW_OPUS, SHOP, "flaky-cart-test", base=52_000, end="aborted", steps=[
        Step(prompt="cart.e2e.ts fails once in ten runs on CI. Make it reliable.", output=1_890,
             text="I will run it until it fails.", calls=[failing("npx playwright test cart --repeat-each 10", ["1) cart.e2e.ts:44 the badge shows 2", "   Timeout 5000ms exceeded", "1 failed, 9 passed"], 6_300)]),
        *exploring(f"{SHOP}/e2e", ["cart.e2e.ts", "fixtures.ts", "server.ts"], 7_300, 420),
        *exploring(f"{SHOP}/src/cart", ["badge.tsx", "store.ts", "sync.ts", "api.ts"], 5_800, 380),
        Step(text="The badge may be read before the store is loaded.", output=7_140,
             calls=[edit(f"{SHOP}/e2e/cart.e2e.ts", "  await page.click('#add')", "  await page.waitForLoadState('networkidle')\n  await page.click('#add')")]),
        Step(calls=[failing("npx playwright test cart --repeat-each 10", ["1) cart.e2e.ts:45 the badge shows 2", "   Timeout 5000ms exceeded", "2 failed, 8 passed"], 6_600)], output=1_470),
        Step(calls=[read(f"{SHOP}/src/cart/store.ts", 5_800)], output=1_090),
        Step(output=6_510, calls=[edit(f"{SHOP}/src/cart/store.ts", "  let items = []", "  let items = load()")]),
        Step(calls=[failing("npx playwright test cart --repeat-each 10", ["1) cart.e2e.ts:45 the badge shows 2", "   Timeout 5000ms exceeded", "1 failed, 9 passed"], 6_500)], output=1_340),
        Step(calls=[read(f"{SHOP}/src/cart/store.ts", 5_800), read(f"{SHOP}/src/cart/sync.ts", 5_800)], output=1_180),
        Step(output=5_670, calls=[failed_edit(f"{SHOP}/src/cart/sync.ts", "  setTimeout(sync, 0)", "  queueMicrotask(sync)")]),
        Step(output=5_250, calls=[edit(f"{SHOP}/src/cart/sync.ts", "  setTimeout(() => sync(), 0)", "  queueMicrotask(() => sync())")]),
        Step(calls=[failing("npx playwright test cart --repeat-each 10", ["1) cart.e2e.ts:45 the badge shows 2", "   Timeout 5000ms exceeded", "3 failed, 7 passed"], 6_700)], output=1_890),
        Step(calls=[denied("docker system prune --all --force")], output=1_010),
        Step(output=7_980, text="I will raise the timeout and try again.",
             calls=[edit(f"{SHOP}/e2e/cart.e2e.ts", "  { timeout: 5000 }", "  { timeout: 30000 }")]),
        Step(calls=[failing("npx playwright test cart --repeat-each 10", ["1) cart.e2e.ts:45 the badge shows 2", "   Timeout 30000ms exceeded", "1 failed, 9 passed"], 6_700)], output=1_680),
        Step(output=6_090, text="The timeout is not the cause.", calls=[read(f"{SHOP}/src/cart/api.ts", 5_800)])])

INVOICE = Session(
    "invoice-page", "2026-11-20T13:22:00Z", NEW_OPUS, SHOP, "invoice-page", base=75_000, keeps_cache_for=3_600, steps=[
        Step(prompt="Show the invoices of a customer on the account page, newest first.", output=1_010,
             calls=[grep("Invoice", f"{SHOP}/src/account/page.tsx:12\n{SHOP}/src/api/invoices.ts:3", 2_700)]),
        *exploring(f"{SHOP}/src", ["account/page.tsx", "api/invoices.ts", "components/table.tsx"], 7_000, 260),
        Step(output=5_040, calls=[write(f"{SHOP}/src/account/invoices.tsx", "export async function Invoices({ customer }: Props) {\n  const invoices = await listInvoices(customer, { newestFirst: true })\n  return <Table rows={invoices} columns={['number', 'date', 'total']} />\n}\n")]),
        Step(retries=2, output=1_470, calls=[edit(f"{SHOP}/src/account/page.tsx", "  <Orders customer={customer} />", "  <Orders customer={customer} />\n  <Invoices customer={customer} />")]),
        Step(output=550, calls=[run("npm test -- account", "Tests: 58 passed", 15.1, tokens=2_600)]),
        Step(output=670, text="The account page lists the invoices, newest first."),
        Step(prompt="Add the state of each invoice: open, paid or overdue.", wait=1_980, output=2_400,
             calls=[edit(f"{SHOP}/src/account/invoices.tsx", "'number', 'date', 'total'", "'number', 'date', 'total', 'state'")]),
        Step(output=420, calls=[run("npm test -- account", "Tests: 59 passed", 15.3, tokens=1_700)]),
        Step(output=300, text="Each invoice has its state.")])

LINKS = Session(
    "broken-links", "2026-11-13T14:20:00Z", "claude-sonnet-4.6", SHOP, "docs-links", base=41_000, steps=[
        Step(prompt="Find the broken links in docs/ and repair them.", output=500, text="I will check them with the script.",
             calls=[run("npm run check-links", "docs/search.md: 3 broken\ndocs/vouchers.md: 1 broken", 9.0, 1, 2_000)]),
        Step(output=440, calls=[read(f"{SHOP}/docs/search.md", 7_800), read(f"{SHOP}/docs/vouchers.md", 4_600)]),
        Step(output=1_340, calls=[edit(f"{SHOP}/docs/search.md", "[index](../index.md)", "[index](search/index.md)"),
                                edit(f"{SHOP}/docs/vouchers.md", "[money](money.md)", "[money](../src/money/README.md)")]),
        Step(output=270, calls=[run("npm run check-links", "0 broken", 8.2, tokens=300)]),
        Step(output=380, text="All four links work again.")])


def limit(five_hours, resets, week):
    """The limits of a response: the windows of five hours and of a week, in percent."""
    return (five_hours, resets, week, "2026-11-16T06:00:00Z" if resets < "2026-11-16" else "2026-11-23T06:00:00Z")


REFUNDS = Session(
    "idempotent-refunds", "2026-11-04T12:40:00Z", GPT, BILLING, "idempotent-refunds", base=48_000,
    limits=[(percent, "2026-11-04T17:40:00Z", week, "2026-11-09T06:00:00Z") for percent, week in
            [(3, 11), (6, 11), (9, 12), (13, 13), (17, 14), (22, 15), (26, 15), (31, 16), (35, 17), (38, 18)]],
    steps=[
        Step(prompt="A refund that is sent twice is paid twice. Make POST /refunds idempotent.", output=1_470,
             calls=[grep("refund", "src/api/refunds.rs:22\nsrc/store/refunds.rs:9", 2_100)]),
        Step(output=670, calls=[read("src/api/refunds.rs", 7_400)]),
        Step(output=710, calls=[read("src/store/refunds.rs", 6_200), read("migrations/0041_refunds.sql", 900)]),
        Step(output=550, calls=[mcp("postgres", "describe_table", "refunds(id uuid, order_id uuid, amount bigint)", 2_800)]),
        Step(text="A unique key for each request, stored with the refund, makes the second one a lookup.", output=3_360,
             calls=[write(f"{BILLING}/migrations/0042_refund_keys.sql", "ALTER TABLE refunds ADD COLUMN request_key text;\nCREATE UNIQUE INDEX refunds_request_key ON refunds (request_key);\n")]),
        Step(output=4_830, calls=[edit(f"{BILLING}/src/store/refunds.rs", "    insert(refund).execute(db).await", "    insert(refund).on_conflict(request_key).do_nothing().execute(db).await?;\n    find(request_key).one(db).await")]),
        Step(output=3_780, calls=[edit(f"{BILLING}/src/api/refunds.rs", "    let refund = store.create(body).await?;", "    let key = headers.idempotency_key()?;\n    let refund = store.create(key, body).await?;")]),
        Step(output=880, calls=[run("cargo test refunds", "error[E0061]: this method takes 1 argument but 2 were supplied", 38.5, 101, 3_300)]),
        Step(output=2_310, calls=[edit(f"{BILLING}/src/store/mod.rs", "    async fn create(&self, body: NewRefund)", "    async fn create(&self, key: &str, body: NewRefund)")]),
        Step(output=550, calls=[run("cargo test refunds", "test result: ok. 14 passed", 41.0, tokens=1_800)]),
        Step(output=800, text="POST /refunds needs an Idempotency-Key now; a second request with the same key returns the first refund.")])

DUNNING = Session(
    "dunning-letters", "2026-11-11T11:32:00Z", GPT, BILLING, "dunning", base=61_000,
    limits=[limit(percent, "2026-11-11T16:05:00Z", week) for percent, week in
            [(61, 44), (66, 45), (71, 46), (77, 47), (83, 48), (89, 50), (94, 51), (100, 52)]]
    + [limit(percent, "2026-11-11T21:10:00Z", week) for percent, week in [(2, 52), (5, 53), (9, 54), (12, 55)]],
    steps=[
        Step(prompt="Send dunning letters after 14, 28 and 42 days, in the language of the customer.", output=1_890,
             calls=[grep("due_date", "src/invoices/due.rs:30\nsrc/mail/mod.rs:8", 3_600)]),
        Step(output=800, calls=[read("src/invoices/due.rs", 10_200), read("src/mail/mod.rs", 8_000)]),
        Step(output=760, calls=[read("src/customers/language.rs", 6_300), read("templates/reminder.txt", 2_700)]),
        Step(output=7_560, text="Each letter is a state of the invoice.", calls=[
            write(f"{BILLING}/src/invoices/dunning.rs", "pub const STEPS: [Days; 3] = [Days(14), Days(28), Days(42)];\n\npub fn next_step(invoice: &Invoice, today: Date) -> Option<Step> {\n    STEPS.iter().rposition(|step| today >= invoice.due + *step).map(Step)\n}\n")]),
        Step(output=6_090, calls=[edit(f"{BILLING}/src/mail/mod.rs", "    Letter::Reminder => REMINDER,", "    Letter::Reminder => REMINDER,\n    Letter::Dunning(step) => dunning(step, language),")]),
        Step(output=970, calls=[run("cargo test dunning", "test invoices::dunning::leap_year ... FAILED", 44.0, 101, 5_100)]),
        Step(output=4_620, calls=[edit(f"{BILLING}/src/invoices/dunning.rs", "invoice.due + *step", "invoice.due.checked_add_days(*step)?")]),
        Step(output=2_940, text="I will run the tests again.", reached_limit=True),
        Step(prompt="Continue.", wait=16_620, output=1_090, calls=[run("cargo test dunning", "test result: ok. 9 passed", 43.1, tokens=2_200)]),
        Step(output=3_150, calls=[write(f"{BILLING}/templates/dunning.de.txt", "Sehr geehrte Damen und Herren,\n\nunsere Rechnung {number} ist seit {days} Tagen offen.\n")]),
        Step(output=630, calls=[run("cargo clippy --all-targets", "Finished in 31.2s", 31.2, tokens=700)]),
        Step(output=880, text="Letters are sent after 14, 28 and 42 days; German and English templates exist.")])

LEDGER_EXPORT = Session(
    "export-to-accounting", "2026-11-20T12:06:00Z", GPT, BILLING, "accounting-export", base=53_000, effort="medium",
    limits=[limit(percent, "2026-11-20T17:06:00Z", week) for percent, week in
            [(2, 48), (4, 48), (6, 49), (8, 50), (11, 51), (13, 52), (15, 53), (17, 53), (19, 54)]],
    steps=[
        Step(prompt="Export the bookings of a month as CSV for the accountants.", output=1_340,
             calls=[grep("Booking", "src/bookings/mod.rs:14", 2_800)]),
        Step(output=630, calls=[read("src/bookings/mod.rs", 11_100), read("src/cli.rs", 8_400)]),
        Step(output=5_670, calls=[write(f"{BILLING}/src/bookings/export.rs", "pub fn export(month: Month, out: impl Write) -> Result<()> {\n    let mut rows = csv::Writer::from_writer(out);\n    for booking in bookings_of(month)? {\n        rows.serialize(booking)?;\n    }\n    Ok(rows.flush()?)\n}\n")]),
        Step(output=2_730, calls=[edit(f"{BILLING}/src/cli.rs", "    Refund(Refund),", "    Refund(Refund),\n    /// Writes the bookings of a month as CSV.\n    Export(Export),")]),
        Step(output=880, calls=[run("cargo test export", "error[E0277]: the trait bound `Money: Serialize` is not satisfied", 36.0, 101, 4_400)]),
        Step(output=2_310, calls=[edit(f"{BILLING}/src/money.rs", "#[derive(Debug)]", "#[derive(Debug, Serialize)]")]),
        Step(output=550, calls=[run("cargo test export", "test result: ok. 6 passed", 39.4, tokens=1_600)]),
        Step(output=710, text="`billing export --month 2026-10` writes the bookings as CSV."),
        Step(prompt="The accountants need a semicolon as separator.", wait=3_420, output=900, text="The separator is one option.",
             calls=[edit(f"{BILLING}/src/bookings/export.rs", "    let mut rows = csv::Writer::from_writer(out);", "    let mut rows = csv::WriterBuilder::new().delimiter(b';').from_writer(out);")]),
        Step(output=310, text="The separator is a semicolon now.")])

CARDS = Session(
    "card-errors", "2026-11-17T08:45:00Z", GPT, BILLING, "card-errors", base=37_000, steps=[
        Step(prompt="Map the error codes of the card provider to messages that customers understand.", output=1_470, calls=[
            agent("explore", "gpt-5.4-mini", "Which error codes of cards does the code know?", [
                Step(calls=[grep("card_error", "src/cards/codes.rs:4", 3_600)], output=250),
                Step(calls=[read("/home/jonas/code/billing/src/cards/codes.rs", 9_300)], output=320),
                Step(text="codes.rs has 31 codes, and messages for nine of them.", output=800)])]),
        Step(output=670, calls=[read(f"{BILLING}/src/cards/codes.rs", 9_300)]),
        Step(output=6_930, calls=[edit(f"{BILLING}/src/cards/codes.rs", "    _ => \"Payment failed\",", "    Code::Expired => \"Your card has expired\",\n    Code::Limit => \"Your bank declined the amount\",\n    _ => \"Payment failed\",")]),
        Step(output=590, calls=[run("cargo test cards", "test result: FAILED. 22 passed; 1 failed", 33.0, 101, 3_000)]),
        Step(output=3_360, calls=[edit(f"{BILLING}/tests/cards.rs", "assert_eq!(text, \"Payment failed\")", "assert_eq!(text, \"Your card has expired\")")]),
        Step(output=460, calls=[run("cargo test cards", "test result: ok. 23 passed", 32.0, tokens=900)]),
        Step(output=630, text="All 31 codes have a message.")])

WEEKLY = Session(
    "weekly-revenue", "2026-11-05T09:30:00Z", GEMINI, REPORTS, "main", base=53_000, steps=[
        Step(prompt="Add revenue by country to the weekly report.", output=1_130, text="I will read the report first.",
             calls=[read(f"{REPORTS}/weekly/report.py", 10_400)]),
        Step(output=630, calls=[read(f"{REPORTS}/weekly/queries.sql", 13_200)]),
        Step(output=3_990, calls=[edit(f"{REPORTS}/weekly/queries.sql", "GROUP BY week", "GROUP BY week, country")]),
        Step(output=3_150, calls=[edit(f"{REPORTS}/weekly/report.py", "    table = by_week(rows)", "    table = by_week_and_country(rows)")]),
        Step(output=550, calls=[run("pytest weekly", "1 failed, 17 passed", 12.0, 1, 2_800)]),
        Step(output=2_310, calls=[edit(f"{REPORTS}/weekly/test_report.py", "assert len(table) == 4", "assert len(table) == 4 * len(COUNTRIES)")]),
        Step(output=420, calls=[run("pytest weekly", "18 passed", 11.6, tokens=700)]),
        Step(output=550, text="The weekly report has revenue by country.")])

CHURN = Session(
    "churn-notebook", "2026-11-12T13:05:00Z", SONNET, REPORTS, "churn", base=65_000, steps=[
        Step(prompt="Turn notebooks/churn.ipynb into a script with tests.", output=1_090, calls=[read("notebooks/churn.ipynb", 33_000)]),
        Step(output=710, calls=[grep("read_parquet", "notebooks/churn.ipynb:31", 900), read("reports/io.py", 5_800)]),
        Step(output=8_820, calls=[write("reports/churn.py", "def churn(customers: pl.DataFrame, days: int = 90) -> pl.DataFrame:\n    left = customers.filter(pl.col('last_order') < pl.lit(today()) - pl.duration(days=days))\n    return left.group_by('month').len()\n")]),
        Step(output=4_830, calls=[write("tests/test_churn.py", "def test_a_customer_with_an_order_stays():\n    assert churn(customers(days_ago=3)).is_empty()\n")]),
        Step(output=500, calls=[run("pytest tests/test_churn.py", "1 failed, 5 passed\nAssertionError: assert False", 8.0, 1, 3_200)]),
        Step(output=2_730, calls=[edit("reports/churn.py", "pl.lit(today())", "pl.lit(today()).cast(pl.Date)")]),
        Step(output=480, calls=[run("pytest tests/test_churn.py", "6 passed", 7.4, tokens=600)]),
        Step(output=1_470, text="The script gives the numbers of the notebook.", calls=[run("python -m reports.churn --days 90", "month      len\n2026-10     41", 16.0, tokens=900)]),
        Step(prompt="Also by country, please.", wait=140, output=3_990, calls=[edit("reports/churn.py", "group_by('month')", "group_by('month', 'country')")]),
        Step(output=460, calls=[run("pytest tests/test_churn.py", "6 passed", 7.6, tokens=600)]),
        Step(output=550, text="Churn is by month and country now.")])

FORECAST = Session(
    "forecast-accuracy", "2026-11-19T15:10:00Z", SONNET, REPORTS, "forecast", base=68_000, keeps_cache_for=3_600, steps=[
        Step(prompt="How accurate was last month's forecast? Write the answer into docs/forecast.md.", output=970,
             calls=[read(f"{REPORTS}/forecast/model.py", 10_800), read(f"{REPORTS}/forecast/october.csv", 16_500)]),
        Step(output=1_890, calls=[run("python -m forecast.check october", "MAPE 11.8 %", 31.0, tokens=3_900)]),
        Step(output=1_260, calls=[mcp("warehouse", "query", "permission denied for table orders_raw", 400, "error")]),
        Step(output=1_470, calls=[mcp("warehouse", "query", "country  error\nDE  6 %\nFR  9 %\nJP  31 %", 2_700)]),
        Step(output=6_510, calls=[write(f"{REPORTS}/docs/forecast.md", "# October\n\nThe forecast was 11.8 % off, mostly in Japan (31 %), where vouchers were not counted.\n")]),
        Step(output=880, text="The forecast was 11.8 % off; Japan explains most of it.")])


def nightly(name, start, branch, tests, end="success", rounds=1):
    """A run of the CI agent that repairs the build at night."""
    cwd = "/builds/storefront"
    steps = [Step(prompt="The build is red. Find out why, repair it, and run the tests.", output=840,
                  calls=[run("npm test", f"Tests: {tests} failed", 71.0, 1, 7_300)]),
             Step(output=520, calls=[run("git log -5 --stat", "5 commits", 0.3, tokens=1_900)])]
    for round in range(rounds):
        steps += [Step(output=600, calls=[read(f"{cwd}/src/cart/total{round or ''}.ts", 7_100)]),
                  Step(output=4_200, calls=[edit(f"{cwd}/src/cart/total{round or ''}.ts", "  return sum", "  return round(sum, currency)")]),
                  Step(output=480, calls=[run("npm test", f"Tests: {tests} failed", 69.0, 1, 6_900)])]
    if end == "success":
        steps[-1].calls = [run("npm test", "Tests: 618 passed", 66.0, tokens=1_600)]
        steps.append(Step(output=760, text="The build is green again."))
    return Session(name, start, SONNET, cwd, branch, steps, 58_000, end)


CI = [nightly("nightly-1", "2026-11-05T02:00:00Z", "main", 3),
      nightly("nightly-2", "2026-11-12T02:00:00Z", "main", 1, rounds=2),
      nightly("nightly-3", "2026-11-17T02:00:00Z", "main", 7, "killed", 4),
      nightly("nightly-4", "2026-11-19T02:00:00Z", "main", 6, "error", 5)]
