"""An evaluation with Harbor: three agents, twelve tasks, three attempts. Beside the demo, as it is no part of the team's bill."""
import harbor
from claude import transcript
from codex import rollout
from model import Session, Step, digest, edit, iso, read, run, seconds, token, uuid4, when
from others import gemini
from trials import TASKS, report

JOB = "2026-11-18__three-agents"
ATTEMPTS = 3
# The agent, its version and model, the provider, how good it is at the easiest task, and how it writes its log.
AGENTS = {
    "claude-code": ("2.1.296", "claude-opus-5", "anthropic", 1.1, transcript, "sessions/projects/-app"),
    "codex": ("0.153.4", "gpt-5.5", "openai", 1.0, rollout, "sessions/2026/11/18"),
    "gemini-cli": ("0.52.0", "gemini-3.1-pro-preview", "google", 0.8, gemini, "gemini-cli")}
# How hard the tasks are.
DIFFICULTY = dict(zip(TASKS, (0.0, 0.3, 0.1, 0.4, 0.1, 0.6, 0.5, 0.9, 0.2, 0.1, 0.5, 0.7)))
# What the agent did if it did not pass, by the last digit of the digest.
ENDS = ("wrong", "wrong", "wrong", "red", "red", "unverified", "gave_up", "timeout")


def share(*parts):
    """A number from 0 to 1 that depends only on the parts."""
    return int(digest(*parts)[:8], 16) / 2 ** 32


def end_of(agent, task, attempt):
    """How a trial ends: `passed`, `broken` without its container, or one of ENDS."""
    if (agent, task, attempt) == ("gemini-cli", "paginate-orders", 2):
        return "broken"
    if share(JOB, agent, task, attempt) < AGENTS[agent][3] - DIFFICULTY[task]:
        return "passed"
    return ENDS[int(share("end", agent, task, attempt) * len(ENDS))]


def trials():
    """The trials: directory, files of the agent by their names, result, and what the verifier printed."""
    number = 0
    for attempt in range(ATTEMPTS):
        for task in TASKS:
            for agent, (version, model, provider, _, write, place) in AGENTS.items():
                start = iso(when("2026-11-18T08:00:00Z") + seconds(240 * number))
                number += 1
                end = end_of(agent, task, attempt)
                trial = f"{task}__{token('', 7, JOB, agent, task, attempt)}"
                logs = {} if end == "broken" else write(session(agent, model, start, task, attempt, end))
                printed = None if end in ("broken", "timeout") else report(task, end == "passed")
                yield (trial, {f"agent/{place}/{name}": records for name, records in logs.items()},
                       result(agent, version, model, provider, start, task, trial, end), printed)


def session(agent, model, start, task, attempt, end):
    file = f"/app/src/{task.split('-')[-1]}.py"
    size = 0.6 + 0.8 * share("size", agent, task, attempt) + DIFFICULTY[task]
    tokens = lambda count: int(count * size)
    first = [read("/app/TASK.md", 900)]
    if (agent, task, attempt) == ("codex", "merge-two-carts", 1):
        first.append(read("/tests/verifier/test_outputs.py", 1_800))
    if (agent, task, attempt) == ("claude-code", "merge-two-carts", 0):
        first.append(run("git log --all --oneline", "3f1c2ab merge carts", 0.2, tokens=300))
    steps = [Step(prompt="Solve the task in /app/TASK.md.", output=tokens(240), calls=first),
             Step(output=tokens(260), calls=[run("ls src tests", "src:\ntests:", 0.1, tokens=200), read(file, tokens(2_600))])]
    changed = Step(output=tokens(1_400), calls=[edit(file, "    pass", "    return handle(request)")])
    red = Step(output=tokens(700), calls=[run("pytest", "2 failed, 29 passed", 14.0, 1, tokens(1_600))])
    green = Step(output=tokens(200), calls=[run("pytest", "31 passed", 13.0, tokens=900)])
    answer = Step(output=240, text="The task is solved.")
    steps += {"passed": [changed, green, answer], "wrong": [changed, red, changed, green, answer], "red": [changed, red, changed, red, answer],
              "unverified": [changed, answer], "gave_up": [Step(output=300, text="The task cannot be solved without its database.")],
              "timeout": [changed, red, red, red]}[end]
    return Session(f"{JOB}-{agent}-{task}-{attempt}", start, model, "/app", "main", steps, 18_000)


def result(agent, version, model, provider, start, task, trial, end):
    error = {"timeout": ("AgentTimeoutError", "Agent execution timed out after 600.0 seconds", 200),
             "broken": ("EnvironmentStartError", "docker compose up failed: no space left on device", 200)}.get(end)
    phases = {"environment_setup": (-40, -12)}
    if end != "broken":
        phases |= {"agent_execution": (-1, 200), "verifier": (201, 220)}
    return harbor.result(uuid4(JOB, trial), JOB, trial, start, task, (agent, version, model, provider), end == "passed", error, phases, 220)
