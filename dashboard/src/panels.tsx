// The panels: each a question, its chart, and its numbers.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Bars, COLORS, Lines, REST, Scatter, StackedBars, type Stack } from "./charts";
import { shortId, word, type Data } from "./data";
import {
  bins, byCost, byHour, bySkill, byTrouble, cacheHitRate, countBy, errorRate, FAR, FEW, kept, measured, quantile, runaways, unpriced, usd, type Count, type Ledger,
  type SkillSums, type Sums, type ToolSums,
} from "./figures";
import { MEASURES, only, PERIODS, periodName, series as seriesIn, type Left, type Measure, type State } from "./filters";
import * as format from "./format";
import { CsvButton, DataTable, type Column } from "./table";
import { inWords } from "./words";

export interface PanelProps {
  data: Data;
  left: Left;
  state: State;
  set: (change: Partial<State>) => void;
}

const UNITS: Record<Measure, string> = { cost: "US dollars", tokens: "tokens", sessions: "sessions", turns: "responses" };
const NAMES: Record<Measure, string> = { cost: "Cost", tokens: "Tokens", sessions: "Sessions", turns: "Turns" };
const inShort = (measure: Measure) => (measure === "cost" ? format.money : format.short);

export function Panel({ id, title, unit, note, children, controls }: { id: string; title: string; unit?: string; note?: ComponentChildren; children: ComponentChildren; controls?: ComponentChildren }) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <header>
        <h2 id={`${id}-title`}>{title}{unit && <small> {unit}</small>}</h2>
        {controls && <div class="controls">{controls}</div>}
      </header>
      {children}
      {note && <p class="note">{note}</p>}
    </section>
  );
}

/** The numbers of a chart. */
export function Numbers<Row>({ name, caption, columns, rows }: { name: string; caption: string; columns: Column<Row>[]; rows: () => Row[] }) {
  // Computed when it is opened.
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {isOpen && (
        <>
          <CsvButton name={name} columns={columns} rows={rows} />
          <DataTable name={name} caption={caption} columns={columns} rows={rows()} />
        </>
      )}
    </details>
  );
}

function Choose<T extends string>({ label, values, value, onChoose }: { label: string; values: readonly T[]; value: T; onChoose: (value: T) => void }) {
  return (
    <span class="choose" role="group" aria-label={label}>
      {values.map((it) => (
        <button type="button" class="quiet" aria-pressed={it === value} onClick={() => onChoose(it)}>{it}</button>
      ))}
    </span>
  );
}

/** The largest series have colours of their own, which stay whatever else is filtered. */
function colorsOf(order: number[], indexes: number[]): Map<number, string> {
  const rank = (index: number) => order.indexOf(index);
  const out = new Map<number, string>();
  const free = new Set(COLORS);
  const sorted = [...indexes].sort((a, b) => rank(a) - rank(b));
  for (const index of sorted) {
    const own = COLORS[rank(index)];
    if (own && free.delete(own)) out.set(index, own);
  }
  for (const index of sorted) {
    if (out.has(index)) continue;
    const [next] = free;
    free.delete(next);
    out.set(index, next);
  }
  return out;
}

/** The columns of the report of costs. */
function sumColumns<Row>(sums: (row: Row) => Sums, isLowerBound: (row: Row) => boolean = () => false): Column<Row>[] {
  return [
    { title: "Cost", name: "cost_usd", value: (it) => usd(sums(it).cost), text: (it) => format.atLeast(isLowerBound(it), usd(sums(it).cost)) },
    { title: "Tokens", name: "total_tokens", value: (it) => sums(it).tokens, text: (it) => format.short(sums(it).tokens) },
    { title: "Input", name: "input_tokens", value: (it) => sums(it).input, text: (it) => format.short(sums(it).input) },
    { title: "Output", name: "output_tokens", value: (it) => sums(it).output, text: (it) => format.short(sums(it).output) },
    { title: "Cache read", name: "cache_read_tokens", value: (it) => sums(it).cacheRead, text: (it) => format.short(sums(it).cacheRead) },
    { title: "Cache write", name: "cache_write_tokens", value: (it) => sums(it).cacheWrite, text: (it) => format.short(sums(it).cacheWrite) },
    { title: "Cache hits", name: "cache_hit_rate", value: (it) => cacheHitRate(sums(it)), text: (it) => format.percent(cacheHitRate(sums(it))) },
    { title: "No cost", name: "unpriced_tokens", value: (it) => sums(it).unpriced, text: (it) => format.short(sums(it).unpriced) },
    { title: "Turns", name: "turns", value: (it) => sums(it).turns },
    { title: "Sessions", name: "sessions", value: (it) => sums(it).sessions },
  ];
}

