// The page in a browser: its figures against `agentlogs report --format json`, before and after choosing filters; what it
// asks of the world, which is nothing; and what logs that were made to harm do to it, which is nothing either.
//
// AGENTLOGS names the program, CHROMIUM the browser. `scripts/dashboard.sh` runs it.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const program = process.env.AGENTLOGS;
const root = new URL("../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "agentlogs-dashboard-"));
const logs = join(folder, "logs");
const archive = join(folder, "archive");
const file = join(folder, "page.html");

/** Text that would be markup, script, a formula, or act on a terminal, where text of logs goes. */
const HOSTILE = [
  `</script><script>window.harmed=1</script>`,
  `<img src=x onerror="window.harmed=1">`,
  `"'><svg/onload=window.harmed=1>`,
  `{{window.harmed=1}}\u0024{window.harmed=1}`,
  `\u202egnorw\u2069\u001b[31m\u2028&lt;b&gt;`,
  `=HYPERLINK("http://example.com","x")`,
  `__proto__`,
  `constructor`,
];

function run(...args) {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function report(name, ...args) {
  return JSON.parse(run("report", name, "--archive", archive, "--timezone", "UTC", "--format", "json", ...args));
}

/** The canonical name of each model. The page shows it; a report shows the logged name if it is the only spelling. */
function canonicalNames() {
  const sql = "SELECT DISTINCT model, canonical_model FROM turns WHERE model IS NOT NULL";
  const rows = JSON.parse(run("query", sql, "--archive", archive, "--format", "json"));
  return new Map(rows.map((it) => [it.model, it.canonical_model]));
}

/** A session of Claude Code whose every name is hostile. */
function hostileLog(text, at) {
  const id = `deadbeef-0000-4000-8000-00000000000${at}`;
  const time = (second) => `2026-10-0${at + 1}T08:00:0${second}.000Z`;
  const common = { sessionId: id, cwd: `/work/${text}`, gitBranch: text, version: "2.0.0", userType: "external", isSidechain: false };
  const usage = { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 100, cache_creation_input_tokens: 5 };
  const records = [
    { ...common, type: "user", uuid: "u1", parentUuid: null, timestamp: time(0), message: { role: "user", content: text } },
    { ...common, type: "assistant", uuid: "a1", parentUuid: "u1", timestamp: time(1), requestId: `r${at}`, message: { id: `m${at}`, type: "message", role: "assistant", model: text, usage, stop_reason: "tool_use", content: [{ type: "tool_use", id: `t${at}`, name: text, input: { file_path: text, command: text } }] } },
    { ...common, type: "user", uuid: "u2", parentUuid: "a1", timestamp: time(2), message: { role: "user", content: [{ type: "tool_result", tool_use_id: `t${at}`, is_error: true, content: text }] } },
    { ...common, type: "system", subtype: "api_error", level: "error", uuid: "e1", parentUuid: "u2", timestamp: time(3), error: { status: 500, message: text }, content: text },
  ];
  return records.map((it) => `${JSON.stringify(it)}\n`).join("");
}

/** Sessions whose logs name a pull request, and what a hosting service knows of those. */
function shippedLogs(directory) {
  mkdirSync(directory);
  [[5, 12], [6, 13], [7, 14]].forEach(([at, number]) => {
    const id = `deadbeef-0000-4000-8000-00000000001${at}`;
    const link = { type: "pr-link", sessionId: id, prNumber: number, prUrl: `https://github.com/acme/shop/pull/${number}`, prRepository: "acme/shop", timestamp: `2026-10-0${at + 1}T08:00:04.000Z` };
    const log = hostileLog("calm", at).replaceAll(/deadbeef-[-0-9]+/g, id).replaceAll(/"(r|m|t|u1|u2|a1|e1)\d*"/g, `"$1-shipped-${at}"`);
    writeFileSync(join(directory, `${id}.jsonl`), `${log.replaceAll('"model":"calm"', '"model":"claude-sonnet-4-5"')}${JSON.stringify(link)}\n`);
  });
  const request = (number, state, others) => ({ number, url: `https://github.com/acme/shop/pull/${number}`, title: "Add", state, createdAt: "2026-10-01T00:00:00Z", ...others });
  const requests = [request(12, "MERGED", { mergedAt: "2026-10-09T00:00:00Z" }), request(13, "CLOSED", { closedAt: "2026-10-09T00:00:00Z" }), request(14, "OPEN", {})];
  writeFileSync(join(folder, "requests.json"), JSON.stringify(requests));
}

let browser;
before(async () => {
  cpSync(join(root, "sample-logs"), join(logs, "samples"), { recursive: true });
  cpSync(join(root, "tests", "verdicts", "harbor-job"), join(logs, "harbor-job"), { recursive: true });
  mkdirSync(join(logs, "hostile"));
  HOSTILE.forEach((text, at) => {
    const path = join(logs, "hostile", `deadbeef-0000-4000-8000-00000000000${at}.jsonl`);
    writeFileSync(path, hostileLog(text, at));
    writeFileSync(path.replace(".jsonl", ".meta.json"), JSON.stringify({ labels: { [`hostile${at % 2}`]: text } }));
  });
  shippedLogs(join(logs, "shipped"));
  run("ingest", logs, "--archive", archive);
  run("git", "import", join(folder, "requests.json"), "--archive", archive);
  run("dashboard", file, "--archive", archive, "--timezone", "UTC");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The page, and all that it complained of or asked for. */
async function open(fragment = "", options = {}, shown = file) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (it) => ["error", "warning"].includes(it.type()) && complaints.push(it.text()));
  page.on("pageerror", (it) => complaints.push(String(it)));
  page.on("dialog", (it) => complaints.push(`dialog ${it.message()}`));
  page.on("request", (it) => it.url().startsWith("file:") || it.url().startsWith("data:,") || it.url().startsWith("blob:") || complaints.push(`request ${it.url()}`));
  await page.goto(`file://${shown}${fragment}`);
  await page.waitForSelector("#totals");
  return { page, complaints, close: () => context.close() };
}

/** A figure in sum, NaN if it is unknown. */
async function figure(page, name) {
  const value = await page.getAttribute(`#totals [data-name=${name}]`, "value");
  return value === null ? NaN : Number(value);
}

/** All rows of a table, as numbers and texts; of pages that it has, all. */
async function rowsOf(page, name) {
  const table = page.locator(`table[data-name="${name}"]`).first();
  const section = table.locator("xpath=ancestor::*[self::section or self::dialog or self::details][1]");
  const turn = async (name) => {
    const caption = await table.locator("caption").textContent();
    const button = section.getByRole("navigation", { name: `Pages of ${caption}`, exact: true }).getByRole("button", { name });
    if ((await button.count()) === 0 || (await button.first().isDisabled())) return false;
    await button.first().click();
    return true;
  };
  while (await turn("Previous"));
  const rows = [];
  for (;;) {
    rows.push(...(await table.locator("tbody tr").evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((cell) => {
        const data = cell.querySelector("data");
        return data ? Number(data.value) : cell.querySelector(".unknown") || cell.matches(".unknown") ? null : cell.querySelector("bdi")?.title || cell.textContent;
      })),
    )));
    if (!(await turn("Next"))) return rows;
  }
}

