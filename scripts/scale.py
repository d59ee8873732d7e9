#!/usr/bin/env python3
"""Time and memory of `agentlogs ingest` against the size of its input and the number of files: the table of
docs/performance.md.

Usage: scale.py --bin AGENTLOGS --make MAKE_LOGS [--turns 100000,1000000] [--single 100000] [--work DIR]

MAKE_LOGS is the example of that name (`cargo build --release --example make_logs`): a session for some 50 turns, one file
each. --single puts all logs of so many turns into one file. Anonymous memory is the largest of samples taken every 5 ms.
"""

import argparse
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time


def run(command):
    """Seconds of processor time, seconds, and the largest anonymous memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    largest = 0

    def watch():
        nonlocal largest
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("RssAnon:"):
                    largest = max(largest, int(line.split()[1]))
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, errors = process.communicate()
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {errors.decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.monotonic() - start, largest / 1024


def measure(options, logs, name):
    files = [it for it in logs.rglob("*") if it.is_file()]
    size = sum(it.stat().st_size for it in files)
    for it in files:
        it.read_bytes()
    archive = logs.parent / "archive"
    command = [options.bin, "ingest", logs, "--archive", archive]
    first, again = run(command), run(command)
    shutil.rmtree(archive)
    print(
        f"| {name} | {len(files):,} | {size / 1e6:,.0f} | {first[0]:.1f} | {first[1]:.1f} | {size / 1e6 / first[0]:.0f} "
        f"| {first[2]:.0f} | {again[0]:.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--make", required=True)
    parser.add_argument("--turns", default="10000,100000,1000000")
    parser.add_argument("--single", default="100000")
    parser.add_argument("--work")
    options = parser.parse_args()
    print("| turns | files | MB | CPU s | s | MB per CPU s | anonymous MB | again, CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    counts = [(int(it), False) for it in options.turns.split(",") if it]
    counts += [(int(it), True) for it in options.single.split(",") if it]
    for turns, is_single in counts:
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            logs = pathlib.Path(folder) / "logs"
            subprocess.run([options.make, logs, str(turns)], check=True, stdout=subprocess.DEVNULL)
            if is_single:
                one = pathlib.Path(folder) / "one"
                one.mkdir()
                with open(one / "all.jsonl", "wb") as out:
                    for it in sorted(logs.rglob("*.jsonl")):
                        out.write(it.read_bytes())
                shutil.rmtree(logs)
                logs = one
            measure(options, logs, f"{turns:,}{' in one file' if is_single else ''}")


if __name__ == "__main__":
    main()
