#!/usr/bin/env bash
# The program and its tests compile without warnings for platforms that are not this one. Skipped without rustup or the targets.
# Usage: cross.sh PYTHON      PYTHON is that of a virtual environment
set -euo pipefail
cd "$(dirname "$0")/.."
python="$1"

skip() { printf '== %s\n' "$*"; exit 0; }

command -v rustup >/dev/null || skip "no rustup: other platforms are not checked"
"$python" -m pip install -q --disable-pip-version-check -r scripts/requirements-cross.txt || skip "pip cannot install scripts/requirements-cross.txt: other platforms are not checked"

# Zig compiles the C code of dependencies for any platform.
PATH="$(dirname "$python"):$PATH"
export RUSTFLAGS="-D warnings"
for target in x86_64-pc-windows-gnu aarch64-unknown-linux-gnu; do
    if ! rustup target add "$target" 2>/dev/null; then
        printf '== rustup cannot install %s: not checked\n' "$target"
        continue
    fi
    printf '\n== %s\n' "$target"
    cargo-zigbuild check --locked --all-targets --target "$target"
done
