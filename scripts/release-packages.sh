#!/usr/bin/env bash
# Makes all packages of a release from the programs of all platforms, on one machine.
#
# Usage: release-packages.sh PROGRAMS OUT TOOLS
#   PROGRAMS/program-TARGET/agentlogs or agentlogs.exe, as release.yml downloads them
#   TOOLS is the directory of maturin, git-cliff and pip
#
# Writes OUT/release (archives, SHA256SUMS, install.sh, the Homebrew formula), OUT/wheels (also that of agentlogs-spark), OUT/npm and OUT/notes.md.
set -euo pipefail
programs="$(realpath "$1")" tools="$(realpath "$3")"
mkdir -p "$2"
out="$(realpath "$2")"
cd "$(dirname "$0")/.."
mkdir -p "$out/release" "$out/wheels" "$out/npm"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

pairs=()
for folder in "$programs"/program-*; do
    target="${folder##*/program-}"
    program="$(echo "$folder"/agentlogs*)"
    chmod 755 "$program"
    scripts/archive.sh "$target" "$program" "$out/release"
    packed_as="$target"
    case "$target" in
    *-linux-gnu) compatibility=(--compatibility manylinux2014) ;;
    *-linux-musl) compatibility=(--compatibility musllinux_1_2) ;;
    *-windows-msvc)
        # The wheel is the same; for this target maturin would download the libraries of Microsoft's compiler.
        compatibility=()
        packed_as="${target%-msvc}-gnu"
        ;;
    *) compatibility=() ;;
    esac
    CARGO="$PWD/scripts/prebuilt-cargo.sh" AGENTLOGS_PREBUILT="$program" "$tools/maturin" build --quiet --target "$packed_as" \
        "${compatibility[@]}" --strip false --out "$out/wheels" --target-dir "$work/maturin"
    pairs+=("$target=$program")
done
"$tools/maturin" sdist --out "$out/wheels"
# From a copy: setuptools writes beside the sources.
cp -r packages/spark "$work/spark"
"$tools/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$out/wheels" "$work/spark"
node packages/npm/build.mjs "$work/npm" "${pairs[@]}"
for package in "$work"/npm/*/; do (cd "$package" && npm pack --silent --pack-destination "$out/npm"); done
cp install.sh "$out/release"
python3 packages/homebrew/formula.py --checksums "$out/release/SHA256SUMS" >"$out/release/agentlogs.rb"
"$tools/git-cliff" --config .github/cliff.toml --latest --strip header --output "$out/notes.md"
