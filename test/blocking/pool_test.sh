#!/bin/sh
# examples/pool on three nodes, then twice at the same time, then without a quorum.
#
#   pool_test.sh NODES_SH POOL
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
nodes_sh=$1
pool=$2

# shellcheck source=test/scratch.sh
. "$(dirname "$0")/../scratch.sh"

some_nodes 3
# shellcheck disable=SC2086
set -- $urls

"$pool" "$@" >"$log" 2>&1 && grep -q '^12 of 12 jobs done here$' "$log"
result 'one pool does all jobs' $? "$log"

# The pool that comes second to a job leaves it to the other: each line says one or the other.
"$pool" "$@" >"$scratch/first" 2>&1 &
"$pool" "$@" >"$scratch/second" 2>&1
second=$?
wait $!
first=$?
cat "$scratch/first" "$scratch/second" >"$log"
[ $first -eq 0 ] && [ $second -eq 0 ] &&
    [ "$(grep -c -e ': done$' -e ': left to others: ' "$log")" -eq 24 ]
result 'two pools at the same time' $? "$log"

for i in 1 2; do sh "$nodes_sh" kill "$scratch/nodes" "$i"; done
"$pool" "$@" >"$log" 2>&1
[ $? -eq 2 ] && grep -q '1 of 3 nodes up' "$log"
result 'without a quorum it fails and says why' $? "$log"

finish
