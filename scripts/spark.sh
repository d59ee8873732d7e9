#!/usr/bin/env bash
# agentlogs-spark: its units, and the job on a cluster of two executors over sample-logs. Skipped without Java or pyspark.
# Usage: spark.sh AGENTLOGS PYTHON      PYTHON is that of a virtual environment
set -euo pipefail
cd "$(dirname "$0")/.."
binary="$(realpath "$1")" python="$2"

if ! command -v java > /dev/null; then
    printf '== no Java: agentlogs-spark not checked\n'
    exit 0
fi
if ! "$python" -m pip install -q --disable-pip-version-check -r scripts/requirements-spark.txt; then
    printf '== pip cannot install scripts/requirements-spark.txt: agentlogs-spark not checked\n'
    exit 0
fi
"$python" -m ruff format --check -q packages/spark
"$python" -m ruff check -q packages/spark
cd packages/spark
AGENTLOGS_BINARY="$binary" SPARK_LOCAL_IP=127.0.0.1 "$python" -m pytest -q -p no:cacheprovider --durations=5
