// The data that `agentlogs dashboard` put into the page, unpacked. Numbers are NaN where they are unknown.

import { visible } from "./visible";

interface Words {
  list: (string | null)[];
  left_out: number;
}

type Numbers = (number | null)[];

/** Data of the page that is used as it is. */
interface About {
  version: string;
  timezone: string;
  cost: string;
  filters: string[];
  prices: string;
  words: Record<WordKind, Words>;
  labels: string[];
}

interface Packed extends About {
  made_at: string;
  days_before_monday: number;
  label_sets: number[][];
  groups: Record<string, Numbers>;
  sessions: Record<string, Numbers>;
  turns: Record<string, Numbers>;
  skills: Record<string, Numbers>;
  tools: Record<string, Numbers>;
  troubles: Record<string, Numbers>;
  waste: Record<string, Numbers>;
  behavior: Record<string, Numbers>;
  /** Only if a repository was scanned, or pull requests were imported. */
  shipped?: Record<string, Numbers>;
  timelines: Record<string, Numbers>;
  timeline_turns: Record<string, Numbers>;
  timeline_calls: Record<string, Numbers>;
  timeline_events: Record<string, Numbers>;
  health: Record<string, (number | string | null)[]>;
  left_out: LeftOut;
}

export interface LeftOut {
  unnamed_sessions: number;
  closed_sessions: number;
  timeline_rows: number;
  findings: number;
  measured: boolean;
  label_keys: string[];
}

/** The values of a key of labels. */
export type LabelKind = `label:${string}`;

export type WordKind =
  | LabelKind
  | "runtime" | "model" | "project" | "status" | "call_status" | "usage" | "error_kind" | "skill" | "tool" | "kind" | "code" | "cause" | "outcome";

/** Columns of numbers, and of indexes in other tables and lists of words, all of one length. */
export type Columns<Name extends string, Place extends string = never> =
  Record<Name, Float64Array> & Record<Place, Int32Array> & { length: number };
/** A column of texts beside them. */
export type Texts = (string | null)[];

export type Turns = Columns<
  | "day" | "cost" | "total_tokens" | "input_tokens" | "output_tokens" | "cache_read_tokens" | "cache_write_tokens"
  | "prompt_tokens" | "unpriced_tokens" | "turns",
  "session" | "group" | "model"
>;
/** The responses for which a skill was in effect. */
export type Skills = Columns<"day" | "cost" | "total_tokens" | "turns" | "tool_calls", "group" | "skill">;
export type Tools = Columns<
  "day" | "rows" | "error" | "denied" | "incomplete" | "duration_ms_known" | "duration_ms" | "result_bytes",
  "group" | "tool"
>;
export type Troubles = Columns<"day" | "rows", "group" | "kind" | "code">;
/** The waste of sessions by cause, in billionths of a dollar, at the day of their start. */
export type Waste = Columns<"day" | "waste" | "cases", "group" | "cause">;
/** Sums that behavior is measured from, at the day on which sessions start. */
export type Behavior = Columns<
  | "day" | "known_calls" | "explore_calls" | "edit_calls" | "verify_calls" | "repeated_calls" | "verifiable_sessions"
  | "verified_sessions" | "test_runs" | "known_test_runs" | "failed_test_runs" | "model_time_ms" | "tool_time_ms"
  | "waiting_time_ms",
  "group"
>;
/** The cost of sessions by what became of it, at the day on which they start; of a merged pull request with a number of its own in the page. */
export type Shipped = Columns<"day" | "pull_request" | "cost", "group" | "outcome">;
export type Groups = Columns<never, LabelKind | "runtime" | "model" | "project" | "status" | "labels">;
export type Sessions = Columns<
  | "started" | "duration_ms" | "turns" | "tool_calls" | "tool_errors" | "compactions" | "retries" | "subagents" | "cost"
  | "tokens" | "day" | "descendants" | "missing_descendants" | "inclusive_cost" | "trial_outcome" | "trial_cost",
  "group" | "listed" | "status" | "usage" | "error_kind" | "hour" | "id_length"
> & { id: Texts; error_message: Texts };
export type TimelineTurns = Columns<
  "at" | "cost" | "turn" | "context_tokens" | "output_tokens" | "total_tokens" | "duration_ms" | "is_subagent", "model"
> & { agent: Texts };
export type TimelineCalls = Columns<"at" | "turn" | "duration_ms" | "result_bytes" | "is_subagent", "tool" | "status"> & {
  target: Texts;
};
export type TimelineEvents = Columns<"at" | "turn" | "tokens_before" | "tokens_after" | "is_subagent", "kind" | "code"> & {
  message: Texts;
};

/** Rows of a timeline: from and to, exclusive. */
type Span = [number, number];
export interface Timeline {
  turns: Span;
  calls: Span;
  events: Span;
  leftOut: number;
}

export interface Finding {
  finding: string;
  reason: string;
  runtime: string | null;
  format: string | null;
  unit: string;
  source_path: string;
  count: number;
  first_line: number | null;
}

