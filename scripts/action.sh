#!/usr/bin/env bash
# The GitHub Action, and any other CI: ingests the logs of a job, writes a summary in Markdown and a dashboard, compares measures with
# bounds. action.yml sets the variables below; docs/ci.md shows other systems.
#
#   AGENTLOGS            the program; by default the one in PATH
#   INPUT_PATHS          files and directories, one a line; those that do not exist are reported and skipped
#   INPUT_OWN_PLACES     true: also read the logs that runtimes keep on this machine
#   INPUT_FAIL_IF        bounds, such as: cost_usd>5, error_rate>0.2, sessions<1
#   INPUT_BASELINE       an archive or lake to compare with, such as that of the base branch
#   INPUT_LAKE           an archive or lake with the sessions of the pull request, and the history of its repository
#   INPUT_PULL_REQUEST   the number of the pull request, of GITHUB_REPOSITORY, for its cost in that lake
#   INPUT_LABELS         labels of all sessions, KEY=VALUE, one a line
#   INPUT_OUTPUT         the directory for the archive, the dashboard and the summary; by default agentlogs-report
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
summary_file="$output/summary.md"
# The measures of the first table.
measures=(cost_usd total_tokens sessions turns tools.calls tools.errors tools.error_rate outcomes.passed outcomes.failed)
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
        if [[ "$bound" =~ ^([a-z_0-9.]+)[[:space:]]*([<>])[[:space:]]*([0-9]+(\.[0-9]+)?%?)$ ]]; then
            case "${BASH_REMATCH[2]}" in
            '>') printf '%s\n' --max ;;
            '<') printf '%s\n' --min ;;
            esac
            printf '%s=%s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}"
        else
            fail "fail-if: '$bound' is not of the form MEASURE>NUMBER or MEASURE<NUMBER, where NUMBER may be a percentage" 2 >&2
        fi
    done < <(tr , '\n' <<<"${INPUT_FAIL_IF:-}" | trim)
}

# The values of the measures in an archive, as lines `NAME,VALUE`; the value of an unknown one is empty.
values() {
    local options=() measure
    # Any bound does; that it is exceeded is no error here.
    for measure in "${measures[@]}"; do options+=(--max "$measure=1"); done
    { "$agentlogs" check "${options[@]}" --undated include --archive "$1" --format csv 2>/dev/null || [ $? = 4 ]; } |
        awk -F, 'NR > 1 { sub(/^tools\./, "tool_", $1); sub(/^outcomes\./, "trials_", $1); print $1 "," $2 }'
}

