"""The rows of a lake, to compare lakes as sets of rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from agentlogs_spark.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Collection

# Differs from run to run.
IGNORED = {"ingested_at"}


def rows_of(lake: Path, renamed: tuple[str, str] = ("", ""), ignored: Collection[str] = IGNORED) -> dict[str, Counter[str]]:
    """The rows of each table with their numbers. The file of a row has to be that of its day."""
    tables = {}
    for table in TABLES:
        rows: Counter[str] = Counter()
        for path in sorted((lake / table).rglob("*.parquet")):
            partition = path.parent.name if "=" in path.parent.name else ""
            for row in pq.read_table(pa.BufferReader(path.read_bytes())).to_pylist():
                values = {name: value for name, value in row.items() if name not in ignored}
                rows[json.dumps([partition, values], default=str, sort_keys=True).replace(*renamed)] += 1
        tables[table] = rows
    return tables


def differences(ours: Path, theirs: Path) -> list[str]:
    """In words: the rows that only one of two lakes has."""
    found = []
    for (table, left), right in zip(rows_of(ours).items(), rows_of(theirs).values(), strict=True):
        found += [f"{table}: only in {ours.name}: {row}" for row in left - right]
        found += [f"{table}: only in {theirs.name}: {row}" for row in right - left]
    return found


if __name__ == "__main__":
    import sys

    found = differences(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(line[:600] for line in found[:20]))
    print({table: sum(rows.values()) for table, rows in rows_of(Path(sys.argv[1])).items()}, len(found), "differences")
    sys.exit(bool(found))
