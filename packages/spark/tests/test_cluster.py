"""The job on a real cluster of two executors, against one machine: sample-logs, row by row.

Needs Java, pyspark, and the program, whose path is in AGENTLOGS_BINARY.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rows import differences, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("AGENTLOGS_BINARY")
MASTER = "local-cluster[2,1,1024]"

pytest.importorskip("pyspark")
if not BINARY or shutil.which("java") is None:
    pytest.skip("AGENTLOGS_BINARY or Java is missing", allow_module_level=True)

# A program that does what the real one does, except as files in its directory demand.
WRAPPER = """#!/bin/bash
cd "$(dirname "$0")" || exit 1
for step in files-from reconcile merge; do
    case "$*" in *"--$step"*)
        # Waits, so that the test can kill what started it.
        if [ -e "hold-$step" ]; then
            touch "started-$step"
            while [ -e "hold-$step" ]; do sleep 0.05; done
        fi ;;
    esac
done
case "$*" in *--files-from*)
    list="$(mktemp)"
    cat > "$list"
    if grep -q poison "$list" && [[ "$*" != *--unreadable* ]]; then
        rm "$list"
        [ -e stall ] && exec sleep 600
        kill -SEGV $$
    fi
    # The program has the list open before it is removed.
    exec {fd}< "$list"
    rm "$list"
    exec BINARY "$@" <&$fd ;;
esac
exec BINARY "$@"
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    server = object_store()
    session = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    if server is not None:
        server.stop()


def object_store():  # noqa: ANN201
    """A server like S3, if moto is installed. Executors find it in their environment."""
    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        return None
    server = ThreadedMotoServer(port=0)
    server.start()
    _, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    return server


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "agentlogs"
    path.parent.mkdir()
    path.write_text(WRAPPER.replace("BINARY", str(Path(BINARY).resolve())))
    path.chmod(0o755)
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "sample-logs", tmp_path / "logs"))