export function OverTime({ data, left, state, set, sums, ranks }: PanelProps & { sums: Ledger; ranks: number[] }) {
  const { starts, periods, series, timeless } = sums;
  const names = starts.map((it) => periodName(it, state.per));
  const value = (it: Sums | undefined) => measured(it, state.measure);
  const size = new Map([...series].map(([index, values]) => [index, values.reduce((sum, it) => sum + (value(it) || 0), 0)]));
  const order = [...series.keys()].sort((a, b) => (size.get(b) ?? 0) - (size.get(a) ?? 0));
  const largest = order.slice(0, order.length > COLORS.length ? COLORS.length - 1 : COLORS.length);
  const rest = order.slice(largest.length);
  const colors = colorsOf(ranks, largest);
  const nameOf = (index: number) => format.visible(word(data, state.by, index) ?? format.UNKNOWN);
  const stacks: Stack[] = largest.map((index) => ({ name: nameOf(index), color: colors.get(index) ?? REST, values: series.get(index)!.map(value) }));
  if (rest.length > 0) {
    const values = starts.map((_, at) => rest.reduce((sum, it) => sum + (value(series.get(it)![at]) || 0), 0));
    stacks.push({ name: `${rest.length} others`, color: REST, values });
  }
  interface Row { period: string; series: number | null; sums: Sums }
  const rows = () => starts.flatMap((_, at) => order.flatMap((index): Row[] => {
    const sums = series.get(index)![at];
    return sums ? [{ period: names[at], series: index, sums }] : [];
  }));
  const columns: Column<Row>[] = [
    { title: state.per, name: state.per, value: (it) => it.period },
    { title: state.by, name: state.by, value: (it) => (it.series === null ? null : word(data, state.by, it.series)) },
    ...sumColumns<Row>((it) => it.sums),
  ];
  const text = inShort(state.measure);
  const notes: string[] = [];
  if (timeless) notes.push(`Not in the chart, because it has no time: ${text(value(timeless))}.`);
  if (state.measure === "sessions") notes.push(`A session that has rows of several ${state.per}s${state.by.startsWith("label:") ? "" : ` or ${state.by}s`} counts in each.`);
  return (
    <Panel
      id="time"
      title={`${NAMES[state.measure]} over time`}
      unit={`in ${UNITS[state.measure]}, by ${state.by}`}
      note={notes.length > 0 ? notes.join(" ") : undefined}
      controls={
        <>
          <Choose label="Measure" values={MEASURES} value={state.measure} onChoose={(measure) => set({ measure })} />
          <Choose label="Stacked by" values={seriesIn(data)} value={state.by} onChoose={(by) => set({ by })} />
          <Choose label="Per" values={PERIODS} value={state.per} onChoose={(per) => set({ per })} />
        </>
      }
    >
      {starts.length > 0 ? (
        <>
          <StackedBars label={`${NAMES[state.measure]} per ${state.per} by ${state.by}; its numbers are below`} names={names} stacks={stacks} text={text} axis={state.measure === "cost" ? format.axisMoney : text} of={[left, state.measure, state.by, state.per]} />
          <ul class="legend">
            {stacks.map((it, at) => (
              <li>
                {at < largest.length && only(data, state, largest[at]) ? (
                  <button type="button" class="quiet" aria-label={`Only ${state.by} ${it.name}`} onClick={() => set(only(data, state, largest[at]) ?? {})}>
                    <span class="swatch" style={{ background: it.color }} /><bdi>{it.name}</bdi>
                  </button>
                ) : (
                  <><span class="swatch" style={{ background: it.color }} /><bdi>{it.name}</bdi></>
                )}
              </li>
            ))}
          </ul>
        </>
      ) : <p class="unknown">Nothing in this selection has a time</p>}
      <Numbers name="over-time" caption={`${NAMES[state.measure]} per ${state.per} and ${state.by}`} columns={columns} rows={rows} />
      <Hits names={names} totals={periods} state={state} left={left} />
    </Panel>
  );
}

