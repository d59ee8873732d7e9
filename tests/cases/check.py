#!/usr/bin/env python3
"""Runs agentlogs over the cases next to this file, and compares its answers with theirs. README.md describes a case.

check.py [--bin PROGRAM] [--only TEXT] [--list-file FILE] [--jobs N] [-v]
check.py --list            prints the rule of each case
check.py --check-table     checks the cases themselves, without the program
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import generate  # noqa: E402

HERE = Path(__file__).resolve().parent
# Another directory of cases of the same form.
ROOT = Path(os.environ.get("AGENTLOGS_CASES", HERE))
# Seconds that a command may take.
TIMEOUT = 60
KEYS = {"about", "source", "ingest", "expect", "generate", "ingest_times", "before"}
KEYS_OF_COMMAND = {"args", "exit", "rows_json", "stdout_lacks_bytes"}
TABLES = ("sessions", "turns", "tool_calls", "file_changes", "events", "sources", "rejects")


class FailedError(Exception):
    """An answer that is not the expected one."""


def short(value: object, limit: int = 600) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[:limit] + "…"


def microseconds(value: object) -> int | None:
    """A time in any of the usual forms, as microseconds since 1970."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if abs(value) > 10**14:
            return int(value)
        return int(value * 1000) if abs(value) > 10**11 else int(value * 10**6)
    pattern = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s*(Z|UTC|[+-]\d\d:?\d\d)?"
    match = re.fullmatch(pattern, value.strip()) if isinstance(value, str) else None
    if not match:
        return None
    date, time, fraction, zone = match.groups()
    seconds = datetime.datetime.fromisoformat(f"{date}T{time}+00:00").timestamp()
    if zone and zone not in ("Z", "UTC"):
        offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds -= offset if zone[0] == "+" else -offset
    return int(seconds) * 10**6 + int((fraction or "0").ljust(9, "0")[:6])


