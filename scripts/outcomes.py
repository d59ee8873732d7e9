#!/usr/bin/env python3
"""The statistics of `report outcomes` and `compare` against scipy and statsmodels, on generated sessions:

- Wilson's interval: statsmodels.stats.proportion.proportion_confint
- pass@k and pass^k: the definition, over all draws of k trials
- McNemar's exact test: statsmodels.stats.contingency_tables.mcnemar
- the interval of a mean difference: scipy.stats.bootstrap with method BCa, within a tenth of its width

Usage: outcomes.py --bin AGENTLOGS

Needs the packages of scripts/requirements.txt.
"""

import argparse
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint


def session(directory, name, labels, verdict, tokens, cost):
    """A recorded run of Claude, and its sidecar."""
    model = "claude-sonnet-4-5"
    usage = {"input_tokens": tokens, "output_tokens": 1}
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": model, "content": [{"type": "text", "text": "x"}], "usage": usage}
    result = {
        "type": "result", "subtype": "success", "is_error": False, "session_id": name, "num_turns": 1, "duration_ms": tokens,
        "total_cost_usd": cost, "usage": usage,
        "modelUsage": {model: {"inputTokens": tokens, "outputTokens": 1, "costUSD": cost}},
    }
    lines = [
        {"type": "system", "subtype": "init", "session_id": name, "cwd": "/app", "tools": [], "model": model},
        {"type": "assistant", "session_id": name, "message": message},
        result,
    ]
    (directory / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (directory / f"{name}.meta.json").write_text(json.dumps({"labels": labels, "verdict": verdict}))


def share_of_draws(outcomes, k, passes):
    """The share of all draws of k trials for which `passes` holds."""
    draws = list(itertools.combinations(outcomes, k))
    return sum(passes(draw) for draw in draws) / len(draws)


class Check:
    def __init__(self):
        self.count, self.wrong = 0, 0

    def near(self, name, found, expected, tolerance=1e-6):
        self.count += 1
        is_same = found is None and expected is None
        if found is not None and expected is not None:
            is_same = math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance)
        if not is_same:
            self.wrong += 1
            print(f"{name}: {found}, expected {expected}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", default="agentlogs")
    program = str(pathlib.Path(arguments.parse_args().bin).resolve())
    check, chance = Check(), random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        logs = folder / "logs"
        logs.mkdir()
        cohorts = {}
        for cohort, rate, factor in [("a", 0.45, 1.0), ("b", 0.7, 1.3), ("c", 1.0, 2.0)]:
            tasks = {}
            for task in range(60):
                trials = []
                for trial in range(1 if task % 2 else 1 + chance.randrange(6)):
                    passed, tokens = chance.random() < rate, 100 + int(chance.expovariate(1 / 5000) * factor)
                    cost = tokens / 1e5
                    name = f"{cohort}-{task}-{trial}"
                    verdict = {"task": f"t{task}", "trial": str(trial), "passed": passed}
                    session(logs, name, {"cohort": cohort}, verdict, tokens, cost)
                    trials.append((passed, cost, tokens))
                tasks[task] = trials
            cohorts[cohort] = tasks

        def run(*args):
            command = [program, *args, "--logs", str(logs), "--format", "json"]
            return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

        for k in (1, 2, 3, 5):
            for row in run("report", "outcomes", "--by", "label:cohort", "--k", str(k)):
                tasks = cohorts[row["label:cohort"]]
                outcomes = [[passed for passed, *_ in trials] for trials in tasks.values()]
                count, passed = sum(map(len, outcomes)), sum(map(sum, outcomes))
                low, high = proportion_confint(passed, count, method="wilson")
                check.near("pass_rate_low", row["pass_rate_low"], low)
                check.near("pass_rate_high", row["pass_rate_high"], high)
                enough = [trials for trials in outcomes if len(trials) >= k]
                check.near("tasks_with_k", row["tasks_with_k"], len(enough))
                expected = [numpy.mean([share_of_draws(trials, k, of) for trials in enough]) for of in (any, all)]
                check.near(f"pass@{k}", row["pass_at_k"], expected[0])
                check.near(f"pass^{k}", row["pass_hat_k"], expected[1])
                cost = sum(cost for trials in tasks.values() for _, cost, _ in trials)
                check.near("cost_per_passed_usd", row["cost_per_passed_usd"], cost / passed)

        for first, second in (("a", "b"), ("a", "c"), ("b", "a")):
            rows = {row["measure"]: row for row in run("compare", "--a", f"label:cohort={first}", "--b", f"label:cohort={second}")}
            pairs = [(cohorts[first][task], cohorts[second][task]) for task in cohorts[first]]
            mean = lambda trials, at: numpy.mean([trial[at] for trial in trials])
            majority = [(mean(a, 0) > 0.5, mean(b, 0) > 0.5) for a, b in pairs]
            table = [[sum(pair == (x, y) for pair in majority) for y in (True, False)] for x in (True, False)]
            check.near("p_value", rows["paired_pass_rate"]["p_value"], round(mcnemar(table, exact=True).pvalue, 10), 1e-6)
            for measure, at in (("paired_pass_rate", 0), ("paired_cost_usd", 1), ("paired_tokens", 2)):
                differences = numpy.array([mean(b, at) - mean(a, at) for a, b in pairs])
                check.near(f"difference of {measure}", rows[measure]["difference"], differences.mean())
                theirs = scipy.stats.bootstrap((differences,), numpy.mean, n_resamples=30_000, method="BCa", rng=numpy.random.default_rng(1))
                low, high = theirs.confidence_interval
                for end, expected in (("low", low), ("high", high)):
                    is_near = abs(rows[measure][end] - expected) <= 0.1 * (high - low)
                    check.near(f"{end} of {measure}", rows[measure][end], rows[measure][end] if is_near else expected)
    print(f"{check.count} values compared with scipy and statsmodels, {check.wrong} differ")
    sys.exit(1 if check.wrong else 0)


if __name__ == "__main__":
    main()