function Hits({ names, totals, state, left }: { names: string[]; totals: (Sums | undefined)[]; state: State; left: Left }) {
  const rates = totals.map((it) => (it ? cacheHitRate(it) : NaN));
  const rows = () => names.map((period, at) => ({ period, rate: rates[at] })).filter((_, at) => totals[at]);
  return (
    <div class="below">
      <h3>Cache hit rate <small>part of the prompts' tokens that was read from a cache</small></h3>
      {names.length > 0 && (
        <Lines label="Cache hit rate over time" names={names} lines={[{ name: "cache hits", color: COLORS[2], values: rates }]} text={(it) => `${Math.round(it * 100)} %`} range={[0, 1]} height={140} of={[left, state.per]} />
      )}
      <Numbers
        name="cache-hits"
        caption={`Cache hit rate per ${state.per}`}
        rows={rows}
        columns={[
          { title: state.per, name: state.per, value: (it) => it.period },
          { title: "Cache hits", name: "cache_hit_rate", value: (it) => it.rate, text: (it) => format.percent(it.rate) },
        ]}
      />
    </div>
  );
}

export function Where({ data, state, set, sums, ranks }: PanelProps & { sums: Ledger; ranks: number[] }) {
  const rows = Array.from(sums.bySeries, ([index, sums]) => ({ index, sums }));
  const value = (it: { sums: Sums }) => measured(it.sums, state.measure);
  rows.sort((a, b) => (value(b) || 0) - (value(a) || 0) || a.index - b.index);
  const most = rows.length > 0 ? value(rows[0]) : NaN;
  const colors = colorsOf(ranks, rows.slice(0, COLORS.length).map((it) => it.index));
  const whole = rows.reduce((sum, it) => sum + (value(it) || 0), 0);
  type Row = (typeof rows)[number];
  const columns: Column<Row>[] = [
    { title: state.by, name: state.by, value: (it) => word(data, state.by, it.index), text: (it) => short(data, state, it.index) },
    { title: `Share of ${state.measure}`, name: "share", value: (it) => value(it) / whole, text: (it) => format.percent(value(it) / whole), bar: (it) => value(it) / most, color: (it) => colors.get(it.index) ?? REST },
    ...sumColumns<Row>((it) => it.sums, (it) => sums.isLowerBound[it.index] === 1),
  ];
  return (
    <Panel id="where" title="Where it went" unit={`by ${state.by}`} controls={<CsvButton name={`by-${state.by}`} columns={columns} rows={() => rows} />}>
      <DataTable name="where" caption={`Sums by ${state.by}; choose one to see it alone`} columns={columns} rows={rows} onOpen={(it) => set(only(data, state, it.index) ?? {})} opens={(it) => only(data, state, it.index) !== null} />
    </Panel>
  );
}

const short = (data: Data, state: State, index: number) => {
  const text = word(data, state.by, index) ?? "";
  return state.by === "project" ? format.pathEnd(text, 40) : text;
};

