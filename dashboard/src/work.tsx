// How agents work, and what is wasted: sums over sessions, by the rules of `agentlogs report behavior` and `report waste`.

import { useMemo } from "preact/hooks";
import { COLORS } from "./charts";
import { plus, word, type Data } from "./data";
import { usd } from "./figures";
import type { Left, Series } from "./filters";
import * as format from "./format";
import { Panel, type PanelProps } from "./panels";
import { CsvButton, DataTable, type Column } from "./table";
import { inWords } from "./words";

/** The causes whose amounts follow from billed tokens and prices; docs/waste.md lists them. */
const EXACT = ["retry", "cache_model_switch", "cache_expired", "cache_prefix_changed", "cache_missed", "premium_context"];

/** The cause that is in no total: a result in the context may be needed. docs/waste.md defines it. */
const CARRIED = "output_carried";

interface Wasted {
  index: number;
  waste: number;
  cases: number;
}

/** Sums of waste, the largest first. */
function wasted(data: Data, rows: Iterable<number>, indexOf: (row: number) => number): Wasted[] {
  const found = new Map<number, Wasted>();
  for (const row of rows) {
    const index = indexOf(row);
    let it = found.get(index);
    if (!it) found.set(index, (it = { index, waste: 0, cases: 0 }));
    it.waste += data.waste.waste[row];
    it.cases += data.waste.cases[row];
  }
  return [...found.values()].sort((a, b) => b.waste - a.waste || a.index - b.index);
}

/** The known cost of sessions, by their index in a dimension. */
function costs(data: Data, left: Left, by: Series): Map<number, number> {
  const out = new Map<number, number>();
  for (const at of left.sessions) {
    const index = data.groups[by][data.sessions.group[at]];
    out.set(index, plus(out.get(index) ?? NaN, data.sessions.cost[at]));
  }
  return out;
}

export function Waste({ data, left, state }: PanelProps) {
  const { by } = state;
  const causes = useMemo(() => wasted(data, left.waste, (row) => data.waste.cause[row]), [left]);
  const series = useMemo(() => {
    const rows = [...left.waste].filter((row) => word(data, "cause", data.waste.cause[row]) !== CARRIED);
    return wasted(data, rows, (row) => data.groups[by][data.waste.group[row]]);
  }, [left, by]);
  const cost = useMemo(() => costs(data, left, by), [left, by]);
  const all = [...cost.values()].reduce(plus, NaN);
  const sum = causes.reduce((sum, it) => sum + it.waste, 0);
  const share = (waste: number, of: number | undefined) => (of !== undefined && of > 0 ? waste / of : NaN);
  const amounts = (of: (it: Wasted) => number | undefined): Column<Wasted>[] => [
    { title: "Waste", name: "waste_usd", value: (it) => usd(it.waste), text: (it) => format.money(usd(it.waste)), bar: (it) => it.waste / sum, color: () => COLORS[5] },
    { title: "Of cost", name: "waste_share", value: (it) => share(it.waste, of(it)), text: (it) => format.percent(share(it.waste, of(it))) },
    { title: "Cases", name: "cases", value: (it) => it.cases },
  ];
  const causeColumns: Column<Wasted>[] = [
    { title: "Cause", name: "cause", value: (it) => word(data, "cause", it.index), text: (it) => inWords(word(data, "cause", it.index)) },
    ...amounts(() => all),
    { title: "Basis", name: "basis", value: (it) => (EXACT.includes(word(data, "cause", it.index) ?? "") ? "exact" : "estimate") },
  ];
  const seriesColumns: Column<Wasted>[] = [{ title: by, name: by, value: (it) => word(data, by, it.index) }, ...amounts((it) => cost.get(it.index))];
  return (
    <Panel
      id="waste"
      title="Waste"
      unit="US dollars by cause; each dollar has one cause at most"
      note="Of the cost of the sessions. Estimates need an assumption, see docs/waste.md; results carried in the context are in no total, as they may be needed; causes that no log shows are not listed. agentlogs report waste --top 3 names the sessions and lines."
      controls={<CsvButton name="waste" columns={causeColumns} rows={() => causes} />}
    >
      {causes.length === 0 ? <p class="unknown">No known waste</p> : (
        <div class="pair">
          <DataTable name="waste" caption="Waste by cause" columns={causeColumns} rows={causes} />
          <DataTable name="waste-of" caption={`Waste by ${by}`} columns={seriesColumns} rows={series} />
        </div>
      )}
    </Panel>
  );
}

