// What is chosen in the page: its text in the URL's fragment, and which rows it leaves.

import { keyOf, labelKind, valueOf, word, type Data, type LabelKind } from "./data";

export const DIMENSIONS = ["runtime", "model", "project", "status", "label"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export const MEASURES = ["cost", "tokens", "sessions", "turns"] as const;
export type Measure = (typeof MEASURES)[number];
const SERIES = ["model", "runtime", "project", "status"] as const;
export type Series = (typeof SERIES)[number] | LabelKind;
export const PERIODS = ["day", "week", "month"] as const;
export type Period = (typeof PERIODS)[number];

export interface State {
  /** Days since 1970, both inclusive. */
  since: number | null;
  until: number | null;
  /** Places of words or labels; an empty list leaves everything. */
  picked: Record<Dimension, number[]>;
  measure: Measure;
  by: Series;
  per: Period;
  /** What the list of sessions is searched for. */
  search: string;
  /** The session that is open. */
  session: number | null;
}

export function day(text: string | null): number | null {
  if (!text || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const time = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(time) ? null : Math.round(time / 864e5);
}

export function date(day: number): string {
  return new Date(day * 864e5).toISOString().slice(0, 10);
}

/** No filter. */
export const NOTHING = { since: null, until: null, picked: { runtime: [], model: [], project: [], status: [], label: [] } };

/** All that a dimension can be; null is unknown. */
export function choices(data: Data, dimension: Dimension): (string | null)[] {
  if (dimension === "label") return data.labels;
  const words = data.words[dimension];
  return words.left_out > 0 ? [...words.list, word(data, dimension, words.list.length)] : words.list;
}

/** By what rows can be grouped. */
export function series(data: Data): readonly Series[] {
  return [...SERIES, ...data.labelKinds];
}

/** The filter for one group alone; null for sessions without the label, which no filter leaves. */
export function only(data: Data, { picked, by }: State, index: number): Partial<State> | null {
  switch (by) {
    case "model": case "runtime": case "project": case "status":
      return { picked: { ...picked, [by]: [index] } };
  }
  const label = data.labels.findIndex((it) => labelKind(it) === by && valueOf(it) === word(data, by, index));
  if (label < 0) return null;
  const others = picked.label.filter((it) => labelKind(data.labels[it]) !== by);
  return { picked: { ...picked, label: [...others, label] } };
}

/** A session's name in the fragment. */
export function nameOf(data: Data, session: number): string {
  const runtime = word(data, "runtime", data.groups.runtime[data.sessions.group[session]]);
  return `${runtime ?? ""}/${data.sessions.id[session] ?? ""}`;
}

export function initial(data: Data): State {
  const length = data.days ? data.days[1] - data.days[0] : 0;
  return {
    since: null,
    until: null,
    picked: { runtime: [], model: [], project: [], status: [], label: [] },
    measure: "cost",
    by: "model",
    per: length > 400 ? "month" : length > 60 ? "week" : "day",
    search: "",
    session: null,
  };
}

/** A value in the fragment: `~` is unknown, and is doubled before a value that begins with it. */
const coded = (value: string | null) => (value === null ? "~" : value.startsWith("~") ? `~${value}` : value);

export function toFragment(data: Data, state: State): string {
  const usual = initial(data);
  const out = new URLSearchParams();
  if (state.since !== null) out.set("since", date(state.since));
  if (state.until !== null) out.set("until", date(state.until));
  for (const dimension of DIMENSIONS) {
    const values = choices(data, dimension);
    for (const index of state.picked[dimension]) out.append(dimension, coded(values[index]));
  }
  for (const name of ["measure", "by", "per", "search"] as const) {
    if (state[name] !== usual[name]) out.set(name, state[name]);
  }
  if (state.session !== null) out.set("session", nameOf(data, state.session));
  return out.toString();
}

export function fromFragment(data: Data, fragment: string): State {
  const state = initial(data);
  const from = new URLSearchParams(fragment.replace(/^#/, ""));
  state.since = day(from.get("since"));
  state.until = day(from.get("until"));
  for (const dimension of DIMENSIONS) {
    const values = choices(data, dimension).map(coded);
    const indexes = from.getAll(dimension).map((it) => values.indexOf(it));
    state.picked[dimension] = [...new Set(indexes.filter((it) => it >= 0))];
  }
  const one = <T extends string>(name: string, of: readonly T[], usual: T) => of.find((it) => it === from.get(name)) ?? usual;
  state.measure = one("measure", MEASURES, state.measure);
  state.by = one("by", series(data), state.by);
  state.per = one("per", PERIODS, state.per);
  state.search = from.get("search") ?? "";
  const name = from.get("session");
  if (name !== null) {
    for (const session of data.timelines.keys()) if (nameOf(data, session) === name) state.session = session;
  }
  return state;
}

/** The rows that are left. */
export interface Left {
  turns: Int32Array;
  sessions: Int32Array;
  skills: Int32Array;
  tools: Int32Array;
  troubles: Int32Array;
  waste: Int32Array;
  behavior: Int32Array;
  shipped: Int32Array;
  /** Of each session whether it is left. */
  isLeft: Uint8Array;
}

export function left(data: Data, state: State): Left {
  const { groups, sessions, turns, skills, tools, troubles, waste, behavior, shipped } = data;
  const isTimed = state.since !== null || state.until !== null;
  const [since, until] = [state.since ?? -Infinity, state.until ?? Infinity];
  const size = (dimension: "runtime" | "model" | "project" | "status") => data.words[dimension].list.length + 1;
  const picks = (indexes: number[], size: number): Uint8Array => {
    const mask = new Uint8Array(size).fill(indexes.length === 0 ? 1 : 0);
    for (const it of indexes) mask[it] = 1;
    return mask;
  };
  const runtime = picks(state.picked.runtime, size("runtime"));
  const model = picks(state.picked.model, size("model"));
  const project = picks(state.picked.project, size("project"));
  const status = picks(state.picked.status, size("status"));
  const sets = labelSets(data, state.picked.label);
  // Groups first: there are few. A row of the ledger has a model of its own, all else that of its session.
  const fitsButModel = new Uint8Array(groups.length);
  for (let at = 0; at < groups.length; at++) {
    fitsButModel[at] = runtime[groups.runtime[at]] & project[groups.project[at]] & status[groups.status[at]] & sets[groups.labels[at]];
  }
  const fits = fitsButModel.map((it, at) => it & model[groups.model[at]]);
  /** Rows of groups that fit, in time, whose index in a column fits too. */
  const which = (table: { group: Int32Array; day: Float64Array }, fits: Uint8Array, column: Int32Array, also: Uint8Array) => {
    const { group, day } = table;
    const out = new Int32Array(group.length);
    let size = 0;
    for (let at = 0; at < group.length; at++) {
      if (fits[group[at]] & also[column[at]] && (!isTimed || (day[at] >= since && day[at] <= until))) out[size++] = at;
    }
    return out.subarray(0, size);
  };
  const listed = which(sessions, fits, sessions.listed, Uint8Array.of(0, 1));
  const isLeft = new Uint8Array(sessions.length);
  for (const it of listed) isLeft[it] = 1;
  return {
    turns: which(turns, fitsButModel, turns.model, model),
    sessions: listed,
    skills: which(skills, fits, skills.group, fits),
    tools: which(tools, fits, tools.group, fits),
    troubles: which(troubles, fits, troubles.group, fits),
    waste: which(waste, fits, waste.group, fits),
    behavior: which(behavior, fits, behavior.group, fits),
    shipped: which(shipped, fits, shipped.group, fits),
    isLeft,
  };
}

/** The sets of labels that fit: of each key that is picked one of its values. */
function labelSets(data: Data, picked: number[]): Uint8Array {
  const byKey = new Map<string, Set<number>>();
  for (const index of picked) {
    const key = keyOf(data.labels[index]);
    byKey.set(key, (byKey.get(key) ?? new Set()).add(index));
  }
  return Uint8Array.from(data.labelSets, (set) => ([...byKey.values()].every((any) => set.some((it) => any.has(it))) ? 1 : 0));
}

/** The first day of the week or month that a day is in. Weeks begin some days before Monday; day 0 was a Thursday. */
export function periodOf(day: number, per: Period, daysBeforeMonday: number): number {
  if (per === "week") return day - ((((day + 3 + daysBeforeMonday) % 7) + 7) % 7);
  if (per === "month") return Math.round(Date.parse(`${date(day).slice(0, 7)}-01T00:00:00Z`) / 864e5);
  return day;
}

export function nextPeriod(start: number, per: Period): number {
  if (per === "week") return start + 7;
  if (per === "month") return periodOf(start + 31, "month", 0);
  return start + 1;
}

export function periodName(start: number, per: Period): string {
  return per === "month" ? date(start).slice(0, 7) : date(start);
}
