#!/usr/bin/env bash
# Packs a program for a release: agentlogs-TARGET.tar.gz, or .zip for Windows, and its line in SHA256SUMS.
# Usage: archive.sh TARGET AGENTLOGS OUT
set -euo pipefail
cd "$(dirname "$0")/.."
target="$1" program="$2" out="$3"
name="agentlogs-$target"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/$name" "$out"
cp LICENSE-MIT LICENSE-APACHE THIRD-PARTY-NOTICES README.md "$work/$name"
out="$(realpath "$out")"
case "$target" in
*-windows-*)
    cp "$program" "$work/$name/agentlogs.exe"
    file="$name.zip"
    (cd "$work" && python3 -m zipfile -c "$out/$file" "$name")
    ;;
*)
    cp "$program" "$work/$name/agentlogs"
    chmod 755 "$work/$name/agentlogs"
    file="$name.tar.gz"
    # The same program gives the same archive.
    epoch="$(git log -1 --format=%ct 2>/dev/null || echo 0)"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - -C "$work" "$name" | gzip -9n >"$out/$file"
    ;;
esac
(cd "$out" && sha256sum "$file" >>SHA256SUMS)
