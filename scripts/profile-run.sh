#!/usr/bin/env bash
# Runs a program that was compiled to write a profile: reads all logs of this repository, and prints reports about them.
# Usage: profile-run.sh AGENTLOGS DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."
program="$(realpath "$1")" directory="$2"
mkdir -p "$directory/home"
# Neither logs nor settings of the user.
unset XDG_CONFIG_HOME XDG_DATA_HOME AGENTLOGS_CONFIG
export HOME="$directory/home" AGENTLOGS_ARCHIVE="$directory/archive"
"$program" ingest sample-logs demo demo-evaluation tests/cases >/dev/null
for report in cost tokens tools turns sessions models files errors behavior requests agents skills failures waste limits health; do
    "$program" report "$report" >/dev/null
done
