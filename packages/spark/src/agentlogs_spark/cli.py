"""The command `agentlogs-spark`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from agentlogs_spark import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentlogs_spark.job import Options, Summary

EXAMPLES = """\
examples:
  agentlogs-spark ingest logs lake --master 'local[*]'
  agentlogs-spark ingest s3://agent-logs/raw s3://agent-logs/lake --ship-binary
  spark-submit --files agentlogs agentlogs_spark_job.py ingest hdfs:///logs hdfs:///lake

The master, the size of executors and so on are those of Spark's configuration: docs/cluster.md.
"""


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    arguments = argparse.ArgumentParser(prog="agentlogs-spark", description="agentlogs on Apache Spark", epilog=EXAMPLES)
    arguments.formatter_class = argparse.RawDescriptionHelpFormatter
    arguments.add_argument("--version", action="version", version=f"agentlogs-spark {__version__}")
    commands = arguments.add_subparsers(dest="command", required=True)
    ingest = commands.add_parser("ingest", help="read logs into a lake", epilog=EXAMPLES)
    ingest.formatter_class = argparse.RawDescriptionHelpFormatter
    ingest.add_argument("inputs", nargs="+", metavar="INPUT", help="a directory, file or URL with logs")
    ingest.add_argument("output", metavar="OUTPUT", help="the directory or URL of the lake")
    ingest.add_argument("--master", help="the master of Spark, such as local[*] [default: that of Spark's configuration]")
    ingest.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark; repeatable")
    ingest.add_argument(
        "--binary",
        default=os.environ.get("AGENTLOGS_BINARY", "agentlogs"),
        help="the program agentlogs: a path on all machines, or a name [default: $AGENTLOGS_BINARY, else agentlogs]",
    )
    ingest.add_argument("--ship-binary", action="store_true", help="send the program to the executors")
    ingest.add_argument(
        "--prices", action="append", default=[], metavar="FILE", help="own prices, as for agentlogs prices import; repeatable"
    )
    ingest.add_argument("--stream", action="store_true", help="copy files to the executors, which cannot open their paths")
    ingest.add_argument(
        "--timeout",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="of a file, besides a second per MB [default: 300]",
    )
    ingest.add_argument("--partition-by", choices=("day", "week", "month"), default="day")
    ingest.add_argument("--files-per-partition", type=int, metavar="N", help="[default: 1 for each 4 TB of logs]")
    ingest.add_argument(
        "--files-per-table", type=int, metavar="N", help="of tables without days [default: 1 for each 64 GB of logs]"
    )
    ingest.add_argument("--host", help="the name of the machine whose logs these are [default: that of the driver]")
    ingest.add_argument("--format", choices=("lake", "delta"), default="lake", help="delta: also commit a Delta table per table")
    ingest.add_argument("--json", action="store_true", help="print the summary as JSON")
    for option in ("--content", "--runtime", "--model", "--max-decompressed"):
        ingest.add_argument(option, help="as of agentlogs ingest")
    ingest.add_argument("--redact", action="store_true", help="as of agentlogs ingest")
    for option in ("--label", "--label-from-path"):
        ingest.add_argument(option, action="append", default=[], help="as of agentlogs ingest")
    return arguments


def reading(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The options for the program."""
    options: list[str] = []
    for name in ("content", "runtime", "model", "max_decompressed"):
        if value := getattr(arguments, name):
            options += [f"--{name.replace('_', '-')}", value]
    options += ["--redact"] if arguments.redact else []
    for name in ("label", "label_from_path"):
        for value in getattr(arguments, name):
            options += [f"--{name.replace('_', '-')}", value]
    return tuple(options)


def report(summary: Summary) -> str:
    """The summary in words."""
    lines = [
        f"{summary.listed:,} files, {summary.unchanged:,} unchanged, {summary.read:,} read, {summary.bytes:,} bytes",
        f"{summary.sessions:,} sessions in them; {summary.rejected_lines:,} lines rejected, "
        f"{summary.unreadable:,} files unreadable",
        f"{summary.components:,} components, {summary.known:,} known files reconciled again; the largest has "
        f"{summary.largest_component:,} files",
        f"{summary.files:,} files of the lake: {summary.written:,} written, {summary.removed:,} removed",
        "seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in summary.seconds.items()),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit status: 0 done, 1 failed, 2 wrong command line."""
    parsed = parser().parse_args(arguments)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from agentlogs_spark.binary import Binary, BinaryError
    from agentlogs_spark.job import Options, ingest
    from agentlogs_spark.lake import LakeError

    builder = SparkSession.builder.appName("agentlogs-spark")
    builder = builder.master(parsed.master) if parsed.master else builder
    for setting in parsed.conf:
        key, separator, value = setting.partition("=")
        if not separator:
            parser().error(f"--conf {setting}: not KEY=VALUE")
        builder = builder.config(key, value)
    options = Options(
        inputs=tuple(parsed.inputs),
        output=parsed.output,
        binary=Binary(parsed.binary, reading(parsed), parsed.timeout, tuple(parsed.prices)),
        partition_by=parsed.partition_by,
        files_per_partition=parsed.files_per_partition,
        files_per_table=parsed.files_per_table,
        stream=parsed.stream,
        log=_say,
        **({"host": parsed.host} if parsed.host is not None else {}),
    )
    try:
        # Before Spark is started: an error of seconds, not of minutes.
        path = options.binary.path()
        spark = builder.getOrCreate()
        if parsed.ship_binary:
            spark.sparkContext.addFile(path)
        for prices in parsed.prices:
            spark.sparkContext.addFile(prices)
        summary = ingest(spark, options)
        if parsed.format == "delta":
            _commit_delta(options)
    except ConnectionError as error:
        _say(f"agentlogs-spark: the JVM of Spark ended: {error}; run the job again")
        return 1
    except (BinaryError, LakeError, OSError, PySparkException, Py4JError) as error:
        _say(f"agentlogs-spark: {str(error).strip().splitlines()[0] if isinstance(error, Py4JError) else error}")
        return 1
    for problem in summary.problems:
        _say(problem)
    _say(report(summary))
    if parsed.json:
        print(json.dumps(summary.to_dict()))
    return 0


def _commit_delta(options: Options) -> None:
    from agentlogs_spark.delta import commit

    for table, version in commit(options.output).items():
        _say(f"{table}: version {version} of the Delta table")


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
