#!/usr/bin/env bash
# Makes the pictures of the documents in docs/images, of the directory `demo`. Needs Node, Chromium and the font DejaVu Sans Mono.
# Usage: screenshots.sh AGENTLOGS
set -euo pipefail
AGENTLOGS="$(realpath "$1")"
cd "$(dirname "$0")/../dashboard"
CHROMIUM="$(command -v chromium || command -v chromium-browser || command -v google-chrome)"
export AGENTLOGS CHROMIUM
[ -d node_modules/playwright-core ] || npm ci --no-audit --no-fund --loglevel=error
node screenshots.mjs ../docs/images
