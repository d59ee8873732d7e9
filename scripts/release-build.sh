#!/usr/bin/env bash
# Builds the program as it is released, without paths of the build machine in it. Usage: release-build.sh [TARGET]
#
# With TARGET, a name of the Rust compiler, the program is in target/TARGET/dist; without, in target/dist. For Linux targets and if
# `cargo zigbuild` is installed, the glibc that the program needs is 2.17. With llvm-tools (`rustup component add llvm-tools`), a program
# for the build machine is compiled with a profile: docs/releasing.md.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${1:-}"

# The path as the compiler has it: on Windows, bash has another one.
native() { if command -v cygpath >/dev/null; then cygpath -w "$1"; else printf '%s\n' "$1"; fi; }
cargo_home="$(native "${CARGO_HOME:-$HOME/.cargo}")"
checkout="$(native "$PWD")"
# The last one that matches applies.
flags=(
    "--remap-path-prefix=$(rustc --print sysroot)=/rust"
    "--remap-path-prefix=$cargo_home=/cargo"
    "--remap-path-prefix=$checkout=/agentlogs"
)
export CARGO_ENCODED_RUSTFLAGS
CARGO_ENCODED_RUSTFLAGS="$(printf '%s\x1f' "${flags[@]}")"
CARGO_ENCODED_RUSTFLAGS="${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}"
# Messages of C code have paths, too.
case "$target" in
*-windows-msvc) ;;
*) export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$checkout=/agentlogs" ;;
esac

host="$(rustc -vV | sed -n 's/^host: //p')"
profdata="$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata"
dist() { cargo "$@" --locked --profile dist --bin agentlogs; }

# A program for this machine is compiled twice: the first one counts what it executes, and the second one is optimised for that.
if [ "${target:-$host}" != "$host" ] || [[ "$host" == *-windows-* ]]; then
    echo "release-build: a program for ${target:-$host} is compiled without a profile" >&2
elif [ ! -x "$profdata" ]; then
    echo "release-build: without the component llvm-tools of rustup, the program is compiled without a profile" >&2
else
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    # In a directory of its own, since the other program may be linked for another version of glibc.
    counting="${CARGO_TARGET_DIR:-target}/counting"
    # With the name of the target, functions have the same names in both programs.
    export RUSTC_WORKSPACE_WRAPPER="$PWD/scripts/profiled-rustc.sh" PROFILE_FLAG="-Cprofile-generate"
    # The build script of this package counts, too.
    export LLVM_PROFILE_FILE="$work/counts/%m-%p.profraw"
    dist build --target-dir "$counting" ${target:+--target "$target"}
    scripts/profile-run.sh "$counting/${target:+$target/}dist/agentlogs" "$work/run"
    "$profdata" merge -o "$work/profile" "$work/counts"
    PROFILE_FLAG="-Cprofile-use=$work/profile"
fi

if [ -z "$target" ]; then
    dist build
elif [[ "$target" == *-linux-gnu ]] && cargo zigbuild --version >/dev/null 2>&1; then
    dist zigbuild --target "$target.2.17"
elif [[ "$target" == *-linux-musl ]] && cargo zigbuild --version >/dev/null 2>&1; then
    dist zigbuild --target "$target"
else
    dist build --target "$target"
fi
