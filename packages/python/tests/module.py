"""Checks the installed package: its functions against the program's own answers, its errors, and, on request, the libraries that
take its tables.

Usage: module.py LOGS ARCHIVE [--with-libraries]      ARCHIVE contains LOGS
"""

from __future__ import annotations

import csv
import importlib
import io
import subprocess
import sys
import tempfile
from pathlib import Path

import agentlogs


def rows_of_program(sql: str, archive: str) -> list[dict[str, str]]:
    command = [agentlogs.program(), "query", sql, "--format", "csv", "--archive", archive]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(answer)))


def raises(kind: type[Exception], call: object, *arguments: object, **options: object) -> Exception:
    try:
        call(*arguments, **options)  # type: ignore[operator]
    except kind as error:
        assert type(error) is kind, repr(error)
        assert str(error), "an error has a message"
        return error
    raise AssertionError(f"no {kind.__name__}")


def check_functions(logs: str, archive: str) -> None:
    counts = {}
    for table in agentlogs.TABLES:
        read = agentlogs.read(archive, table)
        counts[table] = len(read)
        expected = rows_of_program(f"SELECT COUNT(*) AS n FROM {table}", archive)
        assert len(read) == int(expected[0]["n"]), table
        columns = rows_of_program(f"SELECT * FROM {table} LIMIT 1", archive)
        # Sessions have the verdict of their trial, too.
        of_verdicts = ["passed", "task", "trial"] if table == "sessions" else []
        if columns:
            assert read.column_names == [*columns[0], *of_verdicts], table
    assert counts["turns"] > 100 and counts["sessions"] > 100, counts

    # Times, lists, numbers and unknown values keep their types.
    turns = agentlogs.read(archive).to_pylist()
    total = float(rows_of_program("SELECT SUM(cost_usd) AS cost FROM turns", archive)[0]["cost"])
    assert abs(sum(turn["cost_usd"] or 0 for turn in turns) - total) < 1e-9
    assert any(turn["cost_usd"] is None for turn in turns)
    assert {type(turn["occurred_at"]).__name__ for turn in turns} == {"datetime", "NoneType"}
    sessions = agentlogs.read(archive, "sessions").to_pylist()
    assert any(isinstance(session["models"], list) for session in sessions)

    # Filters, of an archive and of logs.
    for source in (archive, logs, Path(logs), [Path(logs)]):
        codex = agentlogs.read(source, "sessions", runtime="codex", since="2020-01-01").to_pylist()
        assert codex and {session["runtime"] for session in codex} == {"codex"}, source
    assert len(agentlogs.read(archive, "turns", since="2099-01-01")) == 0
    answer = agentlogs.query("SELECT runtime, COUNT(*) AS n FROM sessions GROUP BY runtime ORDER BY runtime", archive)
    assert answer.column_names == ["runtime", "n"] and sum(row["n"] for row in answer.to_pylist()) == counts["sessions"]
    assert len(agentlogs.query("weekly-cost-by-model", logs)) > 0
    # A table can be read again.
    assert answer.to_pylist() == answer.to_pylist() and repr(answer).startswith("<agentlogs.Table of ")
    check_html(archive)

    with tempfile.TemporaryDirectory() as directory:
        other = Path(directory, "other")
        summary = agentlogs.ingest([Path(logs, "pi-session")], archive=other, labels={"suite": "a b", "n": "1"}, redact=True)
        assert "sessions" in summary, summary
        labels = {label for session in agentlogs.read(other, "sessions").to_pylist() for label in session["labels"]}
        assert {"suite=a b", "n=1"} <= labels, labels
        assert len(agentlogs.read(other, labels={"suite": "a b"})) == len(agentlogs.read(other)) > 0
        raises(agentlogs.IncompleteError, agentlogs.ingest, Path(logs, "atif"), archive=other, strict=True)


def check_html(archive: str) -> None:
    """A notebook shows the first rows of a table; text of logs is no markup."""
    page = agentlogs.query("SELECT '<b>' AS text, NULL AS nothing, turn FROM turns ORDER BY turn LIMIT 30", archive)._repr_html_()
    assert page.count("<tr>") == 21 and "<th>text</th>" in page and "<td>&lt;b&gt;</td><td></td>" in page, page
    assert page.endswith("<p>10 more rows</p>"), page


def check_errors(archive: str) -> None:
    error = raises(agentlogs.WrongCommandLineError, agentlogs.read, archive, "no_such_table")
    assert isinstance(error, agentlogs.AgentlogsError) and error.status == 2 and "no_such_table" in str(error)
    raises(agentlogs.WrongCommandLineError, agentlogs.read, archive, since="no time")
    raises(agentlogs.AgentlogsError, agentlogs.query, "SELECT no_such_column FROM turns", archive)
    raises(agentlogs.AgentlogsError, agentlogs.query, "DROP TABLE turns", archive)
    raises(agentlogs.AgentlogsError, agentlogs.read, "no-such-directory")
    raises(agentlogs.AgentlogsError, agentlogs.ingest, "no-such-file")
    # Text that resembles an option is never run as one.
    raises(agentlogs.WrongCommandLineError, agentlogs.query, "--help", archive)
    raises(agentlogs.AgentlogsError, agentlogs.ingest, "--version")
    try:
        importlib.import_module("agentlogs.spark")
    except ImportError as error:
        assert "agentlogs-spark" in str(error), error


def check_libraries(archive: str) -> None:
    import duckdb
    import pandas
    import polars
    import pyarrow

    sql = "SELECT runtime, COUNT(*) AS n, SUM(cost_usd) AS cost FROM turns GROUP BY runtime ORDER BY runtime"
    answer = agentlogs.query(sql, archive)
    expected = answer.to_pylist()
    assert pyarrow.table(answer).to_pylist() == expected
    assert polars.DataFrame(answer).to_dicts() == expected
    turns = agentlogs.read(archive)
    assert len(pandas.DataFrame.from_arrow(turns)) == pyarrow.table(turns).num_rows == len(turns)
    # DuckDB finds a table by the name of its variable.
    assert duckdb.sql("SELECT COUNT(*), SUM(cost_usd) FROM turns").fetchall()[0][0] == len(turns)
    assert duckdb.sql("SELECT COUNT(*), SUM(n) FROM answer").fetchall() == [(len(expected), len(turns))]
    assert answer.to_polars().to_dicts() == expected
    # Pandas has NaN in place of NULL.
    rows = answer.to_pandas().to_dict("records")
    assert [{name: None if pandas.isna(value) else value for name, value in row.items()} for row in rows] == expected
    assert pyarrow.schema(answer) == pyarrow.table(answer).schema


def main() -> None:
    logs, archive = sys.argv[1:3]
    check_functions(logs, archive)
    check_errors(archive)
    if "--with-libraries" in sys.argv:
        check_libraries(archive)
    print(f"{Path(agentlogs.__file__).parent.name}: functions, errors" + (", libraries" if "--with-libraries" in sys.argv else ""))


if __name__ == "__main__":
    main()