def one_machine(logs: Path, directory: Path, archive: str = "archive") -> Path:
    """A lake as one machine writes it."""
    lake = directory / "expected"
    environment = {**os.environ, "HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
    for arguments in (
        ["ingest", logs, "--archive", directory / archive],
        ["export", lake, "--as", "lake", "--archive", directory / archive],
    ):
        done = subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return lake


def ingest(spark: SparkSession, logs: Path | str, output: Path | str, program: Path, **options: object):  # noqa: ANN201
    from agentlogs_spark.binary import Binary
    from agentlogs_spark.job import Options
    from agentlogs_spark.job import ingest as run

    binary = Binary(str(program), timeout=options.pop("timeout", 300.0))
    return run(spark, Options((str(logs),), str(output), binary, **options))


def check_lake(lake: Path) -> None:
    """agentlogs reads it, and its files are those of its manifest."""
    done = subprocess.run([BINARY, "archive", "check", "--archive", lake], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "intact" in done.stderr, done.stderr
    names = {path.name for path in lake.iterdir()}
    assert not [name for name in names if name.startswith(".spark-staging-") or name == "_staging"], names


def wait_for(path: Path, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)


def processes(word: str) -> list[int]:
    """The processes whose command contains a word, and that descend from this one."""
    parents, commands = {}, {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(directory.name)] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(directory.name)] = (directory / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue

    def is_ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid > 1

    return [pid for pid, command in commands.items() if word in command and is_ours(pid)]


def check_delta(lake: Path) -> None:
    """The Delta tables have the rows of the lake."""
    deltalake = pytest.importorskip("deltalake")
    from agentlogs_spark.delta import commit

    versions = commit(str(lake))
    assert commit(str(lake)) == versions, "a second commit changes nothing"
    for table, rows in rows_of(lake).items():
        if not rows:
            # Of a table without rows a lake has no files.
            continue
        found = deltalake.DeltaTable(str(lake / "_delta" / table)).to_pyarrow_table()
        assert found.num_rows == sum(rows.values()), table


def check_queries(spark: SparkSession, lake: Path) -> None:
    """Each query of queries/ gives the rows in Spark that it gives in polars, in the same order."""
    import json
    import math

    from agentlogs_spark import tables

    def same(ours: object, theirs: object) -> bool:
        if isinstance(ours, bool) or isinstance(theirs, bool) or ours is None or theirs is None:
            return ours == theirs
        if isinstance(ours, int | float) or hasattr(ours, "as_tuple"):
            return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-9)
        return str(ours) == str(theirs)

    with_rows = {table for table, rows in rows_of(lake).items() if rows}
    assert tables(spark, str(lake)).keys() == with_rows
    # The table that agentlogs computes.
    arguments = [BINARY, "query", "SELECT * FROM outcomes", "--format", "csv", "--archive", lake]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outcomes = lake.parent / "outcomes.csv"
    outcomes.write_text(done.stdout)
    columns = (
        "runtime STRING, session_id STRING, task STRING, trial STRING, passed BOOLEAN, score DOUBLE, message STRING, "
        "sessions BIGINT, cost_usd DOUBLE, total_tokens BIGINT, turns BIGINT, duration_ms BIGINT"
    )
    options = {"header": True, "multiLine": True, "escape": '"', "schema": columns}
    spark.read.csv(str(outcomes), **options).createOrReplaceTempView("outcomes")
    problems = []
    for path in sorted((ROOT / "queries").glob("*.sql")):
        arguments = [BINARY, "query", "-f", path, "--format", "json", "--archive", lake]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        expected = json.loads(done.stdout)
        found = [row.asDict() for row in spark.sql(path.read_text().rstrip().rstrip(";")).collect()]
        if len(found) != len(expected):
            problems.append(f"{path.name}: {len(found)} rows in Spark, {len(expected)} in polars")
        for number, (ours, theirs) in enumerate(zip(found, expected, strict=False)):
            if list(ours) != list(theirs) or not all(map(same, ours.values(), theirs.values())):
                problems.append(f"{path.name}, row {number}: {ours} in Spark, {theirs} in polars")
    assert problems == []


def test_two_runs_equal_one_machine(spark: SparkSession, tmp_path: Path, program: Path, logs: Path) -> None:
    """A second run adds half of the files, some of which are linked to known ones; a third has nothing to do."""
    everything = sorted(path for path in logs.rglob("*") if path.is_file())
    later = tmp_path / "later"
    for path in everything[::2]:
        target = later / path.relative_to(logs)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    lake = tmp_path / "lake"
    first = ingest(spark, logs, lake, program)
    check_delta(lake)
    assert (first.read, first.unreadable) == (len(everything) - len(everything[::2]), 0)
    assert differences(lake, one_machine(logs, tmp_path / "half")) == []
    for path in everything[::2]:
        (later / path.relative_to(logs)).rename(path)
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*.parquet")}
    second = ingest(spark, logs, lake, program, max_edges_on_driver=0)
    assert second.unchanged > 0 and second.read >= len(everything[::2])
    assert 0 < second.known < first.read, "only linked files are reconciled again"
    assert second.rounds > 0
    assert any(path.stat().st_mtime_ns == time for path, time in before.items() if path.exists()), "some files stay"
    assert differences(lake, one_machine(logs, tmp_path / "whole")) == []
    check_lake(lake)
    check_delta(lake)
    third = ingest(spark, logs, lake, program)
    assert (third.read, third.written) == (0, 0)
    check_queries(spark, lake)


def test_a_killed_executor_and_poisoned_files(spark: SparkSession, tmp_path: Path, program: Path, logs: Path) -> None:
    """The task is repeated. Files that crash the program, or vanish, are unreadable; the others are read."""
    import threading

    hold = program.parent / "hold-reconcile"
    hold.touch()
    killed: list[bool] = []

    def kill_executor() -> None:
        try:
            wait_for(program.parent / "started-reconcile")
            os.kill(processes("CoarseGrainedExecutorBackend")[0], signal.SIGKILL)
            killed.append(True)
        finally:
            hold.unlink()

    killer = threading.Thread(target=kill_executor)
    killer.start()
    expected = one_machine(logs, tmp_path / "one")
    (logs / "poison.jsonl").write_text("{}\n")
    lake = tmp_path / "lake"
    summary = ingest(spark, logs, lake, program)
    killer.join()
    assert killed
    assert summary.unreadable == 1
    found = differences(lake, expected)
    assert len(found) == 1 and "poison.jsonl" in found[0] and "signal 11" in found[0], found
    # The same in a later run, in which the program stalls.
    (program.parent / "stall").touch()
    summary = ingest(spark, logs, lake, program, timeout=2.0)
    assert (summary.read, summary.unreadable) == (1, 1)
    assert any("without a finished file" in problem for problem in summary.problems)
    check_lake(lake)


def test_a_killed_driver(spark: SparkSession, tmp_path: Path, program: Path, logs: Path) -> None:
    """The last complete state stays readable, and the next run completes."""
    lake = tmp_path / "lake"
    half = tmp_path / "half"
    shutil.copytree(logs / "claude-transcript", half / "claude-transcript")
    ingest(spark, half, lake, program)
    before = rows_of(lake)
    (program.parent / "hold-merge").touch()
    command = [
        sys.executable,
        "-m",
        "agentlogs_spark.cli",
        "ingest",
        logs,
        lake,
        "--binary",
        program,
        "--master",
        MASTER,
    ]
    known = set(processes("org.apache.spark.deploy.SparkSubmit"))
    with open(tmp_path / "stderr", "w") as stderr:
        driver = subprocess.Popen(command, stderr=stderr, env={**os.environ, "PYTHONPATH": str(ROOT / "packages/spark/src")})
        wait_for(program.parent / "started-merge")
        (jvm,) = set(processes("org.apache.spark.deploy.SparkSubmit")) - known
        os.kill(jvm, signal.SIGKILL)
        (program.parent / "hold-merge").unlink()
        assert driver.wait(60) == 1, (tmp_path / "stderr").read_text()
    assert rows_of(lake) == before
    done = subprocess.run([BINARY, "query", "SELECT COUNT(*) AS n FROM turns", "--archive", lake], check=False)
    assert done.returncode == 0
    ingest(spark, logs, lake, program)
    one = tmp_path / "one"
    one_machine(half, one)
    assert differences(lake, one_machine(logs, one)) == []
    check_lake(lake)


def test_an_object_store(spark: SparkSession, tmp_path: Path, program: Path, logs: Path) -> None:
    """Logs and lake in buckets, without Hadoop's S3A."""
    if "AWS_ENDPOINT_URL" not in os.environ:
        pytest.skip("moto is not installed")
    import boto3

    from agentlogs_spark.places import Place

    client = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    for name in ("logs", "lakes"):
        client.create_bucket(Bucket=name)
    bucket = Place("s3://logs")
    for path in sorted(path for path in logs.rglob("*") if path.is_file()):
        bucket.upload(str(path), str(path.relative_to(logs)))
    assert ingest(spark, "s3://logs", "s3://lakes/one", program).problems == []
    lake, copy = Place("s3://lakes/one"), tmp_path / "copy"
    for entry in lake.list():
        lake.download(entry.path, str(copy / entry.path))
    check_lake(copy)
    ignored = {"ingested_at", "modified_at"}
    expected = rows_of(one_machine(logs, tmp_path / "one"), (f"{logs}/", "s3://logs/"), ignored)
    assert rows_of(copy, ignored=ignored) == expected
    query = [BINARY, "query", "SELECT COUNT(*) AS n FROM turns", "--archive", "s3://lakes/one", "--format", "csv"]
    found = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    assert found.split() == ["n", str(sum(expected["turns"].values()))]


def test_errors_at_the_start(spark: SparkSession, tmp_path: Path, program: Path, logs: Path) -> None:
    from agentlogs_spark.binary import BinaryError
    from agentlogs_spark.lake import LakeError

    with pytest.raises(BinaryError, match="is not on the machine"):
        ingest(spark, logs, tmp_path / "lake", tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        ingest(spark, tmp_path / "no-logs", tmp_path / "lake", program)
    with pytest.raises(LakeError, match="agentlogs export"):
        ingest(spark, logs, one_machine(logs / "pi-session", tmp_path / "one"), program)


def test_copies_have_the_same_rows(spark: SparkSession, tmp_path: Path, program: Path, logs: Path) -> None:
    """Files that executors cannot open are copied to them, with their sidecars and journals."""
    lake, logs = tmp_path / "lake", logs / "claude-json"
    summary = ingest(spark, logs, lake, program, stream=True)
    assert summary.problems == []
    assert differences(lake, one_machine(logs, tmp_path / "one")) == []
