"""Runs the agentlogs program on an executor: it parses, reconciles and writes; this module feeds it, and watches it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

EXTRACTED = pa.schema(
    [
        ("source_path", pa.string()),
        ("status", pa.string()),
        ("message", pa.string()),
        ("bytes", pa.int64()),
        ("sessions", pa.int64()),
        ("rejected_lines", pa.int64()),
        ("links", pa.list_(pa.int64())),
        ("facts", pa.binary()),
    ]
)
FACTS = pa.schema([("component", pa.int64()), ("is_known", pa.bool_()), ("stamp", pa.string()), ("facts", pa.binary())])
FRAGMENTS = pa.schema(
    [
        ("file", pa.string()),
        ("source_path", pa.string()),
        ("rows", pa.int64()),
        ("content", pa.binary()),
        ("component", pa.int64()),
        ("stamp", pa.string()),
        ("links", pa.list_(pa.int64())),
        ("files", pa.list_(pa.string())),
    ]
)
CONTENTS = pa.schema([("file", pa.string()), ("source_path", pa.string()), ("content", pa.binary())])
WRITTEN = pa.schema(
    [
        ("file", pa.string()),
        ("bytes", pa.int64()),
        ("xxh3_128", pa.string()),
        ("rows", pa.int64()),
        ("min_day", pa.string()),
        ("max_day", pa.string()),
    ]
)
# Files that fail alone in one task, from which on the program is broken, not the files.
MAX_POISONED = 8


class BinaryError(RuntimeError):
    """The program could not be run, or failed."""


@dataclass(frozen=True)
class Binary:
    """The agentlogs program and the options of its runs."""

    # Its path, or its name among the files that Spark ships.
    name: str
    # Options that decide how logs are parsed, such as --content text.
    reading: tuple[str, ...] = ()
    # Seconds without a finished file, besides a second for each MB, after which a run is ended.
    timeout: float = 300.0
    # Files with own prices, as for `agentlogs prices import`: paths on all machines, or names of files that Spark ships.
    prices: tuple[str, ...] = ()

    def pricing(self) -> list[str]:
        """The options for own prices on this machine."""
        return [part for name in self.prices for part in ("--prices", _shipped(name) or name)]

    def path(self) -> str:
        """The path on this machine.

        Raises BinaryError if no program is found.
        """
        beside_python = os.path.join(os.path.dirname(sys.executable), os.path.basename(self.name))
        for path in (self.name, _shipped(self.name), beside_python):
            if path is not None and os.sep in path and os.path.isfile(path):
                if not os.access(path, os.X_OK):
                    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
                return path
        if found := shutil.which(self.name):
            return found
        raise BinaryError(
            f"the program {self.name!r} is not on the machine {socket.gethostname()}: ship it with --ship-binary or "
            "spark-submit --files, install the wheel agentlogs there, or name its path with --binary (docs/cluster.md)"
        )

    def describe(self) -> dict[str, object]:
        """The versions that all machines must have in common."""
        command = [self.path(), "extract", "--describe", *self.reading, *self.pricing()]
        done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
        if done.returncode != 0:
            raise BinaryError(f"{' '.join(command)}: {_text(done.stderr)}")
        return json.loads(done.stdout)


def _shipped(name: str) -> str | None:
    """The file of this name that Spark has copied to this machine."""
    try:
        from pyspark import SparkFiles

        path = os.path.join(SparkFiles.getRootDirectory(), os.path.basename(name))
    except Exception:
        return None
    return path if os.path.isfile(path) else None


def _environment() -> dict[str, str]:
    return {**os.environ, "RUST_BACKTRACE": "0"}


def _text(stderr: bytes) -> str:
    return stderr.decode(errors="replace").strip()[-2000:]


@contextmanager
def _process(command: Sequence[str], stdin: int | IO[bytes]) -> Iterator[tuple[subprocess.Popen, Callable[[], str]]]:
    """Starts the program, and kills it if the caller stops before its end."""
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=_environment())

        def message() -> str:
            stderr.seek(0)
            return _text(stderr.read())

        try:
            yield process, message
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def pipe(command: Sequence[str], rows: Iterable[pa.RecordBatch], sent: pa.Schema, received: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Passes rows through the program."""
    failures: list[BaseException] = []

    def feed(stdin: IO[bytes]) -> None:
        try:
            with stdin, pa.ipc.new_stream(stdin, sent) as stream:
                for batch in rows:
                    stream.write_batch(batch)
        except BrokenPipeError:
            pass
        except BaseException as error:
            failures.append(error)

    with _process(command, subprocess.PIPE) as (process, message):
        feeder = threading.Thread(target=feed, args=(process.stdin,), daemon=True)
        feeder.start()
        try:
            for batch in pa.ipc.open_stream(process.stdout):
                yield from cast(batch, received)
            reason = ""
        except pa.ArrowInvalid as error:
            reason = str(error)
        # A stream that was cut may resemble a short one: only the exit status is proof.
        status = process.wait()
        feeder.join()
        if failures:
            raise failures[0]
        if status != 0 or reason:
            raise BinaryError(f"{command[0]} {command[1]} ended with status {status}: {message() or reason}")


