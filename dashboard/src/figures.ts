// Figures: what the rows that are left add up to, by the rules of `agentlogs report`.

import type { Data } from "./data";
import { hourOfWeek, nextPeriod, periodOf, type Left, type Measure, type Period, type Series } from "./filters";

/** Dollars of what stands in billionths. */
export const usd = (nano: number) => nano / 1e9;

/** Sums over rows of the ledger. NaN where nothing is known. */
export interface Sums {
  cost: number;
  tokens: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  unpriced: number;
  turns: number;
  sessions: number;
}

const nothing = (): Sums => ({
  cost: NaN, tokens: NaN, input: NaN, output: NaN, cacheRead: NaN, cacheWrite: NaN, unpriced: 0, turns: 0, sessions: 0,
});

/** The sum of what is known. */
export const plus = (sum: number, value: number) => (value === value ? (sum === sum ? sum + value : value) : sum);

/** The part of the prompts that was read from a cache. */
export function cacheHitRate(it: Sums): number {
  const known = (value: number) => (value === value ? value : 0);
  const prompt = known(it.input) + known(it.cacheRead) + known(it.cacheWrite);
  return prompt > 0 ? it.cacheRead / prompt : NaN;
}

/** Sums by a key of each row; keys below 0 are left out. Rows stand in the order of sessions, so that each counts once. */
export function sumsBy(data: Data, left: Left, keys: number, keyOf: (row: number) => number): Sums[] {
  const { turns } = data;
  const out: Sums[] = [];
  const last = new Int32Array(keys).fill(-1);
  for (const row of left.turns) {
    const key = keyOf(row);
    if (!(key >= 0)) continue;
    const sum = (out[key] ??= nothing());
    sum.cost = plus(sum.cost, turns.cost[row]);
    sum.tokens = plus(sum.tokens, turns.total_tokens[row]);
    sum.input = plus(sum.input, turns.input_tokens[row]);
    sum.output = plus(sum.output, turns.output_tokens[row]);
    sum.cacheRead = plus(sum.cacheRead, turns.cache_read_tokens[row]);
    sum.cacheWrite = plus(sum.cacheWrite, turns.cache_write_tokens[row]);
    sum.unpriced = plus(sum.unpriced, turns.unpriced_tokens[row]);
    sum.turns = plus(sum.turns, turns.turns[row]);
    const session = turns.session[row];
    if (last[key] !== session) {
      last[key] = session;
      sum.sessions++;
    }
  }
  return out;
}

export function total(data: Data, left: Left): Sums {
  return sumsBy(data, left, 1, () => 0)[0] ?? nothing();
}

/** The place of each row's word in a dimension. */
export function seriesOf(data: Data, by: Series): (row: number) => number {
  const { turns, sessions, groups } = data;
  if (by === "model") return (row) => turns.model[row];
  const column = groups[by];
  return (row) => column[sessions.group[turns.session[row]]];
}

export function measured(it: Sums | undefined, measure: Measure): number {
  if (!it) return 0;
  return measure === "cost" ? usd(it.cost) : it[measure];
}

/** Sums of each period, of each series in it. */
export interface OverTime {
  /** First days of the periods, without a gap. */
  starts: number[];
  /** Sums of all series. */
  totals: (Sums | undefined)[];
  /** By the series' place, then by period. */
  series: Map<number, (Sums | undefined)[]>;
  /** What has no time. */
  timeless: Sums | undefined;
}

export function overTime(data: Data, left: Left, by: Series, per: Period): OverTime {
  const { turns } = data;
  const days = new Map<number, number>();
  let [low, high] = [Infinity, -Infinity];
  for (const row of left.turns) {
    const day = turns.day[row];
    if (day < low) low = day;
    if (day > high) high = day;
  }
  const starts: number[] = [];
  if (low <= high) for (let it = periodOf(low, per); it <= high; it = nextPeriod(it, per)) starts.push(it);
  const places = new Map(starts.map((it, at) => [it, at]));
  const periodAt = (row: number) => {
    const day = turns.day[row];
    if (day !== day) return -1;
    let place = days.get(day);
    if (place === undefined) days.set(day, (place = places.get(periodOf(day, per)) ?? -1));
    return place;
  };
  const periods = starts.length;
  const seriesAt = seriesOf(data, by);
  const width = data.words[by].list.length + 1;
  const series = new Map<number, (Sums | undefined)[]>();
  sumsBy(data, left, periods * width, (row) => {
    const period = periodAt(row);
    return period < 0 ? -1 : seriesAt(row) * periods + period;
  }).forEach((sums, key) => {
    const place = Math.floor(key / periods);
    let own = series.get(place);
    if (!own) series.set(place, (own = new Array<Sums | undefined>(periods).fill(undefined)));
    own[key % periods] = sums;
  });
  const sums = sumsBy(data, left, periods, periodAt);
  const totals = starts.map((_, at): Sums | undefined => sums[at]);
  const timeless = sumsBy(data, left, 1, (row) => (turns.day[row] === turns.day[row] ? -1 : 0))[0];
  return { starts, totals, series, timeless };
}

export interface ToolSums {
  tool: number;
  calls: number;
  errors: number;
  denied: number;
  incomplete: number;
  timed: number;
  duration: number;
  results: number;
}

