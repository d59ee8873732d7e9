// The page: its data in, filters, figures and panels out.

import { render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { read, type Data } from "./data";
import { byTool, countBy, daysOf, ledger, ranked } from "./figures";
import { choices, date, DIMENSIONS, fromFragment, left, NOTHING, toFragment, type State } from "./filters";
import { FilterBar } from "./filterbar";
import * as format from "./format";
import { Distribution, Health, Hours, Outcomes, OverTime, Skills, Tools, Where } from "./panels";
import { DidItShip } from "./shipped";
import { Totals } from "./totals";
import { Verdicts } from "./verdicts";
import { Behavior, Waste } from "./work";
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
  const open = (session: number) => data.sessions.id[session] !== null && set({ session });
  const days = useMemo(() => daysOf(data, rest), [rest]);
  const isEmpty = [rest.turns, rest.sessions, rest.tools, rest.troubles].every((it) => it.length === 0);
  const chosen = DIMENSIONS.filter((it) => picked[it].length > 0).map((it) => {
    const values = choices(data, it);
    return `${it} ${picked[it].map((index) => format.visible(values[index] ?? format.UNKNOWN)).join(" or ")}`;
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
            {format.count(rest.sessions.length)} {rest.sessions.length < data.sessions.length && <>of {format.count(data.sessions.length)} </>}sessions
            {days && <> from {date(days[0])} to {date(days[1])}</>}, {data.timezone}.
            {data.filters.length > 0 && <> Made with the filters {data.filters.map((it) => format.visible(it)).join(", ")}.</>}
          </p>
          {chosen.length > 0 && <p class="paper">Only {chosen.join(", ")}.</p>}
        </div>
        <button type="button" class="quiet" onClick={toggle} aria-label="Light or dark">◐</button>
      </header>
      <FilterBar data={data} state={state} set={set} />
      <main>
        <Totals data={data} state={state} left={rest} sums={sums.total} statuses={statuses} tools={tools} />
        {isEmpty ? <Nothing data={data} state={state} set={set} /> : <><OverTime {...props} sums={sums} ranks={ranks} />
        <Where {...props} sums={sums} ranks={ranks} />
        <DidItShip {...props} />
        <Distribution {...props} open={open} />
        <Tools {...props} tools={tools} />
        <Skills {...props} />
        {data.leftOut.measured ? <NotMeasured /> : <><Waste {...props} /><Behavior {...props} /></>}
        <Verdicts {...props} />
        <Outcomes {...props} statuses={statuses} />
        <Hours {...props} />
        <SessionList {...props} />
        </>}
        <Health {...props} />
      </main>
      <footer>
        Made by agentlogs {data.version} at {data.madeAt} with {costs}, {data.prices}. This file holds all that it shows and
        fetches nothing.
        {data.leftOut.label_keys.length > 0 && <> Labels with too many values to filter by: {data.leftOut.label_keys.map(format.visible).join(", ")}.</>}
      </footer>
      {state.session !== null && <Timeline key={state.session} data={data} session={state.session} close={() => set({ session: null })} />}
    </>
  );
}

/** In place of waste and behavior, which a page of very many sessions does not contain. */
function NotMeasured() {
  return (
    <section id="waste" aria-labelledby="waste-title">
      <header><h2 id="waste-title">Waste and behavior</h2></header>
      <p class="unknown">Not in this file, because there are too many sessions. In a terminal: <code>agentlogs report waste</code>, <code>agentlogs report behavior</code></p>
    </section>
  );
}

/** What a selection without rows shows instead of panels. */
function Nothing({ data, state, set }: { data: Data; state: State; set: (change: Partial<State>) => void }) {
  const isAny = state.since !== null || state.until !== null || DIMENSIONS.some((it) => state.picked[it].length > 0);
  return (
    <section id="nothing" aria-label="No sessions">
      <p>
        {isAny ? "No session fits these filters. " : "There are no sessions. "}
        {isAny && data.days && <>There are sessions from {date(data.days[0])} to {date(data.days[1])}. </>}
        {isAny && <button type="button" class="quiet" onClick={() => set(NOTHING)}>Show all sessions</button>}
      </p>
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
