#!/usr/bin/env bash
# Builds the wheel and the npm packages from a program, installs them without a network into fresh environments, and runs them there;
# runs the script of the GitHub Action; checks the content of the packages and the linking of the program. Builds the Docker image
# where Docker runs. What cannot be had is reported and skipped.
#
# Usage: packages.sh AGENTLOGS PYTHON [--debug]
#   PYTHON is that of a virtual environment, to which the packages of scripts/requirements-packages.txt are added.
#   --debug: the program is built for tests. Such a program contains paths of the build machine; those are not searched for.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
program="$(realpath "$1")" python="$2" kind="${3:-}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
# Neither logs nor settings of the user: the programs run with another home directory.
home_of_user="$HOME"
export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
export AGENTLOGS_ARCHIVE="" NO_COLOR=1 PIP_CACHE_DIR="${PIP_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pip}"
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME

title() { printf '\n== packages: %s\n' "$*"; }
wrong() { printf 'packages: %s\n' "$*" >&2; exit 1; }
# Runs a command, which has to end with this status.
ends_with() {
    local expected="$1" status=0
    shift
    "$@" || status=$?
    [ "$status" = "$expected" ] || wrong "$* ended with status $status, not $expected"
}

if ! "$python" -m pip install -q --disable-pip-version-check -r scripts/requirements-packages.txt; then
    printf '\n== pip cannot install scripts/requirements-packages.txt: packages not checked\n'
    exit 0
fi
tools="$(dirname "$python")"

# Packages contain no symbols.
strip -o "$work/agentlogs" "$program"

export HOME="$work/home"
mkdir "$HOME"

title "the program"
headers="$(readelf --wide --program-headers "$work/agentlogs")"
dynamic="$(readelf --wide --dynamic "$work/agentlogs")"
grep -q 'Elf file type is DYN' <<<"$headers" || wrong "the program is not position-independent"
grep -q GNU_RELRO <<<"$headers" || wrong "the program has no RELRO"
grep -Eq 'BIND_NOW|Flags:.* NOW' <<<"$dynamic" || wrong "the program binds symbols lazily, so RELRO is partial"
grep GNU_STACK <<<"$headers" | grep -q 'RWE' && wrong "the stack of the program is executable"
if [ "$kind" = --debug ]; then
    echo "a debug build: not searched for paths of the build machine"
else
    # Absolute paths of the checkout, of Cargo's registry and of the home directory.
    strings -n 8 "$work/agentlogs" | grep -F -e "$root/" -e "$CARGO_HOME/" -e "$RUSTUP_HOME/" -e "$home_of_user/." >"$work/paths" || true
    [ ! -s "$work/paths" ] || { head -5 "$work/paths" >&2; wrong "the program contains paths of the build machine"; }
fi
printf 'position-independent, RELRO, no executable stack; %s bytes without symbols\n' "$(stat -c %s "$work/agentlogs")"

# Fails if a list of files contains tests, logs, or anything of the checkout that is not published.
check_list() {
    grep -Ei '(^|/)(tests?|fuzz|benches|demo|sample-logs|corpus|shared|\.ci|\.github)(/|$)|\.(jsonl|parquet|db)$' "$1" >"$work/found" || true
    [ ! -s "$work/found" ] || { head -5 "$work/found" >&2; wrong "$2 contains files of the checkout"; }
}
# Fails if a text file of a package names a path of the build machine.
check_texts() {
    if grep -rIl -F -e "$root/" -e "$home_of_user/" "$1"; then wrong "$2 names paths of the build machine"; fi
}

title "the wheel"
CARGO="$root/scripts/prebuilt-cargo.sh" AGENTLOGS_PREBUILT="$work/agentlogs" \
    "$tools/maturin" build -q --compatibility linux --strip false --out "$work/wheels" --target-dir "$work/maturin"
wheel="$(echo "$work"/wheels/*.whl)"
"$python" -m zipfile -l "$wheel" | awk 'NR > 1 { print $1 }' >"$work/wheel.txt"
cat "$work/wheel.txt"
check_list "$work/wheel.txt" "the wheel"
"$python" -m zipfile -e "$wheel" "$work/unpacked"
rm "$work"/unpacked/*.data/scripts/agentlogs
check_texts "$work/unpacked" "the wheel"
"$tools/maturin" sdist --out "$work/source"
# Of directories at the top, it has sources only.
tar -tzf "$work"/source/*.tar.gz | sed -n 's#^[^/]*/\([^/]*\)/.*#\1#p' | sort -u >"$work/source.txt"
[ "$(tr '\n' ' ' <"$work/source.txt")" = "dashboard docs packages queries src " ] || wrong "the source distribution contains $(cat "$work/source.txt")"
tar -xzf "$work"/source/*.tar.gz -C "$work/source"
# Its manifest is valid, and it has what the build reads besides the sources.
(cd "$work"/source/agentlogs-*/ && cargo metadata --format-version 1 --no-deps --offline >/dev/null && ls packages/python/README.md dashboard/dist/page.html docs/words.md)