# Functions of awk. `shown`: a value by its measure, such as $1,234.50, 12,345 or 3.8 %. `fields`: the fields of a line of CSV.
# `code`: a name from logs as code, in which Markdown has no other effect.
# shellcheck disable=SC2016 # These are the variables of awk.
functions='
function grouped(number,    out, sign) {
    sign = number < 0 ? "-" : ""
    sub(/^-/, "", number)
    while (length(number) > 3) {
        out = "," substr(number, length(number) - 2) out
        number = substr(number, 1, length(number) - 3)
    }
    return sign number out
}
function amount(value,    text) {
    text = sprintf(value != 0 && value < 0.01 && value > -0.01 ? "%.4f" : "%.2f", value < 0 ? -value : value)
    return (value < 0 ? "-$" : "$") grouped(substr(text, 1, index(text, ".") - 1)) substr(text, index(text, "."))
}
function shown(measure, value) {
    if (value == "") return "unknown"
    if (measure ~ /usd/) return amount(value)
    if (measure ~ /(rate|share)/) return sprintf("%.1f %%", value * 100)
    return value == int(value) ? grouped(sprintf("%.0f", value)) : sprintf("%.4f", value)
}
function signed(measure, value) { return (value > 0 ? "+" : "") shown(measure, value) }
function named(measure) {
    if (measure == "cost_usd") return "cost"
    sub(/^[a-z]+\./, "", measure)
    gsub(/_/, " ", measure)
    return measure
}
function fields(line, out,    count, rest, at, field) {
    for (rest = line; ; ) {
        field = ""
        if (substr(rest, 1, 1) == "\"") {
            rest = substr(rest, 2)
            while ((at = index(rest, "\"")) > 0) {
                field = field substr(rest, 1, at - 1)
                rest = substr(rest, at + 1)
                if (substr(rest, 1, 1) != "\"") break
                field = field "\""
                rest = substr(rest, 2)
            }
            at = index(rest, ",")
        } else {
            at = index(rest, ",")
            field = at > 0 ? substr(rest, 1, at - 1) : rest
        }
        out[++count] = field
        if (at == 0) return count
        rest = substr(rest, at + 1)
    }
}
function code(name) {
    if (name == "") return "unknown"
    gsub(/`/, "\047", name)
    gsub(/\|/, "\\|", name)
    return "`" name "`"
}
NR == 1 { for (at = fields($0, heads); at > 0; at--) column[heads[at]] = at }
'
# Runs a report, and a program of awk for each of its rows: the fields are in `row`, their positions in `column`.
rows_of() {
    local program="$1"
    shift
    "$agentlogs" report "$@" --undated include --archive "$archive" --format csv | awk "$functions"' NR > 1 { fields($0, row); '"$program"' }'
}

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
    } | tee "$summary_file" >>"$summary"
    if [ "${#checks[@]}" -gt 0 ] && printf '%s\n' "${checks[@]}" | grep -q '^--min$'; then
        message error "fail-if: a minimum is not reached, as there are no logs"
        echo "failed=true" >>"$outputs"
    else
        echo "failed=false" >>"$outputs"
    fi
    exit 0
fi

"$agentlogs" dashboard "$dashboard" --archive "$archive"

compared=false
if [ -n "${INPUT_BASELINE:-}" ]; then
    if [ -e "$INPUT_BASELINE" ] || [[ "$INPUT_BASELINE" == *://* ]]; then
        compared=true
    else
        message warning "baseline: $INPUT_BASELINE does not exist"
    fi
fi
this_run="$(values "$archive")"

failed=false
bounds_table=""
if [ "${#checks[@]}" -gt 0 ]; then
    check_messages="$(mktemp)"
    bounds_table="$("$agentlogs" check "${checks[@]}" --undated include --archive "$archive" --format csv 2>"$check_messages")" && status=0 || status=$?
    cat "$check_messages" >&2
    reason="$(grep -m 1 '^agentlogs: ' "$check_messages" || echo "agentlogs check ended with status $status")"
    rm "$check_messages"
    case "$status" in
    0) ;;
    4)
        failed=true
        message error "a bound of fail-if is exceeded: $INPUT_FAIL_IF"
        ;;
    *) fail "fail-if: ${reason#agentlogs: }" 2 ;;
    esac
fi

# Exceeded bounds first, as they are what a reader of a failed job wants to know.
bounds_in_words() {
    awk "$functions"'
        NR > 1 {
            fields($0, row)
            mark = row[5] == "true" ? "❌" : "✅"
            bound = row[3] == "max" ? "at most" : "at least"
            print (row[5] == "true" ? 0 : 1) "| " mark " | " named(row[1]) " | " shown(row[1], row[2]) " | " bound " " shown(row[1], row[4]) " |"
        }' <<<"$bounds_table" | sort -s -k 1,1.1 | cut -c 2-
}

measures_in_words() {
    # Trials without a judged one are not listed.
    local rows
    rows="$(awk -F, '$1 !~ /^trials_/' <<<"$this_run")"
    if [ "$compared" = true ]; then
        echo "| measure | this run | baseline | difference |"
        echo "| --- | ---: | ---: | ---: |"
        awk -F, "$functions"'
            FNR == NR { base[$1] = $2; next }
            { print "| " named($1) " | " shown($1, $2) " | " shown($1, base[$1]) " | " ($2 == "" || base[$1] == "" ? "" : signed($1, $2 - base[$1])) " |" }
        ' <(values "$INPUT_BASELINE") - <<<"$rows"
    else
        echo "| measure | this run |"
        echo "| --- | ---: |"
        awk -F, "$functions"'{ print "| " named($1) " | " shown($1, $2) " |" }' <<<"$rows"
    fi
}

passed_in_words() {
    awk -F, "$functions"'
        { value[$1] = $2 }
        END {
            judged = value["trials_passed"] + value["trials_failed"]
            if (judged > 0) {
                passed = grouped(sprintf("%.0f", value["trials_passed"]))
                printf "**%s of %s judged trials passed** (%s)\n\n", passed, grouped(sprintf("%.0f", judged)), shown("rate", value["trials_passed"] / judged)
            }
        }' <<<"$this_run"
}

# What the pull request cost so far, by the sessions of the lake: one row, and its models.
pull_request_in_words() {
    local name="${GITHUB_SERVER_URL:-https://github.com}"
    name="${name#*://}/${GITHUB_REPOSITORY:-}#$INPUT_PULL_REQUEST"
    local report=("$agentlogs" report shipped --undated include --archive "$INPUT_LAKE" --format csv --limit 0) found
    found="$("${report[@]}" --by pull_request,model 2>/dev/null)" || { message warning "lake: $INPUT_LAKE cannot be read" >&2; return 0; }
    found="$(NAME="$name" awk "$functions"'
        NR > 1 {
            fields($0, row)
            if (row[column["pull_request"]] == ENVIRON["NAME"])
                print "| " code(row[column["model"]]) " | " shown("usd", row[column["cost_usd"]]) " | " shown("", row[column["sessions"]]) " | " shown("", row[column["commits"]]) " |"
        }' <<<"$found")"
    [ -n "$found" ] || return 0
    printf '\n### This pull request so far\n\n| model | cost | sessions | commits |\n| --- | ---: | ---: | ---: |\n%s\n' "$found"
}

# How many commands that ran tests failed: by what they printed, else by their exit status.
tests_in_words() {
    "$agentlogs" query --archive "$archive" --format csv "SELECT COUNT(*) AS calls, SUM(CASE WHEN result_failed_tests OR
        (result_failed_tests IS NULL AND status = 'error') THEN 1 ELSE 0 END) AS failed FROM tool_calls WHERE command_kind = 'test'" 2>/dev/null |
        awk "$functions"'NR > 1 { fields($0, row); if (row[1] > 0) print "\nCommands ran tests " shown("", row[1]) " times; " shown("", row[2]) " failed." }'
}

waste="$(rows_of 'if (row[column["waste_usd"]] > 0) print "| " code(row[column["cause"]]) " | " shown("usd", row[column["waste_usd"]]) " | " shown("share", row[column["waste_share"]]) " | " shown("", row[column["cases"]]) " |"' \
    waste --sort waste_usd --limit 5)"
limits="$("$agentlogs" report limits --archive "$archive" --format csv --limit 0 2>/dev/null | awk "$functions"'
    NR > 1 {
        fields($0, row)
        name = code(row[column["runtime"]]) " | " code(row[column["window_name"]])
        used = row[column["used_percent"]]
        if (row[column["is_logged"]] == "true" && used != "" && used + 0 > most[name] + 0) most[name] = used
    }
    END { for (name in most) print "| " name " | " shown("", most[name]) " % |" }' | sort)"

tools="$(rows_of 'if (row[column["errors"]] > 0) print "| " code(row[column["tool"]]) " | " shown("", row[column["errors"]]) " | " shown("", row[column["calls"]]) " | " shown("rate", row[column["error_rate"]]) " |"' \
    tools --sort errors --limit "$rows")"
{
    echo "## Agents"
    echo
    passed_in_words
    if [ -n "$bounds_table" ]; then
        echo "| | measure | value | bound |"
        echo "| --- | --- | ---: | ---: |"
        bounds_in_words
        echo
    fi
    measures_in_words
    echo
    echo "### Cost"
    echo
    echo "| runtime | model | cost | share | tokens | sessions | turns |"
    echo "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    rows_of 'print "| " code(row[column["runtime"]]) " | " code(row[column["model"]]) " | " shown("usd", row[column["cost_usd"]]) " | " shown("share", row[column["share"]]) " | " shown("", row[column["total_tokens"]]) " | " shown("", row[column["sessions"]]) " | " shown("", row[column["turns"]]) " |"' \
        cost --by runtime,model --sort cost_usd --limit "$rows"
    if [ -n "$tools" ]; then
        echo
        echo "### Tools that failed"
        echo
        echo "| tool | errors | of calls | error rate |"
        echo "| --- | ---: | ---: | ---: |"
        printf '%s\n' "$tools"
    fi
    tests_in_words
    if [ -n "$waste" ]; then
        echo
        echo "### Waste"
        echo
        echo "| cause | cost | share | cases |"
        echo "| --- | ---: | ---: | ---: |"
        printf '%s\n' "$waste"
    fi
    if [ -n "$limits" ]; then
        echo
        echo "### Limits"
        echo
        echo "| runtime | window | at most used |"
        echo "| --- | --- | ---: |"
        printf '%s\n' "$limits"
    fi
    if [ -n "${INPUT_LAKE:-}" ] && [ -n "${INPUT_PULL_REQUEST:-}" ]; then pull_request_in_words; fi
} >"$summary_file"
cat "$summary_file" >>"$summary"

{
    echo "archive=$archive"
    echo "dashboard=$dashboard"
    echo "failed=$failed"
    tr , = <<<"$this_run"
} >>"$outputs"
