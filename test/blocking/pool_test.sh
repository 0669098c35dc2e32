#!/bin/sh
# examples/pool on three nodes, then twice at the same time, then without a quorum.
#
#   pool_test.sh NODES_SH POOL
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
nodes_sh=$1
pool=$2

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-pool.XXXXXX") || exit 2
clean_up() {
    [ ! -e "$scratch/nodes" ] || sh "$nodes_sh" stop "$scratch/nodes"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log

sh "$nodes_sh" start -n 3 --dir "$scratch/nodes" >"$log" 2>&1
result 'three nodes' $? "$log"
# shellcheck disable=SC2046
set -- $(cat "$scratch/nodes/urls")

"$pool" "$@" >"$log" 2>&1 && grep -q '^12 of 12 jobs done here$' "$log"
result 'alone it does all jobs' $? "$log"

# Of a job that both want, the one that comes second leaves it: each line is one of the two.
"$pool" "$@" >"$scratch/first" 2>&1 &
"$pool" "$@" >"$scratch/second" 2>&1
second=$?
wait $!
first=$?
cat "$scratch/first" "$scratch/second" >"$log"
[ $first -eq 0 ] && [ $second -eq 0 ] &&
    [ "$(grep -c -e ': done$' -e ': left to others: ' "$log")" -eq 24 ]
result 'two pools at one time' $? "$log"

for i in 1 2; do sh "$nodes_sh" kill "$scratch/nodes" "$i"; done
"$pool" "$@" >"$log" 2>&1
[ $? -eq 2 ] && grep -q '1 of 3 nodes up' "$log"
result 'without a quorum it says so and fails' $? "$log"

finish
