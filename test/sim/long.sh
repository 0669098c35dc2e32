#!/bin/sh
# The simulator for a long time, on every processor, always with fresh seeds: all presets that must
# find nothing, with each trouble where they have any, 1 to 7 nodes, and few requests at a time; or as
# many as the seed says. Ends with a table, and with the command that replays each finding.
#
#   long.sh PROGRAM SECONDS
#
# Status 1: something was found.
set -u
program=$1
seconds=$2
histories=100 # of one call, so that each row has its turn soon

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-long.XXXXXX") || exit 2
workers=''
# shellcheck disable=SC2086
trap 'kill $workers 2>/dev/null; wait; rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# Rows: PRESET TROUBLE. Three presets break an assumption of docs/guarantees.md, and find overlaps.
presets=$("$program" --help | sed -n 's/^presets: //p' | tr '|' ' ')
troubles=$("$program" --trouble '' 2>&1 | sed 's/.*it takes one of //' | tr '|' ' ')
for preset in $presets; do
    case $preset in
    amnesia | stale | steps) ;;
    lines | phases | turns) for trouble in $troubles; do echo "$preset $trouble"; done ;;
    *) echo "$preset -" ;;
    esac
done >"$scratch/rows"

# call PRESET TROUBLE NODES REQUESTS: histories, steps and findings go to $counts, findings to stdout
call() {
    call_row="$1 $2"
    set -- --preset "$1" "$([ "$2" = - ] || echo "--trouble=$2")" \
        "$([ "$3" = 0 ] || echo "--nodes=$3")" "$([ "$4" = 0 ] || echo "--requests=$4")"
    for argument; do # drops those that are empty
        shift
        [ -z "$argument" ] || set -- "$@" "$argument"
    done
    "$program" "$@" --seeds "fresh:$histories" --no-progress >"$log" 2>&1
    call_status=$?
    call_found=0
    if [ "$call_status" -ne 0 ]; then
        call_found=1
        # After an assertion only what was drawn is known.
        { grep -A 1 '^seed .*: ' "$log" | grep '^seed'; sed -n 's/^replay: //p' "$log"; } >"$log.found"
        [ -s "$log.found" ] || { grep -v '^drawn: ' "$log" | tail -n 3; sed -n 's/^drawn: //p' "$log"; } >"$log.found"
        tee -a "$scratch/found" <"$log.found"
    fi
    # shellcheck disable=SC2046
    set -- $(sed -n 's/^[a-z]*: \([0-9]*\) histories, \([0-9]*\) steps.*/\1 \2/p' "$log")
    echo "$call_row ${1-0} ${2-0} $call_found" >>"$counts"
}

# work NUMBER: all rows, again and again, each time with other nodes and requests
work() {
    log=$scratch/log.$1
    counts=$scratch/counts.$1
    pass=$(($1 * 4))
    while :; do
        row=0
        while read -r preset trouble; do
            [ "$(date +%s)" -lt "$end" ] || return 0
            row=$((row + 1))
            case $(((pass / 8 + row) % 4)) in 1) requests=2 ;; 2) requests=16 ;; *) requests=0 ;; esac
            call "$preset" "$trouble" $(((pass + row) % 8)) "$requests"
        done <"$scratch/rows"
        pass=$((pass + 1))
    done
}

: >"$scratch/found"
end=$(($(date +%s) + seconds))
for worker in $(seq "$(nproc)"); do
    work "$worker" &
    workers="$workers $!"
done
# shellcheck disable=SC2086
wait $workers
workers=''

awk '
    function line(name, histories, steps, found) {
        printf "%-20s %11d %15d %9d %17s\n", name, histories, steps, found,
            (histories > 0 ? sprintf("%.0f", found * 1e6 / histories) : "-")
    }
    BEGIN {
        printf "%-20s %11s %15s %9s %17s\n", "preset/trouble", "histories", "steps", "findings",
            "findings per 10^6"
    }
    FNR == NR { rows[++n] = $1 " " $2; next }
    { row = $1 " " $2; histories[row] += $3; steps[row] += $4; found[row] += $5 }
    END {
        for (i = 1; i <= n; i++) {
            row = name = rows[i]
            sub(/ -$/, "", name)
            sub(/ /, "/", name)
            line(name, histories[row], steps[row], found[row])
            all_histories += histories[row]
            all_steps += steps[row]
            all_found += found[row]
        }
        line("all", all_histories, all_steps, all_found)
    }' "$scratch/rows" "$scratch"/counts.*
if [ -s "$scratch/found" ]; then
    echo
    echo 'Add the options of each finding to test/sim/seeds.txt, so that the test "seeds" keeps it:'
    cat "$scratch/found"
    exit 1
fi
