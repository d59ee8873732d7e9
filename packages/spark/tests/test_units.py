"""What needs no Spark: listing, dividing, retrying, manifests, leftovers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from agentlogs_spark import lake
from agentlogs_spark.binary import CONTENTS, EXTRACTED, FACTS, FRAGMENTS, WRITTEN, Binary, BinaryError, Extraction, pipe
from agentlogs_spark.cli import parser, reading
from agentlogs_spark.components import union_find
from agentlogs_spark.inputs import LogFile, companions_of, divide, list_files, log_files, path_text
from agentlogs_spark.job import facts_file_of, index_file_of
from agentlogs_spark.places import Place


def log(path: str, size: int) -> LogFile:
    return LogFile(path, size, 0, "", ())


def test_companions_are_sidecars_and_journals() -> None:
    names = {"/a/x.meta.json", "/a/meta.json", "/a/x.db-wal", "/a/x.db-shm", "/a/y.meta.json"}
    cases = {
        "/a/x.jsonl": ("/a/x.meta.json", "/a/meta.json"),
        "/a/x.jsonl.gz": ("/a/x.meta.json", "/a/meta.json"),
        "/a/x.retry.jsonl": ("/a/meta.json",),
        "/a/x.db": ("/a/meta.json", "/a/x.db-wal"),
        "/a/x.meta.json": (),
        "/b/x.jsonl": (),
    }
    for path, expected in cases.items():
        assert companions_of(path, names.__contains__) == expected, path


def test_a_stamp_changes_with_the_file_its_companions_and_the_options() -> None:
    files = [("/a/x.jsonl", 1, 2), ("/a/y.jsonl", 1, 2)]

    def stamps(files: list[tuple[str, int, int]], options: str = "12") -> list[str]:
        return [file.stamp for file in log_files(files, options)][:2]

    first = stamps(files)
    assert stamps(files[::-1]) == first
    assert [a == b for a, b in zip(stamps([files[0], ("/a/y.jsonl", 1, 3)]), first, strict=True)] == [True, False]
    assert [a == b for a, b in zip(stamps([*files, ("/a/y.meta.json", 0, 0)]), first, strict=True)] == [True, False]
    assert [a == b for a, b in zip(stamps(files, "13"), first, strict=True)] == [False, False]


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_tasks_have_about_the_same_size(cores: int) -> None:
    sizes = [1 << 20] * 300 + [1 << 29] + [10] * 1000 + [1 << 31]
    files = [log(f"/{number:05}", size) for number, size in enumerate(sizes)]
    tasks = divide(files, cores)
    assert sorted(file.path for task in tasks for file in task) == [file.path for file in files]
    assert [len(task) for task in tasks if any(file.size == 1 << 31 for file in task)] == [1]
    assert all(sum(file.size for file in task) <= 1 << 29 for task in tasks if len(task) > 1)
    assert all([file.path for file in task] == sorted(file.path for file in task) for task in tasks)
    assert divide(files[:10], 16) == [files[:10]], "ten small files are one task"
    assert len(divide([log(f"/{number}", 1 << 23) for number in range(100)], 4)) in (4, 5)


def test_files_are_listed_once(tmp_path: Path) -> None:
    (tmp_path / "a" / ".hidden").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    for name in ("a/b.jsonl", "a/.hidden/c", "out/d"):
        (tmp_path / name).write_text("x")
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "a" / "link.jsonl").symlink_to("b.jsonl")
    (tmp_path / "a" / "dangling").symlink_to("missing")
    os.mkfifo(tmp_path / "a" / "pipe")
    files, errors = list_files(Place(str(tmp_path)), str(tmp_path / "out"))
    assert [Path(path).name for path, *_ in sorted(files)] == ["c", "b.jsonl"]
    assert errors == []


def test_paths_are_those_of_agentlogs() -> None:
    cases = [(b"a\xff", "a%FF"), (b"a%FF", "a%25FF"), (b"a%25FF", "a%2525FF"), (b"a%2F", "a%2F"), ("ä%".encode(), "ä%")]
    for raw, expected in cases:
        assert path_text(os.fsdecode(raw)) == expected


def test_components_are_named_after_the_smallest_member() -> None:
    edges = [(5, 4), (4, 3), (9, 8), (8, 1), (20, 10)]
    assert union_find(edges) == {3: 3, 4: 3, 5: 3, 1: 1, 8: 1, 9: 1, 10: 10, 20: 10}
    assert union_find([]) == {}


def test_names_of_facts_and_index() -> None:
    assert index_file_of("_facts/day=2026-01-02/part-3") == "_index/day=2026-01-02/part-3.parquet"
    assert facts_file_of("_index/day=2026-01-02/part-3.parquet") == "_facts/day=2026-01-02/part-3"


def manifest(*files: str) -> dict[str, object]:
    return {"lake": 2, "files": {name: {} for name in files}, lake.KEY: {}}


def staged(place: Place, name: str, text: str) -> None:
    place.write(f"{lake.STAGING}/{name}", text.encode())


def test_a_commit_replaces_files_and_can_be_repeated(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    assert lake.known_state(place) is None
    staged(place, "turns/day=1/part-0.parquet", "1")
    staged(place, "turns/day=2/part-0.parquet", "2")
    lake.commit(place, manifest("turns/day=1/part-0.parquet", "turns/day=2/part-0.parquet"))
    assert place.read("turns/day=2/part-0.parquet") == b"2"
    # The next run was interrupted after the first move.
    staged(place, "turns/day=1/part-0.parquet", "3")
    staged(place, "turns/day=3/part-0.parquet", "4")
    place.write(
        f"{lake.STAGING}/{lake.MANIFEST}", json.dumps(manifest("turns/day=1/part-0.parquet", "turns/day=3/part-0.parquet")).encode()
    )
    place.move([(f"{lake.STAGING}/turns/day=1/part-0.parquet", "turns/day=1/part-0.parquet")])
    assert lake.recover(place) == []
    assert sorted(entry.path for entry in place.list()) == [
        lake.MANIFEST,
        "turns/day=1/part-0.parquet",
        "turns/day=3/part-0.parquet",
    ]
    assert place.read("turns/day=1/part-0.parquet") == b"3"


@pytest.mark.parametrize("path", ["../precious", "/precious", "turns/../../precious", "turns", "turns//x", "turns\\x", "other/x"])
def test_a_manifest_lists_only_files_of_its_lake(tmp_path: Path, path: str) -> None:
    (tmp_path / "precious").write_text("kept")
    place = Place(str(tmp_path / "lake"))
    place.write(lake.MANIFEST, json.dumps(manifest(path)).encode())
    place.write(f"{lake.STAGING}/{lake.MANIFEST}", json.dumps(manifest()).encode())
    with pytest.raises(lake.LakeError, match="not in the lake"):
        lake.recover(place)
    assert (tmp_path / "precious").read_text() == "kept"


def test_links_are_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    place = Place(str(tmp_path / "lake"))
    place.write(lake.MANIFEST, json.dumps(manifest("turns/precious")).encode())
    place.write(f"{lake.STAGING}/{lake.MANIFEST}", json.dumps(manifest()).encode())
    (tmp_path / "lake/turns").symlink_to(outside)
    with pytest.raises(lake.LakeError, match="a link in place of"):
        lake.recover(place)
    assert (outside / "precious").read_text() == "kept"


def test_leftovers_are_removed(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    lake.commit(place, manifest())
    for name in (".spark-staging-1/extracted/a.parquet", "_staging/turns/part-0.parquet", "turns/.spark-staging-2/x"):
        place.write(name, b"x")
    assert sorted(lake.recover(place)) == [".spark-staging-1", "_staging", "turns/.spark-staging-2"]
    assert [entry.path for entry in place.list()] == [lake.MANIFEST]


def test_other_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    with pytest.raises(lake.LakeError, match="no lake"):
        lake.known_state(Place(str(tmp_path)))
    (tmp_path / lake.MANIFEST).write_text('{"lake": 2, "files": {}}')
    with pytest.raises(lake.LakeError, match="agentlogs export"):
        lake.known_state(Place(str(tmp_path)))


def program(tmp_path: Path, text: str, timeout: float = 30.0) -> Binary:
    """A program of Python in place of agentlogs."""
    import sys

    path = tmp_path / "agentlogs"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return Binary(str(path), timeout=timeout)


EXTRACT = """
import os, sys, time
import pyarrow as pa
text, number = pa.string(), pa.int64()
schema = pa.schema([("source_path", text), ("status", text), ("message", text), ("bytes", number), ("sessions", number),
                    ("rejected_lines", number), ("links", pa.list_(number)), ("facts", pa.binary())])
