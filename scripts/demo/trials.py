"""An evaluation of two prompts with Harbor: twelve tasks, one trial each. Prompt B asks for a test first."""
import harbor
from model import Session, Step, digest, edit, iso, read, run, seconds, uuid4, when

# Whether the trials with prompt A and prompt B passed.
TASKS = {
    "add-a-health-check": (True, True), "cache-the-exchange-rates": (False, True), "close-idle-connections": (True, True),
    "escape-html-in-mails": (False, True), "fix-a-leap-year": (True, True), "fix-the-tax-of-gifts": (False, True),
    "limit-login-attempts": (False, True), "merge-two-carts": (False, False), "paginate-orders": (True, True),
    "rename-a-column": (True, True), "retry-failed-webhooks": (False, True), "sort-by-relevance": (False, True)}
MODEL = "claude-sonnet-5"
PROMPTS = {"a": "Solve the task.", "b": "Write a failing test first, then solve the task, then run all tests."}


def trials():
    """The trials: directory, session, task, whether it passed, and whether it ran into its timeout."""
    for prompt, offset in (("a", 0), ("b", 36_000)):
        job = f"2026-11-16__prompt-{prompt}"
        for number, (task, passes) in enumerate(TASKS.items()):
            start = iso(when("2026-11-16T10:00:00Z") + seconds(offset + 660 * number))
            trial = f"{task}__{digest(job, task)[:7]}"
            passed = passes[prompt == "b"]
            timed_out = (prompt, task) == ("a", "merge-two-carts")
            log = session(f"{job}-{task}", start, task, prompt, passed, timed_out)
            yield prompt, job, trial, log, task, passed, timed_out


def session(name, start, task, prompt, passed, timed_out):
    file = f"/app/src/{task.split('-')[-1]}.py"
    weight = int(digest(task)[:2], 16)
    steps = [Step(prompt=f"{PROMPTS[prompt]} The task is in /app/TASK.md.", output=260,
                  calls=[read("/app/TASK.md", 900), run("git status --short", "", 0.2, tokens=80)]),
             Step(output=240, calls=[run("ls src tests", "src:\ntests:", 0.1, tokens=200), read(file, 2_600 + 20 * weight)])]
    if prompt == "b":
        steps.append(Step(output=900, calls=[run("pytest -k new", "1 failed", 6.0, 1, 800)]))
    if timed_out:
        steps += [Step(output=2_400, calls=[run("pytest", "2 failed", 88.0, 1, 1_600)]) for _ in range(4)]
        return Session(name, start, MODEL, "/app", "main", steps, 21_000)
    steps.append(Step(output=1_500 + 6 * weight, calls=[edit(file, "    pass", "    return handle(request)")]))
    for attempt in range(0 if passed else 2):
        steps.append(Step(output=1_600 + 5 * weight, calls=[run("pytest", f"{attempt + 1} failed", 14.0, 1, 1_600)]))
    steps.append(Step(output=200, calls=[run("pytest", "31 passed", 13.0, tokens=900)]))
    steps.append(Step(output=240, text="The task is solved."))
    return Session(name, start, MODEL, "/app", "main", steps, 21_000)


def result(job, trial, session, task, passed, timed_out):
    error = ("AgentTimeoutError", "Agent execution timed out after 600.0 seconds", 600) if timed_out else None
    phases = {"environment_setup": (-40, -12), "agent_setup": (-12, -1), "agent_execution": (-1, 600), "verifier": (601, 640)}
    return harbor.result(uuid4(job, task), job, trial, session.start, task, ("claude-code", "2.1.296", MODEL, "anthropic"), passed, error, phases, 640)


def report(task, passed):
    """What the verifier printed: the summary of pytest."""
    name = task.replace("-", "_")
    if passed:
        return "============ 4 passed in 2.31s ============\n"
    return (f"FAILED tests/test_{name}.py::test_{name} - AssertionError: assert None == 200\n"
            "======= 1 failed, 3 passed in 2.84s =======\n")