const near = (a, b) => (a === null || a === undefined || Number.isNaN(a) ? b === null || b === undefined || Number.isNaN(b) : Math.abs(a - b) < 1e-6);

/** The sum of the known values. */
function sum(rows, name) {
  const known = rows.map((it) => it[name]).filter((it) => it !== null);
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) : NaN;
}

/** The page's sums of the ledger are those of the report with these filters. */
async function agreesOnCost(page, filters) {
  const cost = report("cost", "--by", "status", ...filters);
  for (const name of ["cost_usd", "total_tokens", "turns"]) {
    const [own, theirs] = [await figure(page, name), sum(cost, name)];
    assert.ok(near(own, theirs), `${name} ${own} ${theirs} ${filters}`);
  }
}

/** The page's figures are those of the reports with these filters. */
async function agrees(page, filters) {
  await agreesOnCost(page, filters);
  // A lower bound is marked as the report states it, with the same number of sessions.
  const { stderr } = spawnSync(program, ["report", "cost", "--archive", archive, "--timezone", "UTC", ...filters], { encoding: "utf8" });
  const [, lower] = /lower bounds: the logs of ([\d,]+) of/.exec(stderr) ?? [];
  const card = await page.locator("#totals dl > div", { has: page.locator("[data-name=cost_usd]") }).innerText();
  assert.equal(card.includes("≥ $"), lower !== undefined, `${card} ${stderr}`);
  assert.ok(lower === undefined || card.includes(`the logs of ${lower} of`), `${card} ${stderr}`);
  const sessions = report("sessions", "--by", "status", ...filters);
  assert.equal(await figure(page, "sessions"), sum(sessions, "sessions") || 0, `sessions ${filters}`);
  const tools = report("tools", "--by", "tool", ...filters);
  assert.equal(await figure(page, "calls"), sum(tools, "calls") || 0, `calls ${filters}`);
  // Row by row: the models, and the tools.
  const canonical = canonicalNames();
  const models = new Map(report("cost", "--by", "model", ...filters).map((it) => [canonical.get(it.model) ?? it.model, it]));
  const shown = (await rowsOf(page, "where")).filter((it) => it.length > 1);
  assert.equal(shown.length, models.size, `models ${filters}`);
  for (const row of shown) {
    const theirs = models.get(row[0]) ?? [...models].find(([name]) => visible(name) === row[0])?.[1];
    assert.ok(theirs, `no model ${row[0]}`);
    const names = ["cost_usd", "total_tokens", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_hit_rate", "unpriced_tokens", "turns", "sessions"];
    names.forEach((name, at) => assert.ok(near(row[at + 2], theirs[name]), `${name} of ${row[0]}: ${row[at + 2]} ${theirs[name]} ${filters}`));
  }
  const byName = new Map(tools.map((it) => [visible(it.tool), it]));
  for (const row of (await rowsOf(page, "tools")).filter((it) => it.length > 1)) {
    const theirs = byName.get(row[0]);
    assert.ok(theirs, `no tool ${row[0]}`);
    const names = ["calls", "errors", "error_rate", "denied", "incomplete", "duration_ms", null, "result_bytes"];
    names.forEach((name, at) => name && assert.ok(near(row[at + 1], theirs[name]), `${name} of ${row[0]}: ${row[at + 1]} ${theirs[name]}`));
  }
  const skills = report("cost", "--by", "skill", "--wide", ...filters).filter((it) => it.skill !== null && it.skill !== "(none)");
  const ofSkills = await cellsOf(page, "skills");
  assert.equal(ofSkills.size, skills.length, `skills ${filters}`);
  for (const theirs of skills) {
    const cells = ofSkills.get(visible(theirs.skill));
    ["cost_usd", "total_tokens", "turns"].forEach((name, at) => assert.ok(near(cells?.[at], theirs[name]), `${name} of ${theirs.skill}: ${cells?.[at]}`));
  }
  const troubles = report("errors", "--by", "kind,code", ...filters);
  const errors = (await rowsOf(page, "errors")).filter((it) => it.length > 1);
  assert.equal(errors.reduce((all, it) => all + it[2], 0), sum(troubles, "events") || 0, `errors ${filters}`);
  await worksAlike(page, filters);
}

/** The cells of a row that a table of the page has, by the first one; none if the table is not there. */
async function cellsOf(page, name) {
  if ((await page.locator(`table[data-name="${name}"]`).count()) === 0) return new Map();
  return new Map((await rowsOf(page, name)).filter((it) => it.length > 1).map((it) => [it[0], it.slice(1)]));
}

/** Waste, behavior, and outcomes are those of the reports; runtimes have one name each, unlike models. */
async function worksAlike(page, filters) {
  const statuses = await cellsOf(page, "statuses");
  const bySession = new Map(report("sessions", "--by", "status", ...filters).map((it) => [visible(it.status), it.sessions]));
  assert.deepEqual(new Map([...statuses].map(([status, cells]) => [status, cells[0]]).sort()), new Map([...bySession].sort()), `${filters}`);
  const causes = await cellsOf(page, "waste");
  const wasted = report("waste", ...filters).filter((it) => it.waste_usd > 0);
  assert.equal(causes.size, wasted.length, `causes ${filters}`);
  for (const it of wasted) {
    const [waste, share, cases, basis] = causes.get(it.cause);
    assert.ok(near(waste, it.waste_usd) && near(share, it.waste_share), `${it.cause} ${waste} ${it.waste_usd} ${share} ${it.waste_share} ${filters}`);
    assert.deepEqual([cases, basis], [it.cases, it.basis], `${it.cause} ${filters}`);
  }
}

/** As the page shows text that would act on somebody. */
function visible(text) {
  return text === null ? null : text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (it) => `\\u{${it.charCodeAt(0).toString(16)}}`);
}