def is_same(expected: object, actual: object) -> bool:
    """Whether a value is the expected one, or meets the demand that an object states."""
    if isinstance(expected, dict):
        if "one_of" in expected:
            return any(is_same(one, actual) for one in expected["one_of"])
        if "min" in expected or "max" in expected:
            is_number = isinstance(actual, (int, float))
            return is_number and expected.get("min", -math.inf) <= actual <= expected.get("max", math.inf)
        if "time" in expected:
            return microseconds(actual) is not None and microseconds(actual) == microseconds(expected["time"])
        raise FailedError(f"the case has an unknown expectation {expected}")
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return math.isclose(expected, actual, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(expected, str) and isinstance(actual, str):
        # A date that is printed as a time of midnight.
        if re.fullmatch(r"\d{4}-\d\d-\d\d", expected) and len(actual) > 10:
            return re.fullmatch(re.escape(expected) + r"[T ]00:00:00(\.0+)?(Z|\+00:00|[+-]\d\d:?\d\d)?", actual) is not None
        return expected == actual
    return type(expected) is type(actual) and expected == actual


def is_same_row(expected: list, actual: list) -> bool:
    return len(expected) == len(actual) and all(map(is_same, expected, actual))


def is_same_set(expected: list[dict], actual: list) -> bool:
    """Whether each expected object is part of exactly one row, in any order, with no row left."""
    left = list(actual)
    for wanted in expected:

        def matches(row: object, wanted: dict = wanted) -> bool:
            return isinstance(row, dict) and all(key in row and is_same(value, row[key]) for key, value in wanted.items())

        found = next((index for index, row in enumerate(left) if matches(row)), None)
        if found is None:
            return False
        del left[found]
    return not left


class Run:
    """A case in a temporary directory: `logs` are its logs, `a` is their archive."""

    def __init__(self, name: str, program: str, directory: Path) -> None:
        self.folder = ROOT / name
        self.case = json.loads((self.folder / "case.json").read_text(encoding="utf-8"))
        self.program = program
        self.directory = directory
        self.logs = directory / "logs"
        self.archive = str(directory / "a")
        (directory / "home").mkdir()

    def failures(self) -> list[tuple[str, str]]:
        """The expectations that are not met, with the reason."""
        self.write_logs()
        if "before" in self.case:
            self.cut_logs(self.case["before"]["keep_lines"])
            self.ingest()
            shutil.rmtree(self.logs)
            self.write_logs()
        for _ in range(self.case.get("ingest_times", 1)):
            self.ingest()
        failures = []
        for key, expected in self.case["expect"].items():
            try:
                self.check_sql(expected) if "sql" in expected else self.check_command(expected)
            except FailedError as error:
                failures.append((key, str(error)))
        return failures

    def write_logs(self) -> None:
        if "generate" in self.case:
            generate.make(self.case["generate"], str(self.logs))
        else:
            shutil.copytree(self.folder / "logs", self.logs, symlinks=True)

    def cut_logs(self, lines: int) -> None:
        for path in filter(Path.is_file, self.logs.rglob("*")):
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))

    def ingest(self) -> None:
        status, _, error = self.execute(["ingest", "logs", "--archive", self.archive, *self.case.get("ingest", [])])
        if status != 0:
            raise FailedError(f"ingest: exit status {status}: {error}")

    def execute(self, arguments: list[str]) -> tuple[int, bytes, str]:
        """Exit status, output and the end of the messages of a command, without logs and settings of the user."""
        environment = {"HOME": str(self.directory / "home"), "TZ": "UTC", "LANG": "C.UTF-8", "RUST_BACKTRACE": "1"}
        environment["PATH"] = os.environ.get("PATH", "")
        command = [self.program, *arguments]
        try:
            done = subprocess.run(
                command, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT
            )
        except OSError as error:
            raise FailedError(f"{self.program} does not run: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise FailedError(f"more than {TIMEOUT} s: {short(' '.join(arguments))}") from error
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return done.returncode, done.stdout, short(" | ".join(messages[-4:]), 400)

    def check_sql(self, expected: dict) -> None:
        status, output, error = self.execute(["query", "--archive", self.archive, "--format", "json", expected["sql"]])
        if status != 0:
            raise FailedError(f"query: exit status {status}: {error}")
        actual = [list(row.values()) if isinstance(row, dict) else row for row in rows_of(output, "query")]
        rows = expected["rows"]
        if len(rows) != len(actual) or not all(map(is_same_row, rows, actual)):
            raise FailedError(f"{expected['sql']}\n      expected {short(rows)}\n      actual   {short(actual)}")

    def check_command(self, expected: dict) -> None:
        names = {"{tmp}": str(self.directory), "{logs}": "logs", "{archive}": self.archive}
        arguments = list(expected["args"])
        for name, value in names.items():
            arguments = [argument.replace(name, value) for argument in arguments]
        if arguments[0] in ("report", "query", "export") and not {"--archive", "--logs"} & set(arguments):
            arguments += ["--archive", self.archive]
        status, output, error = self.execute(arguments)
        command = " ".join(expected["args"])
        if status != expected.get("exit", 0):
            raise FailedError(f"{command}\n      expected exit status {expected.get('exit', 0)}\n      actual   {status}: {error}")
        if "rows_json" in expected:
            actual = rows_of(output, command)
            if not is_same_set(expected["rows_json"], actual):
                raise FailedError(f"{command}\n      expected {short(expected['rows_json'])}\n      actual   {short(actual)}")
        if "stdout_lacks_bytes" in expected:
            if bytes.fromhex(expected["stdout_lacks_bytes"]) in output:
                raise FailedError(f"{command}: the output contains the bytes {expected['stdout_lacks_bytes']}")
            if not output.strip():
                raise FailedError(f"{command}: the output is empty")


def rows_of(output: bytes, command: str) -> list:
    try:
        rows = json.loads(output)
    except ValueError as error:
        raise FailedError(
            f"{command}: the output is not JSON ({error}): {short(output[:200].decode('utf-8', 'replace'))}"
        ) from error
    if not isinstance(rows, list):
        raise FailedError(f"{command}: the output is not a JSON array")
    return rows


def failures_of(name: str, program: str) -> list[tuple[str, str]]:
    """The expectations of a case that are not met. A case that is broken is a failure, too."""
    with tempfile.TemporaryDirectory(prefix="agentlogs-case-", ignore_cleanup_errors=True) as directory:
        try:
            return Run(name, program, Path(directory)).failures()
        except FailedError as error:
            return [("-", str(error))]
        except Exception as error:
            return [("-", f"{type(error).__name__}: {error}")]


def columns(program: str) -> sqlite3.Connection:
    """A database with the tables of the program, without rows."""
    database = sqlite3.connect(":memory:")
    logs = ROOT / "001-pi-json" / "logs"
    for table in TABLES:
        command = [program, "query", f"SELECT * FROM {table}", "--logs", logs, "--format", "csv"]
        header = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]
        database.execute(f"CREATE TABLE {table} ({header})")
    return database