def cast(batch: pa.RecordBatch, schema: pa.Schema) -> list[pa.RecordBatch]:
    """The columns of a schema with its types."""
    return pa.Table.from_batches([batch]).select(schema.names).cast(schema).to_batches()


@dataclass(frozen=True)
class Extraction:
    """How the files of a task are parsed."""

    binary: Binary
    jobs: int
    # The name of the machine whose logs these are.
    host: str
    # A directory with copies of files, and the name that is recorded in its place.
    moved: tuple[str, str] | None = None

    def run(self, files: Sequence[tuple[str, int]]) -> list[pa.RecordBatch]:
        """Parses files, which are paths and sizes. A file that crashes or stalls the program is recorded as unreadable."""
        poisoned: list[str] = []
        rows = self._run(files, poisoned)
        if len(poisoned) > MAX_POISONED and 2 * len(poisoned) > len(files):
            raise BinaryError(f"the program fails on most files: {poisoned[0]}")
        return rows

    def _run(self, files: Sequence[tuple[str, int]], poisoned: list[str]) -> list[pa.RecordBatch]:
        rows, finished, error = self._try(files)
        if error is None:
            return rows
        rest = [file for file in files if file[0] not in finished]
        if len(files) == 1:
            path = files[0][0]
            poisoned.append(f"{path}: {error}")
            unreadable, _, again = self._try(files, ["--unreadable", f"agentlogs {error}"])
            if again is not None:
                raise BinaryError(again)
            return unreadable
        middle = (len(rest) + 1) // 2
        for half in (rest[:middle], rest[middle:]):
            if half:
                rows += self._run(half, poisoned)
        return rows

    def _try(
        self, files: Sequence[tuple[str, int]], options: Sequence[str] = ()
    ) -> tuple[list[pa.RecordBatch], set[str], str | None]:
        """The rows of the files that were finished, their paths, and why the run failed, if it did."""
        names = {self._name(path): path for path, _ in files}
        largest = max(size for _, size in files)
        rows: list[pa.RecordBatch] = []
        with tempfile.TemporaryFile() as listed:
            listed.write(b"\0".join(os.fsencode(path) for path, _ in files))
            # A list without a NUL would be separated by newlines.
            listed.write(b"\0")
            listed.seek(0)
            with _process([*self._command(), *options], listed) as (process, message):
                watchdog = _Watchdog(process, self.binary.timeout + largest / 1e6)
                try:
                    for batch in pa.ipc.open_stream(process.stdout):
                        watchdog.progress()
                        rows += cast(batch, EXTRACTED)
                except (pa.ArrowInvalid, OSError):
                    # The exit status is the reason.
                    pass
                status = process.wait()
                watchdog.stop()
                if watchdog.has_killed:
                    error = f"was ended after {watchdog.limit:.0f} seconds without a finished file"
                elif status < 0:
                    error = f"was ended by signal {-status}"
                else:
                    error = None if status == 0 else f"failed: {message()}"
                if status == 2:
                    raise BinaryError(f"{self.binary.name}: {message()}")
        if error is None:
            return rows, set(names.values()), None
        finished, kept = set(), []
        for batch in rows:
            paths = batch.column("source_path").to_pylist()
            finished |= {names[path] for path in paths if path in names}
        for batch in rows:
            paths = batch.column("source_path").to_pylist()
            # The members of an archive that was not finished are read again.
            kept.append(batch.filter(pa.array([_root(path, names) in finished for path in paths])))
        return kept, finished, error

    def _command(self) -> list[str]:
        command = [self.binary.path(), "extract", "--files-from", "-", "--as", "arrow", "--jobs", str(self.jobs)]
        command += ["--host", self.host, *self.binary.reading]
        return command + (["--moved", *self.moved] if self.moved else [])

    def _name(self, path: str) -> str:
        """The path of a file as it is recorded."""
        from agentlogs_spark.inputs import path_text

        if self.moved and path.startswith(self.moved[0] + "/"):
            return self.moved[1] + path_text(path.removeprefix(self.moved[0]))
        return path_text(path)


def _root(path: str, names: dict[str, str]) -> str | None:
    """The listed file that contains a source."""
    end = len(path)
    while end >= 0:
        if path[:end] in names:
            return names[path[:end]]
        end = path.rfind("!/", 0, end)
    return None


class _Watchdog:
    """Kills a process that makes no progress."""

    def __init__(self, process: subprocess.Popen, limit: float) -> None:
        self.limit = limit
        self.has_killed = False
        self._process = process
        self._last = time.monotonic()
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def progress(self) -> None:
        self._last = time.monotonic()

    def stop(self) -> None:
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(min(1.0, self.limit / 4)):
            if time.monotonic() - self._last > self.limit:
                self.has_killed = True
                self._process.kill()
                return
