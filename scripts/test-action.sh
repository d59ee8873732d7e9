#!/usr/bin/env bash
# Tests the scripts of the GitHub Action with a program in place of `gh` that keeps comments in files.
#
# Usage: test-action.sh AGENTLOGS
# shellcheck disable=SC2016 # Backquotes and dollars are those of patterns.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD"
AGENTLOGS="$(realpath "$1")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export AGENTLOGS HOME="$work/home" AGENTLOGS_ARCHIVE="" NO_COLOR=1
mkdir "$HOME" "$work/bin" "$work/comments"
cd "$work"

wrong() { printf 'test-action: %s\n' "$*" >&2; exit 1; }
has() { grep -Eq -- "$1" "$2" || { cat "$2" >&2; wrong "$2 has no line $1"; }; }
lacks() { ! grep -Eq -- "$1" "$2" || { cat "$2" >&2; wrong "$2 has a line $1"; }; }

export GITHUB_STEP_SUMMARY="$work/step.md" GITHUB_OUTPUT="$work/outputs.txt"
run() { : >"$GITHUB_STEP_SUMMARY"; : >"$GITHUB_OUTPUT"; bash "$root/scripts/action.sh" >log.txt 2>&1 || { cat log.txt >&2; wrong "action.sh failed"; }; }

# Logs with verdicts, and a bound that is exceeded.
cp -r "$root/tests/verdicts/harbor-job" "$root/sample-logs/claude-transcript" .
INPUT_PATHS=$'harbor-job\nclaude-transcript' INPUT_FAIL_IF='cost_usd>0.1, sessions<1, tools.error_rate>0.99' INPUT_OUTPUT=judged run
has '^\*\*[0-9]+ of [0-9]+ judged trials passed\*\* \([0-9.]+ %\)$' judged/summary.md
has '^\| ❌ \| cost \| \$[0-9.]+ \| at most \$0\.10 \|$' judged/summary.md
has '^\| ✅ \| sessions \| [0-9]+ \| at least 1 \|$' judged/summary.md
has '^\| ✅ \| error rate \| [0-9.]+ % \| at most 99\.0 % \|$' judged/summary.md
[ "$(grep -E '^\| (❌|✅)' judged/summary.md | head -n 1 | cut -d ' ' -f 2)" = ❌ ] || wrong "exceeded bounds are not first"
has '^\| cost \| \$[0-9,]+\.[0-9]{2} \|$' judged/summary.md
has '^\| total tokens \| [0-9]{1,3}(,[0-9]{3})* \|$' judged/summary.md
has '^\| tool error rate \| [0-9.]+ % \|$' judged/summary.md
has '^\| `claude` \| `[^`]+` \| \$' judged/summary.md
lacks '^\| `[^`]+` \| 0 \| ' judged/summary.md
cmp judged/summary.md step.md
has '^failed=true$' outputs.txt
has '^trials_passed=[1-9]' outputs.txt
# Costs fall.
awk -F '|' '/^\| `claude`/ { cost = $4; gsub(/[ $,]/, "", cost); if (seen++ && cost + 0 > last + 0) exit 1; last = cost }' judged/summary.md || wrong "costs are not sorted"

# Without verdicts and errors, with a baseline.
INPUT_PATHS="$root/sample-logs/pi-session" INPUT_BASELINE=judged/archive INPUT_OUTPUT=plain run
lacks 'judged trials' plain/summary.md
has '^\| cost \| \$[0-9.]+ \| \$[0-9.]+ \| -\$[0-9.]+ \|$' plain/summary.md
has '^\| sessions \| [0-9]+ \| [0-9]+ \| [+-][0-9]+ \|$' plain/summary.md

# Tests, limits, and a pull request of which nothing is known.
INPUT_PATHS="$root/demo" INPUT_LAKE=judged/archive INPUT_PULL_REQUEST=7 INPUT_OUTPUT=of-demo run
has '^Commands ran tests [0-9]+ times; [0-9]+ failed\.$' of-demo/summary.md
has '^\| `codex` \| `week` \| 55 % \|$' of-demo/summary.md
has '^\| `cache_expired` \| \$[0-9.]+ \| [0-9.]+ % \| [0-9]+ \|$' of-demo/summary.md
lacks '^### This pull request' of-demo/summary.md
INPUT_PATHS="$root/demo" INPUT_LAKE=nowhere INPUT_PULL_REQUEST=7 INPUT_OUTPUT=of-demo run
has '::warning::lake: nowhere cannot be read' log.txt

# A measure that does not exist is named.
if INPUT_PATHS="$root/sample-logs/pi-session" INPUT_FAIL_IF='cots>1' INPUT_OUTPUT=of-error bash "$root/scripts/action.sh" >log.txt 2>&1; then
    wrong "a measure that does not exist is accepted"
fi
has '::error::fail-if: no report has a measure "cots"' log.txt

# Names of logs have no effect in Markdown.
mkdir hostile
sed 's/claude-[a-z]*-[0-9-]*/a|b`@team`[x](y)/g' "$root"/sample-logs/claude-transcript/*.jsonl >hostile/log.jsonl
INPUT_PATHS=hostile INPUT_OUTPUT=of-hostile run
has '^\| `claude` \| `a\\\|b.@team.\[x\]\(y\)` \|' of-hostile/summary.md

cat >bin/gh <<'GH'
#!/usr/bin/env bash
# Only what the Action calls.
# shellcheck disable=SC2016 # Backquotes and dollars are those of patterns.
set -euo pipefail
[ ! -e "$COMMENTS/forbidden" ] || exit 1
printf '%s\n' "$*" >>"$COMMENTS/calls"
for argument in "$@"; do case "$argument" in body=@*) body="${argument#body=@}" ;; esac; done
case "$*" in
*"--method POST repos/o/r/issues/7/comments "*) cp "$body" "$COMMENTS/1.md" ;;
*"--method PATCH repos/o/r/issues/comments/1 "*) cp "$body" "$COMMENTS/1.md" ;;
*"--paginate repos/o/r/issues/7/comments?per_page=100 "*)
    if [ -e "$COMMENTS/1.md" ] && [ "$(head -n 1 "$COMMENTS/1.md")" = "$MARKER" ]; then echo 1; fi
    ;;
*) echo "gh: unexpected: $*" >&2; exit 1 ;;
esac
GH
chmod +x bin/gh
export COMMENTS="$work/comments" GITHUB_REPOSITORY=o/r
comment() { PATH="$work/bin:$PATH" INPUT_PULL_REQUEST=7 INPUT_COMMENT_KEY="CI/agents --> x" bash "$root/scripts/action-comment.sh" >log.txt 2>&1; }
INPUT_OUTPUT=judged comment
[ "$(head -n 1 comments/1.md)" = '<!-- agentlogs CI/agents -_ x -->' ] || wrong "the marker is $(head -n 1 comments/1.md)"
tail -n +2 comments/1.md | cmp - judged/summary.md
INPUT_OUTPUT=plain comment
tail -n +2 comments/1.md | cmp - plain/summary.md
[ "$(grep -c -e '--method POST' comments/calls)" = 1 ] || wrong "the comment is not updated in place"
[ "$(grep -c -e '--method PATCH' comments/calls)" = 1 ] || wrong "the comment is not updated"
# What a token of a fork may not do is a warning.
touch comments/forbidden
INPUT_OUTPUT=plain comment
has '^::warning::comment: .*pull-requests: write' log.txt
# Not a pull request.
PATH="$work/bin:$PATH" INPUT_OUTPUT=plain bash "$root/scripts/action-comment.sh" | grep -q '^not a pull request'
echo "the scripts of the Action: as expected"
