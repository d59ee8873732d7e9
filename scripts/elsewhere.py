#!/usr/bin/env python3
"""What leaves an archive, as other programs read it:

- every query of queries/ gives the same rows in DuckDB, over the parquet files of `agentlogs export`, as in `agentlogs
  query`: the same columns, the same order, numbers within 1e-9
- the trajectories of `agentlogs export --as atif` are valid by the models of the package atif
- the Python of docs/archive.md runs

Usage: elsewhere.py --bin AGENTLOGS [PATH...]      logs to read; sample-logs without any

Needs the packages of scripts/requirements.txt.
"""

import argparse
import datetime
import decimal
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import atif
import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent


def plain(value):
    """A value of DuckDB as JSON has it."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def is_same(ours, theirs):
    numbers = [it for it in (ours, theirs) if isinstance(it, (int, float)) and not isinstance(it, bool)]
    if len(numbers) == 2:
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    return ours == theirs


def difference(ours, columns, theirs):
    """The first that differs, in words."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows here, {len(theirs)} in DuckDB"
    for number, (own, row) in enumerate(zip(ours, theirs), 1):
        if list(own) != columns:
            return f"columns {list(own)} here, {columns} in DuckDB"
        for (name, value), other in zip(own.items(), row):
            if not is_same(value, plain(other)):
                return f"row {number}, {name}: {value!r} here, {plain(other)!r} in DuckDB"
    return None


def queries(run, folder):
    """Runs the queries in DuckDB."""
    run("export", "tables")
    connection = duckdb.connect()
    for path in sorted((folder / "tables").glob("*.parquet")):
        connection.execute(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}'")
    files = sorted((ROOT / "queries").glob("*.sql"))
    rows = 0
    for query in files:
        ours = json.loads(run("query", "-f", str(query), "--format", "json"))
        answer = connection.execute(query.read_text())
        columns = [it[0] for it in answer.description]
        found = difference(ours, columns, answer.fetchall())
        rows += len(ours)
        if found:
            yield f"{query.name}: {found}"
    print(f"{len(files)} queries, {rows} rows in DuckDB {duckdb.__version__}")


def trajectories(run, folder):
    """Validates the trajectories."""
    run("export", "trajectories", "--as", "atif")
    files = sorted((folder / "trajectories").glob("*.json"))
    sessions = json.loads(run("query", "SELECT COUNT(*) AS n FROM sessions", "--format", "json"))[0]["n"]
    if len(files) != sessions:
        yield f"{len(files)} trajectories of {sessions} sessions"
    steps = 0
    for path in files:
        try:
            steps += len(atif.Trajectory.model_validate_json(path.read_bytes()).steps)
        except ValueError as error:
            yield f"{path.name}: {error}"
    print(f"{len(files)} trajectories, {steps} steps by the models of atif")


def documents(_, folder):
    """Runs the Python blocks of docs/archive.md, each by itself, beside an archive."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/archive.md").read_text(), re.S)
    blocks = [it for it in blocks if "pyspark" not in it]
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0 or not done.stdout.strip():
            yield f"docs/archive.md:\n{block}{done.stdout}{done.stderr}"
    print(f"{len(blocks)} blocks of docs/archive.md")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("paths", nargs="*", type=pathlib.Path, default=[ROOT / "sample-logs"])
    args = parser.parse_args()
    program = args.bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def run(*words):
            words = [*words, "--archive", "agentlogs-archive"]
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"agentlogs {' '.join(map(str, words))}: exit status {done.returncode}\n{done.stderr}")
            return done.stdout

        run("ingest", *(it.resolve() for it in args.paths), "--content", "full")
        failures = [it for check in (queries, trajectories, documents) for it in check(run, folder)]
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
