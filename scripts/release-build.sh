#!/usr/bin/env bash
# Builds the program as it is released, without paths of the build machine in it. Usage: release-build.sh [TARGET]
#
# With TARGET, a name of the Rust compiler, the program is in target/TARGET/dist; without, in target/dist. For Linux targets and if
# `cargo zigbuild` is installed, the glibc that the program needs is 2.17.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${1:-}"

cargo_home="${CARGO_HOME:-$HOME/.cargo}"
sysroot="$(rustc --print sysroot)"
flags=(
    "--remap-path-prefix=$cargo_home/registry/src=/registry"
    "--remap-path-prefix=$cargo_home=/cargo"
    "--remap-path-prefix=$sysroot=/rust"
    "--remap-path-prefix=$PWD=/agentlogs"
)
export CARGO_ENCODED_RUSTFLAGS
CARGO_ENCODED_RUSTFLAGS="$(printf '%s\x1f' "${flags[@]}")"
CARGO_ENCODED_RUSTFLAGS="${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}"
# Messages of C code have paths, too.
case "$target" in
*-windows-msvc) ;;
*) export CFLAGS="-ffile-prefix-map=$cargo_home/registry/src=/registry -ffile-prefix-map=$PWD=/agentlogs" ;;
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
