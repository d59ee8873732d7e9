// The list of sessions, and the timeline that one opens to.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { Bars, COLORS, Lines, REST, type Mark } from "./charts";
import { isKnown, shortId, word, type Data, type Timeline as Rows } from "./data";
import { kept, usd } from "./figures";
import { nameOf, type Left, type State } from "./filters";
import * as format from "./format";
import { Panel, Numbers } from "./panels";
import { CsvButton, DataTable, Name, type Column } from "./table";
import { verdictOf } from "./verdicts";
import { inWords } from "./words";

/** The session's cost, with a mark if the log omits tokens or has no end. */
function costOf(data: Data, session: number): string {
  const { cost, usage } = data.sessions;
  return format.atLeast(word(data, "usage", usage[session]) === "lower_bound", usd(cost[session]));
}

/** The cost with that of the sessions that it started, and of those that these started; its own cost if it started none. */
function inclusiveCost(data: Data, session: number): number {
  const { cost, inclusive_cost, descendants } = data.sessions;
  return usd(isKnown(descendants[session]) ? inclusive_cost[session] : cost[session]);
}

function inclusiveOf(data: Data, session: number): string {
  const { inclusive_cost, descendants, missing_descendants } = data.sessions;
  if (!isKnown(descendants[session])) return "–";
  const cost = format.atLeast(missing_descendants[session] > 0, usd(inclusive_cost[session]));
  return `${cost}, ${format.count(descendants[session])} ${descendants[session] === 1 ? "child" : "children"}`;
}

/** The status, and why it failed. */
function statusOf(data: Data, session: number): string {
  const status = word(data, "status", data.sessions.status[session]) ?? format.UNKNOWN;
  const kind = word(data, "error_kind", data.sessions.error_kind[session]);
  return kind === null ? status : `${status}: ${inWords(kind)}`;
}

function callsOf(data: Data, session: number): string {
  const { tool_calls, tool_errors } = data.sessions;
  const failed = tool_errors[session] > 0 ? `, ${format.count(tool_errors[session])} failed` : "";
  return `${format.count(tool_calls[session])}${failed}`;
}

export function columnsOf(data: Data): Column<number>[] {
  const { sessions, groups } = data;
  const of = (kind: "runtime" | "model" | "project" | "status") => (it: number) => word(data, kind, groups[kind][sessions.group[it]]);
  const verdict: Column<number> = { title: "Verdict", name: "verdict", value: (it) => verdictOf(data, it) ?? "" };
  return [
    { title: "Started", name: "started_at", value: (it) => (Number.isNaN(sessions.started[it]) ? null : format.minute(sessions.started[it])) },
    { title: "Session", name: "session_id", value: (it) => sessions.id[it], text: (it) => shortId(data, it) },
    { title: "Runtime", name: "runtime", value: of("runtime") },
    { title: "Project", name: "project", value: of("project"), text: (it) => format.pathEnd(of("project")(it) ?? "", 22) },
    { title: "Model", name: "model", value: of("model"), text: (it) => format.start(of("model")(it) ?? "", 24) },
    { title: "Status", name: "status", value: of("status"), text: (it) => statusOf(data, it) },
    ...(data.isJudged ? [verdict] : []),
    { title: "Cost", name: "cost_usd", value: (it) => usd(sessions.cost[it]), text: (it) => costOf(data, it) },
    { title: "With children", name: "inclusive_cost_usd", value: (it) => inclusiveCost(data, it), text: (it) => inclusiveOf(data, it), isOnlyCsv: !sessions.descendants.some(isKnown) },
    { title: "Tokens", name: "total_tokens", value: (it) => sessions.tokens[it], text: (it) => format.short(sessions.tokens[it]) },
    { title: "Turns", name: "turns", value: (it) => sessions.turns[it] },
    { title: "Tool calls", name: "tool_calls", value: (it) => sessions.tool_calls[it], text: (it) => callsOf(data, it) },
    { title: "Tool errors", name: "tool_errors", value: (it) => sessions.tool_errors[it], isOnlyCsv: true },
    { title: "Time", name: "duration_ms", value: (it) => sessions.duration_ms[it], text: (it) => format.duration(sessions.duration_ms[it]) },
    { title: "Error", name: "error_kind", value: (it) => word(data, "error_kind", sessions.error_kind[it]) ?? "", isOnlyCsv: true },
    { title: "Opens to", name: "opens_to", value: (it) => (data.timelines.has(it) ? "timeline" : "facts only") },
  ];
}