# The wheel's one dependency, as a file.
"$python" -m pip download -q --disable-pip-version-check --no-deps -d "$work/wheels" "$("$python" -m pip freeze | grep '^nanoarrow==')"
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --find-links "$work/wheels" agentlogs
(
    cd "$work"
    export PATH="$work/venv/bin:/usr/bin:/bin"
    agentlogs --version
    agentlogs ingest "$root/sample-logs" --archive of-wheel
    python -m agentlogs report cost --archive of-wheel --limit 3
    python "$root/packages/python/tests/module.py" "$root/sample-logs" of-wheel
    # The examples read logs of the checkout.
    cd "$root"
    python packages/python/tests/notebook.py packages/python/examples/*.ipynb
)
# The same from the checkout, beside the libraries that take Arrow data.
PYTHONPATH=packages/python AGENTLOGS_BINARY="$work/agentlogs" \
    "$python" packages/python/tests/module.py "$root/sample-logs" "$work/of-wheel" --with-libraries

title "npm packages"
if command -v npm >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 18 ? 0 : 1)'; then
    target="$(rustc -vV | sed -n 's/^host: //p')"
    node packages/npm/build.mjs "$work/npm" "$target=$work/agentlogs"
    mkdir "$work/tarballs" "$work/node"
    for package in "$work"/npm/*/; do (cd "$package" && npm pack --silent --pack-destination "$work/tarballs"); done
    for tarball in "$work"/tarballs/*.tgz; do
        tar -tzf "$tarball" | sed 's#^package/##' >"$work/npm.txt"
        check_list "$work/npm.txt" "$tarball"
    done
    find "$work/npm" -path '*/bin/agentlogs' -delete
    check_texts "$work/npm" "an npm package"
    (
        cd "$work/node"
        echo '{"private": true}' >package.json
        npm install --offline --no-audit --no-fund --loglevel=error "$work"/tarballs/*.tgz
        npx --offline agentlogs --version
        npx --offline agentlogs ingest "$root/sample-logs/pi-session" --archive of-npm
        npx --offline agentlogs-cli report tokens --archive of-npm
        # The status is that of the program.
        ends_with 2 npx --offline agentlogs report no-such-report
    )
else
    echo "no npm with Node 18 or newer: the npm packages are not checked"
fi

title "the script of the action"
(
    cd "$work"
    export AGENTLOGS="$work/agentlogs" INPUT_OUTPUT=of-action
    export GITHUB_STEP_SUMMARY="$work/summary.md" GITHUB_OUTPUT="$work/outputs.txt"
    run() { : >"$GITHUB_STEP_SUMMARY"; : >"$GITHUB_OUTPUT"; bash "$root/scripts/action.sh"; }
    INPUT_PATHS=$'\n  missing\n'"$root/sample-logs/claude-transcript" INPUT_FAIL_IF='cost_usd>0.1, sessions<1' \
        INPUT_BASELINE="$work/node/of-npm" INPUT_LABELS='suite=ci' run
    grep -q '^failed=true$' outputs.txt
    grep -Eq '^turns=[1-9]' outputs.txt
    grep -q '^| ❌ | cost | ' summary.md
    [ -s of-action/dashboard.html ]
    "$AGENTLOGS" query "SELECT COUNT(*) AS n FROM sessions WHERE labels IS NULL" --archive of-action/archive --format csv | grep -q '^0$'
    INPUT_OUTPUT=of-bound INPUT_PATHS="$root/sample-logs/pi-session" INPUT_FAIL_IF='cost_usd>100' run
    grep -q '^failed=false$' outputs.txt
    INPUT_OUTPUT=of-nothing INPUT_OWN_PLACES=true INPUT_FAIL_IF='sessions<1' run
    grep -q '^failed=true$' outputs.txt
    # shellcheck disable=SC2016 # A command that must not be run.
    for wrong in 'cost_usd=5' 'cost_usd>$(id)' 'no_such_measure>1'; do
        INPUT_OUTPUT=of-wrong INPUT_PATHS="$root/sample-logs/pi-session" INPUT_FAIL_IF="$wrong" ends_with 2 run
    done
)

"$root/scripts/test-action.sh" "$work/agentlogs"

title "the installer"
scripts/test-install.sh

title "the formula, with the checksums of made-up files"
"$python" packages/homebrew/formula.py --checksums <(for name in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-apple-darwin aarch64-apple-darwin; do
    printf '%064d  agentlogs-%s.tar.xz\n' 1 "$name"
done) >"$work/agentlogs.rb"
grep -q 'sha256 "0*1"' "$work/agentlogs.rb"
if command -v ruby >/dev/null; then ruby -c "$work/agentlogs.rb"; else echo "no ruby: its syntax is not checked"; fi

title "linters"
"$tools/shellcheck" .ci/run install.sh scripts/*.sh
"$tools/ruff" format --check -q packages/python packages/homebrew tests/cases/*.py scripts/test-times.py
"$tools/ruff" check -q packages/python packages/homebrew tests/cases/*.py scripts/test-times.py
"$tools/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml
"$tools/check-jsonschema" --builtin-schema vendor.github-actions action.yml
"$tools/check-jsonschema" --builtin-schema vendor.dependabot .github/dependabot.yml
"$tools/check-jsonschema" --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
"$tools/check-jsonschema" --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/{bug,runtime,wrong-log}.yml

title "the site, and links"
"$tools/zensical" build --clean --strict
# Files that the documents at the top link to.
for document in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ARCHITECTURE.md packages/python/README.md packages/spark/README.md; do
    while IFS= read -r link; do
        [[ -z "$link" || "$link" == *:* || -e "$(dirname "$document")/$link" ]] || wrong "$document links to $link, which does not exist"
    done < <(grep -oE '\]\([^)#]+' "$document" | sed 's/^](//')
done

title "the Docker image"
if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
    docker build -t agentlogs:check -f packages/docker/Dockerfile .
    docker run --rm -v "$root/sample-logs:/logs:ro" agentlogs:check report cost --logs /logs --limit 3
    size="$(docker image inspect --format '{{.Size}}' agentlogs:check)"
    printf 'the image has %s bytes\n' "$size"
    [ "$size" -le 80000000 ] || wrong "the image is larger than 80 MB"
else
    echo "Docker does not run here: the image is not built"
fi
