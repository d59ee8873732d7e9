#!/usr/bin/env python3
"""A lake in an S3-compatible store, which the package moto provides on this machine:

- reports and queries over the bucket give the same answers as over the directory
- a query over one day reads the files of that day only
- without credentials, without the bucket, with a missing file and with wrong credentials in the URL, the error names the bucket
  and key, and never a secret
- nothing connects to the store for a lake in a directory

Usage: object_store.py --bin AGENTLOGS

Needs the packages of scripts/requirements.txt. Prints that it was skipped if the program was built without the feature `cloud`.
"""

import argparse
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import boto3
import requests
from moto.server import ThreadedMotoServer

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECRET = "wJalrXUtnFEMI-made-up-secret"
URL = "s3://agent-logs/team/lake"


class Log:
    """The requests of a server, as (method, path) of each."""

    def __init__(self, application):
        self.application, self.requests = application, []

    def __call__(self, environment, respond):
        self.requests.append((environment["REQUEST_METHOD"], environment["PATH_INFO"]))
        return self.application(environment, respond)


def upload(client, folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            client.upload_file(str(path), "agent-logs", f"team/lake/{path.relative_to(folder)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    program = parser.parse_args().bin.resolve()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    log = Log(server._server.app)
    server._server.app = log
    address = "http://%s:%s" % server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "AKIA-made-up", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
    client = boto3.client(
        "s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="AKIA-made-up", aws_secret_access_key=SECRET
    )
    client.create_bucket(Bucket="agent-logs")
    failures = []

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        base = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}

        def run(*words, environment=keys, succeeds=True):
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, env={**base, **environment})
            if succeeds and done.returncode != 0:
                sys.exit(f"agentlogs {' '.join(map(str, words))}: exit status {done.returncode}\n{done.stderr}")
            if SECRET in done.stdout + done.stderr:
                failures.append(f"agentlogs {' '.join(map(str, words))} prints the secret")
            return done

        run("ingest", ROOT / "sample-logs", "--archive", "archive")
        run("export", "lake", "--as", "lake", "--archive", "archive")
        upload(client, folder / "lake")
        if "without the feature" in run("report", "cost", "--archive", URL, succeeds=False).stderr:
            print("agentlogs was built without the feature `cloud`: skipped")
            return 0

        log.requests.clear()
        questions = [
            ["report", "cost", "--by", "model,week", "--format", "csv"],
            ["report", "tools", "--since", "2026-10-05", "--format", "csv"],
            ["report", "health", "--format", "csv"],
            ["query", "sessions-with-children", "--format", "csv"],
            ["query", "SELECT COUNT(*) AS n, SUM(total_tokens) AS tokens FROM turns", "--format", "csv"],
        ]
        expected = [run(*question, "--archive", "lake").stdout for question in questions]
        if log.requests:
            failures.append(f"a lake in a directory causes requests: {log.requests}")
        for question, ours in zip(questions, expected):
            if run(*question, "--archive", URL).stdout != ours:
                failures.append(f"{' '.join(question)}: another answer from the bucket")
        # Without a manifest the files are listed.
        client.delete_object(Bucket="agent-logs", Key="team/lake/_manifest.json")
        if run(*questions[0], "--archive", URL + "/").stdout != expected[0]:
            failures.append("without a manifest: another answer from the bucket")
        upload(client, folder / "lake")

        log.requests.clear()
        run("query", "SELECT SUM(cost_usd) AS cost_usd FROM turns WHERE day = DATE '2026-10-06'", "--archive", URL)
        read = {path for method, path in log.requests if method == "GET" and path.endswith(".parquet")}
        if read != {"/agent-logs/team/lake/turns/day=2026-10-06/part-0.parquet"}:
            failures.append(f"a query over one day reads {sorted(read)}")

        def fails(what, words, expected, **options):
            done = run(*words, succeeds=False, **options)
            if done.returncode != 1 or any(text not in done.stderr for text in expected) or "panicked" in done.stderr:
                failures.append(f"{what}: exit status {done.returncode}, {done.stderr}")

        report = ["report", "cost", "--archive"]
        fails("no bucket", [*report, "s3://missing/lake"], ["s3://missing/lake"])
        fails("no lake", [*report, "s3://agent-logs/elsewhere"], ["s3://agent-logs/elsewhere", "no lake"])
        fails("a URL with credentials", [*report, f"s3://AKIA:{SECRET}@agent-logs/lake"], ["credentials"])
        fails("a write with credentials", ["ingest", "--archive", f"s3://AKIA:{SECRET}@agent-logs/lake"], ["read"])
        fails("a write", ["ingest", str(ROOT / "sample-logs"), "--archive", URL], [URL, "read"])
        client.delete_object(Bucket="agent-logs", Key="team/lake/turns/day=2026-10-06/part-0.parquet")
        fails("a missing file", [*report, URL], [f"{URL}/turns/day=2026-10-06/part-0.parquet", "missing"])
        # From here on the store checks who asks.
        requests.post(f"{address}/moto-api/reset-auth", data=b"0", timeout=10)
        fails("no access", [*report, URL], [URL, "denied"])

    server.stop()
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(questions) + 9} questions to a lake in an S3-compatible store")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
