#!/usr/bin/env python3
"""The tokens and costs of agentlogs against other people's counters, on generated sessions of Claude Code, Codex and pi:

- ccusage: the four token counts of each day and runtime. The sessions contain what both count in the same way: responses on
  several lines, a resumed transcript that repeats its history, totals of Codex that are written twice, a fork of pi.
- genai-prices: the cost of each response, for every model of MODELS at the day of the response.

Usage: counters.py --bin AGENTLOGS [--ccusage PROGRAM]      without --ccusage, ccusage comes from npm; it is skipped without npm

Needs the packages of scripts/requirements.txt.
"""

import argparse
import collections
import datetime
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import uuid

import genai_prices

CCUSAGE = "@ccusage/ccusage-linux-x64@20.0.24"
# By the runtime that writes the log: models with the provider that genai-prices knows them by.
MODELS = {
    "claude": {"anthropic": ["claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1"]},
    "codex": {"openai": ["gpt-5", "gpt-5-codex", "gpt-5.1-codex", "gpt-5.5", "gpt-5-mini"]},
    "pi": {
        "anthropic": ["claude-sonnet-4-5"],
        "openai": ["gpt-5.1", "gpt-4.1", "o4-mini"],
        "google": ["gemini-2.5-pro", "gemini-2.5-flash"],
        "x-ai": ["grok-4"],
    },
}
FIRST_DAY = datetime.datetime(2026, 9, 1, 8, tzinfo=datetime.timezone.utc)
Counts = collections.namedtuple("Counts", "input output cache_read cache_write")
COUNTS = [f"{name}_tokens" for name in Counts._fields]


class Writer:
    """Sessions with random counts, in the directories in which the runtimes keep them."""

    def __init__(self, home, seed):
        self.home, self.random = home, random.Random(seed)

    def id(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def time(self, day, step):
        return (FIRST_DAY + datetime.timedelta(days=day, seconds=20 * step)).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def counts(self):
        draw = self.random.randint
        return Counts(draw(1, 20_000), draw(1, 5_000), draw(0, 150_000), draw(0, 30_000))

    def model(self, runtime):
        provider = self.random.choice(list(MODELS[runtime]))
        return provider, self.random.choice(MODELS[runtime][provider])

    def write(self, path, records):
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))

    def claude(self, day):
        """A transcript, and sometimes one that resumes it and repeats its lines."""
        _, model = self.model("claude")
        session, records = self.id(), []
        for step in range(self.random.randint(1, 8)):
            counts = self.counts()
            usage = {
                "input_tokens": counts.input, "output_tokens": counts.output,
                "cache_read_input_tokens": counts.cache_read, "cache_creation_input_tokens": counts.cache_write,
            }  # fmt: skip
            message = {"id": f"msg_{self.random.getrandbits(64):016x}", "type": "message", "role": "assistant", "model": model, "stop_reason": "tool_use"}
            common = {"sessionId": session, "cwd": "/work/shop", "version": "2.1.212", "timestamp": self.time(day, step), "type": "assistant", "requestId": f"req_{step}{session[:8]}"}
            for text in ("Reading.", "Done."):
                content = [{"type": "text", "text": text}]
                records.append({**common, "uuid": self.id(), "message": {**message, "content": content, "usage": usage}})
        self.write(f".claude/projects/-work-shop/{session}.jsonl", records)
        if self.random.random() < 0.3:
            resumed = self.id()
            copies = [{**record, "sessionId": resumed} for record in records]
            self.write(f".claude/projects/-work-shop/{resumed}.jsonl", copies)

    def codex(self, day):
        """A rollout, with some totals written twice."""
        _, model = self.model("codex")
        session, total = self.id(), collections.Counter()
        record = lambda step, kind, payload: {"timestamp": self.time(day, step), "type": kind, "payload": payload}
        meta = {"id": session, "timestamp": self.time(day, 0), "cwd": "/work/shop", "originator": "codex_cli_rs", "cli_version": "0.142.3", "source": "cli", "model_provider": "openai"}
        records = [record(0, "session_meta", meta), record(0, "turn_context", {"turn_id": "t1", "cwd": "/work/shop", "model": model, "effort": "medium"})]
        for step in range(1, self.random.randint(2, 8)):
            counts = self.counts()
            last = {
                "input_tokens": counts.input + counts.cache_read, "cached_input_tokens": counts.cache_read,
                "output_tokens": counts.output, "reasoning_output_tokens": counts.output // 2,
                "total_tokens": counts.input + counts.cache_read + counts.output,
            }  # fmt: skip
            total.update(last)
            usage = {"total_token_usage": dict(total), "last_token_usage": last, "model_context_window": 272_000}
            for _ in range(self.random.choice([1, 1, 2])):
                records.append(record(step, "event_msg", {"type": "token_count", "info": usage}))
        day = FIRST_DAY + datetime.timedelta(days=day)
        self.write(f".codex/sessions/{day:%Y/%m/%d}/rollout-{day:%Y-%m-%dT%H-%M-%S}-{session}.jsonl", records)

    def pi(self, day):
        """A session, and sometimes a fork that repeats its first entries."""
        provider, model = self.model("pi")
        session, parent = self.id(), None
        records = [{"type": "session", "version": 3, "id": session, "timestamp": self.time(day, 0), "cwd": "/work/shop"}]
        for step in range(1, self.random.randint(2, 8)):
            counts = self.counts()
            usage = {"input": counts.input, "output": counts.output, "cacheRead": counts.cache_read, "cacheWrite": counts.cache_write, "totalTokens": sum(counts)}
            message = {"role": "assistant", "provider": provider, "model": model, "content": [{"type": "text", "text": "Done."}], "usage": usage, "stopReason": "stop"}
            entry = f"{self.random.getrandbits(32):08x}"
            time = self.time(day, step)
            milliseconds = int(datetime.datetime.fromisoformat(time).timestamp() * 1000)
            records.append({"type": "message", "id": entry, "parentId": parent, "timestamp": time, "message": {**message, "timestamp": milliseconds}})
            parent = entry
        directory = self.home / ".pi/agent/sessions/--work-shop--"
        name = directory / f"{self.time(day, 0).replace(':', '-').replace('.', '-')}_{session}.jsonl"
        self.write(name, records)
        if self.random.random() < 0.3:
            fork = self.id()
            header = {**records[0], "id": fork, "timestamp": self.time(day, 100), "parentSession": str(name)}
            fork_name = directory / f"{self.time(day, 100).replace(':', '-').replace('.', '-')}_{fork}.jsonl"
            self.write(fork_name, [header, *records[1:]])