/** Chooses one value of a filter, by hand. */
async function choose(page, dimension, value) {
  const choice = page.locator(`details[data-dimension=${dimension}]`);
  await choice.locator("summary").click();
  await choice.locator("label").filter({ has: page.locator(`bdi:text-is(${JSON.stringify(value)})`) }).locator("input").click();
  await page.keyboard.press("Escape");
}

test("the figures are those of the reports, before and after choosing filters", async () => {
  const { page, complaints, close } = await open();
  await agrees(page, []);
  await choose(page, "runtime", "claude");
  await agrees(page, ["--runtime", "claude"]);
  await choose(page, "status", "success");
  await agrees(page, ["--runtime", "claude", "--status", "success"]);
  await page.fill("input[name=since]", "2026-09-30");
  await page.fill("input[name=until]", "2026-10-05");
  await agrees(page, ["--runtime", "claude", "--status", "success", "--since", "2026-09-30", "--until", "2026-10-05"]);
  await page.click("text=Clear filters");
  await agrees(page, []);
  await choose(page, "label", "team=compiler");
  await agrees(page, ["--label", "team=compiler"]);
  await page.click("text=Clear filters");
  await choose(page, "model", "gpt-5.5");
  await agrees(page, ["--model", "gpt-5.5"]);
  await page.click("text=Clear filters");
  await choose(page, "project", "/work/shop");
  await agrees(page, ["--project", "/work/shop"]);
  assert.deepEqual(complaints, []);
  await close();
});

