#!/usr/bin/env bash
# install.sh against a made-up release on this machine: it installs with and without xz, and refuses a wrong checksum, a missing file
# and a program that does not run. A script is in place of the program.
set -euo pipefail
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
target="$(rustc -vV | sed -n 's/^host: //p')"

printf '#!/bin/sh\necho agentlogs 0.0.0\n' >"$work/program" && chmod +x "$work/program"
scripts/archive.sh "$target" "$work/program" "$work/release"
cp -r "$work/release" "$work/changed" && for file in "$work/changed/agentlogs-$target".*; do echo changed >>"$file"; done
cp -r "$work/release" "$work/unlisted" && : >"$work/unlisted/SHA256SUMS"
printf '#!/bin/sh\nexit 1\n' >"$work/broken" && chmod +x "$work/broken"
scripts/archive.sh "$target" "$work/broken" "$work/not-running"

install() {
    AGENTLOGS_DOWNLOAD_URL="file://$work/$1" AGENTLOGS_INSTALL_DIR="$work/bin" sh install.sh
}
install release
"$work/bin/agentlogs" --version
before="$(sha256sum "$work/bin/agentlogs")"
# A machine without xz: all other programs that the installer calls.
mkdir "$work/programs"
for program in sh uname getconf mktemp rm curl sha256sum awk cut tar gzip mkdir cp chmod mv; do
    ln -s "$(command -v "$program")" "$work/programs/$program"
done
rm "$work/bin/agentlogs"
cp -r "$work/release" "$work/without-xz" && rm "$work/without-xz/agentlogs-$target.tar.xz"
PATH="$work/programs" install without-xz
[ "$(sha256sum "$work/bin/agentlogs")" = "$before" ]
for wrong in changed unlisted not-running missing; do
    if install "$wrong" 2>"$work/message"; then
        echo "install.sh installed from $wrong" >&2
        exit 1
    fi
    grep '^agentlogs: ' "$work/message" || { cat "$work/message" >&2; exit 1; }
    [ "$(sha256sum "$work/bin/agentlogs")" = "$before" ]
done
