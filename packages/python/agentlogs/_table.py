"""Rows as Arrow data."""

from __future__ import annotations

import html
import itertools
from typing import TYPE_CHECKING, Any

import nanoarrow
from nanoarrow.ipc import InputStream

if TYPE_CHECKING:
    import pandas
    import polars

# The rows that a notebook shows.
_SHOWN = 20


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

    def to_polars(self) -> polars.DataFrame:
        """The rows as a frame of polars, which has to be installed."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a frame of pandas, which has to be installed: version 3, or with pyarrow."""
        import pandas

        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        import pyarrow

        return pyarrow.table(self).to_pandas()

    def _repr_html_(self) -> str:
        """The first rows as a table of a notebook."""
        names = self.column_names
        rows: list[dict[str, Any]] = list(itertools.islice(nanoarrow.ArrayStream(self).iter_py(), _SHOWN))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(_cell(row[name]) for name in names)}</tr>" for row in rows)
        count = len(self)
        more = f"<p>{count - len(rows):,} more rows</p>" if count > len(rows) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def __len__(self) -> int:
        """The number of rows."""
        return sum(len(batch) for batch in nanoarrow.ArrayStream(self).iter_chunks())

    def __repr__(self) -> str:
        return f"<agentlogs.Table of {len(self)} rows: {', '.join(self.column_names)}>"


def _cell(value: object) -> str:
    """A cell of HTML. An unknown value is empty."""
    return f"<td>{'' if value is None else html.escape(str(value))}</td>"
