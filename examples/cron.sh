#!/bin/sh
# Three cron dispatchers (cron.c) on five nodes: the leader is killed, the next one is stopped for
# longer than its ttl and goes on, the third one resigns.
#
#   cron.sh NODES_SH CRON [FOLDER]
#
# Prints the processes' output, in order of time, and then the result. Exit status 0: each tick from
# the first to the last was dispatched exactly once, by four leaders. With FOLDER (it must not
# exist) the ledger and the logs are kept there.
set -u

[ $# -eq 2 ] || [ $# -eq 3 ] || {
    sed -n '/^#   cron.sh/s/^#   //p' "$0" >&2
    exit 2
}
nodes_sh=$1
cron=$2
tick_ms=200
ttl_ms=1500

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-cron.XXXXXX") || exit 2
folder=${3-$scratch/run}
pids=''
clean_up() {
    for pid in $pids; do
        kill -s CONT "$pid" 2>/dev/null
        kill -s KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    [ ! -e "$scratch/nodes" ] || sh "$nodes_sh" stop "$scratch/nodes"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM

mkdir "$folder" "$folder/ledger" || exit 2
sh "$nodes_sh" start -n 5 --dir "$scratch/nodes" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 2
}

# start NUMBER
start() {
    # shellcheck disable=SC2046
    "$cron" "$folder/ledger" "$tick_ms" "$ttl_ms" $(cat "$scratch/nodes/urls") \
        >"$folder/log.$1" 2>&1 &
    pids="$pids $!"
}

# await WHAT COMMAND...: until the command succeeds
await() {
    what=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || {
            echo "waited in vain for $what"
            exit 1
        }
        sleep 0.1
    done
}

story() { sort -n -s -k 1,1 "$folder"/log.*; }
leader() { story | awk '$3 == "leads" { pid = $2 } END { if (pid) print pid; else exit 1 }'; }
is_led() { leader >/dev/null; }
is_led_by_another() { [ "$(leader)" != "$1" ]; }
dispatched_by() {
    story | awk -v pid="$1" '$2 == pid && $3 == "dispatches" { n++ } END { print n + 0 }'
}
works() { [ "$(dispatched_by "$1")" -ge 5 ]; }
has_lost() { story | grep -q "^[0-9]* $1 lost"; }

for i in 1 2 3; do start $i; done
await 'a leader' is_led
first=$(leader)
await 'its work' works "$first"

kill -s KILL "$first"
await 'a second leader' is_led_by_another "$first"
second=$(leader)
await 'its work' works "$second"

start 4
kill -s STOP "$second"
await 'a third leader' is_led_by_another "$second"
third=$(leader)
await 'its work' works "$third"
kill -s CONT "$second"
await 'the stopped leader to know' has_lost "$second"

kill -s TERM "$third"
await 'a fourth leader' is_led_by_another "$third"
fourth=$(leader)
await 'its work' works "$fourth"
for pid in $pids; do kill -s TERM "$pid" 2>/dev/null; done
for pid in $pids; do wait "$pid" 2>/dev/null; done
pids=''

story
echo
echo "led one after the other: $first (killed), $second (stopped), $third (resigned), $fourth"
story | awk '$3 == "dispatches" { print $4 }' | sort -n | awk '
    NR > 1 && $1 - last == 0 { print "tick " $1 " was dispatched twice"; bad = 1 }
    NR > 1 && $1 - last > 1 { print "between " last " and " $1 " a tick is missing"; bad = 1 }
    NR == 1 { first = $1 }
    { last = $1 }
    END {
        if (bad || NR == 0) exit 1
        print NR " ticks, " first " to " last ", each dispatched exactly once"
    }'
