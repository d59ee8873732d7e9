#!/usr/bin/env bash
# Packs a program for a release: agentlogs-TARGET.tar.xz and .tar.gz, or .zip for Windows, and their lines in SHA256SUMS.
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
    files=("$name.zip")
    (cd "$work" && python3 -m zipfile -c "$out/$name.zip" "$name")
    ;;
*)
    cp "$program" "$work/$name/agentlogs"
    chmod 755 "$work/$name/agentlogs"
    files=("$name.tar.xz" "$name.tar.gz")
    # The same program gives the same archive.
    epoch="$(git log -1 --format=%ct 2>/dev/null || echo 0)"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf "$work/$name.tar" -C "$work" "$name"
    gzip -9n <"$work/$name.tar" >"$out/$name.tar.gz"
    # Smaller, but not every machine can unpack it.
    xz -9e <"$work/$name.tar" >"$out/$name.tar.xz"
    ;;
esac
(cd "$out" && sha256sum "${files[@]}" >>SHA256SUMS)