test("rows are grouped by a label as in the reports, and a group can be seen alone", async () => {
  const { page, complaints, close } = await open();
  await page.getByRole("group", { name: "Stacked by" }).getByRole("button", { name: "label:team", exact: true }).click();
  const where = await cellsOf(page, "where");
  const theirs = report("cost", "--by", "label:team");
  assert.ok(theirs.some((it) => it["label:team"] === "compiler") && theirs.some((it) => it["label:team"] === null));
  assert.equal(where.size, theirs.length);
  for (const it of theirs) {
    const own = where.get(it["label:team"]);
    ["cost_usd", "total_tokens"].forEach((name, at) => assert.ok(near(own?.[at + 1], it[name]), `${name} of ${it["label:team"]} ${own}`));
  }
  const verdicts = await cellsOf(page, "verdicts");
  for (const it of report("outcomes", "--by", "label:team")) assert.equal(verdicts.get(it["label:team"])?.[0], it.trials, it["label:team"]);
  assert.match(new URL(page.url()).hash, /by=label%3Ateam/);
  // No filter leaves the sessions without the label.
  const openers = page.locator("table[data-name=where] tbody button");
  assert.deepEqual(await openers.allTextContents(), ["compiler"]);
  await page.click("[aria-label='Only label:team compiler']");
  await agreesOnCost(page, ["--label", "team=compiler"]);
  assert.deepEqual(complaints, []);
  await close();
});