export interface Data extends About {
  madeAt: string;
  /** The day on which the page was made. */
  today: number;
  /** From the start of a week to the Monday in it. */
  daysBeforeMonday: number;
  labelSets: number[][];
  /** The keys of labels, by which rows can be grouped. */
  labelKinds: LabelKind[];
  groups: Groups;
  sessions: Sessions;
  turns: Turns;
  skills: Skills;
  tools: Tools;
  troubles: Troubles;
  waste: Waste;
  behavior: Behavior;
  shipped: Shipped;
  timelines: Map<number, Timeline>;
  timelineTurns: TimelineTurns;
  timelineCalls: TimelineCalls;
  timelineEvents: TimelineEvents;
  health: Finding[];
  leftOut: LeftOut;
  /** Whether any session has a verdict. */
  isJudged: boolean;
  /** Whether a repository was scanned, or pull requests were imported. */
  hasHistory: boolean;
  /** The first and the last day of all there is. */
  days: [number, number] | null;
  /** Sessions whose cost is known, the cheapest first. */
  byCost: Int32Array;
  /** Sessions in the list, the newest first, then those without a time. */
  newest: Int32Array;
}

/** Replaces the sum of a session's cells, or of a cell's kinds of tokens. */
const AS_SUM = -1;
/** Replaces a number of calls with a known duration that is the number of all calls. */
const AS_ROWS = -1;
/** Minutes of a day. */
const DAY = 1440;
/** Follows the hours of the week. */
export const UNKNOWN_HOUR = 168;

/** Local hour of the week at which a session began, from Monday 0:00. */
function hourOfWeek(started: number): number {
  if (Number.isNaN(started)) return UNKNOWN_HOUR;
  // 1970 began on a Thursday.
  const hour = (Math.floor(started / 60) + 3 * 24) % 168;
  return hour < 0 ? hour + 168 : hour;
}

async function unpacked(base64: string): Promise<Packed> {
  const bytes = Uint8Array.from(atob(base64.trim()), (it) => it.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as Packed;
}

/** Numbers with NaN for what is unknown; of growing ones their sums. */
function numbers(values: Numbers, isGrowing: boolean): Float64Array {
  const out = new Float64Array(values.length);
  let sum = 0;
  for (let at = 0; at < out.length; at++) {
    const value = values[at];
    out[at] = value === null ? NaN : isGrowing ? (sum += value) : value;
  }
  return out;
}

/** Columns that are never unknown, and small. */
const PLACES = ["session", "group", "listed", "id_length", "runtime", "model", "project", "status", "labels", "usage", "error_kind", "skill", "tool", "kind", "code", "cause", "outcome"];

function columns<T>(table: Record<string, (number | string | null)[]>, growing: string[], texts: string[] = []): T {
  const out: Record<string, unknown> = { length: 0 };
  for (const [name, values] of Object.entries(table)) {
    const column = texts.includes(name) ? values : numbers(values as Numbers, growing.includes(name));
    out[name] = PLACES.includes(name) ? Int32Array.from(column as Float64Array) : column;
    out.length = values.length;
  }
  return out as T;
}

/** Whether a number is known: NaN is not. */
export const isKnown = (it: number) => !Number.isNaN(it);

/** The sum of what is known. */
export const plus = (sum: number, value: number) => (Number.isNaN(value) ? sum : Number.isNaN(sum) ? value : sum + value);

/** Sums of cells by session, of what is known. */
function sums(turns: Turns, column: Float64Array, sessions: number): Float64Array {
  const out = new Float64Array(sessions).fill(NaN);
  for (let at = 0; at < turns.length; at++) {
    const session = turns.session[at];
    out[session] = plus(out[session], column[at]);
  }
  return out;
}

/** Those of all rows for which this is so, in this order. */
function ordered(length: number, is: (at: number) => boolean, order: (a: number, b: number) => number): Int32Array {
  return Int32Array.from({ length }, (_, at) => at).filter(is).sort(order);
}

/** The first and the last of all days. */
export function extent(...columns: Float64Array[]): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns) {
    for (const it of column) {
      if (it < low) low = it;
      if (it > high) high = it;
    }
  }
  return low <= high ? [low, high] : null;
}

export function keyOf(label: string): string {
  return label.slice(0, label.indexOf("="));
}

export function valueOf(label: string): string {
  return label.slice(label.indexOf("=") + 1);
}

/** The kind of words to which the value of a label belongs. Its name is shown, so it is without control characters. */
export function labelKind(label: string): LabelKind {
  return `label:${visible(keyOf(label))}`;
}

/** Adds a kind of words for each key of labels, whose last word is that of sessions without the label. */
function addLabelKinds({ labels, label_sets, words }: Packed, groups: Groups): LabelKind[] {
  const kinds = labels.map(labelKind);
  // Of each label its place among the values of its kind.
  const places = labels.map((label, at) => {
    const { list } = (words[kinds[at]] ??= { list: [], left_out: 0 });
    return list.push(valueOf(label)) - 1;
  });
  const distinct = [...new Set(kinds)];
  for (const kind of distinct) {
    const none = words[kind].list.push(null) - 1;
    groups[kind] = new Int32Array(groups.length).fill(none);
  }
  groups.labels.forEach((set, at) => {
    for (const label of label_sets[set]) groups[kinds[label]][at] = places[label];
  });
  return distinct;
}

