#!/usr/bin/env bash
# The GitHub Action: writes the summary as a comment on the pull request. The comment of an earlier run is updated in place: the marker
# in its first line identifies it.
#
#   INPUT_OUTPUT         the directory of scripts/action.sh, with summary.md
#   INPUT_PULL_REQUEST   the number of the pull request; without it nothing is written
#   INPUT_COMMENT_KEY    distinguishes the comments of several jobs
#   GITHUB_REPOSITORY    owner/name
#   GH_TOKEN             a token with the permission pull-requests: write
#
# Exit status: 0. What cannot be written is a warning, as for a pull request of a fork, whose token can only read.
set -euo pipefail

warn() { printf '::warning::%s\n' "$1"; }
summary="${INPUT_OUTPUT:-agentlogs-report}/summary.md"
[ -n "${INPUT_PULL_REQUEST:-}" ] || { echo "not a pull request: no comment"; exit 0; }
[ -e "$summary" ] || { echo "no summary: no comment"; exit 0; }
command -v gh >/dev/null || { warn "comment: gh is not installed"; exit 0; }

# A comment of HTML ends with two hyphens.
key="$(tr -c 'A-Za-z0-9/ _.\n-' _ <<<"${INPUT_COMMENT_KEY:-}" | tr -s -)"
export MARKER="<!-- agentlogs $key -->"
body="$(mktemp)"
trap 'rm -f "$body"' EXIT
# A comment has at most 65,536 characters. Lines are not divided.
{ printf '%s\n' "$MARKER"; cat "$summary"; } | awk '{ size += length($0) + 1 } size < 60000' >"$body"

comments="repos/$GITHUB_REPOSITORY/issues"
# Only comments of a bot: anybody may write the marker.
# shellcheck disable=SC2016 # The variable is one of jq.
filter='.[] | select(.user.type == "Bot" and (.body | startswith(env.MARKER))) | .id'
if ! found="$(gh api --paginate "$comments/$INPUT_PULL_REQUEST/comments?per_page=100" --jq "$filter")"; then
    warn "comment: the comments of pull request $INPUT_PULL_REQUEST cannot be read; the job needs the permission pull-requests: write"
    exit 0
fi
id="$(head -n 1 <<<"$found")"
if [ -n "$id" ]; then
    request=(--method PATCH "$comments/comments/$id")
else
    request=(--method POST "$comments/$INPUT_PULL_REQUEST/comments")
fi
gh api "${request[@]}" --field "body=@$body" --silent ||
    warn "comment: it cannot be written; the job needs the permission pull-requests: write"
