// Trials by their verdicts: pass rates with their intervals, and what a trial and a success cost.

import { useMemo } from "preact/hooks";
import { Quality } from "./charts";
import { isKnown, word, type Data } from "./data";
import { usd } from "./figures";
import type { Left, Series } from "./filters";
import * as format from "./format";
import { Panel, type PanelProps } from "./panels";
import { CsvButton, DataTable, type Column } from "./table";

/** The trials of one value of a dimension. */
export interface Verdict {
  index: number;
  trials: number;
  passed: number;
  failed: number;
  unjudged: number;
  rate: number;
  /** The 95 % interval of the rate. */
  low: number;
  high: number;
  costPerTrial: number;
  costPerPassed: number;
  /** Whether no other value is better at the same cost, or cheaper at the same rate. */
  isOnFront: boolean;
}

const [FAILED, PASSED] = [0, 1];

/** Trials of sessions that are left, and the part of the judged ones that passed. */
export function passRate(data: Data, left: Left): { passed: number; failed: number; rate: number } {
  let [passed, failed] = [0, 0];
  if (data.isJudged) {
    for (const at of left.sessions) {
      const outcome = data.sessions.trial_outcome[at];
      if (outcome === PASSED) passed++;
      else if (outcome === FAILED) failed++;
    }
  }
  return { passed, failed, rate: passed + failed > 0 ? passed / (passed + failed) : NaN };
}

/** The verdict on a session's trial; null without one. */
export function verdictOf(data: Data, session: number): string | null {
  const outcome = data.sessions.trial_outcome[session];
  return outcome === PASSED ? "passed" : outcome === FAILED ? "failed" : Number.isNaN(outcome) ? null : "unjudged";
}

/** The 95 % interval of a rate by Wilson's score. */
function wilson(passed: number, count: number): [number, number] {
  if (count === 0) return [NaN, NaN];
  const z = 1.959963984540054;
  const [rate, square] = [passed / count, z * z];
  const middle = rate + square / (2 * count);
  const half = z * Math.sqrt((rate * (1 - rate)) / count + square / (4 * count * count));
  const scale = 1 + square / count;
  return [Math.max(0, (middle - half) / scale), Math.min(1, (middle + half) / scale)];
}

export function byVerdict(data: Data, left: Left, by: Series): Verdict[] {
  const { sessions, groups } = data;
  interface Trials { passed: number; failed: number; unjudged: number; cost: number; known: number; judgedCost: number; passedKnown: number }
  const found = new Map<number, Trials>();
  for (const at of left.sessions) {
    const outcome = sessions.trial_outcome[at];
    if (Number.isNaN(outcome)) continue;
    const index = groups[by][sessions.group[at]];
    let it = found.get(index);
    if (!it) found.set(index, (it = { passed: 0, failed: 0, unjudged: 0, cost: 0, known: 0, judgedCost: 0, passedKnown: 0 }));
    const isJudged = outcome === PASSED || outcome === FAILED;
    if (outcome === PASSED) it.passed++;
    else if (outcome === FAILED) it.failed++;
    else it.unjudged++;
    const cost = sessions.trial_cost[at];
    if (Number.isNaN(cost)) continue;
    it.cost += cost;
    it.known++;
    if (isJudged) {
      it.judgedCost += cost;
      if (outcome === PASSED) it.passedKnown++;
    }
  }
  const out = Array.from(found, ([index, it]): Verdict => {
    const judged = it.passed + it.failed;
    const [low, high] = wilson(it.passed, judged);
    return {
      index,
      trials: judged + it.unjudged,
      passed: it.passed,
      failed: it.failed,
      unjudged: it.unjudged,
      rate: judged > 0 ? it.passed / judged : NaN,
      low,
      high,
      costPerTrial: it.known > 0 ? usd(it.cost) / it.known : NaN,
      costPerPassed: it.passedKnown > 0 ? usd(it.judgedCost) / it.passedKnown : NaN,
      isOnFront: false,
    };
  });
  const known = out.filter((it) => isKnown(it.rate) && isKnown(it.costPerTrial));
  for (const it of known) {
    const isWorse = (other: Verdict) =>
      other.costPerTrial <= it.costPerTrial && other.rate >= it.rate && (other.costPerTrial < it.costPerTrial || other.rate > it.rate);
    // The cheapest group of all may be one that passed nothing.
    it.isOnFront = known.length > 1 && it.rate > 0 && !known.some(isWorse);
  }
  const rank = (value: number) => (Number.isNaN(value) ? -1 : value);
  return out.sort((a, b) => rank(b.rate) - rank(a.rate) || b.trials - a.trials || a.index - b.index);
}

export function Verdicts({ data, left, state }: PanelProps) {
  const rows = useMemo(() => byVerdict(data, left, state.by), [left, state.by]);
  if (!data.isJudged) return null;
  const nameOf = (index: number) => format.visible(word(data, state.by, index) ?? format.UNKNOWN);
  const drawn = rows.filter((it) => isKnown(it.rate) && it.costPerTrial > 0);
  const columns: Column<Verdict>[] = [
    { title: state.by, name: state.by, value: (it) => word(data, state.by, it.index) },
    { title: "Trials", name: "trials", value: (it) => it.trials },
    { title: "Passed", name: "passed", value: (it) => it.passed },
    { title: "Failed", name: "failed", value: (it) => it.failed },
    { title: "Unjudged", name: "unjudged", value: (it) => it.unjudged },
    { title: "Pass rate", name: "pass_rate", value: (it) => it.rate, text: (it) => format.percent(it.rate) },
    { title: "From", name: "pass_rate_low", value: (it) => it.low, text: (it) => format.percent(it.low) },
    { title: "To", name: "pass_rate_high", value: (it) => it.high, text: (it) => format.percent(it.high) },
    { title: "Per trial", name: "cost_per_trial_usd", value: (it) => it.costPerTrial, text: (it) => format.money(it.costPerTrial) },
    { title: "Per passed", name: "cost_per_passed_usd", value: (it) => it.costPerPassed, text: (it) => format.money(it.costPerPassed) },
    { title: "On front", name: "is_on_front", value: (it) => (it.isOnFront ? "yes" : "") },
  ];
  const unpriced = rows.length - drawn.length;
  return (
    <Panel
      id="verdicts"
      title="Verdicts"
      unit={`trials by ${state.by}, with 95 % intervals`}
      note={`The line is the Pareto front: no other ${state.by} passes more often at a lower cost.${unpriced > 0 ? ` Not drawn, without a cost or a verdict: ${format.count(unpriced)}.` : ""}`}
      controls={<CsvButton name={`verdicts-by-${state.by}`} columns={columns} rows={() => rows} />}
    >
      {drawn.length > 0 ? (
        <Quality
          label={`Pass rate against cost per trial by ${state.by}`}
          points={drawn.map((it) => ({ name: nameOf(it.index), x: it.costPerTrial, y: it.rate, low: it.low, high: it.high, isOnFront: it.isOnFront }))}
          of={[left, state.by]}
        />
      ) : <p class="unknown">No trial with a verdict and a cost</p>}
      <DataTable name="verdicts" caption={`Trials by ${state.by}`} columns={columns} rows={rows} />
    </Panel>
  );
}
