"""The identity pass: connected components of files that share a link.

A link is a hash by which files can concern the same session or response: ids of sessions, responses and prompts, and the hash of
the content. Files in different components never change each other's rows, so that each component is reconciled by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

# Up to this number of edges the driver finds the components, which saves the rounds of Spark.
MAX_EDGES_ON_DRIVER = 1_000_000
# Each round at least halves the depth of the trees: this is enough for any number of files.
MAX_ROUNDS = 64


class Components(NamedTuple):
    """The component of each file that is linked to another one; the others are their own component."""

    # Columns: id, component.
    labels: DataFrame
    edges: int
    # Rounds of Spark; 0 if the driver found the components.
    rounds: int


def edges_of(links: DataFrame) -> DataFrame:
    """Edges (a, b) with a > b from rows (id, link): each file and the first file that has the same link. Links that join
    nothing are dropped.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    first = F.min("id").over(Window.partitionBy("link"))
    return links.select(F.col("id").alias("a"), first.alias("b")).where("a > b").distinct()


def components(links: DataFrame, max_edges_on_driver: int = MAX_EDGES_ON_DRIVER) -> Components:
    """The components of rows (id, link). The component is the smallest id."""
    from pyspark import StorageLevel

    edges = edges_of(links).persist(StorageLevel.MEMORY_AND_DISK)
    count = edges.count()
    spark = links.sparkSession
    if count <= max_edges_on_driver:
        labels = union_find((row.a, row.b) for row in edges.collect())
        edges.unpersist()
        frame = spark.createDataFrame(list(labels.items()), "id long, component long")
        return Components(frame, count, 0)
    labels, rounds = _stars(edges, count)
    return Components(labels, count, rounds)


def _stars(edges: DataFrame, count: int) -> tuple[DataFrame, int]:
    """Alternates large-star and small-star operations until the edges are stars around the smallest ids.

    Kiveris and others, "Connected Components in MapReduce and Beyond", 2014: O(log² n) rounds, about as many edges in each round.
    """
    from pyspark.sql import functions as F

    sums = F.sum(F.xxhash64("a", "b").cast("decimal(38,0)"))
    state = (count, edges.agg(sums).first()[0])
    rounds = 0
    while True:
        rounds += 1
        if rounds > MAX_ROUNDS:
            raise RuntimeError(f"the components of {count} edges were not found in {MAX_ROUNDS} rounds")
        both = edges.unionByName(edges.select(F.col("b").alias("a"), F.col("a").alias("b")))
        # Large star: the larger neighbours of a are joined to its smallest neighbour.
        smallest = both.groupBy("a").agg(F.least(F.min("b"), F.first("a")).alias("m"))
        large = both.where("b > a").join(smallest, "a").select(F.col("b").alias("a"), F.col("m").alias("b")).distinct()
        # Small star: a and its smaller neighbours are joined to the smallest of them.
        smallest = large.groupBy("a").agg(F.min("b").alias("m"))
        joined = large.join(smallest, "a")
        small = joined.select(F.col("b").alias("a"), F.col("m").alias("b"))
        small = small.unionByName(joined.select("a", F.col("m").alias("b"))).where("a > b").distinct()
        # Without a checkpoint the plan doubles in each round.
        next_edges = _checkpoint(small)
        next_state = tuple(next_edges.agg(F.count("*"), sums).first())
        edges.unpersist()
        edges = next_edges
        if next_state == state:
            break
        state = next_state
    heads = edges.select(F.col("b").alias("id"), F.col("b").alias("component")).distinct()
    return edges.select(F.col("a").alias("id"), F.col("b").alias("component")).unionByName(heads), rounds


def _checkpoint(frame: DataFrame) -> DataFrame:
    """The rows without the plan that made them. In the directory of checkpoints, if Spark has one, they survive an executor."""
    from pyspark import StorageLevel

    if frame.sparkSession.sparkContext.getCheckpointDir() is not None:
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK)


def union_find(edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The smallest id of the component of each id."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for a, b in edges:
        a, b = root(a), root(b)
        if a != b:
            parent[max(a, b)] = min(a, b)
    return {node: root(node) for node in list(parent)}