export function Distribution({ data, left, open }: PanelProps & { open: (session: number) => void }) {
  const { sessions, groups } = data;
  const costs = useMemo(() => byCost(data, left), [left]);
  const { edges, counts, zero } = useMemo(() => bins(data, costs), [costs]);
  const far = useMemo(() => runaways(data, costs), [costs]);
  const unknown = left.sessions.length - costs.length;
  const rows = () => edges.map((from, at) => ({ from, to: edges[at + 1] ?? NaN, count: counts[at] }));
  const [x, y] = useMemo(() => [sessions.turns.map(Math.log10), sessions.cost.map((it) => Math.log10(usd(it)))], []);
  const plotted = useMemo(() => data.byCost.filter((it) => sessions.cost[it] > 0 && sessions.turns[it] > 0).sort(), []);
  const points = useMemo(() => kept(plotted, left), [left]);
  const notes = [`Median ${format.money(usd(quantile(data, costs, 0.5)))}, 90 % cost at most ${format.money(usd(quantile(data, costs, 0.9)))}, the most expensive ${format.money(usd(quantile(data, costs, 1)))}.`];
  if (zero > 0) notes.push(`${format.count(zero)} cost nothing.`);
  if (unknown > 0) notes.push(`Of ${format.count(unknown)} the cost is unknown.`);
  return (
    <Panel id="distribution" title="Cost per session" unit="in US dollars" note={notes.join(" ")}>
      <div class="pair">
        <div>
          <h3>Sessions by cost <small>each bar from its label up to the next one</small></h3>
          {edges.length === 0 ? <p class="unknown">No session whose cost is known</p> : <Bars label="Sessions by cost" names={edges.map(format.axisMoney)} values={counts} text={format.short} color={() => COLORS[0]} of={[left]} height={240} />}
          <Numbers
            name="cost-distribution"
            caption="Sessions by cost"
            rows={rows}
            columns={[
              { title: "From", name: "from_usd", value: (it) => it.from, text: (it) => `$${it.from}` },
              { title: "Below", name: "below_usd", value: (it) => it.to, text: (it) => `$${it.to}` },
              { title: "Sessions", name: "sessions", value: (it) => it.count },
            ]}
          />
        </div>
        <div>
          <h3>Against turns <small>▲ at least {FAR} times the median, and among the most expensive {FEW} %</small></h3>
          {points.length === 0 ? <p class="unknown">No session whose cost and turns are known</p> : <Scatter label="Cost against turns, a point a session" points={points} bold={far.sessions} x={x} y={y} xText={(it) => `${format.short(it)}`} yText={format.axisMoney} onPick={open} of={[left]} />}
          <Numbers
            name="runaways"
            caption={far.sessions.length > 0 ? `The most expensive sessions beyond ${format.money(usd(far.above))}` : "Sessions far more expensive than others"}
            rows={() => far.sessions.slice(0, 200)}
            columns={[
              { title: "Started", name: "started_at", value: (it) => format.minute(sessions.started[it]) },
              { title: "Session", name: "session_id", value: (it) => sessions.id[it], text: (it) => shortId(data, it) },
              { title: "Project", name: "project", value: (it) => word(data, "project", groups.project[sessions.group[it]]), text: (it) => format.pathEnd(word(data, "project", groups.project[sessions.group[it]]) ?? "") },
              { title: "Turns", name: "turns", value: (it) => sessions.turns[it] },
              { title: "Cost", name: "cost_usd", value: (it) => usd(sessions.cost[it]), text: (it) => format.money(usd(sessions.cost[it])) },
            ]}
          />
        </div>
      </div>
    </Panel>
  );
}

export function Tools({ data, tools: rows }: { data: Data; tools: ToolSums[] }) {
  const most = Math.max(...rows.map((it) => it.calls));
  const failed = (it: ToolSums) => errorRate(it.errors, it.calls - it.incomplete);
  const columns: Column<ToolSums>[] = [
    { title: "Tool", name: "tool", value: (it) => word(data, "tool", it.tool) },
    { title: "Calls", name: "calls", value: (it) => it.calls, bar: (it) => it.calls / most, color: () => COLORS[4] },
    { title: "Errors", name: "errors", value: (it) => it.errors },
    { title: "Error rate", name: "error_rate", value: failed, text: (it) => format.percent(failed(it)), bar: failed, color: () => COLORS[5] },
    { title: "Denied", name: "denied", value: (it) => it.denied },
    { title: "No end", name: "incomplete", value: (it) => it.incomplete },
    { title: "Time", name: "duration_ms", value: (it) => it.duration, text: (it) => format.duration(it.duration) },
    { title: "Mean time", name: "mean_duration_ms", value: (it) => it.duration / it.timed, text: (it) => format.duration(it.duration / it.timed) },
    { title: "Results", name: "result_bytes", value: (it) => it.results, text: (it) => format.bytes(it.results) },
  ];
  return (
    <Panel id="tools" title="Tools" unit="calls, time and bytes returned" controls={<CsvButton name="tools" columns={columns} rows={() => rows} />}>
      <DataTable name="tools" caption="Tools, by calls" columns={columns} rows={rows} />
    </Panel>
  );
}