test("verdicts, behavior and waste by runtime are those of the reports", async () => {
  const { page, complaints, close } = await open("#by=runtime");
  const verdicts = await cellsOf(page, "verdicts");
  const outcomes = report("outcomes", "--by", "runtime");
  assert.ok(outcomes.some((it) => it.passed > 0) && outcomes.some((it) => it.failed > 0), JSON.stringify(outcomes));
  assert.equal(verdicts.size, outcomes.length);
  for (const it of outcomes) {
    const own = verdicts.get(it.runtime);
    const names = ["trials", "passed", "failed", "unjudged", "pass_rate", "pass_rate_low", "pass_rate_high", "cost_per_trial_usd", "cost_per_passed_usd"];
    names.forEach((name, at) => assert.ok(near(own[at], it[name]), `${name} of ${it.runtime}: ${own[at]} ${it[name]}`));
    assert.equal(own[9] === "yes", it.is_on_front === true, it.runtime);
  }
  const behavior = await cellsOf(page, "behavior");
  for (const it of report("behavior", "--by", "runtime")) {
    const own = behavior.get(it.runtime);
    const names = [
      "sessions", "explore_share", "edit_share", "verify_share", "verified_rate", "repeated_calls", "test_runs", "failed_test_runs",
      "model_time_share", "tool_time_share", "waiting_time_share",
    ];
    names.forEach((name, at) => assert.ok(near(own[at], it[name]), `${name} of ${it.runtime}: ${own[at]} ${it[name]}`));
  }
  const waste = await cellsOf(page, "waste-of");
  for (const it of report("waste", "--by", "runtime").filter((it) => it.waste_usd > 0)) {
    const [amount, share, cases] = waste.get(it.runtime);
    assert.ok(near(amount, it.waste_usd) && near(share, it.waste_share), `${it.runtime} ${amount} ${it.waste_usd} ${share} ${it.waste_share}`);
    assert.equal(cases, it.cases, it.runtime);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("what shipped is that of the report, and is shown only if there are commits or pull requests", async () => {
  const { page, complaints, close } = await open();
  const agreesOn = async (filters) => {
    const theirs = report("shipped", "--by", "outcome", "--wide", ...filters);
    const own = await cellsOf(page, "shipped");
    assert.equal(own.size, theirs.length, `${filters}`);
    for (const it of theirs) {
      const [cost, share, requests] = own.get(it.outcome);
      assert.ok(near(cost, it.cost_usd) && near(share, it.share) && requests === it.merged_pull_requests, `${it.outcome} ${cost} ${share} ${requests}`);
    }
    return new Map(theirs.map((it) => [it.outcome, it]));
  };
  const all = await agreesOn([]);
  assert.deepEqual([...all.keys()].sort(), ["closed", "merged", "not_attributable", "open"]);
  const card = async (name) => Number(await page.getAttribute(`#shipped [data-name=${name}]`, "value"));
  assert.ok(near(await card("merged_cost_usd"), all.get("merged").cost_usd) && all.get("merged").cost_usd > 0);
  const cost = [...all.values()].reduce((sum, it) => sum + it.cost_usd, 0);
  assert.ok(near(await card("cost_per_merged_pull_request_usd"), cost), "of one merged pull request");
  assert.ok(near(await card("not_attributable_share"), all.get("not_attributable").share));
  await page.locator("#shipped details.numbers > summary").click();
  const weeks = report("shipped", "--by", "week,outcome").filter((it) => it.week !== null && it.cost_usd !== null);
  const rows = await rowsOf(page, "shipped-by-week");
  assert.equal(rows.length, weeks.length);
  for (const [week, outcome, cost] of rows) assert.ok(weeks.some((it) => it.week === week && it.outcome === outcome && near(cost, it.cost_usd)), `${week} ${outcome} ${cost}`);
  await choose(page, "model", "claude-sonnet-4-5");
  await page.fill("input[name=since]", "2026-10-07");
  assert.ok(!(await agreesOn(["--model", "claude-sonnet-4-5", "--since", "2026-10-07"])).has("merged"));
  const other = join(folder, "without-history.html");
  run("dashboard", other, "--logs", join(logs, "shipped"), "--timezone", "UTC");
  const without = await open("", {}, other);
  assert.equal(await without.page.locator("#shipped").count(), 0);
  assert.deepEqual([...complaints, ...without.complaints], []);
  await close();
  await without.close();
});

test("axe finds no violation, in the light, in the dark and on a phone", async () => {
  const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
  for (const options of [{}, { colorScheme: "dark" }, phone]) {
    // The policy of the page forbids other scripts.
    const { page, close } = await open("", { ...options, bypassCSP: true });
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => (await window.axe.run()).violations.map((it) => `${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html)}`));
    assert.deepEqual(violations, [], JSON.stringify(options));
    await close();
  }
});

test("every period of the chart is that of the report", async () => {
  for (const per of ["day", "week", "month"]) {
    const { page, complaints, close } = await open(`#per=${per}&by=runtime`);
    await page.locator("#time details.numbers > summary").first().click();
    const rows = await rowsOf(page, "over-time");
    const theirs = report("cost", "--by", `${per},runtime`).filter((it) => it[per] !== null);
    assert.equal(rows.length, theirs.length);
    for (const row of rows) {
      const it = theirs.find((it) => it[per] === row[0] && it.runtime === row[1]);
      assert.ok(it, `${row}`);
      assert.ok(near(row[2], it.cost_usd) && near(row[3], it.total_tokens) && row[11] === it.sessions, `${row} ${JSON.stringify(it)}`);
    }
    assert.deepEqual(complaints, []);
    await close();
  }
});

test("weeks begin on the day of the configuration", async () => {
  const other = join(folder, "sundays.html");
  process.env.AGENTLOGS_CONFIG = join(folder, "agentlogs.toml");
  writeFileSync(process.env.AGENTLOGS_CONFIG, 'week_start = "sunday"\n');
  run("dashboard", other, "--archive", archive, "--timezone", "UTC");
  const theirs = report("cost", "--by", "week");
  delete process.env.AGENTLOGS_CONFIG;
  const { page, complaints, close } = await open("#per=week&by=runtime", {}, other);
  await page.locator("#time details.numbers > summary").first().click();
  const shown = new Set((await rowsOf(page, "over-time")).map((row) => row[0]));
  assert.deepEqual([...shown].sort(), theirs.map((row) => row.week).filter((week) => week !== null).sort());
  assert.ok([...shown].every((week) => new Date(week).getUTCDay() === 0), `${[...shown]}`);
  assert.deepEqual(complaints, []);
  await close();
});

test("a view can be linked", async () => {
  const first = await open();
  await choose(first.page, "runtime", "codex");
  await first.page.click("#time button:text-is('tokens')");
  await first.page.fill("#sessions input[type=search]", "shop");
  const fragment = await first.page.evaluate(() => location.hash);
  const figures = await first.page.textContent("#totals");
  const second = await open(fragment);
  assert.equal(await second.page.textContent("#totals"), figures);
  assert.equal(await second.page.inputValue("#sessions input[type=search]"), "shop");
  assert.match(await second.page.textContent("#time h2"), /Tokens over time/);
  assert.deepEqual([...first.complaints, ...second.complaints], []);
  await first.close();
  await second.close();
});

test("an empty selection shows 0 and one sentence, and the line below the title follows the filters", async () => {
  const { page, complaints, close } = await open("#since=2001-01-01&until=2001-01-02");
  assert.deepEqual([await figure(page, "cost_usd"), await figure(page, "sessions")], [0, 0]);
  assert.match(await page.innerText("#nothing"), /^No session fits these filters\. There are sessions from /);
  assert.equal(await page.locator("#time, #where, #tools, #sessions").count(), 0);
  assert.match(await page.innerText("header.top p"), /^0 of \d+ sessions, UTC/);
  await page.click("text=Show all sessions");
  assert.ok((await figure(page, "sessions")) > 100);
  await choose(page, "runtime", "claude");
  const sessions = report("sessions", "--by", "runtime", "--runtime", "claude");
  assert.match(await page.innerText("header.top p"), new RegExp(`^${sessions[0].sessions} of \\d+ sessions from \\d{4}-\\d\\d-\\d\\d to `));
  assert.deepEqual(complaints, []);
  await close();
});

test("7 days are the last ones of today, compared with the 7 before", async () => {
  const other = join(folder, "recent.html");
  const recent = join(folder, "recent");
  mkdirSync(recent);
  const day = (ago) => new Date(Date.now() - ago * 864e5).toISOString().slice(0, 10);
  for (const [at, ago] of [[1, 0], [2, 3], [3, 6], [4, 9], [5, 400]]) {
    const log = hostileLog("calm", at).replaceAll(/2026-10-0\d/g, day(ago)).replaceAll("claude-x", "claude-sonnet-4-5");
    writeFileSync(join(recent, `${at}.jsonl`), log.replaceAll('"model":"calm"', '"model":"claude-sonnet-4-5"'));
  }
  run("ingest", recent, "--archive", join(folder, "of-recent"));
  run("dashboard", other, "--archive", join(folder, "of-recent"), "--timezone", "UTC");
  const { page, complaints, close } = await open("", {}, other);
  const main = await page.innerText("#totals .main");
  assert.match(main, /last 7 days 3, \+200 % against the 7 days before/);
  // All of these logs have no end, also those of the last days.
  assert.match(main, /≥ \$[\d.]+\s+last 7 days ≥ \$/);
  assert.match(await page.innerText("#totals"), /ended cleanly\s+0.0 %\s+0 of 5 sessions/i);
  assert.equal(await page.locator("#sessions th", { hasText: "With children" }).count(), 0, "no session has children");
  await page.click("text=7 days");
  assert.equal(await page.inputValue("input[name=since]"), day(6));
  assert.equal(await figure(page, "sessions"), 3);
  assert.match(await page.innerText("#totals .main"), /\+200 % against the 7 days before/);
  assert.deepEqual(complaints, []);
  await close();
});

test("every listed session opens, and its short id is one that show takes", async () => {
  const { page, complaints, close } = await open();
  const rows = await page.locator("table[data-name=sessions] tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  assert.ok(rows.every((it) => it.at(-1) === "timeline"), `${rows[0]}`);
  for (const [, id] of rows.slice(0, 3)) {
    assert.ok(id.length >= 8 && id.length < 36, id);
    run("show", id, "--archive", archive);
  }
  // Verdicts are in the list and in the window.
  await page.fill("#sessions input[type=search]", "unjudged");
  const unjudged = await rowsOf(page, "sessions");
  assert.ok(unjudged.length > 0 && unjudged.every((it) => it[6] === "unjudged"), `${unjudged[0]}`);
  await page.fill("#sessions input[type=search]", "failed");
  await page.click("#sessions tbody th button");
  assert.match(await page.innerText("dialog .facts"), /Verdict\s+failed/);
  assert.deepEqual(complaints, []);
  await close();
});

test("nonsense in the fragment does nothing", async () => {
  const { page, complaints, close } = await open("#since=yesterday&runtime=%3Cscript%3E&measure=__proto__&session=x&by=&per=%");
  await agrees(page, []);
  assert.deepEqual(complaints, []);
  await close();
});

test("a session opens to its timeline", async () => {
  const { page, complaints, close } = await open();
  await page.fill("#sessions input[type=search]", "019b21d0-7a10-7c31-9a55-3c0de5a10001");
  await page.click("#sessions tbody th button");
  await page.waitForSelector("dialog[open]");
  const rows = await rowsOf(page, "timeline");
  const costs = rows.map((it) => Number(it[8])).filter((it) => it > 0);
  assert.ok(near(costs.reduce((a, b) => a + b, 0), 0.024084), `${costs}`);
  assert.match(await page.evaluate(() => decodeURIComponent(location.hash)), /session=codex\/019b21d0/);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  // By hand too, without a pointer.
  await page.focus("#sessions tbody th button");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  assert.deepEqual(complaints, []);
  await close();
});

test("hostile names are text", async () => {
  const { page, complaints, close } = await open();
  const models = (await rowsOf(page, "where")).map((it) => it[0]);
  const projects = (await page.locator("details[data-dimension=project] bdi").allTextContents());
  for (const text of HOSTILE) {
    assert.ok(models.includes(visible(text)), `model ${text}`);
    assert.ok(projects.includes(visible(`/work/${text}`)), `project ${text}`);
  }
  for (let at = 0; at < HOSTILE.length; at++) {
    await page.evaluate((hash) => (location.hash = hash), `session=claude/deadbeef-0000-4000-8000-00000000000${at}`);
    await page.waitForSelector("dialog[open]");
    assert.ok((await page.textContent("dialog")).includes(visible(HOSTILE[at])));
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  }
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator("#page script, #page img, #page svg, #page iframe").count(), 0);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("[aria-label='Download by-model as CSV']")]);
  const csv = readFileSync(await download.path(), "utf8");
  assert.ok(csv.includes(`"'=HYPERLINK(""http://example.com"",""x"")"`), csv);
  assert.deepEqual(complaints, []);
  await close();
});

