#!/bin/sh
# examples/epoll, a program with its own loop: it holds, is notified of a loss in time, holds again
# and releases.
#
#   epoll_test.sh NODES_SH EPOLL
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
nodes_sh=$1
epoll=$2
# shellcheck source=cluster/server.sh
. "$(dirname "$nodes_sh")/server.sh"

# shellcheck source=test/scratch.sh
. "$(dirname "$0")/../scratch.sh"

# lines PATTERN N: waits until the program has written N of them
lines() {
    left=600
    until [ "$(grep -c -e "$1" "$scratch/out")" -ge "$2" ]; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.05
    done
}

some_nodes 3
# shellcheck disable=SC2086
set -- $urls

begin=$(date +%s)
"$epoll" "$@" >"$scratch/out" 2>&1 &
pid=$!
lines '^acquire: success' 1
result 'it acquires' $? "$scratch/out"
# If the machine stalls at that moment, the notification is late, but not in every round.
for round in 1 2 3 4 5; do
    for i in 1 2; do sh "$nodes_sh" kill "$scratch/nodes" "$i"; done
    lines '^lost: ' "$round" || break
    for i in 1 2; do sh "$nodes_sh" restart "$scratch/nodes" "$i"; done
    lines '^acquire: success' $((round + 1)) || break
    ! grep -q '^lost: .*, [1-9][0-9]* ms before the end$' "$scratch/out" || break
done
grep -q '^lost: .*, [1-9][0-9]* ms before the end$' "$scratch/out"
result 'without a quorum it is notified of the loss, before the end' $? "$scratch/out"
lines '^acquire: success' $((round + 1))
result 'it acquires again' $? "$scratch/out"

kill -s TERM "$pid"
wait "$pid"
status=$?
pid=
elapsed=$(($(date +%s) - begin + 1))
[ $status -eq 0 ]
result 'SIGTERM ends it, and nothing is left on its libuv loop' $? "$scratch/out"
for url in "$@"; do "$cli" -u "$url" exists epoll-example 2>&1; done >"$log"
[ "$(grep -cx 0 "$log")" -eq 3 ]
result 'it has released the lock' $? "$log"
turns=$(sed -n 's/^.* pieces of work, \([0-9]*\) turns of the loop$/\1/p' "$scratch/out")
echo "$turns turns in $elapsed s" >"$log"
[ "${turns:-0}" -gt 0 ] && [ "$turns" -lt $((elapsed * 500)) ]
result 'its loop slept when there was nothing to do' $? "$log"

"$epoll" http://127.0.0.1 >"$log" 2>&1
[ $? -eq 2 ] && grep -q usage "$log"
result 'a bad URL is refused' $? "$log"

finish