/** What skills cost. A page without any has no such panel. */
export function Skills({ data, left }: PanelProps) {
  const rows = useMemo(() => bySkill(data, left), [left]);
  if (rows.length === 0) return null;
  const most = rows[0].cost;
  const columns: Column<SkillSums>[] = [
    { title: "Skill", name: "skill", value: (it) => word(data, "skill", it.skill) },
    { title: "Cost", name: "cost_usd", value: (it) => usd(it.cost), text: (it) => format.money(usd(it.cost)), bar: (it) => it.cost / most, color: () => COLORS[3] },
    { title: "Tokens", name: "total_tokens", value: (it) => it.tokens, text: (it) => format.short(it.tokens) },
    { title: "Turns", name: "turns", value: (it) => it.turns },
    { title: "Tool calls", name: "tool_calls", value: (it) => it.calls },
  ];
  return (
    <Panel id="skills" title="Skills" unit="the turns for which a skill was in effect"
      note="With everything else in their context. agentlogs report skills also has what is offered and never used, and the pass rates with and without a skill."
      controls={<CsvButton name="skills" columns={columns} rows={() => rows} />}>
      <DataTable name="skills" caption="Skills, by cost" columns={columns} rows={rows} />
    </Panel>
  );
}

const STATUS_COLORS: Record<string, string> = { success: COLORS[2], error: COLORS[5], aborted: COLORS[1], incomplete: COLORS[4], unknown: REST };

