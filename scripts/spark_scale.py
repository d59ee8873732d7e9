#!/usr/bin/env python3
"""What agentlogs-spark costs: the figures of docs/cluster.md.

Usage: spark_scale.py identity [--turns 100000000] [--master 'local[2]']
       spark_scale.py job LOGS --bin AGENTLOGS [--cores 1,2]

`identity` finds the components of synthetic files: 50 turns in each, with a link for each turn and two for the session. One file in ten
repeats the last five turns of the file before it, as a resumed session does, and runs of such files are chains. `job` compares one
process with Spark on the same logs. Bytes are those of Spark's REST interface.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "packages/spark/src"))
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PYSPARK_PYTHON"] = sys.executable

TURNS_OF_FILE = 50


def session(master):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).config("spark.ui.port", "4999").config("spark.driver.memory", "3g")
    # local[N] is one JVM; a cluster has the memory that its master names.
    spark = builder.config("spark.sql.shuffle.partitions", "64").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def shuffled(spark):
    """The bytes that all stages wrote to shuffles and spilled to disks."""
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages?status=complete"
    stages = json.load(urllib.request.urlopen(url))
    return {name: sum(stage[name] for stage in stages) for name in ("shuffleWriteBytes", "diskBytesSpilled")}


def identity(options):
    from agentlogs_spark.components import components
    from pyspark.sql import functions as F

    spark = session(options.master)
    files = options.turns // TURNS_OF_FILE
    file = F.floor(F.col("id") / TURNS_OF_FILE)
    turns = spark.range(options.turns).select(F.xxhash64(file).alias("id"), F.xxhash64("id", F.lit("turn")).alias("link"))
    sessions = spark.range(files * 2).select(F.xxhash64(F.floor(F.col("id") / 2)).alias("id"), F.xxhash64("id", F.lit("id")).alias("link"))
    # The next file, if its number ends in a 7, repeats turns: chains of 1,000 files after each 10,000th.
    repeats = spark.range(options.turns).where((F.col("id") % TURNS_OF_FILE) >= TURNS_OF_FILE - 5)
    following = (file + 1).alias("next")
    repeats = repeats.select(F.col("id"), following).where("next % 10 = 7 OR next % 10000 < 1000").where(f"next < {files}")
    copies = repeats.select(F.xxhash64("next").alias("id"), F.xxhash64("id", F.lit("turn")).alias("link"))
    start = time.monotonic()
    found = components(turns.union(sessions).union(copies), max_edges_on_driver=0)
    sizes = found.labels.groupBy("component").count().agg(F.count("*"), F.max("count")).first()
    seconds = time.monotonic() - start
    figures = shuffled(spark)
    per_turn = figures["shuffleWriteBytes"] / options.turns
    print(f"{options.turns:,} turns in {files:,} files: {seconds:.0f} s, {found.edges:,} edges, {found.rounds} rounds")
    print(f"{sizes[0]:,} components of several files, the largest of {sizes[1]:,}; {figures}, {per_turn:.1f} bytes per turn")


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def job(options):
    logs = pathlib.Path(options.logs)
    size = sum(path.stat().st_size for path in logs.rglob("*") if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for command in (
            ["ingest", logs, "--archive", folder / "archive", "--jobs", "1"],
            ["export", folder / "lake", "--as", "lake", "--archive", folder / "archive"],
        ):
            start, before = time.monotonic(), used()
            subprocess.run([options.bin, *command], check=True, stderr=subprocess.DEVNULL)
            print(f"{command[0]}: {time.monotonic() - start:.1f} s, {used() - before:.1f} s of processor time")
        for cores in options.cores.split(","):
            run = [sys.executable, __file__, "one", logs, folder / f"lake-{cores}", "--bin", options.bin, "--cores", cores]
            start = time.monotonic()
            subprocess.run(run, check=True)
            print(f"{cores} executors: {time.monotonic() - start:.1f} s in all, {size:,} bytes of logs", flush=True)
            shutil.rmtree(folder / f"lake-{cores}")


def one(options):
    from agentlogs_spark.binary import Binary
    from agentlogs_spark.job import Options, ingest

    spark = session(f"local-cluster[{options.cores},1,1024]")
    for name in ("first", "second"):
        start = time.monotonic()
        output = f"{options.output}-{name}"
        summary = ingest(spark, Options((options.logs,), output, Binary(options.bin)))
        print(f"{name} job: {time.monotonic() - start:.1f} s; {summary.seconds}; {shuffled(spark)}; {summary.components:,} components")
        shutil.rmtree(output)
    pathlib.Path(options.output).mkdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    simulation = commands.add_parser("identity")
    simulation.add_argument("--turns", type=int, default=100_000_000)
    simulation.add_argument("--master", default="local[2]")
    simulation.set_defaults(run=identity)
    for name, run in (("job", job), ("one", one)):
        command = commands.add_parser(name)
        command.add_argument("logs")
        if name == "one":
            command.add_argument("output")
        command.add_argument("--bin", required=True)
        command.add_argument("--cores", default="1,2")
        command.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


main()
