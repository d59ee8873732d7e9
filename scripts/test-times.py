#!/usr/bin/env python3
"""Passes the output of `cargo test` through, and measures each test. Usage: cargo test | scripts/test-times.py [FILE]

At the end it prints the slowest tests, and writes the seconds and the name of every test to FILE; default: target/test-times.tsv.

The output of tests contains no times. A test starts when a thread is free, in the order of the names, and its line is printed when
it ends: that gives the times, without unstable options of the test program.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

BEGIN = re.compile(r"^running \d+ tests?$")
END = re.compile(r"^test (?P<name>.+?) (?:- should panic )?\.\.\. (?:ok|FAILED|ignored.*)$")
RESULT = re.compile(r"^test result: ")
# The number of tests that are printed.
SLOWEST = 10


def times(begin: float, ends: list[tuple[str, float]], threads: int) -> list[tuple[float, str]]:
    """The seconds of each test of one program, from the times at which they ended."""
    starts: dict[str, float] = {}
    # A thread is free at the beginning, and whenever a test has ended.
    free = [begin] * threads + [at for _, at in ends]
    for name, at in zip(sorted(name for name, _ in ends), free, strict=False):
        starts[name] = at
    return [(max(0.0, at - starts[name]), name) for name, at in ends]


def main() -> None:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "target/test-times.tsv")
    threads = int(os.environ.get("RUST_TEST_THREADS", 0)) or os.cpu_count() or 1
    begin, ends, found = time.monotonic(), [], []
    for line in sys.stdin:
        print(line, end="", flush=True)
        if BEGIN.match(line):
            begin, ends = time.monotonic(), []
        elif match := END.match(line):
            ends.append((match["name"], time.monotonic()))
        elif RESULT.match(line):
            found += times(begin, ends, threads)
    found.sort(reverse=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("".join(f"{seconds:.2f}\t{name}\n" for seconds, name in found))
    print(f"\nThe slowest of {len(found)} tests, all in {output}:")
    for seconds, name in found[:SLOWEST]:
        print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
