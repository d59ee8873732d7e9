"""agentlogs on Apache Spark: reads logs on many machines, and writes one lake."""

from agentlogs_spark.tables import TABLES, tables

__version__ = "0.1.0"
__all__ = ["TABLES", "tables"]
