"""The job: lists logs, has executors parse them, reconciles linked files, and writes the changed files of the lake.

```text
list        driver      files that are new or changed, in tasks of even size
extract     executors   agentlogs extract --files-from -     -> facts and links of each file
components  Spark SQL   connected components over the links; those of the last run that new files touch
reconcile   executors   agentlogs extract --reconcile        -> rows of files of the lake
merge       executors   agentlogs extract --merge            -> the changed files, in `_staging`
commit      driver      renames, the manifest last
```
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
import uuid
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from agentlogs_spark import lake
from agentlogs_spark.binary import CONTENTS, EXTRACTED, FACTS, FRAGMENTS, WRITTEN, Binary, BinaryError, Extraction, pipe
from agentlogs_spark.components import MAX_EDGES_ON_DRIVER, components
from agentlogs_spark.inputs import LogFile, divide, list_files, log_files, path_text
from agentlogs_spark.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# Facts that one task reconciles, in bytes: those of some 2 GB of logs.
FACTS_OF_TASK = 64 << 20
# Bytes of fragments that one task merges.
FRAGMENTS_OF_TASK = 128 << 20
# Logs whose links are in one partition of a shuffle.
LOGS_OF_SHUFFLE_PARTITION = 16 << 30
# Logs from which on a partition, or a table without partitions, has a further file.
LOGS_OF_PARTITION_FILE = 4 << 40
LOGS_OF_TABLE_FILE = 64 << 30

STAGED = pa.schema([*EXTRACTED, ("stamp", pa.string())])
INDEX = pa.schema(
    [
        ("source_path", pa.string()),
        ("stamp", pa.string()),
        ("component", pa.int64()),
        ("links", pa.list_(pa.int64())),
        ("files", pa.list_(pa.string())),
        # The length of the facts, which are in the file of facts in the same order.
        ("length", pa.int64()),
    ]
)
# The index, with the file of facts and the offset there.
LOCATED = pa.schema([*INDEX, ("offset", pa.int64()), ("facts_file", pa.string())])
KNOWN_FACTS = pa.schema([("id", pa.int64()), ("is_known", pa.bool_()), ("stamp", pa.string()), ("facts", pa.binary())])
# The result of a task of the first stage.
DONE = pa.schema(
    [
        ("staged", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("unreadable", pa.int64()),
        ("rejected_lines", pa.int64()),
        ("sessions", pa.int64()),
        ("problems", pa.list_(pa.string())),
    ]
)
# Why an executor cannot run the program; NULL if it can.
PROBLEM = pa.schema([("problem", pa.string())])


@dataclass(frozen=True)
class Options:
    """What a job reads and writes, and how."""

    inputs: tuple[str, ...]
    output: str
    binary: Binary
    partition_by: str = "day"
    files_per_partition: int | None = None
    files_per_table: int | None = None
    # The name of the machine whose logs these are, for the table `sources`.
    host: str = field(default_factory=socket.gethostname)
    # Copy files to the executors' disks, although their paths could be opened there.
    stream: bool = False
    max_edges_on_driver: int = MAX_EDGES_ON_DRIVER
    log: Callable[[str], None] = print


@dataclass
class Summary:
    """What a job did."""

    listed: int = 0
    unchanged: int = 0
    read: int = 0
    bytes: int = 0
    unreadable: int = 0
    rejected_lines: int = 0
    sessions: int = 0
    # Files of earlier runs that were reconciled again.
    known: int = 0
    edges: int = 0
    rounds: int = 0
    components: int = 0
    # Files of the component with most files, and the bytes of the facts of that with most bytes.
    largest_component: int = 0
    largest_facts: int = 0
    files: int = 0
    written: int = 0
    removed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def ingest(spark: SparkSession, options: Options) -> Summary:
    """Reads the logs of the inputs into the lake at the output.

    Raises BinaryError if the program cannot run on an executor, LakeError if the output is something else. The lake is
    then as before.
    """
    return _Job(spark, options).run()


class _Job:
    def __init__(self, spark: SparkSession, options: Options) -> None:
        self.spark = spark
        self.options = options
        self.output = Place(options.output)
        self.summary = Summary()
        self.run_directory = f"{lake.RUN_PREFIX}{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
        self.cores = spark.sparkContext.defaultParallelism
        self._started = time.monotonic()

    def run(self) -> Summary:
        ship_package(self.spark)
        self._configure()
        self.description = check_executors(self.spark, self.options.binary)
        with lake.locked(self.output):
            for name in lake.recover(self.output):
                self.options.log(f"removed {name}, which an interrupted run left")
            self.known = lake.known_state(self.output)
            self._time("start")
            try:
                self._run()
            finally:
                self.output.delete_directory(self.run_directory)
        return self.summary

    def _configure(self) -> None:
        """Rows with facts are large: few of them at a time."""
        for key, value in (
            ("spark.sql.execution.arrow.maxRecordsPerBatch", "512"),
            ("spark.sql.execution.arrow.maxBytesPerBatch", str(32 << 20)),
            ("spark.sql.session.timeZone", "UTC"),
        ):
            self.spark.conf.set(key, value)

    def _run(self) -> None:
        changed = self._list()
        ours = (self.known or {}).get(lake.KEY, {})
        is_all = bool(self.known) and ours["reconciled_with"] != self.description["reconciled_with"]
        if not changed and not is_all:
            self.options.log("no file is new or has changed")
            self.summary.files = len((self.known or {"files": {}})["files"])
            return
        layout = self._layout(ours)
        staged = self._extract(changed)
        facts, touched = self._components(staged, is_all)
        fragments = self._reconcile(facts, layout)
        entries = self._merge(fragments, touched, is_all)
        self._commit(entries, layout, is_all)

    def _time(self, phase: str) -> None:
        now = time.monotonic()
        self.summary.seconds[phase] = round(now - self._started, 3)
        self._started = now

    def _describe(self, text: str) -> None:
        """What the stages that follow do, for Spark's user interface."""
        self.spark.sparkContext.setJobDescription(f"agentlogs: {text}")

    def _list(self) -> list[LogFile]:
        """The files that are new or changed."""
        found: list[tuple[str, int, int]] = []
        except_below = self.output.url if self.output.is_local else None
        for url in self.options.inputs:
            place = Place(url)
            if place.is_local and not os.path.exists(place.url):
                raise FileNotFoundError(f"{url}: no such file or directory")
            files, errors = list_files(place, except_below)
            found += files
            self.summary.problems += errors
        output = self.output.url + "/"
        found = [file for file in found if not file[0].startswith(output)]
        files = log_files(found, str(self.description["parsed_with"]))
        known = self._stamps()
        changed = [file for file in files if known.get(path_text(file.path)) != file.stamp]
        self.summary.listed = len(files)
        self.summary.unchanged = len(files) - len(changed)
        self.summary.read = len(changed)
        self.summary.bytes = sum(file.size for file in changed)
        self.input_bytes = sum(file.size for file in files)
        # Spark's default of 200 is too many for gigabytes, and too few for a petabyte.
        partitions = max(self.cores, self.input_bytes // LOGS_OF_SHUFFLE_PARTITION)
        self.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        self._time("list")
        return changed

    def _index_files(self) -> list[str]:
        return [path for path in (self.known or {"files": {}})["files"] if path.startswith(lake.INDEX + "/")]

    def _stamps(self) -> dict[str, str]:
        stamps: dict[str, str] = {}
        for path in self._index_files():
            table = pq.read_table(pa.BufferReader(_content(self.output, path)), columns=["source_path", "stamp"])
            columns = zip(table["source_path"].to_pylist(), table["stamp"].to_pylist(), strict=True)
            stamps.update((name, stamp) for name, stamp in columns if stamp is not None)
        return stamps

    def _layout(self, ours: dict[str, Any]) -> dict[str, Any]:
        """How rows are divided among files. It stays as the first run chose it."""
        power = lambda bytes_, each: 1 << max(0, (bytes_ // each).bit_length())  # noqa: E731
        chosen = {
            "partition_by": self.options.partition_by,
            "files_per_partition": self.options.files_per_partition,
            "files_per_table": self.options.files_per_table,
        }
        if not ours:
            chosen["files_per_partition"] = chosen["files_per_partition"] or power(self.input_bytes, LOGS_OF_PARTITION_FILE)
            chosen["files_per_table"] = chosen["files_per_table"] or power(self.input_bytes, LOGS_OF_TABLE_FILE)
            return chosen
        for key, value in chosen.items():
            if value is not None and value != ours[key]:
                option = "--" + key.replace("_", "-")
                raise lake.LakeError(f"{self.output.url}: has {option} {ours[key]}, not {value}; write another lake to change it")
        return {key: ours[key] for key in chosen}

    def _extract(self, changed: list[LogFile]) -> list[str]:
        """Parses files. Returns the staged files with the rows."""
        if not changed:
            return []
        from pyspark.sql import functions as F

        tasks = divide(changed, self.cores)
        inputs = f"{self.run_directory}/inputs.parquet"
        self.output.write(inputs, _tasks_as_parquet(tasks))
        self._describe(f"parse {len(changed)} files, {self.summary.bytes} bytes")
        task = _extract_task(self.output, self.run_directory, inputs, self.options, _cores_of_task(self.spark))
        frame = self.spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(task, spark_schema(DONE))
        # For listeners of Spark, which may pass them on to a monitoring system.
        sums = [F.sum(name).alias(name) for name in ("rows", "bytes", "sessions", "rejected_lines", "unreadable")]
        done = frame.observe("agentlogs extract", *sums).collect()
        for row in done:
            self.summary.unreadable += row.unreadable
            self.summary.rejected_lines += row.rejected_lines
            self.summary.sessions += row.sessions
            self.summary.problems += row.problems
        self._time("extract")
        return [row.staged for row in done]

    def _components(self, staged: list[str], is_all: bool) -> tuple[DataFrame, DataFrame | None]:
        """The facts of new files, and of known ones that are linked to them, with their components; and the known ones."""
        from pyspark.sql import functions as F

        self._describe("find files that concern the same sessions and responses")
        identified = F.xxhash64("source_path").alias("id")
        new = read_rows(self.spark, self.output, staged, ["source_path", "links"])
        new = new.select(identified, "links")
        links = new.select("id", F.explode("links").alias("link"))
        touched = None
        if index_files := self._index_files():
            index = _read_index(self.spark, self.output, index_files).withColumn("id", F.xxhash64("source_path"))
            if is_all:
                touched = index.persist()
            else:
                # By links in common, or because the file itself is read again.
                known_links = index.select("component", F.explode("links").alias("link"))
                hit = known_links.join(links.select("link").distinct(), "link", "leftsemi").select("component")
                again = index.join(new.select("id"), "id", "leftsemi").select("component")
                touched = index.join(hit.union(again).distinct(), "component", "leftsemi").persist()
            self.summary.known = touched.count()
            links = links.union(touched.select("id", F.explode("links").alias("link")))
        found = components(links, self.options.max_edges_on_driver)
        self.summary.edges, self.summary.rounds = found.edges, found.rounds
        facts = read_rows(self.spark, self.output, staged, ["source_path", "stamp", "facts"])
        facts = facts.select(identified, F.lit(False).alias("is_known"), "stamp", "facts")
        if touched is not None:
            facts = facts.unionByName(_known_facts(self.output, touched))
        labels = F.broadcast(found.labels) if found.rounds == 0 else found.labels
        facts = facts.join(labels, "id", "left")
        facts = facts.select(F.coalesce("component", "id").alias("component"), "is_known", "stamp", "facts")
        self._time("components")
        return facts, touched

    def _reconcile(self, facts: DataFrame, layout: dict[str, Any]) -> DataFrame:
        """Runs the ledger on each component."""
        from pyspark import StorageLevel
        from pyspark.sql import functions as F

        self._describe("reconcile")
        staged = sum(entry.size for entry in self.output.list(self.run_directory))
        tasks = max(1, min(self.cores, staged // (1 << 20)), staged // FACTS_OF_TASK)
        facts = facts.repartition(tasks, "component").sortWithinPartitions("component")
        arguments = ["extract", "--reconcile", "--jobs", str(_cores_of_task(self.spark))]
        arguments += [part for key, value in layout.items() for part in ("--" + key.replace("_", "-"), str(value))]
        task = _reconcile_task(self.options.binary, arguments)
        fragments = facts.mapInArrow(task, spark_schema(FRAGMENTS)).persist(StorageLevel.DISK_ONLY)
        # Rows of tables have no component, facts have one.
        sizes = fragments.groupBy("component").agg(F.count("*").alias("files"), F.sum(F.length("content")).alias("bytes"))
        of_facts = [F.when(F.col("component").isNotNull(), F.col(name)) for name in ("files", "bytes")]
        row = sizes.agg(F.count("component"), *map(F.max, of_facts), F.sum("bytes")).first()
        values = [value or 0 for value in row]
        self.summary.components, self.summary.largest_component, self.summary.largest_facts, self.fragment_bytes = values
        self._time("reconcile")
        return fragments

    def _merge(self, fragments: DataFrame, touched: DataFrame | None, is_all: bool) -> list[Any]:
        """Writes the changed files of the lake. Returns their entries."""
        from pyspark.sql import functions as F

        self._describe("write files of the lake")
        size = self.fragment_bytes
        names = ["file", "source_path", "content", "component", "stamp", "links", "files"]
        rows = fragments.select(*names)
        if touched is not None:
            # Rows without content: the rows of this source in this file are replaced.
            replaced = touched.select(F.explode("files").alias("file"), "source_path")
            replaced = replaced.union(touched.select("facts_file", "source_path"))
            nulls = [F.lit(None).cast(fragments.schema[name].dataType).alias(name) for name in names[2:]]
            rows = rows.union(replaced.select("file", "source_path", *nulls))
        tasks = max(1, min(self.cores, size // (1 << 20)), size // FRAGMENTS_OF_TASK)
        rows = rows.repartition(tasks, "file").sortWithinPartitions("file", F.col("content").isNotNull())
        known = [] if is_all else list((self.known or {"files": {}})["files"])
        task = _merge_task(self.options.binary, self.output, frozenset(known))
        entries = rows.mapInArrow(task, spark_schema(WRITTEN)).collect()
        fragments.unpersist()
        self._time("merge")
        return entries

    def _commit(self, entries: list[Any], layout: dict[str, Any], is_all: bool) -> None:
        before = (self.known or {"files": {}})["files"]
        files = {} if is_all else dict(before)
        for row in entries:
            files.pop(row.file, None)
            if row.rows:
                days = {"min_day": row.min_day, "max_day": row.max_day}
                files[row.file] = {"bytes": row.bytes, "xxh3_128": row.xxh3_128, "rows": row.rows, **days}
        common = {key: self.description[key] for key in ("lake", "written_by", "schema", "facts")}
        manifest = {
            **common,
            "partitioned_by": layout["partition_by"],
            "prices": self.description["prices"],
            "files": dict(sorted(files.items())),
            lake.KEY: {**layout, "reconciled_with": self.description["reconciled_with"]},
        }
        lake.commit(self.output, manifest)
        self.summary.files = len(files)
        self.summary.written = sum(1 for row in entries if row.rows)
        self.summary.removed = len(before.keys() - files.keys())
        self._time("commit")


def spark_schema(schema: pa.Schema) -> StructType:
    """The types of Spark for those of Arrow."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def ship_package(spark: SparkSession) -> None:
    """Sends this package to the executors, where it may not be installed. Executors that start later fetch it too."""
    application = spark.sparkContext.applicationId
    if application in _SHIPPED:
        return
    directory = os.path.dirname(os.path.abspath(__file__))
    # Removed when the driver ends.
    temporary = tempfile.TemporaryDirectory(prefix="agentlogs-spark-")
    copy = os.path.join(temporary.name, "package", "agentlogs_spark")
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("__pycache__"))
    archive = shutil.make_archive(os.path.join(temporary.name, "agentlogs_spark"), "zip", os.path.dirname(copy))
    spark.sparkContext.addPyFile(archive)
    _SHIPPED[application] = temporary


# The applications of Spark that have the package, with the directories of the copies.
_SHIPPED: dict[str, tempfile.TemporaryDirectory] = {}


def check_executors(spark: SparkSession, binary: Binary) -> dict[str, Any]:
    """The description of the program. Raises BinaryError if it is missing on a machine, or differs between machines."""
    expected = binary.describe()

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                found, problem = binary.describe(), None
            except (BinaryError, OSError) as error:
                found, problem = None, str(error)
            if problem is None and found != expected:
                pairs = [f"{key} {found[key]!r}, not {expected[key]!r}" for key in expected if found[key] != expected[key]]
                problem = f"the program on {socket.gethostname()} differs from that of the driver: {'; '.join(pairs)}"
            yield pa.RecordBatch.from_pydict({"problem": [problem]}, schema=PROBLEM)

    count = max(spark.sparkContext.defaultParallelism, 1)
    spark.sparkContext.setJobDescription("agentlogs: check the program on the executors")
    for row in spark.range(0, count, 1, count).mapInArrow(task, spark_schema(PROBLEM)).collect():
        if row.problem is not None:
            raise BinaryError(row.problem)
    return expected


def _cores_of_task(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.task.cpus", "1"))


def _content(place: Place, path: str) -> bytes:
    content = place.read(path)
    if content is None:
        raise lake.LakeError(f"{place.url_of(path)}: is missing, although the manifest lists it")
    return content


TASKS = pa.schema(
    [
        ("path", pa.string()),
        ("raw", pa.binary()),
        ("size", pa.int64()),
        ("modified", pa.int64()),
        ("stamp", pa.string()),
    ]
)


def _tasks_as_parquet(tasks: list[list[LogFile]]) -> bytes:
    """A row group for each task; companions follow the files, without stamps."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, TASKS) as writer:
        for task in tasks:
            rows = [(os.fsencode(file.path), file.size, file.modified, file.stamp) for file in task]
            listed = {file.path for file in task}
            companions = {path for file in task for path in file.companions} - listed
            rows += [(os.fsencode(path), 0, 0, None) for path in sorted(companions)]
            raw, sizes, times, stamps = zip(*rows, strict=True)
            paths = [path_text(os.fsdecode(path)) for path in raw]
            writer.write_table(pa.table([paths, list(raw), list(sizes), list(times), list(stamps)], schema=TASKS), 1 << 30)
    return sink.getvalue().to_pybytes()


def _extract_task(place: Place, directory: str, inputs: str, options: Options, jobs: int) -> Callable:
    binary, host, stream = options.binary, options.host, options.stream

    def extract(number: int) -> pa.RecordBatch:
        content = pa.BufferReader(_content(place, inputs))
        task = pq.ParquetFile(content).read_row_group(number).to_pylist()
        stamps = {row["path"]: row["stamp"] for row in task if row["stamp"] is not None}
        problems: list[str] = []
        if stream or "://" in task[0]["path"]:
            rows = _extract_copies(task, Extraction(binary, jobs, host), problems)
        else:
            files = [(os.fsdecode(row["raw"]), row["size"]) for row in task if row["stamp"] is not None]
            rows = Extraction(binary, jobs, host).run(files)
        table = pa.Table.from_batches(rows, EXTRACTED)
        stamp = [stamps.get(path) for path in table["source_path"].to_pylist()]
        table = table.append_column("stamp", pa.array(stamp, pa.string()))
        staged = f"{directory}/extracted/{number}-{uuid.uuid4().hex[:8]}.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="none", row_group_size=512, use_dictionary=False)
        place.write(staged, sink.getvalue())
        unreadable = [
            row for row in table.select(["source_path", "status", "message"]).to_pylist() if row["status"] == "unreadable"
        ]
        problems += [f"{row['source_path']}: {row['message']}" for row in unreadable[:100]]
        total = lambda name: sum(value or 0 for value in table[name].to_pylist())  # noqa: E731
        return pa.RecordBatch.from_pydict(
            {
                "staged": [staged],
                "rows": [table.num_rows],
                "bytes": [total("bytes")],
                "unreadable": [len(unreadable)],
                "rejected_lines": [total("rejected_lines")],
                "sessions": [total("sessions")],
                "problems": [problems],
            },
            schema=DONE,
        )

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield extract(number)

    return task


def _extract_copies(task: list[dict[str, Any]], extraction: Extraction, problems: list[str]) -> list[pa.RecordBatch]:
    """Copies files to the local disk and parses the copies."""
    root = _common_root([row["path"] for row in task])
    place = Place(root)
    with tempfile.TemporaryDirectory(prefix="agentlogs-") as temporary:
        temporary = os.path.realpath(temporary)
        files = []
        for row in task:
            below = os.fsdecode(row["raw"]).removeprefix(root).lstrip("/")
            local = os.path.join(temporary, below)
            if os.path.normpath(local) != local or not local.startswith(temporary + "/"):
                problems.append(f"{row['path']}: left out: the name is not a path")
                continue
            try:
                place.download(below, local)
                os.utime(local, ns=(row["modified"], row["modified"]))
            except OSError as error:
                # It vanished, or cannot be read: the program records that it is missing.
                problems.append(f"{row['path']}: {error}")
                if os.path.exists(local):
                    os.remove(local)
            if row["stamp"] is not None:
                files.append((local, row["size"]))
        moved = Extraction(extraction.binary, extraction.jobs, extraction.host, (temporary, root.rstrip("/")))
        return moved.run(files) if files else []


def _common_root(paths: list[str]) -> str:
    """The bucket of URLs, or the directory / of paths."""
    scheme, separator, rest = paths[0].partition("://")
    return f"{scheme}://{rest.split('/')[0]}" if separator else "/"


def read_rows(spark: SparkSession, place: Place, files: list[str], columns: list[str]) -> DataFrame:
    """Columns of staged files."""
    schema = spark_schema(pa.schema([STAGED.field(name) for name in columns]))
    if not files:
        return spark.createDataFrame([], schema)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                file = pq.ParquetFile(pa.BufferReader(_content(place, files[number])))
                yield from file.iter_batches(512, columns=columns)

    return spark.range(0, len(files), 1, len(files)).mapInArrow(task, schema)


def facts_file_of(index_file: str) -> str:
    """The file of facts that a file of the index describes."""
    return lake.FACTS + index_file.removeprefix(lake.INDEX).removesuffix(".parquet")


def index_file_of(facts_file: str) -> str:
    """The file of the index that describes a file of facts."""
    return f"{lake.INDEX}{facts_file.removeprefix(lake.FACTS)}.parquet"


def _read_index(spark: SparkSession, place: Place, files: list[str]) -> DataFrame:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                table = pq.read_table(pa.BufferReader(_content(place, files[number]))).select(INDEX.names).cast(INDEX)
                ends = pa.compute.cumulative_sum(table["length"])
                offset = pa.compute.subtract(ends, table["length"])
                name = pa.array([facts_file_of(files[number])] * table.num_rows, pa.string())
                yield from pa.table([*table.columns, offset, name], schema=LOCATED).to_batches(4096)

    return spark.range(0, len(files), 1, len(files)).mapInArrow(task, spark_schema(LOCATED))


def _known_facts(place: Place, touched: DataFrame) -> DataFrame:
    """The facts of known files, as the last run wrote them."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.to_pylist()
            by_file: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                by_file.setdefault(row["facts_file"], []).append(row)
            for file, rows in by_file.items():
                parts = place.read_parts(file, [(row["offset"], row["length"]) for row in rows])
                for row, facts in zip(rows, parts, strict=True):
                    values = {"id": [row["id"]], "is_known": [True], "stamp": [row["stamp"]], "facts": [facts]}
                    yield pa.RecordBatch.from_pydict(values, schema=KNOWN_FACTS)

    columns = touched.select("id", "stamp", "facts_file", "offset", "length").repartition("facts_file")
    return columns.mapInArrow(task, spark_schema(KNOWN_FACTS))


def _reconcile_task(binary: Binary, arguments: list[str]) -> Callable:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            return
        rows = (pa.RecordBatch.from_arrays(batch.columns, schema=FACTS) for batch in _chain(first, batches))
        yield from pipe([binary.path(), *arguments, *binary.pricing()], rows, FACTS, FRAGMENTS)

    return task


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _merge_task(binary: Binary, place: Place, known: frozenset[str]) -> Callable:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            return
        rows = (row for batch in _chain(first, batches) for row in batch.to_pylist())
        contents = _contents(rows, place, known)
        command = [binary.path(), "extract", "--jobs", "1", *_content_option(binary), "--merge"]
        if place.is_local:
            yield from pipe([*command, place.full(lake.STAGING)], contents, CONTENTS, WRITTEN)
            return
        with tempfile.TemporaryDirectory(prefix="agentlogs-") as temporary:
            for batch in pipe([*command, temporary], contents, CONTENTS, WRITTEN):
                for row in batch.to_pylist():
                    if row["rows"]:
                        local = os.path.join(temporary, row["file"])
                        place.upload(local, f"{lake.STAGING}/{row['file']}")
                        os.remove(local)
                yield batch

    return task


def _content_option(binary: Binary) -> list[str]:
    """Files with text of conversations are readable by their owner only."""
    if "--content" not in binary.reading:
        return []
    position = binary.reading.index("--content")
    return list(binary.reading[position : position + 2])


def _contents(rows: Iterator[dict[str, Any]], place: Place, known: frozenset[str]) -> Iterator[pa.RecordBatch]:
    """The rows of each file: those of the last run that stay, then new ones. After facts follows their index."""
    file: str | None = None
    index: list[dict[str, Any]] = []
    replaced: set[str] = set()
    is_open = False

    def of(name: str, source_path: str | None, content: bytes) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"file": [name], "source_path": [source_path], "content": [content]}, schema=CONTENTS)

    def kept() -> Iterator[pa.RecordBatch]:
        """What stays of the file."""
        if file not in known:
            return
        if not file.startswith(lake.FACTS + "/"):
            table = pq.read_table(pa.BufferReader(_content(place, file)))
            is_replaced = pa.compute.is_in(table["source_path"], pa.array(sorted(replaced), pa.string()))
            yield of(file, None, _parquet(table.filter(pa.compute.invert(is_replaced))))
            return
        facts = memoryview(_content(place, file))
        offset = 0
        for row in pq.read_table(pa.BufferReader(_content(place, index_file_of(file)))).to_pylist():
            end = offset + row["length"]
            if row["source_path"] not in replaced:
                index.append(row)
                yield of(file, row["source_path"], bytes(facts[offset:end]))
            offset = end

    def close() -> Iterator[pa.RecordBatch]:
        if file is None:
            return
        if not is_open:
            yield from kept()
        if file.startswith(lake.FACTS + "/"):
            if not index:
                # So that the file gets an entry without rows.
                yield of(file, None, b"")
            index.sort(key=lambda row: row["source_path"])
            yield of(index_file_of(file), None, _parquet(pa.Table.from_pylist(index, INDEX)))

    for row in rows:
        if row["file"] != file:
            yield from close()
            file, index, replaced, is_open = row["file"], [], set(), False
        if row["content"] is None:
            replaced.add(row["source_path"])
            continue
        if not is_open:
            yield from kept()
            is_open = True
        if file.startswith(lake.FACTS + "/"):
            index.append({**{name: row[name] for name in INDEX.names if name != "length"}, "length": len(row["content"])})
        yield of(file, row["source_path"], row["content"])
    yield from close()


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()
