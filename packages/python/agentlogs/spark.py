"""The tables of a lake in Apache Spark. It needs the package ``agentlogs-spark``: ``pip install agentlogs[spark]``."""

try:
    from agentlogs_spark import TABLES, tables
except ImportError as error:
    message = "agentlogs.spark needs the package agentlogs-spark: pip install 'agentlogs[spark]'"
    raise ImportError(message) from error

__all__ = ["TABLES", "tables"]