def problem_of(name: str, database: sqlite3.Connection) -> str | None:
    """What is wrong with a case: a missing part, an unknown key, or SQL that names other tables or columns."""
    folder = ROOT / name
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    if set(case) - KEYS:
        return f"unknown keys {set(case) - KEYS}"
    if not (case.get("about") and case.get("source") and case.get("expect")):
        return "no about, source or expect"
    if ("generate" in case) == (folder / "logs").is_dir() or case.get("generate", "odd_paths") not in generate.MAKERS:
        return "neither logs nor a generator of logs, or both"
    for key, expected in case["expect"].items():
        if "sql" not in expected:
            if "args" not in expected or set(expected) - KEYS_OF_COMMAND:
                return f"{key}: unknown keys"
            continue
        try:
            names = [column[0] for column in database.execute(expected["sql"]).description]
        except sqlite3.Error as error:
            return f"{key}: {error}"
        if set(expected) != {"sql", "rows"} or len(set(names)) != len(names):
            return f"{key}: unknown keys, or two columns of one name"
        if any(len(row) != len(names) for row in expected["rows"]):
            return f"{key}: a row has another number of values"
    return None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("AGENTLOGS_BIN", "agentlogs")
    parser.add_argument("--bin", default=default, help="the program; default: $AGENTLOGS_BIN, or agentlogs in PATH")
    parser.add_argument("--list-file", type=Path, help="only the cases that this file names, one a line")
    parser.add_argument("--only", default="", help="only cases with this text in their name; a number: at its beginning")
    parser.add_argument("--jobs", type=int, default=max(1, min(8, os.cpu_count() or 1)))
    parser.add_argument("-v", "--verbose", action="store_true", help="also names the cases that pass, and the rules of the others")
    parser.add_argument("--list", action="store_true", help="prints the rules of the cases")
    parser.add_argument("--check-table", action="store_true", help="checks the cases themselves")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[str]:
    names = sorted(path.parent.name for path in ROOT.glob("*/case.json"))
    if options.list_file:
        lines = options.list_file.read_text(encoding="utf-8").splitlines()
        listed = {line.split("#")[0].strip() for line in lines}
        names = [name for name in names if name in listed]
    only = options.only
    return [name for name in names if (name.startswith(only) if only.isdigit() else only in name)]


def about(name: str) -> str:
    case = json.loads((ROOT / name / "case.json").read_text(encoding="utf-8"))
    return f"{case['about']} [{case['source']}]"


def run_all(names: list[str], program: str, options: argparse.Namespace) -> int:
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for name, failures in zip(names, pool.map(lambda name: failures_of(name, program), names), strict=True):
            if failures:
                failed += 1
                print(f"FAIL {name}")
                if options.verbose:
                    print(f"    {about(name)}")
            elif options.verbose:
                print(f"ok   {name}")
            for key, reason in failures:
                print(f"    {key}: {reason}")
            sys.stdout.flush()
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


def check_table(names: list[str], program: str) -> int:
    database = columns(program)
    problems = {name: problem for name in names if (problem := problem_of(name, database))}
    for name, problem in problems.items():
        print(f"{name}: {problem}")
    print(f"{len(names) - len(problems)} valid, {len(problems)} invalid")
    return 1 if problems else 0


def main() -> int:
    options = arguments()
    names = chosen(options)
    if options.list:
        for name in names:
            print(f"{name}: {about(name)}")
        return 0
    program = shutil.which(options.bin) or options.bin
    if os.sep in program:
        program = os.path.abspath(program)
    return check_table(names, program) if options.check_table else run_all(names, program, options)


if __name__ == "__main__":
    sys.exit(main())
