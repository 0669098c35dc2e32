#!/bin/sh
# examples/demo on five nodes, with and without a node that is killed; the demo checks itself.
#
#   demo_test.sh NODES_SH DEMO
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
nodes_sh=$1
demo=$2
# shellcheck source=cluster/server.sh
. "$(dirname "$nodes_sh")/server.sh"

# shellcheck source=test/scratch.sh
. "$(dirname "$0")/../scratch.sh"

some_nodes 5
# shellcheck disable=SC2086
set -- $urls

"$demo" "$@" >"$log" 2>&1
result 'the story' $? "$log"
"$demo" --kill "sh '$nodes_sh' kill '$scratch/nodes' 5" "$@" >"$log" 2>&1
result 'the story with one node killed' $? "$log"
grep -q '127.0.0.1:[0-9]* *failed' "$log"
result 'it names the node that failed' $? "$log"

# Nothing is left on the nodes.
for i in 1 2 3 4; do
    "$cli" -p "$(cat "$scratch/nodes/$i/port")" dbsize
done >"$log"
[ "$(sort -u "$log")" = 0 ]
result 'no key is left' $? "$log"

for i in 1 2 3; do sh "$nodes_sh" kill "$scratch/nodes" "$i"; done
"$demo" "$@" >"$log" 2>&1
[ $? -eq 1 ]
result 'without a quorum it fails' $? "$log"
grep -q 'refused' "$log"
result 'and says why' $? "$log"

finish