/** Texts of a session in which it is searched for. */
function textOf(data: Data, session: number): string {
  const { sessions, groups } = data;
  const group = sessions.group[session];
  const words = (["runtime", "model", "project", "status"] as const).map((it) => word(data, it, groups[it][group]) ?? "");
  words.push(verdictOf(data, session) ?? "", word(data, "error_kind", sessions.error_kind[session]) ?? "");
  const labels = data.labelSets[groups.labels[group]].map((it) => data.labels[it]);
  return [...words, ...labels, sessions.id[session] ?? "", sessions.error_message[session] ?? ""].join("\n").toLowerCase();
}

export function SessionList({ data, left, state, set }: { data: Data; left: Left; state: State; set: (change: Partial<State>) => void }) {
  const columns = columnsOf(data);
  const wanted = state.search.trim().toLowerCase();
  const rows = useMemo(() => Array.from(kept(data.newest, left)).filter((it) => wanted === "" || textOf(data, it).includes(wanted)), [left, wanted]);
  const unnamed = data.leftOut.unnamed_sessions;
  const closed = data.leftOut.closed_sessions;
  const notes: string[] = [];
  if (unnamed > 0) notes.push(`${format.counted(unnamed, "session")} of all figures ${unnamed === 1 ? "is" : "are"} not in this list; it has the most expensive, the longest, the newest and those that failed.`);
  if (closed > 0) notes.push(`This file has room for ${format.count(data.timelines.size)} timelines: of the most expensive, the newest, the longest, and of those that failed. The others open to their facts.`);
  return (
    <Panel id="sessions" title="Sessions" note={notes.length > 0 ? notes.join(" ") : undefined} controls={
      <>
        <input type="search" aria-label="Search sessions" placeholder="Search" value={state.search} onInput={(event) => set({ search: event.currentTarget.value })} />
        <CsvButton name="sessions" columns={columns} rows={() => rows} />
      </>
    }>
      <DataTable name="sessions" caption={`${format.counted(rows.length, "session")}; choose one to open it`} columns={columns} rows={rows} page={25}
        onOpen={(session) => set({ session })} />
    </Panel>
  );
}

interface Entry {
  at: number;
  turn: number;
  what: string;
  name: string | null;
  detail: string | null;
  status: string;
  duration: number;
  cost: number;
  tokens: number;
  bytes: number;
  isSubagent: boolean;
}

/** What happened in a session, in order. */
function entries(data: Data, session: number): Entry[] {
  const timeline = data.timelines.get(session);
  if (!timeline) return [];
  const { timelineTurns: turns, timelineCalls: calls, timelineEvents: events } = data;
  const out: Entry[] = [];
  for (let at = timeline.turns[0]; at < timeline.turns[1]; at++) {
    out.push({
      at: turns.at[at], turn: turns.turn[at], what: isKnown(turns.turn[at]) ? "turn" : "rest", name: word(data, "model", turns.model[at]), detail: turns.agent[at], status: "",
      duration: turns.duration_ms[at], cost: usd(turns.cost[at]), tokens: turns.total_tokens[at], bytes: NaN, isSubagent: turns.is_subagent[at] === 1,
    });
  }
  for (let at = timeline.calls[0]; at < timeline.calls[1]; at++) {
    out.push({
      at: calls.at[at], turn: calls.turn[at], what: "call", name: word(data, "tool", calls.tool[at]), detail: calls.target[at], status: word(data, "call_status", calls.status[at]) ?? "",
      duration: calls.duration_ms[at], cost: NaN, tokens: NaN, bytes: calls.result_bytes[at], isSubagent: calls.is_subagent[at] === 1,
    });
  }
  for (let at = timeline.events[0]; at < timeline.events[1]; at++) {
    const kind = word(data, "kind", events.kind[at]) ?? "";
    const [before, after] = [events.tokens_before[at], events.tokens_after[at]];
    const sizes = Number.isNaN(before) && Number.isNaN(after) ? null : `${format.short(before)} → ${format.short(after)} tokens`;
    out.push({
      at: events.at[at], turn: events.turn[at], what: kind, name: word(data, "code", events.code[at]), detail: events.message[at] ?? sizes, status: "",
      duration: NaN, cost: NaN, tokens: NaN, bytes: NaN, isSubagent: events.is_subagent[at] === 1,
    });
  }
  const known = (it: number) => (Number.isNaN(it) ? Infinity : it);
  return out.map((it, index) => ({ it, index })).sort((a, b) => known(a.it.at) - known(b.it.at) || a.index - b.index).map(({ it }) => it);
}