test("the policy of the page forbids what it does not need", async () => {
  const { page, complaints, close } = await open();
  const tried = await page.evaluate(async () => {
    const out = [];
    try {
      await fetch("http://127.0.0.1:9/");
      out.push("fetch");
    } catch { /* forbidden */ }
    const script = document.createElement("script");
    script.textContent = "window.harmed = 1";
    document.body.append(script);
    const box = document.createElement("div");
    box.innerHTML = "<img src=x onerror='window.harmed = 1'><p style='color: red'>x</p>";
    document.body.append(box);
    await new Promise((done) => setTimeout(done, 200));
    if (window.harmed) out.push("script");
    if (getComputedStyle(box.querySelector("p")).color === "rgb(255, 0, 0)") out.push("style");
    return out;
  });
  assert.deepEqual(tried, []);
  assert.ok(complaints.some((it) => it.includes("Content Security Policy")));
  await close();
});

test("it is readable in the dark, on a phone and on paper", async () => {
  for (const options of [{ colorScheme: "dark" }, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }]) {
    const { page, complaints, close } = await open("", options);
    // A phone zooms out if the page is too wide: the width of the screen is the limit.
    const widest = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, innerWidth));
    assert.equal(widest, options.viewport?.width ?? 1280);
    // Text against its ground, by WCAG's ratio.
    const worst = await page.evaluate(() => {
      const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map((it) => (it / 255 <= 0.03928 ? it / 255 / 12.92 : ((it / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
      };
      const parse = (text) => text.match(/[\d.]+/g).map(Number);
      const ground = (element) => {
        for (let it = element; it; it = it.parentElement) {
          const color = parse(getComputedStyle(it).backgroundColor);
          if (color[3] === undefined || color[3] === 1) return color;
        }
        return [255, 255, 255];
      };
      return Math.min(...[...document.querySelectorAll("h1, h2, h3, p, dt, dd, th, td, summary, button:not(:disabled), small, caption, a")].filter((it) => it.textContent.trim() && it.checkVisibility() && !it.matches(".heat td")).map((it) => {
        const [a, b] = [light(parse(getComputedStyle(it).color)), light(ground(it))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }));
    });
    assert.ok(worst >= 4.5, `contrast ${worst}`);
    assert.deepEqual(complaints, []);
    await close();
  }
  const { page, close } = await open("#runtime=claude");
  assert.ok((await page.pdf()).length > 10_000);
  // The printed page contains the filters, and no table is wider than it.
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.innerText(".paper"), "Only runtime claude.");
  await page.setViewportSize({ width: 718, height: 1000 });
  assert.deepEqual(await page.locator(".scroll").evaluateAll((all) => all.filter((it) => it.scrollWidth > it.clientWidth + 1).map((it) => it.ariaLabel)), []);
  await page.emulateMedia({ media: "screen" });
  // What cannot be seen can be heard: everything that can be used has a name.
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, summary, [role=img], [role=region]")].filter((it) => !(it.getAttribute("aria-label") || it.textContent.trim() || it.labels?.length)).map((it) => it.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await close();
});
