// Figures: what the rows that are left add up to, by the rules of `agentlogs report`.

import { plus, UNKNOWN_HOUR, type Data } from "./data";
import { nextPeriod, periodOf, type Left, type Measure, type Period, type Series } from "./filters";

/** Dollars of billionths of a dollar. */
export const usd = (nano: number) => nano / 1e9;

/** Sums over rows of the ledger. NaN where nothing is known. */
export interface Sums {
  cost: number;
  tokens: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** Of rows whose cache reads are known. */
  prompt: number;
  unpriced: number;
  turns: number;
  sessions: number;
}

const nothing = (): Sums => ({
  cost: NaN, tokens: NaN, input: NaN, output: NaN, cacheRead: NaN, cacheWrite: NaN, prompt: NaN, unpriced: 0, turns: NaN, sessions: 0,
});

/** The part of the prompts that was read from a cache, of those for which it is known. */
export const cacheHitRate = (it: Sums): number => (it.prompt > 0 ? it.cacheRead / it.prompt : NaN);

/** For each row, its index in a column. */
function picked(column: Int32Array, rows: Int32Array): Int32Array {
  const out = new Int32Array(rows.length);
  for (let at = 0; at < rows.length; at++) out[at] = column[rows[at]];
  return out;
}

/** Sums of what is known of a column, by a key of each row. */
function added(column: Float64Array, rows: Int32Array, keys: Int32Array, size: number): Float64Array {
  const out = new Float64Array(size).fill(NaN);
  for (let at = 0; at < rows.length; at++) {
    const key = keys[at];
    out[key] = plus(out[key], column[rows[at]]);
  }
  return out;
}

/** Counts each session once by each key that it has rows of. Rows are in the order of sessions. */
class SessionCounts {
  readonly counts: Int32Array;
  private readonly last: Int32Array;

  constructor(size: number) {
    this.counts = new Int32Array(size);
    this.last = new Int32Array(size).fill(-1);
  }

  add(key: number, session: number) {
    if (this.last[key] === session) return;
    this.last[key] = session;
    this.counts[key]++;
  }
}

/** Sums of sums; a session may be in several of them, and is counted apart. */
function folded(sums: Map<number, Sums>, keyOf: (key: number) => number, sessions: SessionCounts): Map<number, Sums> {
  const out = new Map<number, Sums>();
  for (const [from, it] of sums) {
    const key = keyOf(from);
    let sum = out.get(key);
    if (!sum) out.set(key, (sum = { ...nothing(), sessions: sessions.counts[key] }));
    sum.cost = plus(sum.cost, it.cost);
    sum.tokens = plus(sum.tokens, it.tokens);
    sum.input = plus(sum.input, it.input);
    sum.output = plus(sum.output, it.output);
    sum.cacheRead = plus(sum.cacheRead, it.cacheRead);
    sum.cacheWrite = plus(sum.cacheWrite, it.cacheWrite);
    sum.prompt = plus(sum.prompt, it.prompt);
    sum.unpriced += it.unpriced;
    sum.turns = plus(sum.turns, it.turns);
  }
  return out;
}

/** Index of each row's value in a dimension. */
function seriesOf(data: Data, rows: Int32Array, by: Series): Int32Array {
  const { turns, groups } = data;
  return by === "model" ? picked(turns.model, rows) : picked(groups[by], picked(turns.group, rows));
}

export function measured(it: Sums | undefined, measure: Measure): number {
  if (!it) return 0;
  return measure === "cost" ? usd(it.cost) : it[measure];
}

/** What the ledger's rows add up to. */
export interface Ledger {
  total: Sums;
  /** First days of the periods, without a gap. */
  starts: number[];
  /** Sums of each period, of all series. */
  periods: (Sums | undefined)[];
  /** By the index of the series, then by period. */
  series: Map<number, (Sums | undefined)[]>;
  /** By the index of the series, including rows without a time. */
  bySeries: Map<number, Sums>;
  /** The sum of rows without a time. */
  timeless: Sums | undefined;
  /** By the series' index: whether the log of one of its sessions omits tokens or has no end. */
  isLowerBound: Uint8Array;
}

