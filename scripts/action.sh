#!/usr/bin/env bash
# The GitHub Action, and any other CI: ingests the logs of a job, writes a summary in Markdown and a dashboard, compares measures with
# bounds. action.yml sets the variables below; docs/ci.md shows other systems.
#
#   AGENTLOGS            the program; by default the one in PATH
#   INPUT_PATHS          files and directories, one a line; those that do not exist are reported and skipped
#   INPUT_OWN_PLACES     true: also read the logs that runtimes keep on this machine
#   INPUT_FAIL_IF        bounds, such as: cost_usd>5, error_rate>0.2, sessions<1
#   INPUT_BASELINE       an archive or lake to compare with, such as that of the base branch
#   INPUT_LABELS         labels of all sessions, KEY=VALUE, one a line
#   INPUT_OUTPUT         the directory for the archive and the dashboard; by default agentlogs-report
#   GITHUB_STEP_SUMMARY  the file for the summary; by default standard output
#   GITHUB_OUTPUT        the file for outputs: archive, dashboard, failed, and the values of the measures
#
# Exit status: 0, also if a bound is exceeded (see the output `failed`); 1 if the logs cannot be read; 2 for a wrong input.
set -euo pipefail
# It runs with bash 3.2, too, that of macOS, where "${empty[@]}" is an error.

agentlogs="${AGENTLOGS:-agentlogs}"
output="${INPUT_OUTPUT:-agentlogs-report}"
summary="${GITHUB_STEP_SUMMARY:-/dev/stdout}"
outputs="${GITHUB_OUTPUT:-/dev/null}"
archive="$output/archive"
dashboard="$output/dashboard.html"
# The measures of the first table.
measures=(cost_usd total_tokens sessions turns tools.calls tools.errors tools.error_rate)
# Rows of a table: a summary holds 1 MiB.
rows=20

# Messages of GitHub; its syntax reserves these characters.
message() {
    local text="${2//'%'/%25}"
    text="${text//$'\r'/%0D}"
    printf '::%s::%s\n' "$1" "${text//$'\n'/%0A}"
}
fail() {
    message error "$1"
    exit "$2"
}

trim() { sed -E 's/^[[:space:]]+|[[:space:]]+$//g'; }

# The options of `agentlogs check` for bounds. A value above `>` or below `<` is a failure.
bounds() {
    local bound
    while IFS= read -r bound; do
        [ -n "$bound" ] || continue
        if [[ "$bound" =~ ^([a-z_0-9.]+)[[:space:]]*([<>])[[:space:]]*([0-9]+(\.[0-9]+)?)$ ]]; then
            case "${BASH_REMATCH[2]}" in
            '>') printf '%s\n' --max ;;
            '<') printf '%s\n' --min ;;
            esac
            printf '%s=%s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}"
        else
            fail "fail-if: '$bound' is not of the form MEASURE>NUMBER or MEASURE<NUMBER" 2 >&2
        fi
    done < <(tr , '\n' <<<"${INPUT_FAIL_IF:-}" | trim)
}

# The values of the measures in an archive, as lines `NAME,VALUE`; the value of an unknown one is empty.
values() {
    local options=() measure
    for measure in "${measures[@]}"; do options+=(--max "$measure=1e18"); done
    "$agentlogs" check "${options[@]}" --undated include --archive "$1" --format csv 2>/dev/null |
        awk -F, 'NR > 1 { print ($1 ~ /^(calls|errors|error_rate)$/ ? "tool_" : "") $1 "," $2 }'
}

# A function of awk: counts are whole numbers, other values have four digits.
# shellcheck disable=SC2016 # These are the variables of awk.
shown='function shown(value, sign) {
    if (value == "") return "unknown"
    return sprintf("%" sign (value == int(value) ? ".0f" : ".4f"), value)
}'

checks=()
checked="$(bounds)" || { printf '%s\n' "$checked"; exit 2; }
while IFS= read -r word; do [ -z "$word" ] || checks+=("$word"); done <<<"$checked"

labels=()
while IFS= read -r label; do [ -z "$label" ] || labels+=(--label "$label"); done < <(trim <<<"${INPUT_LABELS:-}")

mkdir -p "$output"
paths=()
while IFS= read -r path; do
    [ -n "$path" ] || continue
    if [ -e "$path" ]; then paths+=("$path"); else message warning "paths: $path does not exist"; fi
done < <(trim <<<"${INPUT_PATHS:-}")

has_logs=false
if [ "${#paths[@]}" -gt 0 ]; then
    "$agentlogs" ingest --archive "$archive" ${labels[@]+"${labels[@]}"} -- "${paths[@]}" && status=0 || status=$?
    [ "$status" -le 1 ] || fail "agentlogs ingest ended with status $status" 1
    [ "$status" = 0 ] || message warning "some logs could not be read; see the log of this step"
fi
if [ "${INPUT_OWN_PLACES:-false}" = true ]; then
    # Status 1: no runtime has logs on this machine.
    "$agentlogs" ingest --archive "$archive" ${labels[@]+"${labels[@]}"} || true
fi
[ ! -e "$archive/agentlogs.json" ] || has_logs=true

if [ "$has_logs" = false ]; then
    message warning "there are no logs of agents: nothing to report"
    {
        echo "## Agents"
        echo
        echo "No logs were found."
    } >>"$summary"
    if [ "${#checks[@]}" -gt 0 ] && printf '%s\n' "${checks[@]}" | grep -q '^--min$'; then
        message error "fail-if: a minimum is not reached, as there are no logs"
        echo "failed=true" >>"$outputs"
    else
        echo "failed=false" >>"$outputs"
    fi
    exit 0
fi

"$agentlogs" dashboard "$dashboard" --archive "$archive"

{
    echo "## Agents"
    echo
    if [ -n "${INPUT_BASELINE:-}" ]; then
        if [ -e "$INPUT_BASELINE" ] || [[ "$INPUT_BASELINE" == *://* ]]; then
            echo "| measure | this run | baseline | difference |"
            echo "| --- | ---: | ---: | ---: |"
            join -t, -a 1 <(values "$archive" | sort) <(values "$INPUT_BASELINE" | sort) | awk -F, '
                '"$shown"'
                { print "| " $1 " | " shown($2, "") " | " shown($3, "") " | " ($2 == "" || $3 == "" ? "" : shown($2 - $3, "+")) " |" }'
        else
            message warning "baseline: $INPUT_BASELINE does not exist" >&2
        fi
    else
        echo "| measure | this run |"
        echo "| --- | ---: |"
        values "$archive" | awk -F, "$shown"'{ print "| " $1 " | " shown($2, "") " |" }'
    fi
    echo
    echo "### Cost"
    echo
    "$agentlogs" report cost --by runtime,model --limit "$rows" --undated include --archive "$archive" --format markdown
    echo
    echo "### Tools that fail"
    echo
    "$agentlogs" report tools --limit "$rows" --undated include --archive "$archive" --format markdown
} >>"$summary"

failed=false
if [ "${#checks[@]}" -gt 0 ]; then
    {
        echo
        echo "### Bounds"
        echo
    } >>"$summary"
    "$agentlogs" check "${checks[@]}" --undated include --archive "$archive" --format markdown >>"$summary" && status=0 || status=$?
    case "$status" in
    0) ;;
    4)
        failed=true
        message error "a bound of fail-if is exceeded: $INPUT_FAIL_IF"
        ;;
    *) fail "agentlogs check ended with status $status" 2 ;;
    esac
fi

{
    echo "archive=$archive"
    echo "dashboard=$dashboard"
    echo "failed=$failed"
    values "$archive" | tr , =
} >>"$outputs"