/** Of a session whose timeline the file does not contain. */
const NO_TIMELINE: Rows = { turns: [0, 0], calls: [0, 0], events: [0, 0], leftOut: 0 };

export function Timeline({ data, session, close }: { data: Data; session: number; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
  }, [session]);
  const { sessions, groups, timelineTurns: turns, timelineEvents: events } = data;
  const timeline = data.timelines.get(session) ?? NO_TIMELINE;
  const group = sessions.group[session];
  const indexes: number[] = [];
  for (let at = timeline.turns[0]; at < timeline.turns[1]; at++) if (isKnown(turns.turn[at])) indexes.push(at);
  indexes.sort((a, b) => turns.turn[a] - turns.turn[b]);
  const names = indexes.map((it) => `turn ${turns.turn[it]}`);
  const of = (isSubagent: boolean) => indexes.map((it) => ((turns.is_subagent[it] === 1) === isSubagent ? turns.context_tokens[it] : NaN));
  const hasSubagents = indexes.some((it) => turns.is_subagent[it] === 1);
  const marks: Mark[] = [];
  const colors: Record<string, string> = { compaction: COLORS[3], error: COLORS[5], retry: COLORS[1] };
  for (let at = timeline.events[0]; at < timeline.events[1]; at++) {
    const color = colors[word(data, "kind", events.kind[at]) ?? ""];
    if (!color) continue;
    // An event without a turn is drawn after the last turn before it.
    let index = indexes.findIndex((it) => turns.turn[it] === events.turn[at]);
    if (index < 0) index = indexes.filter((it) => turns.at[it] <= events.at[at]).length - 0.5;
    marks.push({ at: index, color });
  }
  const all = entries(data, session);
  const labels = data.labelSets[groups.labels[group]].map((it) => data.labels[it]);
  const facts: [string, string | null][] = [
    ["Runtime", word(data, "runtime", groups.runtime[group])],
    ["Project", word(data, "project", groups.project[group])],
    ["Model", word(data, "model", groups.model[group])],
    ["Status", statusOf(data, session)],
    ["Started", `${format.minute(sessions.started[session])} ${data.timezone}`],
    ["Time", format.duration(sessions.duration_ms[session])],
    ["Cost", costOf(data, session)],
    ["Tokens", format.count(sessions.tokens[session])],
    ["Usage", inWords(word(data, "usage", sessions.usage[session]))],
    ["Turns", format.count(sessions.turns[session])],
    ["Tool calls", callsOf(data, session)],
    ["Compactions", format.count(sessions.compactions[session])],
    ["Retries", format.count(sessions.retries[session])],
    ["Subagents", format.count(sessions.subagents[session])],
  ];
  const verdict = verdictOf(data, session);
  if (verdict !== null) facts.splice(4, 0, ["Verdict", verdict]);
  if (labels.length > 0) facts.push(["Labels", labels.join(", ")]);
  if (sessions.error_message[session] !== null) facts.push(["Error", sessions.error_message[session]]);
  const columns: Column<Entry>[] = [
    { title: "At", name: "at_ms", value: (it) => it.at, text: (it) => format.duration(it.at) },
    { title: "Turn", name: "turn", value: (it) => it.turn },
    { title: "What", name: "what", value: (it) => (it.isSubagent ? `${it.what} of a subagent` : it.what), text: (it) => (it.isSubagent ? `${inWords(it.what)} of a subagent` : inWords(it.what)) },
    { title: "Name", name: "name", value: (it) => it.name },
    { title: "Detail", name: "detail", value: (it) => it.detail ?? "", text: (it) => format.pathEnd(it.detail ?? "", 80) },
    { title: "Status", name: "status", value: (it) => it.status },
    { title: "Took", name: "duration_ms", value: (it) => (isKnown(it.duration) ? it.duration : ""), text: (it) => (isKnown(it.duration) ? format.duration(it.duration) : "") },
    { title: "Tokens", name: "total_tokens", value: (it) => (it.what === "turn" || it.what === "rest" ? it.tokens : ""), text: (it) => (it.what === "turn" || it.what === "rest" ? format.short(it.tokens) : "") },
    { title: "Cost", name: "cost_usd", value: (it) => (it.what === "turn" || it.what === "rest" ? it.cost : ""), text: (it) => (it.what === "turn" || it.what === "rest" ? format.money(it.cost) : "") },
    { title: "Result", name: "result_bytes", value: (it) => (it.what === "call" ? it.bytes : ""), text: (it) => (it.what === "call" ? format.bytes(it.bytes) : "") },
  ];
  return (
    <dialog ref={dialog} aria-labelledby="timeline-title" onClose={close}>
      <header>
        <h2 id="timeline-title">Session <code><Name text={nameOf(data, session)} /></code></h2>
        <button type="button" onClick={() => dialog.current?.close()}>Close</button>
      </header>
      <dl class="facts">
        {facts.map(([name, value]) => <div><dt>{name}</dt><dd><Name text={value} /></dd></div>)}
      </dl>
      {indexes.length > 0 && (
        <>
          <h3>Context <small>tokens of each request; {hasSubagents && <><span class="dash">subagents</span>, </>}<span style={{ color: COLORS[3] }}>│ compaction</span> <span style={{ color: COLORS[5] }}>│ error</span> <span style={{ color: COLORS[1] }}>│ retry</span></small></h3>
          <Lines
            label="Size of the context at each turn"
            names={names}
            lines={[{ name: "context", color: COLORS[0], values: of(false) }, ...(hasSubagents ? [{ name: "context of a subagent", color: COLORS[4], values: of(true), isDashed: true }] : [])]}
            text={format.short}
            marks={marks}
            room={60}
            spans
            of={[session]}
          />
          <h3>Cost of each turn <small>US dollars</small></h3>
          <Bars label="Cost of each turn" names={names} values={indexes.map((it) => usd(turns.cost[it]))} text={format.money} color={(at) => (turns.is_subagent[indexes[at]] === 1 ? COLORS[4] : COLORS[0])} of={[session]} height={150} />
          <Numbers
            name="turns"
            caption="Turns"
            rows={() => indexes}
            columns={[
              { title: "Turn", name: "turn", value: (it) => turns.turn[it] },
              { title: "Context", name: "context_tokens", value: (it) => turns.context_tokens[it] },
              { title: "Output", name: "output_tokens", value: (it) => turns.output_tokens[it] },
              { title: "Cost", name: "cost_usd", value: (it) => usd(turns.cost[it]), text: (it) => format.money(usd(turns.cost[it])) },
            ]}
          />
        </>
      )}
      {data.timelines.has(session) ? (
        <>
          <header>
            <h3>What happened</h3>
            <CsvButton name="timeline" columns={columns} rows={() => all} />
          </header>
          <DataTable name="timeline" caption="Turns, calls and events in order" columns={columns} rows={all} page={50} />
          {timeline.leftOut > 0 && <p class="note">{format.count(timeline.leftOut)} more rows are left out.</p>}
        </>
      ) : <p class="note">This file does not contain the timeline of this session. In a terminal: <code>agentlogs show {format.visible(shortId(data, session))}</code></p>}
      <p class="note">How its cost is computed: <code>agentlogs prices explain {format.visible(shortId(data, session))}</code></p>
    </dialog>
  );
}

export { REST };