def rows(program, home, sql):
    """The rows of a query over the archive, which the first query makes."""
    environment = {**os.environ, "HOME": str(home), "AGENTLOGS_ARCHIVE": str(home / "archive"), "TZ": "UTC"}
    if not (home / "archive").exists():
        subprocess.run([program, "ingest", home], env=environment, check=True, capture_output=True)
    output = subprocess.run([program, "query", "--format", "json", sql], env=environment, check=True, capture_output=True)
    return json.loads(output.stdout)


def installed(folder):
    """ccusage from npm, or None."""
    if shutil.which("npm") is None:
        return None
    command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, CCUSAGE]
    if subprocess.run(command).returncode != 0:
        return None
    program = next(pathlib.Path(folder).glob("node_modules/@ccusage/*/bin/ccusage"))
    program.chmod(0o755)
    return program


def by_ccusage(program, home, runtime):
    """The counts of each day."""
    environment = {**os.environ, "HOME": str(home), "TZ": "UTC", "NO_COLOR": "1"}
    output = subprocess.run([program, runtime, "daily", "--json", "--offline"], env=environment, check=True, capture_output=True)
    days = json.loads(output.stdout)["daily"]
    names = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"]
    return {day["date"]: Counts(*(day.get(name) or 0 for name in names)) for day in days}


def compare_counts(program, ccusage, home):
    """The days of which a count differs, in words."""
    sums = ", ".join(f"SUM({name}) AS {name}" for name in COUNTS)
    found = rows(program, home, f"SELECT runtime, CAST(day AS VARCHAR) AS date, {sums} FROM turns GROUP BY runtime, day")
    compared = 0
    for runtime in MODELS:
        ours = {row["date"]: Counts(*(row[name] or 0 for name in COUNTS)) for row in found if row["runtime"] == runtime}
        theirs = by_ccusage(ccusage, home, runtime)
        for date in sorted(ours.keys() | theirs.keys()):
            compared += len(COUNTS)
            if ours.get(date) != theirs.get(date):
                yield f"{runtime}, {date}: {ours.get(date)} here, {theirs.get(date)} in ccusage"
    print(f"{compared} sums of tokens compared with ccusage")


def by_genai_prices(turn):
    """The cost of a response in dollars. Their input contains the caches."""
    caches = (turn["cache_read_tokens"] or 0, turn["cache_write_tokens"] or 0)
    usage = genai_prices.Usage(
        input_tokens=turn["input_tokens"] + sum(caches), output_tokens=turn["output_tokens"],
        cache_read_tokens=caches[0], cache_write_tokens=caches[1],
    )  # fmt: skip
    provider = next(name for name, models in MODELS[turn["runtime"]].items() if turn["model"] in models and turn["provider"] in (name, None))
    time = datetime.datetime.fromisoformat(turn["time"]).replace(tzinfo=datetime.timezone.utc)
    return float(genai_prices.calc_price(usage, model_ref=turn["model"], provider_id=provider, genai_request_timestamp=time).total_price)


def compare_costs(program, home):
    """The responses of which the cost differs, in words."""
    sql = f"SELECT runtime, provider, model, CAST(occurred_at AS VARCHAR) AS time, computed_cost_usd, {', '.join(COUNTS)} FROM turns"
    turns = rows(program, home, sql)
    models = set()
    for turn in turns:
        theirs, ours = by_genai_prices(turn), turn["computed_cost_usd"]
        models.add(turn["model"])
        if ours is None or not math.isclose(ours, theirs, rel_tol=1e-9):
            yield f"{turn}: {ours} here, {theirs} in genai-prices"
    print(f"{len(turns)} costs of {len(models)} models compared with genai-prices")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--ccusage", type=pathlib.Path)
    parser.add_argument("--sessions", type=int, default=60, help="of each runtime")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    program = args.bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder) / "home"
        writer = Writer(home, args.seed)
        for number in range(args.sessions):
            for write in (writer.claude, writer.codex, writer.pi):
                write(number % 20)
        wrong = list(compare_costs(program, home))
        ccusage = args.ccusage or installed(str(pathlib.Path(folder) / "npm"))
        if ccusage is None:
            print("npm cannot install ccusage: its counts are not compared")
        else:
            wrong += compare_counts(program, ccusage.resolve(), home)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
