#!/usr/bin/env bash
# Replaces the placeholder OWNER by the account of the repository, in all files: docs/releasing.md. Usage: owner.sh NAME
set -euo pipefail
cd "$(dirname "$0")/.."
[[ "${1:-}" =~ ^[A-Za-z0-9][A-Za-z0-9-]*$ ]] || { echo "usage: owner.sh NAME" >&2; exit 2; }
git grep -lzE '\bOWNER/' -- ':!scripts/owner.sh' ':!docs/releasing.md' | xargs -0 sed -i "s#\\bOWNER/#$1/#g"
git diff --stat
