#!/usr/bin/env bash
# Builds the program as it is released, without paths of the build machine in it. Usage: release-build.sh [TARGET]
#
# With TARGET, a name of the Rust compiler, the program is in target/TARGET/dist; without, in target/dist. For Linux targets and if
# `cargo zigbuild` is installed, the glibc that the program needs is 2.17.
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

if [ -z "$target" ]; then
    cargo build --locked --profile dist --bin agentlogs
elif [[ "$target" == *-linux-gnu ]] && cargo zigbuild --version >/dev/null 2>&1; then
    cargo zigbuild --locked --profile dist --bin agentlogs --target "$target.2.17"
elif [[ "$target" == *-linux-musl ]] && cargo zigbuild --version >/dev/null 2>&1; then
    cargo zigbuild --locked --profile dist --bin agentlogs --target "$target"
else
    cargo build --locked --profile dist --bin agentlogs --target "$target"
fi
