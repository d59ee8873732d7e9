// The page: its data in, filters, figures and panels out.

import { render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { read, type Data } from "./data";
import { byTool, cacheHitRate, cleanRate, countBy, ledger, lowerBounds, ranked, usd, type Count, type Sums, type ToolSums } from "./figures";
import { choices, date, DIMENSIONS, fromFragment, left, toFragment, type Left, type State } from "./filters";
import { FilterBar } from "./filterbar";
import * as format from "./format";
import { Distribution, Health, Hours, Outcomes, OverTime, Tools, Where } from "./panels";
import { Verdicts } from "./verdicts";
import { Behaviour, Waste } from "./work";
import { SessionList, Timeline } from "./sessions";

type Theme = "light" | "dark";

const THEME = "agentlogs-theme";

/** What was chosen before; a page in a file may not be allowed to remember. */
function rememberedTheme(): Theme | null {
  try {
    const it = localStorage.getItem(THEME);
    return it === "light" || it === "dark" ? it : null;
  } catch {
    return null;
  }
}

function setTheme(theme: Theme | null) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  dispatchEvent(new Event("themechange"));
}

const systemTheme = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function App({ data }: { data: Data }) {
  const [state, setState] = useState<State>(() => fromFragment(data, location.hash));
  const [theme, chooseTheme] = useState<Theme | null>(rememberedTheme);
  const set = useCallback((change: Partial<State>) => setState((it) => ({ ...it, ...change })), []);
  // With the view, not after it: whoever copies the link of what is seen has that.
  useLayoutEffect(() => {
    const fragment = toFragment(data, state);
    if (fragment !== location.hash.slice(1)) history.replaceState(null, "", `#${fragment}`);
  }, [state]);
  useEffect(() => {
    const changed = () => setState(fromFragment(data, location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  useEffect(() => {
    setTheme(theme);
    const system = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => dispatchEvent(new Event("themechange"));
    // Paper is light.
    const before = () => setTheme("light");
    const after = () => setTheme(theme);
    system.addEventListener("change", redraw);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      system.removeEventListener("change", redraw);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, [theme]);
  const toggle = () => {
    const next = (theme ?? systemTheme()) === "dark" ? "light" : "dark";
    chooseTheme(next);
    try {
      localStorage.setItem(THEME, next);
    } catch {
      // Not remembered, then.
    }
  };
  const { since, until, picked, by, per } = state;
  const rest = useMemo(() => left(data, state), [since, until, picked]);
  const sums = useMemo(() => ledger(data, rest.turns, by, per), [rest, by, per]);
  const ranks = useMemo(() => ranked(data, by), [by]);
  const tools = useMemo(() => byTool(data, rest), [rest]);
  const statuses = useMemo(() => countBy(rest, data.sessions.status), [rest]);
  const props = { data, left: rest, state, set };
  const open = (session: number) => data.timelines.has(session) && set({ session });
  const { days } = data;
  const chosen = DIMENSIONS.filter((it) => picked[it].length > 0).map((it) => {
    const values = choices(data, it);
    return `${it} ${picked[it].map((place) => format.visible(values[place] ?? format.UNKNOWN)).join(" or ")}`;
  });
  if (since !== null) chosen.push(`since ${date(since)}`);
  if (until !== null) chosen.push(`until ${date(until)}`);
  const costs = { auto: "reported costs, else computed ones", reported: "reported costs", computed: "computed costs" }[data.cost];
  return (
    <>
      <header class="top">
        <div>
          <h1>agentlogs</h1>
          <p>
            {format.count(data.sessions.length)} sessions{days && <> from {date(days[0])} to {date(days[1])}</>}, {data.timezone}.
            {data.filters.length > 0 && <> Made with the filters {data.filters.map((it) => format.visible(it)).join(", ")}.</>}
          </p>
          {chosen.length > 0 && <p class="paper">Only {chosen.join(", ")}.</p>}
        </div>
        <button type="button" class="quiet" onClick={toggle} aria-label="Light or dark">◐</button>
      </header>
      <FilterBar data={data} state={state} set={set} />
      <main>
        <Totals data={data} left={rest} sums={sums.total} statuses={statuses} tools={tools} />
        <OverTime {...props} sums={sums} ranks={ranks} />
        <Where {...props} sums={sums} ranks={ranks} />
        <Distribution {...props} open={open} />
        <Tools {...props} tools={tools} />
        {!data.leftOut.measured && <Waste {...props} />}
        {!data.leftOut.measured && <Behaviour {...props} />}
        <Verdicts {...props} />
        <Outcomes {...props} statuses={statuses} />
        <Hours {...props} />
        <SessionList {...props} />
        <Health {...props} />
      </main>
      <footer>
        Made by agentlogs {data.version} at {data.madeAt} with {costs}, {data.prices}. This file holds all that it shows and
        fetches nothing.
        {data.leftOut.measured && <> Waste and behaviour are left out, because there are too many sessions. The commands agentlogs report waste and agentlogs report behaviour show them.</>}
        {data.leftOut.label_keys.length > 0 && <> Labels with too many values to filter by: {data.leftOut.label_keys.map(format.visible).join(", ")}.</>}
      </footer>
      {state.session !== null && <Timeline key={state.session} data={data} session={state.session} close={() => set({ session: null })} />}
    </>
  );
}

function Totals({ data, left, sums, statuses, tools }: { data: Data; left: Left; sums: Sums; statuses: Count[]; tools: ToolSums[] }) {
  const sessions = statuses.reduce((sum, it) => sum + it.count, 0);
  const clean = cleanRate(data, statuses);
  const calls = tools.reduce((sum, it) => sum + it.calls, 0);
  const errors = tools.reduce((sum, it) => sum + it.errors, 0);
  const rate = calls > 0 ? errors / calls : NaN;
  const hits = cacheHitRate(sums);
  const bound = useMemo(() => lowerBounds(data, left), [left]);
  const cost = format.money(usd(sums.cost));
  const aboutCost = [
    ...(bound.lower > 0 ? [`the logs of ${format.count(bound.lower)} of ${format.count(bound.sessions)} sessions omit tokens or have no end`] : []),
    ...(sums.unpriced > 0 ? [`without ${format.short(sums.unpriced)} tokens that have no price`] : []),
  ];
  const figures: [string, string, number, string, string][] = [
    ["cost_usd", "Cost", usd(sums.cost), bound.lower > 0 ? `≥ ${cost}` : cost, aboutCost.join("; ") || "US dollars"],
    ["total_tokens", "Tokens", sums.tokens, format.short(sums.tokens), `${format.short(sums.output)} of them output`],
    ["sessions", "Sessions", sessions, format.count(sessions), "that began in this time"],
    ["turns", "Turns", sums.turns, format.count(sums.turns), "responses of models"],
    ["ended_cleanly_rate", "Ended cleanly", clean, format.percent(clean), "of sessions with a known end; verdicts are apart"],
    ["cache_hit_rate", "Cache hits", hits, format.percent(hits), "of the prompts' tokens"],
    ["calls", "Tool calls", calls, format.count(calls), `${format.percent(rate)} failed`],
  ];
  return (
    <section id="totals" aria-label="In sum">
      <dl class="totals">
        {figures.map(([name, title, value, text, about]) => (
          <div>
            <dt>{title}</dt>
            <dd>{Number.isNaN(value) ? <i class="unknown" data-name={name}>{format.UNKNOWN}</i> : <data data-name={name} value={String(value)}>{text}</data>}</dd>
            <dd class="note">{about}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const place = document.getElementById("page")!;
read(document.getElementById("data")!.textContent ?? "").then(
  (data) => {
    place.replaceChildren();
    render(<App data={data} />, place);
  },
  (error: unknown) => {
    place.textContent = `The data of this page cannot be read: ${error}`;
    throw error;
  },
);
