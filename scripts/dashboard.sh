#!/usr/bin/env bash
# The page of `agentlogs dashboard`: dashboard/dist/ is current, and a browser shows the numbers of the reports. Checks whose tools
# are missing are reported and skipped.
# Usage: dashboard.sh AGENTLOGS
set -euo pipefail
cd "$(dirname "$0")/.."
program="$1"

skip() { printf '\n== %s\n' "$*"; exit 0; }

# The oldest Node that the tools support.
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null || skip "no Node 20 or newer: the dashboard is not rebuilt"
command -v npm >/dev/null || skip "no npm: the dashboard is not rebuilt"
cd dashboard
npm ci --no-audit --no-fund --loglevel=error || skip "npm cannot install dashboard/package-lock.json: the dashboard is not rebuilt"

printf '\n== dashboard: types\n'
npm run --silent check
printf '\n== dashboard: the committed page is current\n'
before="$(cat dist/page.html)"
npm run --silent build
if [ "$before" != "$(cat dist/page.html)" ]; then
    echo "dashboard/dist differs from what dashboard/src builds: run npm run build there, and commit it" >&2
    exit 1
fi

browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if ! browser >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core) >/dev/null 2>&1 || true
fi
CHROMIUM="$(browser)" || skip "no Chromium: the dashboard is not tested in a browser"
export CHROMIUM AGENTLOGS="$program"
printf '\n== dashboard: in %s\n' "$CHROMIUM"
# The browser may exceed its time on a machine under load: only a second failure is an error.
npm test --silent || npm test --silent