/** The first days of the periods between two days, without a gap. */
export function startsOf(low: number, high: number, per: Period, daysBeforeMonday: number): number[] {
  const out: number[] = [];
  if (low <= high) for (let it = periodOf(low, per, daysBeforeMonday); it <= high; it = nextPeriod(it, per)) out.push(it);
  return out;
}

export function ledger(data: Data, rows: Int32Array, by: Series, per: Period): Ledger {
  const { turns } = data;
  const { day, session } = turns;
  let [low, high] = [Infinity, -Infinity];
  for (let at = 0; at < rows.length; at++) {
    const it = day[rows[at]];
    if (it < low) low = it;
    if (it > high) high = it;
  }
  const starts = startsOf(low, high, per, data.daysBeforeMonday);
  const periodOfDay = new Int32Array(low <= high ? high - low + 1 : 0);
  starts.forEach((start, at) => periodOfDay.fill(at, Math.max(start - low, 0), (starts[at + 1] ?? Infinity) - low));
  // The last index is for rows without a time.
  const width = starts.length + 1;
  const series = seriesOf(data, rows, by);
  const length = data.words[by].list.length + 1;
  // Most series have no rows in most periods: only cells with rows are stored.
  const indexes = new Int32Array(length * width).fill(-1);
  const found: number[] = [];
  const cells = new Int32Array(rows.length);
  const isLowerBound = new Uint8Array(length);
  const lower = data.words.usage.list.indexOf("lower_bound");
  const { usage } = data.sessions;
  const [inCell, inPeriod, inSeries, inAll] = [rows.length, width, length, 1].map((size) => new SessionCounts(size));
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at];
    const it = day[row];
    const period = Number.isNaN(it) ? starts.length : periodOfDay[it - low];
    const key = series[at] * width + period;
    if (indexes[key] < 0) indexes[key] = found.push(key) - 1;
    cells[at] = indexes[key];
    inCell.add(indexes[key], session[row]);
    inPeriod.add(period, session[row]);
    inSeries.add(series[at], session[row]);
    inAll.add(0, session[row]);
    if (usage[session[row]] === lower) isLowerBound[series[at]] = 1;
  }
  const add = (column: Float64Array) => added(column, rows, cells, found.length);
  const [cost, tokens, input, output] = [turns.cost, turns.total_tokens, turns.input_tokens, turns.output_tokens].map(add);
  const [cacheRead, cacheWrite, prompt] = [turns.cache_read_tokens, turns.cache_write_tokens, turns.prompt_tokens].map(add);
  const [unpriced, responses] = [turns.unpriced_tokens, turns.turns].map(add);
  const sums = new Map(found.map((key, at) => [key, {
    cost: cost[at], tokens: tokens[at], input: input[at], output: output[at], cacheRead: cacheRead[at], cacheWrite: cacheWrite[at],
    prompt: prompt[at], unpriced: unpriced[at] || 0, turns: responses[at], sessions: inCell.counts[at],
  }]));
  const ofSeries = new Map<number, (Sums | undefined)[]>();
  for (const [key, it] of sums) {
    const [index, period] = [Math.floor(key / width), key % width];
    let own = ofSeries.get(index);
    if (!own) ofSeries.set(index, (own = new Array<Sums | undefined>(starts.length).fill(undefined)));
    if (period < starts.length) own[period] = it;
  }
  const byPeriod = folded(sums, (key) => key % width, inPeriod);
  return {
    total: folded(sums, () => 0, inAll).get(0) ?? nothing(),
    starts,
    periods: starts.map((_, at) => byPeriod.get(at)),
    series: ofSeries,
    bySeries: folded(sums, (key) => Math.floor(key / width), inSeries),
    timeless: byPeriod.get(starts.length),
    isLowerBound,
  };
}

/** The first and the last day of what is left. */
export function daysOf(data: Data, left: Left): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const [days, rows] of [[data.turns.day, left.turns], [data.sessions.day, left.sessions]] as const) {
    for (let at = 0; at < rows.length; at++) {
      const day = days[rows[at]];
      if (day < low) low = day;
      if (day > high) high = day;
    }
  }
  return low <= high ? [low, high] : null;
}

