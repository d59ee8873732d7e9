"""The state of a lake: its manifest, the commit of a new state, and what an interrupted run left.

The protocol is that of ``agentlogs export --as lake``: all new files are written to ``_staging``, the new manifest last. From then
on agentlogs reads the new state; this or a later run moves the files to their places.
"""

from __future__ import annotations

import json
import os
import unicodedata
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from agentlogs_spark.places import Place
from agentlogs_spark.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFEST = "_manifest.json"
STAGING = "_staging"
LOCK = "_lock"
# Directories of runs: this one for ours, and what Spark leaves in directories that it overwrites.
RUN_PREFIX = ".spark-staging-"
FACTS = "_facts"
INDEX = "_index"
# The key of our entry in the manifest.
KEY = "spark"


class LakeError(RuntimeError):
    """The output is not a lake that can be written."""


def read_manifest(place: Place, path: str = MANIFEST) -> dict[str, Any] | None:
    """The manifest; None if the lake has no manifest.

    Raises LakeError if it lists a file that cannot be one of the lake: the callers read, move and delete the files that it lists.
    """
    content = place.read(path)
    if content is None:
        return None
    manifest: dict[str, Any] = json.loads(content)
    for file in manifest.get("files", {}):
        if not is_path_of_lake(file):
            raise LakeError(f"{place.url_of(path)}: it lists {file!r}, which is not in the lake")
    return manifest


def is_path_of_lake(path: str) -> bool:
    """Whether a path can be that of a file of a lake, as ``is_path_of_lake`` in ``src/store/lake/layout.rs``."""
    directory, *rest = path.split("/")
    is_plain = all(
        name not in ("", ".", "..") and not any(char in "\\:" or unicodedata.category(char) == "Cc" for char in name)
        for name in rest
    )
    return bool(rest) and is_plain and directory in (*TABLES, FACTS, INDEX)


@contextmanager
def locked(place: Place) -> Iterator[None]:
    """Waits until no other process writes the lake. Object stores have no locks."""
    if not place.is_local:
        yield
        return
    import fcntl

    os.makedirs(place.url, exist_ok=True)
    with open(place.full(LOCK), "w") as file:
        _lock(file, fcntl)
        yield


def _lock(file: IO[str], fcntl: Any) -> None:  # noqa: ANN401 - a module
    fcntl.flock(file, fcntl.LOCK_EX)


def recover(place: Place) -> list[str]:
    """Completes or removes what an interrupted run left. Returns the names of what was removed."""
    if place.exists(f"{STAGING}/{MANIFEST}"):
        move_staged(place)
    names = place.directories()
    leftovers = [name for name in names if name.startswith(RUN_PREFIX)]
    leftovers += [STAGING] if STAGING in names else []
    tables = [name for name in names if not name.startswith((".", "_"))]
    below = [f"{name}/{inner}" for name in tables for inner in Place(place.url_of(name)).directories()]
    leftovers += [name for name in below if name.split("/")[1].startswith(RUN_PREFIX)]
    for name in leftovers:
        place.delete_directory(name)
    return leftovers


def known_state(place: Place) -> dict[str, Any] | None:
    """The manifest of the last run; None for a new lake.

    Raises LakeError if the directory contains something else.
    """
    manifest = read_manifest(place)
    if manifest is None:
        names = [name for name in place.directories() if not name.startswith(".")]
        if names:
            raise LakeError(f"{place.url}: contains {names[0]!r}, but no lake; name another directory")
        return None
    if KEY not in manifest:
        raise LakeError(
            f"{place.url}: `agentlogs export` wrote this lake; name another directory, so that neither replaces the other"
        )
    return manifest


def commit(place: Place, manifest: dict[str, Any]) -> None:
    """Makes the staged files the content of the lake, with those of the manifest that are in their places already."""
    text = json.dumps(manifest, indent=2) + "\n"
    place.write(f"{STAGING}/{MANIFEST}", text.encode())
    move_staged(place)


def move_staged(place: Place) -> None:
    """Moves staged files to their places, and removes those of the state before. It can be repeated.

    Raises LakeError if there is a link among them: what it points to may not be part of the lake.
    """
    manifest = read_manifest(place, f"{STAGING}/{MANIFEST}")
    if manifest is None:
        return
    prefix = f"{STAGING}/"
    staged = [entry.path.removeprefix(prefix) for entry in place.list(STAGING)]
    before = read_manifest(place) or {"files": {}}
    for path in [*manifest["files"], *before["files"], MANIFEST]:
        if link := place.link_in(path) or place.link_in(prefix + path):
            raise LakeError(f"{place.url_of(link)}: a link in place of a directory or file of a lake")
    place.move((prefix + path, path) for path in staged if path in manifest["files"])
    place.delete(path for path in before["files"] if path not in manifest["files"])
    place.move([(prefix + MANIFEST, MANIFEST)])
    place.delete_directory(STAGING)
