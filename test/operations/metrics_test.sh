#!/bin/sh
# redlock metrics, on nodes that are up, in quarantine or dead; and the rules and the dashboard of
# examples/operations query only metrics that it and the library write.
#
#   metrics_test.sh REDLOCK NODES_SH EXAMPLES OTEL
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/cli/cli.sh
. "$here/../cli/cli.sh"
examples=$3
otel=$4

# text WHAT [NAME...]: one case: $out is valid, and has samples of these metrics
text() {
    text_what=$1
    shift
    python3 "$here/exposition.py" "$out" "$@" >"$log" 2>&1
    result "$text_what" $? "$log"
}
has_promtool() { command -v promtool >/dev/null; }

start_nodes 3
token=$("$redlock" acquire metrics-test)
status 'three nodes, one lock' 0 "$redlock" metrics
text 'all there is, in order' redlock_nodes redlock_quorum redlock_nodes_voting redlock_node_up \
    redlock_node_voting redlock_node_quarantine_seconds redlock_node_ping_seconds \
    redlock_node_clock_offset_seconds redlock_node_clock_error_seconds redlock_node_uptime_seconds \
    redlock_node_clients redlock_node_memory_bytes redlock_node_memory_limit_bytes \
    redlock_node_processed_commands_total redlock_node_turns_total redlock_node_keys \
    redlock_node_read redlock_node_version_info redlock_locks redlock_waiters \
    redlock_longest_wait_seconds
says 'the lock is held' '^redlock_locks{state="held"} 1$' "$out"
says 'all may vote' '^redlock_nodes_voting 3$' "$out"
if has_promtool; then
    promtool check metrics <"$out" >"$log" 2>&1
    result 'promtool check metrics' $? "$log"
else
    skip 'promtool check metrics' 'promtool is not installed: the package prometheus'
fi
cp "$out" "$scratch/nodes.prom"
"$redlock" release metrics-test "$token"

status 'for a strict guard' 0 "$redlock" metrics --guard strict --max-ttl 1h
says '... new nodes are in quarantine' \
    '^redlock_node_quarantine_seconds{node="127.0.0.1:[0-9]*"} 3[56][0-9][0-9]' "$out"
says '... and none may vote' '^redlock_nodes_voting 0$' "$out"

one="127.0.0.1:$(port 1)"
sh "$nodes_sh" kill "$nodes" 1 >"$log" 2>&1
status 'without one of three' 0 "$redlock" metrics
text '... in order'
says '... it is down' "^redlock_node_up{node=\"$one\"} 0\$" "$out"
! grep -q "^redlock_node_memory_bytes{node=\"$one\"}" "$out"
result '... and what is not known of it is left out' $? "$out"
sh "$nodes_sh" kill "$nodes" 2 >"$log" 2>&1
status 'without two of three' 69 "$redlock" metrics
text '... in order' redlock_node_up redlock_node_clients
says '... one votes' '^redlock_nodes_voting 1$' "$out"
! grep -q '^redlock_locks' "$out"
result '... and nobody knows of locks' $? "$out"
says '... and why is said' '1 of 3 nodes could be read, 2 are needed'

status 'an argument too many' 64 "$redlock" metrics nightly
status 'JSON is in ls' 64 "$redlock" metrics --json
stop_nodes

rm -rf "$nodes"
start_nodes 1
# shellcheck disable=SC2046
"$otel" "$scratch/spans" "$scratch/program.prom" 2 $(cat "$nodes/urls") >"$log" 2>&1
result 'a program with metrics' $? "$log"
python3 "$here/queries.py" "$examples/redlock.rules.yml" "$examples/redlock-dashboard.json" \
    "$scratch/queries.yml" "$scratch/nodes.prom" "$scratch/program.prom" >"$log" 2>&1
result 'rules and dashboard ask for what there is' $? "$log"
if has_promtool; then
    promtool check rules "$scratch/queries.yml" >"$log" 2>&1
    result 'each query of the dashboard can be parsed' $? "$log"
    promtool test rules "$examples/redlock.rules.test.yml" >"$log" 2>&1
    result 'each alert fires when it should, and not before' $? "$log"
else
    skip 'the alerts' 'promtool is not installed: the package prometheus'
fi
finish
