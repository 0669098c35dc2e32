#!/bin/sh
# Shells that wait for one lock are served in the order of their coming. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 5

# standing: how many wait in the line of k, on all nodes
standing() {
    for i in 1 2 3 4 5; do
        "$cli" -p "$(port $i)" zcard 'libredlock:line:{k}'
    done | awk '{ sum += $1 } END { print sum }'
}
stand() { [ "$(standing)" -eq "$1" ]; }

served=$scratch/served
: >"$served"
: >"$scratch/held"
"$redlock" run k -- sh -c "while [ -e '$scratch/held' ]; do sleep 0.02; done" 2>"$err" &
holder=$!
left="$left $holder"
await "$redlock" status k
waiters=''
for i in 1 2 3 4 5 6 7 8; do
    "$redlock" run --wait 1m k -- sh -c "echo $i >>'$served'" 2>>"$err.$i" &
    waiters="$waiters $!"
    left="$left $!"
    await stand $i
done
stand 8
result 'eight shells stand in line' $? "$err"

rm "$scratch/held"
status=0
for pid in $waiters; do
    wait "$pid" || status=1
done
[ "$status" -eq 0 ]
result '... and all run their commands' $? "$err"
[ "$(tr '\n' ' ' <"$served")" = '1 2 3 4 5 6 7 8 ' ]
result '... in the order of their coming' $? "$served"

# One that comes again and again, at once, is not served before those who wait.
: >"$served"
: >"$scratch/held"
"$redlock" run k -- sh -c "while [ -e '$scratch/held' ]; do sleep 0.02; done" 2>"$err" &
left="$left $!"
await "$redlock" status k
for i in 1 2 3; do
    "$redlock" run --wait 1m k -- sh -c "echo $i >>'$served'; sleep 0.2" 2>>"$err.$i" &
    left="$left $!"
    await stand $i
done
rm "$scratch/held"
for i in 1 2 3 4 5; do
    "$redlock" run --wait 1m k -- sh -c "echo greedy >>'$served'" 2>>"$err"
done
# It may have come in once, with the first release: nobody knew then that anybody waited.
[ "$(grep -v greedy "$served" | tr '\n' ' ')" = '1 2 3 ' ] &&
    [ "$(sed '/3/q' "$served" | grep -c greedy)" -le 1 ]
result 'a shell that comes later, again and again, waits behind them' $? "$served"

await stand 0
result 'nobody is left in the line' $? "$err"
finish
