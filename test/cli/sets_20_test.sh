#!/bin/sh
# Twenty sets: a lock of each, by clients that start with the nodes of one.
# Arguments: REDLOCK NODES_SH [PER_SET], how many nodes a set has; with 5 there are a hundred
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"

sets=20 per_set=${3:-3}
numbers="1 3 4 5 6 7 8 9 12 14 15 17 18 21 28 30 34 44 50 52" # job-N: one for each set
n=$((sets * per_set))
start_nodes $n
echo 'node-timeout = 20s' >>"$scratch/.config/redlock/redlock.conf" # on a busy machine

# The text that 19 changes by "redlock set add-set" would leave, each of which waits for --max-ttl.
{
    printf 'libredlock-config 1\nid 0011223344556677\nepoch 39\nchange 0123abcd\nmax_ttl 86400000\n'
    awk -v k="$per_set" 'NR % k == 1 { printf "%sset s%d", (NR > 1 ? "\n" : ""), ++i } { printf " %s", $0 } END { print "" }' "$nodes/urls"
} >"$scratch/config"
# configure I...: gives it to these nodes
configure() {
    for i in "$@"; do
        { cat "$scratch/config"; echo "self $(sed -n "${i}p" "$nodes/urls")"; } | ask "$i" -x set libredlock:config
    done >"$log"
}
# shellcheck disable=SC2046
configure $(seq $n)
REDLOCK_NODES=$(head -n "$per_set" "$nodes/urls" | paste -sd, -)
export REDLOCK_NODES

status 'the nodes of one set lead to all' 0 "$redlock" set show
result '... to each node' "$([ "$(grep -c '  39     0123abcd  stable' "$out")" = $n ]; echo $?)" "$out"

: >"$err"
for i in $numbers; do "$redlock" acquire --ttl 24h --wait 10m "job-$i" >"$scratch/token.$i" 2>>"$err" || echo "$i"; done >"$scratch/failed"
result 'locks are granted' "$([ ! -s "$scratch/failed" ]; echo $?)" "$err"

# A line for each lock and set that has its key: NAME SET NODES
on_nodes() {
    for on_i in $(seq $n); do
        ask "$on_i" keys 'job-*' | awk -v set=$(((on_i - 1) / per_set + 1)) 'NF { print $1, set }'
    done | sort | uniq -c | awk -v most="$per_set" '2 * $1 > most { print $2, $3 }' >"$scratch/on"
}
on_nodes
result 'each is on a majority of one set' "$([ "$(cut -d ' ' -f 1 "$scratch/on" | sort -u | wc -l)" = $sets ] && [ "$(wc -l <"$scratch/on")" = $sets ]; echo $?)" "$scratch/on"
result '... and each set has one' "$([ "$(cut -d ' ' -f 2 "$scratch/on" | sort -u | wc -l)" = $sets ]; echo $?)" "$scratch/on"

# shellcheck disable=SC2046,SC2086 # no name has a space
status 'one client asks about all of them' 0 "$redlock" status --json $(printf 'job-%s ' $numbers)
result '... and sees that they are held' "$([ "$(grep -c '"held": true' "$out")" = $sets ]; echo $?)" "$out"

for i in $numbers; do "$redlock" release "job-$i" "$(cat "$scratch/token.$i")" 2>>"$err" || echo "$i"; done >"$scratch/failed"
result 'they are released' "$([ ! -s "$scratch/failed" ]; echo $?)" "$err"
on_nodes
result '... on all nodes' "$([ ! -s "$scratch/on" ]; echo $?)" "$scratch/on"

sed -i "s/^epoch 39/epoch 40/; s, $(url $n)\$,," "$scratch/config"
# shellcheck disable=SC2046
configure $(seq $((n - 1)))
"$redlock" doctor --json --nodes "$REDLOCK_NODES,$(url $n)" >"$out" 2>"$err"
says 'a node that has left: doctor names those of the sets, as far as there is room' \
    'it has left the set.*list the nodes of the set: \(127.0.0.1:[0-9]*, \)\{58,\}\(127.0.0.1:[0-9]*\|\.\.\.\)"' "$out"

finish
