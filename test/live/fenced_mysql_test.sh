#!/bin/sh
# examples/fenced-mysql: a worker that is stopped beyond its ttl oversells without the check of the
# fence, and is refused with it. The example checks itself; this test inspects the tables that it
# kept, interrupts it in the middle, and tries bad input.
#
#   fenced_mysql_test.sh RUN_SH WORKER
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
run_sh=$1
worker=$(cd "$(dirname "$2")" && pwd)/${2##*/} # meson gives a relative path

PATH=$PATH:/usr/sbin
if ! command -v mariadbd >/dev/null 2>&1 || ! command -v mariadb-install-db >/dev/null 2>&1; then
    skip 'the example with MariaDB' 'mariadbd is not installed'
    finish
    exit
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-fenced-test.XXXXXX") || exit 2
child=''
clean_up() {
    [ -z "$child" ] || kill -s TERM "$child" 2>/dev/null
    [ -z "$child" ] || wait "$child"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log
kept=$scratch/kept
mkdir "$scratch/tmp"

export TMPDIR="$scratch/tmp" # the example makes its folder in ours

# nothing_left: the example has left no file, and no process works in its folder
nothing_left() {
    ls "$scratch/tmp" >"$log"
    for proc in /proc/[0-9]*; do
        case $(readlink "$proc/cwd" 2>/dev/null) in "$scratch"/*) echo "$proc" >>"$log" ;; esac
    done
    [ ! -s "$log" ]
}

# rows PLAY: "worker fence" of each order, as they were written
rows() { awk '{ print $3, $4 }' "$kept/$1/orders"; }
fence() { sed -n 's/^holds the lock, fence //p' "$kept/$1/worker.$2"; }
# stock PLAY: "rest fence"
stock() { awk '{ print $2, $3 }' "$kept/$1/stock"; }

sh "$run_sh" --worker "$worker" --keep "$kept" >"$log" 2>&1
result 'it shows what it is there to show' $? "$log"
nothing_left
result 'and leaves nothing' $? "$log"

older=$(fence unfenced 1) newer=$(fence unfenced 2)
rows unfenced >"$log"
printf '2 %s\n1 %s\n' "$newer" "$older" | cmp -s - "$log" &&
    [ "$(stock unfenced)" = "-1 $older" ]
result 'without the check: oversold, and the older holder wrote last' $? "$log"

older=$(fence fenced 1) newer=$(fence fenced 2)
rows fenced >"$log"
echo "2 $newer" | cmp -s - "$log" && [ "$(stock fenced)" = "0 $newer" ]
result 'with it: one order, of the later holder' $? "$log"
grep -qx "refused: a later holder (fence $newer) has been here; mine is $older" \
    "$kept/fenced/worker.1"
result 'and the older one is told why' $? "$kept/fenced/worker.1"

rows commit >"$log"
echo "1 $(fence commit 1)" | cmp -s - "$log" && [ "$(stock commit)" = "0 $(fence commit 2)" ]
result 'stopped before the commit: one order, of the first' $? "$log"
grep -qx 'reads: 0 left' "$kept/commit/worker.2"
result 'and the second reads it' $? "$kept/commit/worker.2"

for play in unfenced fenced commit; do
    fence $play 1
    fence $play 2
done >"$log"
[ "$(grep -cx '[1-9][0-9]*' "$log")" -eq 6 ] && sort -n -u "$log" | cmp -s - "$log"
result 'each fence is larger than those before it' $? "$log"

# Interrupted while the database is created, and while worker 1 is stopped: nothing is left running.
for moment in 'Starting a MariaDB' SIGSTOP; do
    sh "$run_sh" --worker "$worker" >"$scratch/said" 2>&1 &
    child=$!
    tries=1200
    until grep -q "$moment" "$scratch/said" || [ "$tries" -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.05
    done
    kill -s TERM "$child"
    wait "$child"
    [ $? -eq 143 ] && [ "$tries" -gt 0 ]
    result "it can be interrupted: $moment" $? "$scratch/said"
    child=''
    nothing_left
    result 'and leaves nothing then either' $? "$log"
done

sh "$run_sh" --worker >"$log" 2>&1
[ $? -eq 2 ] && grep -q '^run.sh \[--worker' "$log"
result 'an option without its value is refused' $? "$log"
sh "$run_sh" --worker "$scratch/none" >"$log" 2>&1
[ $? -eq 1 ] && grep -q "$scratch/none: no such program" "$log"
result 'a worker that is not there is named' $? "$log"
"$worker" >"$log" 2>&1
[ $? -eq 2 ] && grep -q '^usage: worker' "$log"
result 'without arguments the worker explains itself' $? "$log"
"$worker" 1 "$scratch/none" fenced redis://127.0.0.1:1 >"$log" 2>&1
[ $? -eq 1 ] && grep -q "$scratch/none" "$log"
result 'a socket that is not there is named' $? "$log"

finish
