#!/bin/sh
# Installs the released program of this platform, after its checksum was compared.
#
#   curl -LsSf https://github.com/OWNER/agentlogs/releases/latest/download/install.sh | sh
#
# AGENTLOGS_VERSION        the version, such as 0.1.0; by default the newest
# AGENTLOGS_INSTALL_DIR    the directory; by default ~/.local/bin
# AGENTLOGS_DOWNLOAD_URL   where the files of a release are; by default the releases of the repository
set -eu

repository=https://github.com/OWNER/agentlogs
version="${AGENTLOGS_VERSION:-latest}"
directory="${AGENTLOGS_INSTALL_DIR:-$HOME/.local/bin}"

fail() {
    echo "agentlogs: $*" >&2
    exit 1
}

# The name of this platform as the Rust compiler has it.
target() {
    case "$(uname -m)" in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "no released program for $(uname -m); build it: cargo install agentlogs --locked" ;;
    esac
    case "$(uname -s)" in
    Darwin) echo "$machine-apple-darwin" ;;
    # The static program runs with any C library, and without one.
    Linux) if has_glibc; then echo "$machine-unknown-linux-gnu"; else echo "$machine-unknown-linux-musl"; fi ;;
    *) fail "no released program for $(uname -s); docs/install.md lists other ways" ;;
    esac
}

# Whether the C library is glibc 2.17 or newer, which the program for it needs.
has_glibc() {
    found="$(getconf GNU_LIBC_VERSION 2>/dev/null)" || return 1
    found="${found#glibc }"
    [ "${found%%.*}" -gt 2 ] || { found="${found#*.}" && [ "${found%%.*}" -ge 17 ]; }
}

download() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 3 -o "$2" "$1" || fail "cannot download $1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1" || fail "cannot download $1"
    else
        fail "curl or wget is needed"
    fi
}

# Whether tar can unpack files of xz. That of macOS needs no other program.
has_xz() {
    [ "$(uname -s)" = Darwin ] || command -v xz >/dev/null
}

checksum() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        fail "sha256sum or shasum is needed"
    fi | cut -d ' ' -f 1
}

# In a function, so that a download that was cut short runs nothing.
main() {
    target="$(target)"
    if [ -n "${AGENTLOGS_DOWNLOAD_URL:-}" ]; then
        url="$AGENTLOGS_DOWNLOAD_URL"
    elif [ "$version" = latest ]; then
        url="$repository/releases/latest/download"
    else
        url="$repository/releases/download/v${version#v}"
    fi
    name="agentlogs-$target"
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT INT TERM
    download "$url/SHA256SUMS" "$work/SHA256SUMS"
    # The smaller file, if this machine can unpack it.
    if has_xz; then file="$name.tar.xz"; else file="$name.tar.gz"; fi
    download "$url/$file" "$work/$file"
    expected="$(awk -v name="$file" '$2 == name || $2 == "*" name { print $1 }' "$work/SHA256SUMS")"
    [ -n "$expected" ] || fail "SHA256SUMS has no checksum of $file"
    [ "$(checksum "$work/$file")" = "$expected" ] || fail "the checksum of $file is wrong: nothing was installed"
    case "$file" in
    *.xz) tar -xJf "$work/$file" -C "$work" ;;
    *) tar -xzf "$work/$file" -C "$work" ;;
    esac
    "$work/$name/agentlogs" --version >/dev/null || fail "the program does not run on this machine: nothing was installed"
    mkdir -p "$directory"
    # Replaced by a rename: a running program keeps its file.
    cp "$work/$name/agentlogs" "$directory/.agentlogs.new"
    chmod 755 "$directory/.agentlogs.new"
    mv -f "$directory/.agentlogs.new" "$directory/agentlogs"
    echo "installed $("$directory/agentlogs" --version) in $directory"
    case ":$PATH:" in
    *":$directory:"*) ;;
    *) echo "$directory is not in PATH; add this line to the file that your shell reads at its start, such as ~/.profile:
  export PATH=\"$directory:\$PATH\"" ;;
    esac
}

main
