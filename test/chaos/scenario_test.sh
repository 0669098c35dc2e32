#!/bin/sh
# A short seeded run of one scenario of cluster/chaos.sh on local processes: the lock must hold.
# With a control, clients that are wrong on purpose, it must not.
#
#   scenario_test.sh ROOT SCENARIO SECONDS [CONTROL [GUARD [OPTION...]]]    an empty CONTROL is none
#
# REDLOCK_CHAOS_CLIENT and REDLOCK_CHAOS_CLOCK name the build's files, and REDLOCK_CHAOS_REDLOCK
# redlock(1), if built: then some holders of permits are shells. Overlaps that a broken assumption
# explains are not violations; docs/testing.md says which scenario breaks which.
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
root=$1
scenario=$2
seconds=$3
control=${4-}
guard=${5-off}
shift "$(($# > 5 ? 5 : $#))"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-scenario.XXXXXX") || exit 2
child=''
clean_up() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -z "$child" ] || wait "$child"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM

# The number of processes, clients and resources of each scenario: "line" puts many processes in one
# line.
workload=lock-set
case $scenario in
readers) crowd='--processes 2 --clients 4 --resources 1' workload=rwlock ;;
split | drift) crowd='--processes 2 --clients 8 --resources 4' workload=edge ;;
permits) crowd='--processes 2 --clients 4 --resources 2' workload=permits ;;
line) crowd='--processes 16 --clients 1 --resources 1' ;;
*) crowd='--processes 2 --clients 3 --resources 2' ;;
esac
[ -n "${REDLOCK_CHAOS_REDLOCK-}" ] || crowd="$crowd --shells 0"

# run_it SEED OPTION...: its status
run_it() {
    rm -rf "$scratch/run"
    run_seed=$1
    shift
    # $crowd is several words.
    # shellcheck disable=SC2086
    sh "$root/cluster/chaos.sh" --scenario "$scenario" --seconds "$seconds" --seed "$run_seed" --ttl-ms 700 \
        --guard "$guard" --wait-ms 4000 $crowd --workload "$workload" \
        --report "$scratch/run" ${control:+--control "$control"} "$@" >"$scratch/log" 2>&1 &
    child=$!
    wait "$child"
    status=$?
    child=''
    return "$status"
}

if [ -z "$control" ]; then
    run_it 39 "$@" # with this seed five seconds of "line" have each kind of fault, and a calm
    result "$scenario holds" $? "$scratch/log"
else
    # Whether a wrong client does harm in so few seconds is chance, and rarer on a busy machine.
    for seed in $(seq 4 13); do
        run_it "$seed" "$@"
        [ "$status" -eq 0 ] || break
    done
    [ "$status" -eq 1 ] && grep -q '"control_caught": true' "$scratch/run/verdict.json"
    result "$control is caught" $? "$scratch/log"
fi
if [ "$control" = ignore-validity ]; then
    python3 -c 'import json, sys
kinds = {finding["kind"]: finding["count"] for finding in json.load(open(sys.argv[1]))["findings"]}
sys.exit(not kinds["late-act"])' "$scratch/run/verdict.json"
    result 'it acts after the end, and not only its windows are longer' $? "$scratch/log"
fi
[ -s "$scratch/run/report.html" ]
result "$scenario has a report" $? "$scratch/log"
finish