const SUMS = [
  "known_calls", "explore_calls", "edit_calls", "verify_calls", "repeated_calls", "verifiable_sessions", "verified_sessions", "test_runs",
  "known_test_runs", "failed_test_runs", "model_time_ms", "tool_time_ms", "waiting_time_ms",
] as const;
type Sums = Record<(typeof SUMS)[number], number> & { index: number; sessions: number };

function byBehavior(data: Data, left: Left, by: Series): Sums[] {
  const { behavior, groups, sessions } = data;
  const found = new Map<number, Sums>();
  const sums = (index: number) => {
    let it = found.get(index);
    if (!it) found.set(index, (it = Object.assign({ index, sessions: 0 }, ...SUMS.map((name) => ({ [name]: NaN }))) as Sums));
    return it;
  };
  for (const at of left.sessions) sums(groups[by][sessions.group[at]]).sessions++;
  for (const row of left.behavior) {
    const it = sums(groups[by][behavior.group[row]]);
    for (const name of SUMS) it[name] = plus(it[name], behavior[name][row]);
  }
  return [...found.values()].sort((a, b) => b.sessions - a.sessions || a.index - b.index);
}

export function Behavior({ data, left, state }: PanelProps) {
  const { by } = state;
  const rows = useMemo(() => byBehavior(data, left, by), [left, by]);
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : NaN);
  const rate = (title: string, name: string, of: (it: Sums) => number, color: string): Column<Sums> => ({
    title, name, value: of, text: (it) => format.percent(of(it)), bar: of, color: () => color,
  });
  const time = (it: Sums) => it.model_time_ms + it.tool_time_ms + it.waiting_time_ms;
  // Sessions without a run have 0 failed ones, which must not hide that no result of the others is known.
  const failedTests = (it: Sums) => (it.test_runs > 0 && !(it.known_test_runs > 0) ? NaN : it.failed_test_runs);
  const columns: Column<Sums>[] = [
    { title: by, name: by, value: (it) => word(data, by, it.index) },
    { title: "Sessions", name: "sessions", value: (it) => it.sessions },
    rate("Explore", "explore_share", (it) => share(it.explore_calls, it.known_calls), COLORS[0]),
    rate("Edit", "edit_share", (it) => share(it.edit_calls, it.known_calls), COLORS[1]),
    rate("Verify", "verify_share", (it) => share(it.verify_calls, it.known_calls), COLORS[2]),
    rate("Verified", "verified_rate", (it) => share(it.verified_sessions, it.verifiable_sessions), COLORS[2]),
    { title: "Repeated", name: "repeated_calls", value: (it) => it.repeated_calls },
    { title: "Tests", name: "test_runs", value: (it) => it.test_runs },
    { title: "Failed tests", name: "failed_test_runs", value: failedTests },
    { title: "Model", name: "model_time_share", value: (it) => share(it.model_time_ms, time(it)), text: (it) => format.percent(share(it.model_time_ms, time(it))) },
    { title: "Tools", name: "tool_time_share", value: (it) => share(it.tool_time_ms, time(it)), text: (it) => format.percent(share(it.tool_time_ms, time(it))) },
    { title: "Waiting", name: "waiting_time_share", value: (it) => share(it.waiting_time_ms, time(it)), text: (it) => format.percent(share(it.waiting_time_ms, time(it))) },
  ];
  return (
    <Panel
      id="behavior"
      title="Behavior"
      unit={`how agents work, by ${by}`}
      note="Shares of the calls that read or search, change files, and run tests, builds or linters; sessions with edits whose last edit was verified; calls repeated without an edit in between; and where the time went. docs/behavior.md defines the columns."
      controls={<CsvButton name={`behavior-by-${by}`} columns={columns} rows={() => rows} />}
    >
      <DataTable name="behavior" caption={`Behavior by ${by}`} columns={columns} rows={rows} />
    </Panel>
  );
}
