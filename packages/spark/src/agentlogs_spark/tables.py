"""The tables of a lake as views of Spark, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


def tables(spark: SparkSession, path: str) -> dict[str, DataFrame]:
    """Registers the tables of a lake as temporary views, and returns them by name.

    ``path`` is a directory or URL that Spark reads. A table without rows has no files and no view. The queries in ``queries/``
    run on the views without changes. Times are shown in UTC if ``spark.sql.session.timeZone`` is ``UTC``.
    """
    from pyspark.errors import AnalysisException

    found = {}
    for name in TABLES:
        try:
            frame = spark.read.parquet(f"{path.rstrip('/')}/{name}")
        except AnalysisException as error:
            if error.getCondition() in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
                continue
            raise
        frame.createOrReplaceTempView(name)
        found[name] = frame
    return found
