#!/usr/bin/env python3
"""What leaves an archive, as other programs read it:

- every query of queries/ and docs/sql.md gives the same rows in DuckDB, over the parquet files of `agentlogs export`, as in `agentlogs
  query`: the same columns, the same order, numbers within 1e-9; and so do they over a lake
- the trajectories of `agentlogs export --as atif` are valid by the models of the package atif
- the Python of docs/archive.md and docs/lake.md runs, and the SQL of docs/lake.md for DuckDB and chDB

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


# The computed table that queries read, as `agentlogs schema` describes it.
OUTCOMES = {
    "runtime": "VARCHAR", "session_id": "VARCHAR", "task": "VARCHAR", "trial": "VARCHAR", "passed": "BOOLEAN",
    "score": "DOUBLE", "message": "VARCHAR", "sessions": "BIGINT", "cost_usd": "DOUBLE", "total_tokens": "BIGINT",
    "turns": "BIGINT", "duration_ms": "BIGINT",
}


def queries(run, folder):
    """Runs the queries in DuckDB, over one file per table and over a lake."""
    run("export", "tables")
    run("export", "lake", "--as", "lake")
    tables = {path.stem: f"'{path}'" for path in (folder / "tables").glob("*.parquet")}
    (folder / "outcomes.csv").write_text(run("query", "SELECT * FROM outcomes", "--format", "csv"))
    tables["outcomes"] = f"read_csv('{folder}/outcomes.csv', header = true, columns = {OUTCOMES})"
    yield from answers(run, folder, "the tables", tables)
    # Of a table without rows a lake has no files.
    in_lake = lambda table: f"read_parquet('{folder}/lake/{table}/**/*.parquet', hive_partitioning = true)"
    lake = {table: in_lake(table) if (folder / "lake" / table).is_dir() else file for table, file in tables.items()}
    yield from answers(run, folder, "the lake", lake)


def examples(folder):
    """The examples of docs/sql.md as files."""
    files = []
    for number, block in enumerate(re.findall(r"```sql\n(.*?)```", (ROOT / "docs/sql.md").read_text(), re.S), 1):
        files.append(folder / f"example-{number}-of-docs-sql.sql")
        files[-1].write_text(block)
    return files


def answers(run, folder, name, tables):
    """Compares the answers of all queries over tables, by their names in SQL."""
    connection = duckdb.connect()
    for table, source in sorted(tables.items()):
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {source}")
    connection.execute("SET TimeZone = 'UTC'")
    files = sorted((ROOT / "queries").glob("*.sql")) + examples(folder)
    rows = 0
    for query in files:
        ours = json.loads(run("query", "-f", str(query), "--format", "json"))
        answer = connection.execute(query.read_text())
        columns = [it[0] for it in answer.description]
        found = difference(ours, columns, answer.fetchall())
        rows += len(ours)
        if found:
            yield f"{query.name}, {name}: {found}"
    print(f"{len(files)} queries over {name}, {rows} rows in DuckDB {duckdb.__version__}")


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
    """Runs the Python blocks of the documents beside an archive and a lake, each by itself, and the SQL of docs/lake.md."""
    count = 0
    for document in ["docs/archive.md", "docs/lake.md"]:
        blocks = re.findall(r"```(python|sql duckdb|sql chdb)\n(.*?)```", (ROOT / document).read_text(), re.S)
        for language, block in blocks:
            if "pyspark" in block or "deltalake" in block:
                continue
            if language == "sql duckdb":
                code = f"import duckdb; print(duckdb.sql({block!r}))"
            elif language == "sql chdb":
                code = f"import chdb; print(chdb.query({block!r}, 'Pretty'))"
            else:
                code = block
            done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0 or not done.stdout.strip():
                yield f"{document}:\n{block}{done.stdout}{done.stderr}"
            count += 1
    print(f"{count} blocks of docs/archive.md and docs/lake.md")


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
