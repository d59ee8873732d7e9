#!/bin/sh
# A compiler for cargo's RUSTC_WORKSPACE_WRAPPER: adds the flag PROFILE_FLAG to the compilations of this package, and of no other.
compiler="$1"
shift
exec "$compiler" "$@" "$PROFILE_FLAG"