export function Outcomes({ data, left, state, set, statuses: rows }: PanelProps & { statuses: Count[] }) {
  const kindRows = useMemo(() => countBy(left, data.sessions.error_kind).filter((it) => word(data, "error_kind", it.index) !== null), [left]);
  const troubles = useMemo(() => byTrouble(data, left), [left]);
  const most = Math.max(...troubles.map((it) => it.problems));
  const troubleColumns: Column<(typeof troubles)[number]>[] = [
    { title: "Kind", name: "kind", value: (it) => word(data, "kind", it.kind), text: (it) => inWords(word(data, "kind", it.kind)) },
    { title: "Code", name: "code", value: (it) => word(data, "code", it.code), text: (it) => inWords(word(data, "code", it.code)) },
    { title: "Events", name: "events", value: (it) => it.problems, bar: (it) => it.problems / most, color: () => COLORS[5] },
  ];
  const statusColumns: Column<Count>[] = [
    { title: "Status", name: "status", value: (it) => word(data, "status", it.index) },
    { title: "Sessions", name: "sessions", value: (it) => it.count, bar: (it) => it.count / left.sessions.length, color: (it) => STATUS_COLORS[word(data, "status", it.index) ?? ""] ?? REST },
  ];
  const kindColumns: Column<Count>[] = [
    { title: "Why sessions failed", name: "error_kind", value: (it) => word(data, "error_kind", it.index), text: (it) => inWords(word(data, "error_kind", it.index)) },
    { title: "Sessions", name: "sessions", value: (it) => it.count, bar: (it) => it.count / left.sessions.length, color: () => COLORS[5] },
  ];
  return (
    <Panel id="outcomes" title="Outcomes" unit="sessions by how they ended, and what went wrong in them">
      <div class="strip" aria-hidden="true">
        {rows.map((it) => <span style={{ flexGrow: it.count, background: STATUS_COLORS[word(data, "status", it.index) ?? ""] ?? REST }} />)}
      </div>
      <div class="pair">
        <div>
          <DataTable name="statuses" caption="Sessions by status" columns={statusColumns} rows={rows} onOpen={(it) => set({ picked: { ...state.picked, status: [it.index] } })} />
          {kindRows.length > 0 && <DataTable name="error-kinds" caption="Sessions by kind of error" columns={kindColumns} rows={kindRows} />}
        </div>
        <div>
          <CsvButton name="errors" columns={troubleColumns} rows={() => troubles} />
          <DataTable name="errors" caption="Errors, retries, denials, aborts" columns={troubleColumns} rows={troubles} />
        </div>
      </div>
    </Panel>
  );
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export function Hours({ data, left, state }: PanelProps) {
  const values = useMemo(() => byHour(data, left, state.measure), [left, state.measure]);
  const most = values.reduce((a, b) => (b > a ? b : a), 0);
  const text = state.measure === "cost" ? format.money : format.count;
  const rows = WEEKDAYS.flatMap((day, at) => Array.from({ length: 24 }, (_, hour) => ({ day, hour, value: values[at * 24 + hour] })));
  return (
    <Panel id="hours" title="Hours of the week" unit={`${UNITS[state.measure]} of sessions by when they began, ${data.timezone}`}
      controls={
        <CsvButton name="hours" rows={() => rows} columns={[
          { title: "Day", name: "weekday", value: (it) => it.day },
          { title: "Hour", name: "hour", value: (it) => it.hour },
          { title: UNITS[state.measure], name: state.measure === "cost" ? "cost_usd" : state.measure, value: (it) => it.value },
        ]} />
      }
    >
      <div class="scroll" role="region" aria-label="Hours of the week" tabIndex={0}>
        <table class="heat" data-name="hours">
          <caption class="hidden">{UNITS[state.measure]} by weekday and hour</caption>
          <thead><tr><td />{Array.from({ length: 24 }, (_, hour) => <th scope="col">{hour}</th>)}</tr></thead>
          <tbody>
            {WEEKDAYS.map((day, at) => (
              <tr>
                <th scope="row">{day.slice(0, 3)}</th>
                {Array.from({ length: 24 }, (_, hour) => {
                  const value = values[at * 24 + hour];
                  const part = most > 0 && value > 0 ? Math.sqrt(value / most) : 0;
                  const title = `${day} ${hour}:00: ${Number.isNaN(value) ? "none" : text(value)}`;
                  return (
                    <td title={title} style={part > 0 ? { background: `color-mix(in srgb, ${COLORS[0]} ${Math.round(10 + part * 90)}%, transparent)` } : undefined}>
                      <span class="hidden">{Number.isNaN(value) ? "" : text(value)}</span>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function Health({ data, left, state }: PanelProps) {
  const usage = useMemo(() => countBy(left, data.sessions.usage), [left]);
  const models = useMemo(() => unpriced(data, left), [left]);
  const picked = state.picked.runtime.map((it) => word(data, "runtime", it));
  const findings = data.health.filter((it) => picked.length === 0 || picked.includes(it.runtime));
  const about: Record<string, string> = {
    exact: "the log gives all of it",
    lower_bound: "the log omits tokens, or has no end",
    unknown: "the log contains no counts",
    conflict: "the log's own numbers disagree",
    estimate: "the runtime rounded the counts, or estimated them itself",
  };
  const findingColumns: Column<(typeof findings)[number]>[] = [
    { title: "File", name: "source_path", value: (it) => it.source_path, text: (it) => format.pathEnd(it.source_path, 48) },
    { title: "Finding", name: "finding", value: (it) => it.finding, text: (it) => inWords(it.finding) },
    { title: "Reason", name: "reason", value: (it) => it.reason, text: (it) => inWords(it.reason), isWide: true },
    { title: "Count", name: "count", value: (it) => it.count, text: (it) => `${format.count(it.count)} ${it.count === 1 ? it.unit.replace(/s$/, "") : it.unit}` },
    { title: "First line", name: "first_line", value: (it) => it.first_line },
    { title: "Format", name: "format", value: (it) => it.format },
  ];
  const left_out = data.leftOut.findings;
  const isNothing = usage.length + models.length === 0;
  if (isNothing && findings.length === 0) return null;
  return (
    <Panel id="health" title="What not to trust" unit="what could not be read, has no price, or is a lower bound"
      note={`Findings about files are filtered by runtime only, as they have no time.${left_out > 0 ? ` ${format.count(left_out)} more findings: agentlogs report health.` : ""}`}>
      {!isNothing && <div class="pair">
        <div>
          <DataTable name="usage" caption="Sessions by how far their tokens can be trusted" rows={usage} columns={[
            { title: "Usage", name: "usage", value: (it) => word(data, "usage", it.index), text: (it) => inWords(word(data, "usage", it.index)) },
            { title: "Sessions", name: "sessions", value: (it) => it.count },
            { title: "Meaning", name: "meaning", isWide: true, value: (it) => about[word(data, "usage", it.index) ?? ""] ?? "" },
          ]} />
        </div>
        <div>
          <DataTable name="unpriced" caption="Tokens that no cost covers" rows={models} columns={[
            { title: "Model", name: "model", value: (it) => word(data, "model", it.index) },
            { title: "Tokens", name: "unpriced_tokens", value: (it) => it.tokens },
          ]} />
        </div>
      </div>}
      <header class="below">
        <h3>Findings about files</h3>
        <CsvButton name="health" columns={findingColumns} rows={() => findings} />
      </header>
      <DataTable name="findings" caption="What could not be read" columns={findingColumns} rows={findings} page={8} />
    </Panel>
  );
}
