#!/usr/bin/env bash
# Makes the pictures of README.md in .github/images, of sample-logs. Needs Node, Chromium and the font DejaVu Sans Mono.
# Usage: screenshots.sh AGENTLOGS
set -euo pipefail
AGENTLOGS="$(realpath "$1")"
cd "$(dirname "$0")/../dashboard"
CHROMIUM="$(command -v chromium || command -v chromium-browser || command -v google-chrome)"
export AGENTLOGS CHROMIUM
[ -d node_modules/playwright-core ] || npm ci --no-audit --no-fund --loglevel=error
mkdir -p ../.github/images
node screenshots.mjs ../.github/images
