"""Delta tables beside a lake: `_delta/TABLE`, with the same rows.

Delta never changes a file, but a lake writes a file of a partition again under its name. So the names in a Delta table contain the
hash of the content. On a local disk the files are links to those of the lake, in a bucket they are copies.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from agentlogs_spark import lake
from agentlogs_spark.places import Place
from agentlogs_spark.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

DIRECTORY = "_delta"


def commit(url: str) -> dict[str, int]:
    """Makes the files of the lake the content of the Delta tables. Returns their versions. Each table has one commit."""
    place = Place(url)
    manifest = lake.read_manifest(place)
    if manifest is None:
        raise lake.LakeError(f"{url}: no lake")
    return {
        table: _commit_table(place, table, files, manifest["partitioned_by"])
        for table in TABLES
        if (files := {path: entry for path, entry in manifest["files"].items() if path.startswith(table + "/")})
    }


def delta_name(path: str, entry: Mapping[str, Any]) -> str:
    """The path of a file of the lake below the directory of its Delta table."""
    directory, _, name = path.partition("/")[2].rpartition("/")
    name = f"{name.removesuffix('.parquet')}-{entry['xxh3_128'][:16]}.parquet"
    return f"{directory}/{name}" if directory else name


def partition_values(path: str) -> dict[str, str | None]:
    """The values of the partition columns in the path of a file."""
    pairs = (part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
    return {name: None if value == "__HIVE_DEFAULT_PARTITION__" else value for name, value in pairs}


def _commit_table(place: Place, table: str, files: Mapping[str, Mapping[str, Any]], by: str) -> int:
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

    options = _storage_options(place)
    root = place.url_of(f"{DIRECTORY}/{table}")
    known: set[str] = set()
    delta = None
    if DeltaTable.is_deltatable(root, storage_options=options):
        delta = DeltaTable(root, storage_options=options)
        known = set(pa.table(delta.get_add_actions())["path"].to_pylist())
    wanted = {delta_name(path, entry): path for path, entry in files.items()}
    now = int(time.time() * 1000)
    adds = []
    for name in sorted(wanted.keys() - known):
        path = wanted[name]
        _link(place, path, f"{DIRECTORY}/{table}/{name}")
        stats = json.dumps({"numRecords": files[path]["rows"]})
        adds.append(AddAction(name, files[path]["bytes"], partition_values(name), now, True, stats))
    removes = [RemoveAction(name, True, now, None, partition_values(name)) for name in sorted(known - wanted.keys())]
    if delta is not None and not adds and not removes:
        return delta.version()
    partitions = [by] if any(partition_values(name) for name in wanted) else []
    schema = pq.read_schema(pa.BufferReader(place.read(next(iter(files))) or b"")).remove_metadata()
    for column in partitions:
        schema = schema if column in schema.names else schema.append(pa.field(column, pa.date32()))
    delta_schema = Schema.from_arrow(schema)
    if delta is None:
        create_table_with_add_actions(root, delta_schema, adds, partition_by=partitions, storage_options=options)
    else:
        delta.create_write_transaction([*adds, *removes], "append", delta_schema, partitions)
    return DeltaTable(root, storage_options=options).version()


def _link(place: Place, source: str, target: str) -> None:
    if not place.is_local:
        place.copy(source, target)
        return
    os.makedirs(os.path.dirname(place.full(target)), exist_ok=True)
    # An earlier commit that failed may have made it.
    with contextlib.suppress(FileExistsError):
        os.link(place.full(source), place.full(target))


def _storage_options(place: Place) -> dict[str, str]:
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if place.is_local or not endpoint.startswith("http://"):
        return {}
    return {"AWS_ALLOW_HTTP": "true", "AWS_ENDPOINT_URL": endpoint, "aws_conditional_put": "etag"}
