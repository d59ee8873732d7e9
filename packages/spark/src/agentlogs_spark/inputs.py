"""Which files are logs, which of them changed, and how they are divided among tasks."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from agentlogs_spark.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SIDECAR = "meta.json"
# The ends of names of files that belong to a database beside them.
JOURNALS = ("-wal", "-journal")
# What a file costs besides its bytes, in bytes of a log that take as long.
FILE_COST = 1 << 15
# A task has fewer bytes than this, unless it is one file.
MAX_TASK = 1 << 29
# A task with fewer bytes than this takes less time than its start.
MIN_TASK = 1 << 23


class LogFile(NamedTuple):
    """A file that may be a log."""

    path: str
    size: int
    modified: int
    # Text that changes when the file or a file that is read with it changes.
    stamp: str
    # Paths of the files that are read with it: sidecars, journals of a database.
    companions: tuple[str, ...]


def list_files(place: Place, except_below: str | None = None) -> tuple[list[tuple[str, int, int]], list[str]]:
    """All files of a place: absolute paths or URLs, sizes, times; and the directories that cannot be read."""
    if not place.is_local:
        return [(place.url_of(path), size, modified) for path, size, modified in place.list()], []
    if os.path.isfile(place.url):
        status = os.stat(place.url)
        return [(place.url, status.st_size, status.st_mtime_ns)], []
    found: dict[str, tuple[int, int]] = {}
    errors: list[str] = []
    visited: set[str] = set()
    waiting = [place.url]
    while waiting:
        directory = os.path.realpath(waiting.pop())
        if directory in visited or directory == except_below:
            continue
        visited.add(directory)
        try:
            entries = list(os.scandir(directory))
        except OSError as error:
            errors.append(f"{directory}: {error.strerror}")
            continue
        for entry in entries:
            try:
                if entry.is_dir():
                    waiting.append(entry.path)
                elif entry.is_file():
                    path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                    status = os.stat(path)
                    found[path] = (status.st_size, status.st_mtime_ns)
            except OSError as error:
                # A link that leads to nothing, or a file that vanished, is not there.
                if not isinstance(error, FileNotFoundError):
                    errors.append(f"{entry.path}: {error.strerror}")
    return [(path, size, modified) for path, (size, modified) in found.items()], errors


def companions_of(path: str, names: Callable[[str], bool]) -> tuple[str, ...]:
    """The files that are read with a file: ``names`` decides whether there is a file of this path."""
    directory, _, name = path.rpartition("/")
    stem = re.sub(r"\.(gz|zst)$", "", name)
    stem = re.sub(r"\.(jsonl|json|ndjson|log|txt)$", "", stem)
    if name == SIDECAR or name.endswith("." + SIDECAR):
        return ()
    beside = (f"{stem}.{SIDECAR}", SIDECAR, *(name + end for end in JOURNALS))
    return tuple(path for path in (f"{directory}/{name}" for name in beside) if names(path))


def log_files(files: Iterable[tuple[str, int, int]], parsed_with: str) -> list[LogFile]:
    """Files in the order of their paths, with their stamps. ``parsed_with`` are the parser and its options."""
    known = {path: (size, modified) for path, size, modified in files}
    result = []
    for path in sorted(known):
        size, modified = known[path]
        companions = companions_of(path, known.__contains__)
        state = (parsed_with, size, modified, [(name, known[name]) for name in companions])
        stamp = hashlib.blake2b(repr(state).encode(), digest_size=12).hexdigest()
        result.append(LogFile(path, size, modified, stamp, companions))
    return result


def divide(files: Sequence[LogFile], cores: int) -> list[list[LogFile]]:
    """Files in tasks of about the same size: few large ones. The order stays, so that files of a directory are in one task. Large
    files are alone.
    """
    cost = sum(file.size + FILE_COST for file in files)
    count = max(min(cores, cost // MIN_TASK), -(-cost // MAX_TASK), 1)
    each = -(-cost // count)
    tasks: list[list[LogFile]] = []
    current: list[LogFile] = []
    total = 0
    for file in files:
        weight = file.size + FILE_COST
        if weight >= each:
            tasks.append([file])
            continue
        if current and total + weight > each:
            tasks.append(current)
            current, total = [], 0
        current.append(file)
        total += weight
    if current:
        tasks.append(current)
    # The largest first: the last task of a stage should be a small one.
    return sorted(tasks, key=lambda task: -sum(file.size for file in task))


def path_text(path: str) -> str:
    """A path as agentlogs records it: bytes that are not UTF-8 become ``%FF``, a ``%`` before such digits becomes ``%25``."""
    raw = os.fsencode(path)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and "%" not in text:
        return text

    def escaped(chunk: bytes) -> str:
        return re.sub(r"%(?=25|[89a-fA-F][0-9a-fA-F])", "%25", chunk.decode())

    return "".join(_chunks(raw, escaped))


def _chunks(raw: bytes, escaped: Callable[[bytes], str]) -> Iterator[str]:
    while raw:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            yield escaped(raw[: error.start])
            yield from (f"%{byte:02X}" for byte in raw[error.start : error.end])
            raw = raw[error.end :]
        else:
            yield escaped(raw)
            return
