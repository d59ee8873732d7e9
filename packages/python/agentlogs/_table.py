"""Rows as Arrow data."""

from __future__ import annotations

from typing import Any

import nanoarrow
from nanoarrow.ipc import InputStream


class Table:
    """Rows with typed columns, in Arrow's IPC format.

    It implements the Arrow PyCapsule interface, so that libraries take it directly: ``pyarrow.table(it)``,
    ``polars.DataFrame(it)``, ``pandas.DataFrame.from_arrow(it)``, and ``SELECT * FROM it`` in DuckDB. It can be read any
    number of times. Unknown values are null.
    """

    def __init__(self, stream: bytes) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow C stream."""
        return InputStream.from_readable(self._stream).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema as an Arrow C schema."""
        return nanoarrow.ArrayStream(self).schema.__arrow_c_schema__()

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return [field.name for field in nanoarrow.ArrayStream(self).schema.fields]

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, for programs without a library for frames."""
        rows: list[dict[str, Any]] = nanoarrow.ArrayStream(self).read_all().to_pylist()
        return rows

    def __len__(self) -> int:
        """The number of rows."""
        return sum(len(batch) for batch in nanoarrow.ArrayStream(self).iter_chunks())

    def __repr__(self) -> str:
        return f"<agentlogs.Table of {len(self)} rows: {', '.join(self.column_names)}>"