export async function read(base64: string): Promise<Data> {
  const packed = await unpacked(base64);
  const groups = columns<Groups>(packed.groups, []);
  const labelKinds = addLabelKinds(packed, groups);
  const turns = columns<Turns>(packed.turns, ["session", "day"]);
  for (let at = 0; at < turns.length; at++) {
    let sum = NaN;
    for (const column of [turns.input_tokens, turns.cache_read_tokens, turns.cache_write_tokens]) sum = plus(sum, column[at]);
    if (turns.prompt_tokens[at] === AS_SUM) turns.prompt_tokens[at] = sum;
    if (turns.total_tokens[at] === AS_SUM) turns.total_tokens[at] = plus(sum, turns.output_tokens[at]);
  }
  const tools = columns<Tools>(packed.tools, ["group", "day"]);
  tools.duration_ms_known = tools.duration_ms_known.map((it, at) => (it === AS_ROWS ? tools.rows[at] : it));
  const sessions = columns<Sessions>(packed.sessions, ["started"], ["id", "error_message"]);
  for (const [column, cells] of [[sessions.cost, turns.cost], [sessions.tokens, turns.total_tokens]]) {
    const sum = sums(turns, cells, sessions.length);
    for (let at = 0; at < column.length; at++) if (column[at] === AS_SUM) column[at] = sum[at];
  }
  // Pages without verdicts lack these.
  const isJudged = "trial_outcome" in packed.sessions;
  if (!isJudged) {
    sessions.trial_outcome = new Float64Array(sessions.length).fill(NaN);
    sessions.trial_cost = sessions.trial_outcome;
  }
  sessions.day = sessions.started.map((it) => Math.floor(it / DAY));
  sessions.hour = Int32Array.from(sessions.started, hourOfWeek);
  sessions.status = sessions.group.map((it) => groups.status[it]);
  turns.group = turns.session.map((it) => sessions.group[it]);
  const { cost, id } = sessions;
  const started = sessions.started.map((it) => it || 0);
  const timelines = new Map<number, Timeline>();
  const ends = { turns: 0, calls: 0, events: 0 };
  const span = (kind: "turns" | "calls" | "events", at: number): Span => {
    const start = ends[kind];
    ends[kind] += packed.timelines[kind][at] ?? 0;
    return [start, ends[kind]];
  };
  packed.timelines.session.forEach((session, at) => {
    timelines.set(session ?? -1, {
      turns: span("turns", at),
      calls: span("calls", at),
      events: span("events", at),
      leftOut: packed.timelines.left_out[at] ?? 0,
    });
  });
  const health = packed.health.finding.map((_, at) => {
    const row = Object.entries(packed.health).map(([name, values]) => [name, values[at]]);
    return Object.fromEntries(row) as Finding;
  });
  return {
    version: packed.version,
    madeAt: packed.made_at,
    today: Math.round(Date.parse(`${packed.made_at.slice(0, 10)}T00:00:00Z`) / 864e5),
    timezone: packed.timezone,
    daysBeforeMonday: packed.days_before_monday,
    cost: packed.cost,
    filters: packed.filters,
    prices: packed.prices,
    words: packed.words,
    labels: packed.labels,
    labelSets: packed.label_sets,
    labelKinds,
    groups,
    sessions,
    turns,
    skills: columns<Skills>(packed.skills, ["group", "day"]),
    tools,
    troubles: columns<Troubles>(packed.troubles, ["group", "day"]),
    waste: columns<Waste>(packed.waste, ["group", "day"]),
    behavior: columns<Behavior>(packed.behavior, ["group", "day"]),
    shipped: columns<Shipped>(packed.shipped ?? { group: [], day: [], outcome: [], pull_request: [], cost: [] }, ["group", "day"]),
    timelines,
    timelineTurns: columns<TimelineTurns>(packed.timeline_turns, ["at"], ["agent"]),
    timelineCalls: columns<TimelineCalls>(packed.timeline_calls, ["at"], ["target"]),
    timelineEvents: columns<TimelineEvents>(packed.timeline_events, ["at"], ["message"]),
    health,
    leftOut: packed.left_out,
    isJudged,
    hasHistory: packed.shipped !== undefined,
    days: extent(turns.day, sessions.day),
    byCost: ordered(sessions.length, (it) => isKnown(cost[it]), (a, b) => cost[a] - cost[b] || b - a),
    newest: ordered(sessions.length, (it) => id[it] !== null, (a, b) => started[b] - started[a] || a - b),
  };
}

/** The beginning of a session's id that `agentlogs show` takes. */
export function shortId(data: Data, session: number): string {
  return [...(data.sessions.id[session] ?? "")].slice(0, data.sessions.id_length[session]).join("");
}

/** The word of an index in a column of words; null is unknown. */
export function word(data: Data, kind: WordKind, index: number): string | null {
  const words = data.words[kind];
  return index < words.list.length ? words.list[index] : `${words.left_out} others`;
}
