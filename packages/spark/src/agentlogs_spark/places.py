"""Directories on any file system that pyarrow knows: local, S3 and compatible, GCS, Azure, HDFS; others through fsspec.

Credentials are those of the environment, on the driver and on the executors.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Requests to an object store at the same time.
THREADS = 16


class Entry(NamedTuple):
    """A file: its path below the place, its size in bytes, and when it was written, in nanoseconds."""

    path: str
    size: int
    modified: int


class Place:
    """A directory. Paths of files use ``/`` and begin below it."""

    def __init__(self, url: str) -> None:
        self.is_local = "://" not in url or url.startswith("file://")
        if self.is_local:
            path = url.removeprefix("file://")
            self.url = os.path.realpath(path)
        else:
            self.url = url.rstrip("/")
        self._opened: tuple[fs.FileSystem, str] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Connections are not sent to executors."""
        return {"url": self.url, "is_local": self.is_local, "_opened": None}

    @property
    def _fs(self) -> fs.FileSystem:
        return self._open()[0]

    def _open(self) -> tuple[fs.FileSystem, str]:
        if self._opened is None:
            self._opened = (fs.LocalFileSystem(), self.url) if self.is_local else _remote(self.url)
        return self._opened

    def full(self, path: str) -> str:
        """The path of a file as the file system knows it."""
        root = self._open()[1]
        return f"{root}/{path}" if path else root

    def url_of(self, path: str) -> str:
        """The absolute path or URL of a file."""
        return f"{self.url}/{path}" if path else self.url

    def list(self, below: str = "") -> Iterator[Entry]:
        """All files at and below a directory; none if it does not exist."""
        prefix = self.full("").rstrip("/") + "/"
        selector = fs.FileSelector(self.full(below), recursive=True, allow_not_found=True)
        for info in self._fs.get_file_info(selector):
            if info.type == fs.FileType.File:
                yield Entry(info.path.removeprefix(prefix), info.size, info.mtime_ns or 0)

    def directories(self) -> list[str]:
        """The directories in it."""
        infos = self._fs.get_file_info(fs.FileSelector(self.full(""), allow_not_found=True))
        return [info.base_name for info in infos if info.type == fs.FileType.Directory]

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return self._fs.get_file_info(self.full(path)).type == fs.FileType.File

    def read(self, path: str) -> bytes | None:
        """The content of a file; None if it does not exist."""
        try:
            with self._fs.open_input_file(self.full(path)) as file:
                return file.read()
        except FileNotFoundError:
            return None

    def read_parts(self, path: str, parts: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        """Parts of a file by offset and length."""
        with self._fs.open_input_file(self.full(path)) as file:
            for offset, length in parts:
                yield file.read_at(length, offset)

    def write(self, path: str, content: bytes) -> None:
        """Writes a file, which appears when it is complete."""
        target = self.full(path)
        draft = f"{target}.draft-{os.getpid()}" if self.is_local else target
        if self.is_local:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        with self._fs.open_output_stream(draft) as file:
            file.write(content)
        if self.is_local:
            os.replace(draft, target)

    def upload(self, local: str, path: str) -> None:
        """Copies a local file."""
        with open(local, "rb") as source, self._fs.open_output_stream(self.full(path)) as target:
            while chunk := source.read(1 << 22):
                target.write(chunk)

    def download(self, path: str, local: str) -> None:
        """Copies a file to the local disk."""
        os.makedirs(os.path.dirname(local), exist_ok=True)
        with self._fs.open_input_stream(self.full(path)) as source, open(local, "wb") as target:
            while chunk := source.read(1 << 22):
                target.write(chunk)

    def link_in(self, path: str) -> str | None:
        """The first part of a path that is a link. Object stores have none."""
        if not self.is_local:
            return None
        names = path.split("/")
        parts = ("/".join(names[: length + 1]) for length in range(len(names)))
        return next((part for part in parts if os.path.islink(self.full(part))), None)

    def move(self, moves: Iterable[tuple[str, str]]) -> None:
        """Moves files, many at the same time. An object store copies them."""

        def move(pair: tuple[str, str]) -> None:
            source, target = map(self.full, pair)
            if self.is_local:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.replace(source, target)
            else:
                self._fs.copy_file(source, target)
                self._fs.delete_file(source)

        with ThreadPoolExecutor(1 if self.is_local else THREADS) as pool:
            list(pool.map(move, moves))

    def copy(self, source: str, target: str) -> None:
        """Copies a file."""
        self._fs.copy_file(self.full(source), self.full(target))

    def delete(self, paths: Iterable[str]) -> None:
        """Deletes files, and the directories that become empty."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                self._fs.delete_file(self.full(path))
            parent = os.path.dirname(path)
            while self.is_local and parent:
                try:
                    os.rmdir(self.full(parent))
                except OSError:
                    break
                parent = os.path.dirname(parent)

    def delete_directory(self, path: str) -> None:
        """Deletes a directory with all that it contains, if it exists."""
        if self.is_local and not os.path.isdir(self.full(path)):
            return
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_dir(self.full(path))


def _remote(url: str) -> tuple[fs.FileSystem, str]:
    scheme, _, rest = url.partition("://")
    if scheme in ("s3", "s3a"):
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        options = {"scheme": "http"} if endpoint.startswith("http://") else {}
        if endpoint:
            options["endpoint_override"] = endpoint.partition("://")[2] or endpoint
        if region := os.environ.get("AWS_REGION", os.environ.get("AWS_DEFAULT_REGION")):
            options["region"] = region
        return fs.S3FileSystem(**options), rest
    try:
        return fs.FileSystem.from_uri(url)
    except (NotImplementedError, ValueError):
        from fsspec.core import url_to_fs

        other, path = url_to_fs(url)
        return fs.PyFileSystem(fs.FSSpecHandler(other)), path