/** The series of all there is, the most expensive first. */
export function ranked(data: Data, by: Series): number[] {
  const all = Int32Array.from({ length: data.turns.length }, (_, at) => at);
  const sums = [...ledger(data, all, by, "month").bySeries];
  sums.sort(([a, x], [b, y]) => (y.cost || 0) - (x.cost || 0) || (y.tokens || 0) - (x.tokens || 0) || a - b);
  return sums.map(([index]) => index);
}

/** Tokens that no cost covers, by model, of models that have such. */
export function unpriced(data: Data, left: Left): { index: number; tokens: number }[] {
  const { turns, words } = data;
  const tokens = added(turns.unpriced_tokens, left.turns, picked(turns.model, left.turns), words.model.list.length + 1);
  const out = Array.from(tokens, (tokens, index) => ({ index, tokens })).filter((it) => it.tokens > 0);
  return out.sort((a, b) => b.tokens - a.tokens);
}

/** The part of the calls with a result that failed. */
export const errorRate = (errors: number, withResult: number): number => (withResult > 0 ? errors / withResult : NaN);

export interface ToolSums {
  tool: number;
  calls: number;
  /** NaN if no call has a result. */
  errors: number;
  denied: number;
  incomplete: number;
  timed: number;
  duration: number;
  results: number;
}

export function byTool(data: Data, left: Left): ToolSums[] {
  const { tools, words } = data;
  const keys = picked(tools.tool, left.tools);
  const add = (column: Float64Array) => added(column, left.tools, keys, words.tool.list.length + 1);
  const [calls, errors, denied, incomplete] = [tools.rows, tools.error, tools.denied, tools.incomplete].map(add);
  const [timed, duration, results] = [tools.duration_ms_known, tools.duration_ms, tools.result_bytes].map(add);
  const out = Array.from(calls, (calls, tool) => ({
    tool, calls, errors: errors[tool], denied: denied[tool], incomplete: incomplete[tool], timed: timed[tool], duration: duration[tool],
    results: results[tool],
  }));
  return out.filter((it) => it.calls > 0).sort((a, b) => b.calls - a.calls || a.tool - b.tool);
}

export interface SkillSums {
  skill: number;
  cost: number;
  tokens: number;
  turns: number;
  calls: number;
}

/** The responses for which each skill was in effect, the most expensive first. */
export function bySkill(data: Data, left: Left): SkillSums[] {
  const { skills, words } = data;
  const keys = picked(skills.skill, left.skills);
  const add = (column: Float64Array) => added(column, left.skills, keys, words.skill.list.length + 1);
  const [cost, tokens, turns, calls] = [skills.cost, skills.total_tokens, skills.turns, skills.tool_calls].map(add);
  const out = Array.from(turns, (turns, skill) => ({ skill, cost: cost[skill], tokens: tokens[skill], turns, calls: calls[skill] }));
  return out.filter((it) => it.turns > 0).sort((a, b) => (b.cost || 0) - (a.cost || 0) || a.skill - b.skill);
}

export interface TroubleSums {
  kind: number;
  code: number;
  problems: number;
}

export function byTrouble(data: Data, left: Left): TroubleSums[] {
  const { troubles } = data;
  const out = new Map<number, TroubleSums>();
  const width = data.words.code.list.length + 1;
  for (const row of left.troubles) {
    const [kind, code] = [troubles.kind[row], troubles.code[row]];
    const key = kind * width + code;
    const sum = out.get(key) ?? { kind, code, problems: 0 };
    sum.problems += troubles.rows[row];
    out.set(key, sum);
  }
  return [...out.values()].sort((a, b) => b.problems - a.problems || a.kind - b.kind || a.code - b.code);
}

/** A word's index, and how many sessions have it. */
export interface Count {
  index: number;
  count: number;
}

/** How many of the sessions that are left have each word of a column, the most frequent first. */
export function countBy(left: Left, column: Int32Array): Count[] {
  const counts: number[] = [];
  for (const session of left.sessions) counts[column[session]] = (counts[column[session]] ?? 0) + 1;
  const out: Count[] = [];
  counts.forEach((count, index) => out.push({ index, count }));
  return out.sort((a, b) => b.count - a.count);
}

