"""Offline log analytics for AI coding agents: cost, tokens, tools and turns across runtimes.

The functions run the program ``agentlogs``, which is part of this package, and return its tables as Arrow data without text
in between::

    import agentlogs, polars

    agentlogs.ingest("runs", archive="evals")
    turns = polars.DataFrame(agentlogs.read("evals", table="turns", since="30d"))
    costs = agentlogs.query("SELECT model, SUM(cost_usd) AS cost_usd FROM turns GROUP BY model ORDER BY model", "evals")
"""

from importlib.metadata import PackageNotFoundError, version

from agentlogs._errors import AgentlogsError, IncompleteError, WrongCommandLineError
from agentlogs._functions import TABLES, ingest, query, read
from agentlogs._program import program
from agentlogs._table import Table

try:
    __version__ = version("agentlogs")
except PackageNotFoundError:  # imported from a checkout
    __version__ = "unknown"

__all__ = [
    "TABLES",
    "AgentlogsError",
    "IncompleteError",
    "Table",
    "WrongCommandLineError",
    "ingest",
    "program",
    "query",
    "read",
]
