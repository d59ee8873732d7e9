"""The functions of the package."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Union

from agentlogs._program import run
from agentlogs._table import Table

TABLES = (
    "sessions",
    "turns",
    "tool_calls",
    "file_changes",
    "events",
    "limits",
    "verdicts",
    "sources",
    "rejects",
    "unknown_records",
    "commits",
    "commit_files",
    "pull_requests",
)
"""The tables; ``agentlogs schema`` lists their columns."""

StrPath = Union[str, "os.PathLike[str]"]


def ingest(
    paths: StrPath | Iterable[StrPath] | None = None,
    *,
    archive: StrPath | None = None,
    content: Literal["none", "text", "full"] | None = None,
    redact: bool = False,
    labels: Mapping[str, str] | None = None,
    runtime: str | None = None,
    model: str | None = None,
    strict: bool = False,
) -> str:
    """Reads logs into an archive, and returns the summary.

    Args:
        paths: Files and directories. None are the logs that the runtimes keep on this machine.
        archive: The directory of the archive. None is the default, as ``agentlogs config`` prints it.
        content: How much text of the conversations is kept. None is the setting, by default no text.
        redact: Remove secrets and mail addresses, as far as they are recognised, from text that is kept.
        labels: Labels of every session.
        runtime: The runtime of logs whose format is used by several runtimes.
        model: The model of logs that do not name one.
        strict: Raise :class:`IncompleteError` if lines were rejected or files could not be read.

    Raises:
        AgentlogsError: a path does not exist, or the archive cannot be written.
    """
    arguments = ["ingest"]
    arguments += _option("archive", archive) + _option("content", content)
    arguments += _option("runtime", runtime) + _option("model", model)
    for key, value in (labels or {}).items():
        arguments += ["--label", f"{key}={value}"]
    arguments += ["--redact"] * redact + ["--strict"] * strict
    if paths is not None:
        several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        # A file of the name "-" is not standard input.
        names = [os.fspath(path) for path in several]
        arguments += ["--", *(f".{os.sep}-" if name == "-" else name for name in names)]
    return run(arguments).messages


def read(
    source: StrPath | Iterable[StrPath] | None = None,
    table: str = "turns",
    *,
    since: str | None = None,
    until: str | None = None,
    timezone: str | None = None,
    undated: Literal["include", "exclude", "only"] | None = None,
    runtime: str | None = None,
    model: str | None = None,
    project: str | None = None,
    session: str | None = None,
    status: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Table:
    """The rows of a table, of all sessions or of those that the filters select.

    Args:
        source: The directory or URL of an archive or lake; or logs: a file, a directory or several. None is the default
            archive.
        table: One of :data:`TABLES`.
        since: The earliest start of a session: a day, a time, or a span before now such as ``30d``.
        until: The latest start of a session; a day includes the whole day.
        timezone: The time zone of days, such as ``Europe/Berlin``. None is the system's.
        undated: Whether sessions without a start are included when there is ``since`` or ``until``. None excludes them.
        runtime: Only sessions of this runtime; in this and the following filters ``*`` matches any text.
        model: Only sessions with this model, by any of its names.
        project: Only sessions of this project.
        session: Only this session.
        status: Only sessions with this status.
        labels: Only sessions with these labels.

    Raises:
        WrongCommandLineError: there is no such table, or a filter has a wrong form.
        AgentlogsError: the source does not exist, or cannot be read.
    """
    arguments = ["export", "--as", "arrow", "--table", table, *_source(source)]
    filters = {
        "since": since,
        "until": until,
        "timezone": timezone,
        "undated": undated,
        "runtime": runtime,
        "model": model,
        "project": project,
        "session": session,
        "status": status,
    }
    for name, value in filters.items():
        arguments += _option(name, value)
    for key, label in (labels or {}).items():
        arguments += ["--label", f"{key}={label}"]
    with tempfile.TemporaryDirectory(prefix="agentlogs-") as directory:
        run([*arguments, "--", directory])
        return Table(Path(directory, f"{table}.arrows").read_bytes())


def query(sql: str, source: StrPath | Iterable[StrPath] | None = None) -> Table:
    """The answer to a query in SQL, or to a built-in query by its name (``agentlogs query --list``).

    Args:
        sql: SQL over the tables, in the dialect of polars. It can only read them.
        source: As in :func:`read`.

    Raises:
        AgentlogsError: the SQL is wrong, or the source cannot be read.
    """
    return Table(run(["query", "--format", "arrow", *_source(source), "--", sql]).data)


def _option(name: str, value: StrPath | None) -> list[str]:
    # As one word, so that a value may begin with a hyphen.
    return [] if value is None else [f"--{name}={os.fspath(value)}"]


def _source(source: StrPath | Iterable[StrPath] | None) -> list[str]:
    """The options for a source."""
    if source is None:
        return []
    several = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if len(several) == 1 and _is_archive(several[0]):
        return _option("archive", several[0])
    return [option for path in several for option in _option("logs", path)]


def _is_archive(path: StrPath) -> bool:
    """Whether it is an archive or a lake: their files have these names."""
    names = ("agentlogs.json", "_manifest.json")
    return "://" in os.fspath(path) or any(Path(path, name).is_file() for name in names)