unreadable = "--unreadable" in sys.argv
with pa.ipc.new_stream(sys.stdout.buffer, schema) as out:
    for path in filter(None, sys.stdin.buffer.read().decode().split("\\0")):
        def row(path):
            status = "unreadable" if unreadable else "parsed"
            message = sys.argv[sys.argv.index("--unreadable") + 1] if unreadable else None
            out.write_batch(pa.RecordBatch.from_pylist([{"source_path": path, "status": status, "message": message}], schema))
            sys.stdout.flush()
        if path.endswith(".tar") and not unreadable:
            row(path + "!/member")
        if not unreadable and "crash" in path: os.abort()
        if not unreadable and "stall" in path: time.sleep(60)
        if not unreadable and "fail" in path: sys.exit("cannot")
        row(path)
"""


def test_a_poisoned_file_costs_only_itself(tmp_path: Path) -> None:
    extraction = Extraction(program(tmp_path, EXTRACT, timeout=4.0), 1, "mars")
    names = ["/a0", "/a1", "/crash.tar", "/b.tar", "/fail", "/stall"]
    rows = pa.Table.from_batches(extraction.run([(name, 1) for name in names]), EXTRACTED)
    found = dict(zip(rows["source_path"].to_pylist(), rows["message"].to_pylist(), strict=True))
    assert rows.num_rows == len(names) + 1, "the member of the archive that was read"
    messages = {name: message for name, message in found.items() if message}
    assert messages.keys() == {"/crash.tar", "/stall", "/fail"}
    assert "signal 6" in messages["/crash.tar"] and "without a finished file" in messages["/stall"]
    assert messages["/fail"] == "agentlogs failed: cannot"


def test_a_broken_program_is_no_poisoned_file(tmp_path: Path) -> None:
    extraction = Extraction(program(tmp_path, "import os; os.abort()"), 1, "mars")
    with pytest.raises(BinaryError):
        extraction.run([("/a", 1), ("/b", 1)])
    with pytest.raises(BinaryError, match="is not on the machine"):
        Binary("no-such-program").path()
    with pytest.raises(BinaryError, match="wrong option"):
        Binary(program(tmp_path, "import sys; sys.exit('wrong option')").name).describe()


def test_a_stream_that_is_cut_is_an_error(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int64())])
    batch = pa.RecordBatch.from_pydict({"a": [1]}, schema=schema)
    text = """
