// Did it ship: the cost of sessions by what became of their commits, by the rules of `agentlogs report shipped`.

import { useMemo } from "preact/hooks";
import { COLORS, REST, StackedBars, type Stack } from "./charts";
import { extent, isKnown, plus, word, type Data } from "./data";
import { startsOf, usd } from "./figures";
import { periodName, periodOf, type Left } from "./filters";
import * as format from "./format";
import { Numbers, Panel, type PanelProps } from "./panels";
import { CsvButton, DataTable, type Column } from "./table";
import { Card, type Figure } from "./totals";
import { inWords } from "./words";

/** The outcomes in the order in which they are stacked, each with its colour. docs/shipped.md defines them. */
const OUTCOMES: [outcome: string, color: string][] = [
  ["merged", COLORS[2]], ["rewritten", COLORS[6]], ["reverted", COLORS[3]], ["open", COLORS[4]], ["closed", COLORS[1]], ["abandoned", COLORS[5]],
  ["not_attributable", REST],
];

interface Shipped {
  outcome: string;
  color: string;
  cost: number;
  /** Merged pull requests, each once. */
  requests: Set<number>;
  /** The cost of each week. */
  weeks: number[];
}

interface Shares {
  /** The first days of the weeks, without a gap. */
  weeks: number[];
  outcomes: Shipped[];
  cost: number;
  /** The cost of sessions without a start. */
  timeless: number;
  requests: Set<number>;
}

function shares(data: Data, left: Left): Shares {
  const { shipped, daysBeforeMonday } = data;
  const days = extent(Float64Array.from(left.shipped, (row) => shipped.day[row]));
  const weeks = days ? startsOf(...days, "week", daysBeforeMonday) : [];
  const all: Shares = { weeks, outcomes: [], cost: NaN, timeless: NaN, requests: new Set() };
  const found = new Map(OUTCOMES.map(([outcome, color]): [string, Shipped] => [outcome, { outcome, color, cost: NaN, requests: new Set(), weeks: weeks.map(() => NaN) }]));
  const seen = new Set<Shipped>();
  for (const row of left.shipped) {
    const of = found.get(word(data, "outcome", shipped.outcome[row]) ?? "");
    if (!of) continue;
    seen.add(of);
    const [cost, day, request] = [shipped.cost[row], shipped.day[row], shipped.pull_request[row]];
    of.cost = plus(of.cost, cost);
    all.cost = plus(all.cost, cost);
    if (isKnown(request)) [of, all].forEach((it) => it.requests.add(request));
    if (Number.isNaN(day)) all.timeless = plus(all.timeless, cost);
    else {
      const at = (periodOf(day, "week", daysBeforeMonday) - weeks[0]) / 7;
      of.weeks[at] = plus(of.weeks[at], cost);
    }
  }
  all.outcomes = [...found.values()].filter((it) => seen.has(it));
  return all;
}

/** What became of the cost. A page without commits and pull requests has no such panel. */
export function DidItShip({ data, left }: PanelProps) {
  const all = useMemo(() => shares(data, left), [left]);
  if (!data.hasHistory) return null;
  const { weeks, outcomes, cost, timeless, requests } = all;
  const names = weeks.map((it) => periodName(it, "week"));
  const of = (outcome: string) => outcomes.find((it) => it.outcome === outcome)?.cost ?? 0;
  const share = (part: number) => (cost > 0 ? part / cost : NaN);
  const [merged, rest] = [of("merged"), of("not_attributable")];
  const perRequest = requests.size > 0 ? usd(cost) / requests.size : NaN;
  const figures: Figure[] = [
    ["merged_cost_usd", "Merged", usd(merged), format.money(usd(merged)), `${format.percent(share(merged))} of the cost`],
    [
      "cost_per_merged_pull_request_usd", "Per merged pull request", perRequest, format.money(perRequest),
      requests.size > 0 ? `the cost of all work, over ${format.count(requests.size)} merged ones` : "no merged pull request",
    ],
    ["not_attributable_share", "Not attributable", share(rest), format.percent(share(rest)), `${format.money(usd(rest))} that no rule finds in a commit`],
  ];
  const stacks: Stack[] = outcomes.map((it) => ({ name: inWords(it.outcome), color: it.color, values: it.weeks.map(usd) }));
  interface Row { week: string; outcome: string; cost: number }
  const rows = () => names.flatMap((week, at) => outcomes.map((it): Row => ({ week, outcome: it.outcome, cost: it.weeks[at] })).filter((it) => isKnown(it.cost)));
  const outcomeColumn = { title: "Outcome", name: "outcome", value: (it: { outcome: string }) => it.outcome, text: (it: { outcome: string }) => inWords(it.outcome) };
  const costColumn = { title: "Cost", name: "cost_usd", value: (it: { cost: number }) => usd(it.cost), text: (it: { cost: number }) => format.money(usd(it.cost)) };
  const columns: Column<Shipped>[] = [
    outcomeColumn,
    costColumn,
    { title: "Of cost", name: "share", value: (it) => share(it.cost), text: (it) => format.percent(share(it.cost)), bar: (it) => share(it.cost), color: (it) => it.color },
    { title: "Merged pull requests", name: "merged_pull_requests", value: (it) => it.requests.size },
  ];
  return (
    <Panel
      id="shipped"
      title="Did it ship"
      unit="US dollars by week, and by what became of the work"
      note={`The cost of a session is divided over the commits that it worked on, in the week of its start; docs/shipped.md defines the rules and the outcomes.${timeless > 0 ? ` Not in the chart, because it has no time: ${format.money(usd(timeless))}.` : ""}`}
      controls={<CsvButton name="shipped" columns={columns} rows={() => outcomes} />}
    >
      <dl class="totals">{figures.map((it) => <Card figure={it} />)}</dl>
      {names.length > 0 ? (
        <>
          <StackedBars label="Cost per week by outcome; its numbers are below" names={names} stacks={stacks} text={format.money} axis={format.axisMoney} of={[left]} />
          <ul class="legend">{stacks.map((it) => <li><span class="swatch" style={{ background: it.color }} />{it.name}</li>)}</ul>
        </>
      ) : <p class="unknown">Nothing in this selection has a time</p>}
      <DataTable name="shipped" caption="Cost by outcome" columns={columns} rows={outcomes} />
      <Numbers
        name="shipped-by-week"
        caption="Cost per week and outcome"
        columns={[{ title: "Week", name: "week", value: (it: Row) => it.week }, outcomeColumn, costColumn]}
        rows={rows}
      />
    </Panel>
  );
}
