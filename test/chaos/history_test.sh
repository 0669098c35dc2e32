#!/bin/sh
# The clients of chaos runs on five real nodes, without faults, and the checker's verdict on them:
# the lock holds, and each lock that is wrong on purpose is caught.
#
#   history_test.sh NODES_SH CLIENT CHECKER                            as a test
#   history_test.sh NODES_SH CLIENT CHECKER DIR CONTROL SECONDS [...]  one run by hand, kept in DIR;
#                                       CONTROL is none, quorum1 ...; the rest goes to the clients
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
nodes_sh=$1
client=$2
checker=$3
shift 3

ttl_ms=600
processes=3
clients=3

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-history-test.XXXXXX") || exit 2
log=$scratch/log
pids=''
clean_up() {
    for pid in $pids; do
        kill -s CONT "$pid" 2>/dev/null
        kill -s KILL "$pid" 2>/dev/null
    done
    [ ! -e "$scratch/nodes" ] || sh "$nodes_sh" stop "$scratch/nodes"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM

now_ns() { python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'; }

# start DIR CONTROL [CLIENT OPTION...]: the client processes
start() {
    start_dir=$1 start_control=$2
    shift 2
    mkdir -p "$start_dir"
    : >"$start_dir/events.jsonl"
    started_ns=$(now_ns)
    pids=''
    p=0
    while [ "$p" -lt "$processes" ]; do
        p=$((p + 1))
        "$client" --nodes "$urls" --dir "$start_dir" --process "$p" --clients "$clients" \
            --resources 2 --ttl-ms "$ttl_ms" --work-ms 20 --seed "$p" \
            --control "$start_control" "$@" &
        pids="$pids $!"
    done
}

# collect: waits for the client processes; fails if one of them does
collect() {
    collect_status=0
    for pid in $pids; do
        wait "$pid" || collect_status=$?
    done
    pids=''
    return "$collect_status"
}

# describe DIR CONTROL: run.json
describe() {
    describe_control="\"$2\""
    [ "$2" != none ] || describe_control=null
    cat >"$1/run.json" <<JSON
{"backend": "local", "scenario": "no faults", "nodes": ["n1", "n2", "n3", "n4", "n5"], "quorum": 3,
 "ttl_ms": $ttl_ms, "started_ns": $started_ns, "ended_ns": $(now_ns), "seed": 1,
 "clients": $((processes * clients)), "processes": $processes, "control": $describe_control}
JSON
}

# run DIR CONTROL [CLIENT OPTION...]
run() {
    start "$@" && collect && describe "$1" "$2"
}

# tell WHAT FAULT CLIENT ID: an event of the run "killed"
tell() {
    printf '{"t_ns":%s,"what":"%s","fault":"%s","client":"%s","id":%s}\n' \
        "$(now_ns)" "$@" >>"$scratch/killed/events.jsonl"
}

# verdict DIR STATUS: is this the checker's?
verdict() {
    python3 "$checker" "$1" >"$log"
    [ $? -eq "$2" ]
}

# has DIR KEY VALUE: of verdict.json
has() {
    python3 -c 'import json, sys
verdict = json.load(open(sys.argv[1] + "/verdict.json"))
sys.exit(json.loads(sys.argv[3]) != verdict[sys.argv[2]])' "$@"
}

sh "$nodes_sh" start -n 5 --dir "$scratch/nodes" >"$log" 2>&1 || {
    cat "$log"
    exit 1
}
urls=$(paste -s -d, "$scratch/nodes/urls")

if [ $# -ge 3 ]; then
    dir=$1 control=$2 seconds=$3
    shift 3
    run "$dir" "$control" --seconds "$seconds" "$@" || exit 2
    python3 "$checker" "$dir"
    exit
fi

run "$scratch/right" none --seconds 4 --workload lock-set
result 'clients end as told' $?
verdict "$scratch/right" 0
result 'the lock holds' $? "$log"

for control in quorum1 blind-release ignore-validity; do
    # A share of the works goes wrong; how many there are in a second depends on the machine.
    for seconds in 4 10 30; do
        rm -rf "${scratch:?}/$control"
        run "$scratch/$control" "$control" --seconds "$seconds" --workload lock-set || break
        verdict "$scratch/$control" 1 && has "$scratch/$control" control_caught true && break
    done
    has "$scratch/$control" control_caught true
    result "$control is caught" $? "$log"
done

# The acts of ignore-validity are late, not only its windows.
python3 -c 'import json, sys
kinds = {finding["kind"]: finding["count"] for finding in json.load(open(sys.argv[1]))["findings"]}
sys.exit(not kinds["late-act"])' "$scratch/ignore-validity/verdict.json"
result 'ignore-validity acts after the end' $?

# One process is killed in the middle, one is stopped beyond the ttl, all others are told to end.
start "$scratch/killed" none
sleep 2
# shellcheck disable=SC2086
set -- $pids
tell begin client-kill c1 1
kill -s KILL "$1"
tell begin client-stop c2 2
kill -s STOP "$2"
sleep 1.5
kill -s CONT "$2"
tell end client-stop c2 2
sleep 1
kill -s TERM "$2" "$3"
wait "$1" 2>/dev/null
pids="$2 $3"
collect && describe "$scratch/killed" none
result 'SIGTERM ends them' $?
verdict "$scratch/killed" 0
result 'the lock holds with clients killed and stopped' $? "$log"

# The same history with the kill left unsaid: a process that ended by itself.
grep -v client-kill "$scratch/killed/events.jsonl" >"$log"
cp "$log" "$scratch/killed/events.jsonl"
verdict "$scratch/killed" 1 && grep -q 'ended by itself' "$log"
result 'a process that vanished is missed' $? "$log"

for bad in '--nodes foo' '--control quorum2' '--control kept-slot' --under '--ttl-ms 0' '--clients x' '--nonsense' 'more'; do
    # shellcheck disable=SC2086
    "$client" --nodes "$urls" --dir "$scratch/right" --process 9 $bad >"$log" 2>&1
    [ $? -eq 2 ] && [ -s "$log" ]
    result "refused: $bad" $? "$log"
done
"$client" --nodes "$urls" --dir "$scratch/nowhere" --process 9 >"$log" 2>&1
[ $? -eq 3 ] && grep -q nowhere "$log"
result 'a folder that is not there' $? "$log"
"$client" --help | grep -q -- --ttl-ms
result 'help' $?
finish
