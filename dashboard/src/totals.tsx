// The figures at the top: three main ones with their change against the period before, and the others.

import { useMemo } from "preact/hooks";
import { plus, type Data } from "./data";
import { cacheHitRate, cleanEnds, errorRate, lowerBounds, usd, type Count, type Sums, type ToolSums } from "./figures";
import { left, type Left, type State } from "./filters";
import * as format from "./format";
import { passRate } from "./verdicts";

/** The days of the comparison where no period is chosen. */
const USUAL = 7;

/** What is compared of a period. */
interface Compared {
  rows: number;
  cost: number;
  /** Whether the log of one of the sessions omits tokens or has no end. */
  isLowerBound: boolean;
  sessions: number;
  passRate: number;
  errors: number;
}

function compared(data: Data, rows: Left): Compared {
  let cost = NaN;
  for (const row of rows.turns) cost = plus(cost, data.turns.cost[row]);
  let [calls, errors] = [0, NaN];
  for (const row of rows.tools) {
    calls += data.tools.rows[row] - data.tools.incomplete[row];
    errors = plus(errors, data.tools.error[row]);
  }
  const count = rows.turns.length + rows.sessions.length;
  return {
    rows: count,
    cost: count === 0 ? 0 : cost,
    isLowerBound: lowerBounds(data, rows).lower > 0,
    sessions: rows.sessions.length,
    passRate: passRate(data, rows).rate,
    errors: errorRate(errors, calls),
  };
}

interface Periods {
  /** The chosen days, or the last ones. */
  days: number;
  isChosen: boolean;
  now: Compared;
  before: Compared;
}

/** The chosen period, or the last days, and the same number of days before them; none if the page cannot contain those. */
function periods(data: Data, state: State, rest: Left): Periods | null {
  if (!data.days) return null;
  const isChosen = state.since !== null;
  const until = state.until ?? data.today;
  const since = state.since ?? until - USUAL + 1;
  const days = until - since + 1;
  if (days < 1 || data.days[0] >= since || data.days[1] < since) return null;
  const now = isChosen ? compared(data, rest) : compared(data, left(data, { ...state, since, until }));
  const before = compared(data, left(data, { ...state, since: since - days, until: since - 1 }));
  return { days, isChosen, now, before };
}

/** How much a value changed: +12 %. */
function change(now: number, before: number): string {
  if (now === before) return "no change";
  if (!(before > 0) || Number.isNaN(now)) return "";
  const percent = Math.round((now / before - 1) * 100);
  return percent === 0 ? "no change" : `${percent > 0 ? "+" : "−"}${format.count(Math.abs(percent))} %`;
}

/** How much a rate changed, in points. */
function points(now: number, before: number): string {
  if (Number.isNaN(now) || Number.isNaN(before)) return "";
  const size = Math.round((now - before) * 1000) / 10;
  return size === 0 ? "no change" : `${size > 0 ? "+" : "−"}${Math.abs(size).toFixed(1)} points`;
}

export type Figure = [name: string, title: string, value: number, text: string, about: string, change?: string];

export function Totals({ data, state, left: rest, sums, statuses, tools }: { data: Data; state: State; left: Left; sums: Sums; statuses: Count[]; tools: ToolSums[] }) {
  const sessions = statuses.reduce((sum, it) => sum + it.count, 0);
  const { clean, known: ended } = cleanEnds(data, statuses);
  const cleanRate = ended > 0 ? clean / ended : NaN;
  const calls = tools.reduce((sum, it) => sum + it.calls, 0);
  const errors = tools.reduce((sum, it) => plus(sum, it.errors), NaN);
  const rate = errorRate(errors, tools.reduce((sum, it) => sum + it.calls - it.incomplete, 0));
  const hits = cacheHitRate(sums);
  const bound = useMemo(() => lowerBounds(data, rest), [rest]);
  const passed = useMemo(() => passRate(data, rest), [rest]);
  const both = useMemo(() => periods(data, state, rest), [rest]);
  // Nothing costs nothing; sessions whose cost is unknown cost an unknown amount.
  const isNothing = rest.turns.length + rest.sessions.length === 0;
  const known = (value: number) => (isNothing ? 0 : value);
  const cost = known(usd(sums.cost));
  const amount = format.money(cost);
  const aboutCost = [
    ...(bound.lower > 0 ? [`at least: the logs of ${format.count(bound.lower)} of ${format.counted(bound.sessions, "session")} omit tokens or have no end`] : []),
    ...(sums.unpriced > 0 ? [`without ${format.short(sums.unpriced)} tokens that have no cost`] : []),
  ];
  const compare = (of: (it: Compared) => number, text: (it: number, of: Compared) => string, how = change) => {
    if (!both) return "";
    const { now, before, days, isChosen } = both;
    const than = `the ${format.count(days)} days before`;
    if (before.rows === 0) return now.rows === 0 ? "" : `nothing in ${than}`;
    const changed = how(of(now), of(before));
    if (changed === "") return "";
    return isChosen ? `${changed} against ${than}` : `last ${days} days ${text(of(now), now)}, ${changed} against ${than}`;
  };
  const judged = passed.passed + passed.failed;
  const toolErrors: Figure = [
    "tool_error_rate", "Tool error rate", calls > 0 ? rate : 0, calls > 0 ? format.percent(rate) : "–", calls === 0 ? "no tool calls" : `${format.count(errors)} of ${format.count(calls)} calls failed`,
    compare((it) => it.errors, format.percent, points),
  ];
  const passRateFigure: Figure = [
    "pass_rate", "Pass rate", passed.rate, format.percent(passed.rate), `${format.count(passed.passed)} of ${format.count(judged)} judged trials passed`,
    compare((it) => it.passRate, format.percent, points),
  ];
  const main: Figure[] = [
    ["cost_usd", "Cost", cost, bound.lower > 0 ? `≥ ${amount}` : amount, aboutCost.join("; ") || "US dollars", compare((it) => usd(it.cost), (cost, of) => format.atLeast(of.isLowerBound, cost))],
    ["sessions", "Sessions", sessions, format.count(sessions), "that began in this time", compare((it) => it.sessions, format.count)],
    judged > 0 ? passRateFigure : toolErrors,
  ];
  const [tokens, turns] = [known(sums.tokens), known(sums.turns)];
  const others: Figure[] = [
    ["total_tokens", "Tokens", tokens, format.short(tokens), `${format.short(known(sums.output))} of them output`],
    ["turns", "Turns", turns, format.count(turns), "responses of models"],
    ["cache_hit_rate", "Cache hits", hits, format.percent(hits), "of the prompts' tokens"],
    ["calls", "Tool calls", calls, format.count(calls), calls > 0 ? `${format.percent(rate)} failed` : "none"],
    ...(judged > 0 ? [] : [["ended_cleanly_rate", "Ended cleanly", cleanRate, format.percent(cleanRate), `${format.count(clean)} of ${format.counted(ended, "session")}${ended < sessions ? " with a known status" : ""}`] satisfies Figure]),
  ];
  return (
    <section id="totals" aria-label="In sum">
      <dl class="totals main">{main.map((it) => <Card figure={it} />)}</dl>
      {!isNothing && <dl class="totals">{others.map((it) => <Card figure={it} />)}</dl>}
    </section>
  );
}

export function Card({ figure: [name, title, value, text, about, change] }: { figure: Figure }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{Number.isNaN(value) ? <i class="unknown" data-name={name}>{format.UNKNOWN}</i> : <data data-name={name} value={String(value)}>{text}</data>}</dd>
      {change && <dd class="note change">{change}</dd>}
      <dd class="note">{about}</dd>
    </div>
  );
}