export function byTool(data: Data, left: Left): ToolSums[] {
  const { tools } = data;
  const out: ToolSums[] = [];
  for (const row of left.tools) {
    const tool = tools.tool[row];
    const sum = (out[tool] ??= { tool, calls: 0, errors: 0, denied: 0, incomplete: 0, timed: 0, duration: NaN, results: NaN });
    sum.calls += tools.rows[row];
    sum.errors += tools.error[row];
    sum.denied += tools.denied[row];
    sum.incomplete += tools.incomplete[row];
    sum.timed += tools.duration_ms_known[row];
    sum.duration = plus(sum.duration, tools.duration_ms[row]);
    sum.results = plus(sum.results, tools.result_bytes[row]);
  }
  return out.filter(() => true).sort((a, b) => b.calls - a.calls || a.tool - b.tool);
}

export interface TroubleSums {
  kind: number;
  code: number;
  events: number;
}

export function byTrouble(data: Data, left: Left): TroubleSums[] {
  const { troubles } = data;
  const out = new Map<number, TroubleSums>();
  const width = data.words.code.list.length + 1;
  for (const row of left.troubles) {
    const [kind, code] = [troubles.kind[row], troubles.code[row]];
    const key = kind * width + code;
    const sum = out.get(key) ?? { kind, code, events: 0 };
    sum.events += troubles.rows[row];
    out.set(key, sum);
  }
  return [...out.values()].sort((a, b) => b.events - a.events || a.kind - b.kind || a.code - b.code);
}

/** How many of the sessions that are left have each word of a column. */
export function countBy(left: Left, placeOf: (session: number) => number): Map<number, number> {
  const out = new Map<number, number>();
  for (const session of left.sessions) {
    const place = placeOf(session);
    out.set(place, (out.get(place) ?? 0) + 1);
  }
  return out;
}

/** Sorted once for what is left. */
const sorted = new WeakMap<Left, Map<Float64Array, Float64Array>>();

/** The values that are known, from the smallest to the largest. */
export function known(left: Left, column: Float64Array): Float64Array {
  const columns = sorted.get(left) ?? new Map<Float64Array, Float64Array>();
  sorted.set(left, columns);
  const values = columns.get(column) ?? sortedOf(left, column);
  columns.set(column, values);
  return values;
}

function sortedOf(left: Left, column: Float64Array): Float64Array {
  const values = new Float64Array(left.sessions.length);
  let size = 0;
  for (const session of left.sessions) if (column[session] === column[session]) values[size++] = column[session];
  return values.subarray(0, size).sort();
}

/** The value of sorted ones that this part does not exceed: the nearest, as reports have it. */
export function quantile(sorted: Float64Array, part: number): number {
  return sorted.length > 0 ? sorted[Math.round((sorted.length - 1) * part)] : NaN;
}

export interface Outcome {
  sessions: number;
  success: number;
  successRate: number;
}

export function outcome(data: Data, left: Left): Outcome {
  const statuses = data.words.status.list;
  const counts = countBy(left, (it) => data.groups.status[data.sessions.group[it]]);
  const of = (status: string) => counts.get(statuses.indexOf(status)) ?? 0;
  const ended = left.sessions.length - of("unknown");
  return { sessions: left.sessions.length, success: of("success"), successRate: ended > 0 ? of("success") / ended : NaN };
}

/** Sums of sessions by the local hour of the week at which they began. */
export function byHour(data: Data, left: Left, measure: Measure): Float64Array {
  const { sessions } = data;
  const out = new Float64Array(168).fill(NaN);
  for (const session of left.sessions) {
    const started = sessions.started[session];
    if (started !== started) continue;
    const hour = hourOfWeek(started);
    const value =
      measure === "cost" ? usd(sessions.cost[session])
      : measure === "tokens" ? sessions.tokens[session]
      : measure === "turns" ? sessions.turns[session]
      : 1;
    out[hour] = plus(out[hour], value);
  }
  return out;
}

/** Bins of 1, 2 and 5 times powers of ten. */
export interface Bins {
  /** Lower edges; the first bin is what is below the second edge. */
  edges: number[];
  counts: number[];
  zero: number;
  unknown: number;
}

export function bins(data: Data, left: Left): Bins {
  const sorted = known(left, data.sessions.cost);
  const unknown = left.sessions.length - sorted.length;
  let zero = 0;
  while (zero < sorted.length && sorted[zero] <= 0) zero++;
  const edges: number[] = [];
  const counts: number[] = [];
  if (zero < sorted.length) {
    const steps = [1, 2, 5];
    const first = Math.max(Math.floor(Math.log10(usd(sorted[Math.min(sorted.length - 1, zero + Math.floor((sorted.length - zero) / 200))]))), -6);
    const edge = (at: number) => steps[((at % 3) + 3) % 3] * 10 ** Math.floor(at / 3);
    const high = usd(sorted[sorted.length - 1]);
    for (let at = first * 3; edges.length === 0 || edge(at) <= high; at++) edges.push(Number(edge(at).toPrecision(1)));
    counts.push(...edges.map(() => 0));
    let bin = 0;
    for (let at = zero; at < sorted.length; at++) {
      const value = usd(sorted[at]);
      while (bin + 1 < edges.length && value >= edges[bin + 1]) bin++;
      counts[bin]++;
    }
  }
  return { edges, counts, zero, unknown };
}

/** How many times the median a session costs that stands out, and how many of a hundred may. */
export const FAR = 10;
export const FEW = 5;

/** Sessions that cost far more than others, the dearest first. */
export function runaways(data: Data, left: Left): { above: number; sessions: number[] } {
  const sorted = known(left, data.sessions.cost);
  const above = Math.max(FAR * quantile(sorted, 0.5), 1);
  const sessions = Array.from(left.sessions.filter((it) => data.sessions.cost[it] >= above));
  sessions.sort((a, b) => data.sessions.cost[b] - data.sessions.cost[a]);
  return { above, sessions: sessions.slice(0, Math.ceil((sorted.length * FEW) / 100)) };
}
