"""Writes the directories `demo` and `demo-evaluation`: made-up logs of a made-up team, for documents, screenshots and tests of commands.

The same content is written on each machine. Usage: demo [--check]; --check compares with the directories instead."""
import filecmp
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile

import claude
import codex
import evaluation
import others
import team
import trials

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEOPLE = {"maya": ("maya-laptop", "web", team.SHOP), "jonas": ("jonas-desktop", "payments", team.BILLING),
          "priya": ("priya-laptop", "data", team.REPORTS)}


def write_lines(directory, files):
    for name, records in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n" for record in records), "utf-8")


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n", "utf-8")


def describe(directory, person):
    """What the logs do not contain: the machine, the person and the team."""
    host, group, cwd = PEOPLE[person]
    write_json(directory / "meta.json", {
        "host": host, "user": person, "cwd": cwd, "repository": f"github.com/tidewater/{cwd.rsplit('/', 1)[-1]}",
        "labels": {"team": group}})


def write(out):
    for person, runtime, files in [
        ("maya", "claude", [claude.transcript(it) for it in (team.CHECKOUT, team.SEARCH, team.FLAKY, team.INVOICE)]),
        ("jonas", "codex", [codex.rollout(it) for it in (team.REFUNDS, team.DUNNING, team.LEDGER_EXPORT)]),
        ("priya", "gemini", [others.gemini(team.WEEKLY)]),
        ("priya", "pi", [others.pi(team.CHURN, team.PRICES)]),
        ("priya", "claude", [claude.transcript(team.FORECAST)]),
        ("maya", "copilot", [others.copilot(team.LINKS)]),
    ]:
        for of_session in files:
            write_lines(out / person / runtime, of_session)
        describe(out / person / runtime, person)
    describe(out / "maya/copilot" / team.LINKS.id(), "maya")
    (out / "maya/copilot/meta.json").unlink()
    (out / "jonas/opencode").mkdir(parents=True)
    others.opencode(out / "jonas/opencode/opencode.db", [team.CARDS], team.PRICES)
    describe(out / "jonas/opencode", "jonas")
    for session in team.CI:
        log = f"{session.name}.jsonl"
        write_lines(out / "ci", {log: claude.stream(session, team.PRICES)})
        if session.end == "killed":
            (out / "ci" / log).write_bytes((out / "ci" / log).read_bytes()[:-301])
        write_json(out / "ci" / f"{session.name}.meta.json", {
            "host": "ci-runner-2", "user": "ci", "exitCode": {"success": 0, "killed": 137, "error": 1}[session.end],
            "repository": "github.com/tidewater/storefront", "labels": {"team": "web", "job": "nightly"}})
    for prompt, job, trial, session, task, passed, timed_out in trials.trials():
        directory = out / "jobs" / job / trial
        write_json(directory / "result.json", trials.result(job, trial, session, task, passed, timed_out))
        logs = directory / "agent/sessions/projects/-app"
        write_lines(logs, claude.transcript(session))
        write_json(logs / "meta.json", {"labels": {"prompt": prompt, "team": "evals"}})
        if not timed_out:
            (directory / "verifier").mkdir()
            (directory / "verifier/test-stdout.txt").write_text(trials.report(task, passed), "utf-8")


def write_evaluation(out):
    for trial, logs, result, printed in evaluation.trials():
        directory = out / evaluation.JOB / trial
        write_json(directory / "result.json", result)
        write_lines(directory, logs)
        if printed is not None:
            (directory / "verifier").mkdir()
            (directory / "verifier/test-stdout.txt").write_text(printed, "utf-8")


def content(path):
    """What a file contains: of a database its rows, as another SQLite may write them into other pages."""
    if path.suffix == ".db":
        return list(sqlite3.connect(path).iterdump())
    return path.read_bytes()


def differences(one, other, at=""):
    """The paths that are not equal in both directories."""
    found = filecmp.dircmp(one, other)
    names = found.left_only + found.right_only
    names += [name for name in found.common_files if content(one / name) != content(other / name)]
    below = (path for name in found.common_dirs for path in differences(one / name, other / name, f"{at}{name}/"))
    return [at + name for name in names] + list(below)


def main():
    is_check, different = sys.argv[1:] == ["--check"], []
    for name, write_all in (("demo", write), ("demo-evaluation", write_evaluation)):
        if is_check:
            with tempfile.TemporaryDirectory() as folder:
                write_all(pathlib.Path(folder))
                different += differences(pathlib.Path(folder), ROOT / name)
        else:
            shutil.rmtree(ROOT / name, ignore_errors=True)
            write_all(ROOT / name)
    sys.exit(f"not as scripts/demo writes them: {', '.join(different)}" if different else 0)


main()