import sys
import pyarrow as pa
batches = list(pa.ipc.open_stream(sys.stdin.buffer))
out = pa.ipc.new_stream(sys.stdout.buffer, batches[0].schema)
out.write_batch(batches[0])
sys.stdout.flush()
%s
"""
    good = program(tmp_path, text % "out.close()")
    assert [it.to_pylist() for it in pipe([good.name, "x"], [batch], schema, schema)] == [[{"a": 1}]]
    bad = program(tmp_path, text % "sys.exit(3)")
    with pytest.raises(BinaryError, match="status 3"):
        list(pipe([bad.name, "x"], [batch], schema, schema))


def small(kind: pa.DataType) -> pa.DataType:
    """The type with offsets of 32 bits."""
    if pa.types.is_large_list(kind):
        return pa.list_(small(kind.value_type))
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)


@pytest.mark.skipif("AGENTLOGS_BINARY" not in os.environ, reason="AGENTLOGS_BINARY is missing")
def test_the_program_writes_the_columns_that_are_expected(tmp_path: Path) -> None:
    def stream(schema: pa.Schema) -> bytes:
        sink = pa.BufferOutputStream()
        pa.ipc.new_stream(sink, schema).close()
        return sink.getvalue().to_pybytes()

    layout = ["--partition-by", "day", "--files-per-partition", "1", "--files-per-table", "1"]
    for arguments, sent, expected in (
        (["--files-from", "-", "--as", "arrow"], b"", EXTRACTED),
        (["--reconcile", *layout], stream(FACTS), FRAGMENTS),
        (["--merge", str(tmp_path / "lake")], stream(CONTENTS), WRITTEN),
    ):
        command = [os.environ["AGENTLOGS_BINARY"], "extract", *arguments]
        done = subprocess.run(command, input=sent, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        found = pa.ipc.open_stream(done.stdout).schema
        assert [(it.name, small(it.type)) for it in found] == [(it.name, it.type) for it in expected], arguments


def test_options_are_passed_to_the_program() -> None:
    arguments = ["ingest", "a", "b", "lake", "--content", "text", "--redact", "--label", "k=v", "--label", "l=w"]
    parsed = parser().parse_args(arguments)
    assert (parsed.inputs, parsed.output) == (["a", "b"], "lake")
    assert reading(parsed) == ("--content", "text", "--redact", "--label", "k=v", "--label", "l=w")