/** Those of these sessions that are left, in their order. */
export function kept(sessions: Int32Array, left: Left): Int32Array {
  const out = new Int32Array(sessions.length);
  let size = 0;
  for (let at = 0; at < sessions.length; at++) if (left.isLeft[sessions[at]]) out[size++] = sessions[at];
  return out.subarray(0, size);
}

/** The sessions that are left and whose cost is known, the cheapest first. */
export function byCost(data: Data, left: Left): Int32Array {
  return kept(data.byCost, left);
}

/** The cost that this part of sorted sessions does not exceed: the nearest, as reports have it. */
export function quantile(data: Data, sorted: Int32Array, part: number): number {
  return sorted.length > 0 ? data.sessions.cost[sorted[Math.round((sorted.length - 1) * part)]] : NaN;
}

/** How many sessions ended cleanly, and how many have a known status. Whether a task is solved is in verdicts. */
export function cleanEnds(data: Data, statuses: Count[]): { clean: number; known: number } {
  const words = data.words.status.list;
  const of = (status: string) => statuses.find((it) => words[it.index] === status)?.count ?? 0;
  return { clean: of("success"), known: statuses.reduce((sum, it) => sum + it.count, 0) - of("unknown") };
}

/** Of the sessions that are left: how many there are, and of how many the tokens are a lower bound. */
export function lowerBounds(data: Data, left: Left): { sessions: number; lower: number } {
  const index = data.words.usage.list.indexOf("lower_bound");
  const lower = countBy(left, data.sessions.usage).find((it) => it.index === index)?.count ?? 0;
  return { sessions: left.sessions.length, lower };
}

/** Sums of sessions by the local hour of the week at which they began. */
export function byHour(data: Data, left: Left, measure: Measure): Float64Array {
  const { sessions } = data;
  const hours = picked(sessions.hour, left.sessions);
  const add = (column: Float64Array) => added(column, left.sessions, hours, UNKNOWN_HOUR + 1).subarray(0, UNKNOWN_HOUR);
  if (measure === "sessions") return add(new Float64Array(sessions.length).fill(1));
  return measure === "cost" ? add(sessions.cost).map(usd) : add(sessions[measure]);
}

/** Bins of 1, 2 and 5 times powers of ten. */
export interface Bins {
  /** Lower edges; the first bin is what is below the second edge. */
  edges: number[];
  counts: number[];
  zero: number;
}

/** Bins of sorted sessions. */
export function bins(data: Data, sorted: Int32Array): Bins {
  const { cost } = data.sessions;
  let zero = 0;
  while (zero < sorted.length && cost[sorted[zero]] <= 0) zero++;
  const edges: number[] = [];
  const counts: number[] = [];
  if (zero < sorted.length) {
    const steps = [1, 2, 5];
    const first = Math.max(Math.floor(Math.log10(usd(cost[sorted[Math.min(sorted.length - 1, zero + Math.floor((sorted.length - zero) / 200))]]))), -6);
    const edge = (at: number) => steps[((at % 3) + 3) % 3] * 10 ** Math.floor(at / 3);
    const high = usd(cost[sorted[sorted.length - 1]]);
    for (let at = first * 3; edges.length === 0 || edge(at) <= high; at++) edges.push(Number(edge(at).toPrecision(1)));
    counts.push(...edges.map(() => 0));
    let bin = 0;
    for (let at = zero; at < sorted.length; at++) {
      const value = usd(cost[sorted[at]]);
      while (bin + 1 < edges.length && value >= edges[bin + 1]) bin++;
      counts[bin]++;
    }
  }
  return { edges, counts, zero };
}

/** A session is an outlier if it costs so many times the median, and is among so many of a hundred. */
export const FAR = 10;
export const FEW = 5;

/** Sorted sessions that cost far more than the others, the most expensive first. */
export function runaways(data: Data, sorted: Int32Array): { above: number; sessions: number[] } {
  const above = Math.max(FAR * quantile(data, sorted, 0.5), 1);
  const mostExpensive = Array.from(sorted.subarray(sorted.length - Math.ceil((sorted.length * FEW) / 100))).reverse();
  return { above, sessions: mostExpensive.filter((it) => data.sessions.cost[it] >= above) };
}
