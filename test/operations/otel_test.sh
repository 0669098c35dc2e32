#!/bin/sh
# examples/otel: its spans are OTLP's JSON, with an acquire and a hold for each job; its metrics are
# valid for Prometheus.
#
#   otel_test.sh NODES_SH OTEL
set -u

here=$(dirname "$0")
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
nodes_sh=$1
otel=$2

# shellcheck source=test/scratch.sh
. "$here/../scratch.sh"

some_nodes 3

# shellcheck disable=SC2086
"$otel" "$scratch/spans" "$scratch/metrics" 8 $urls >"$log" 2>&1
result 'eight jobs, and nothing is left on its loop' $? "$log"
python3 "$here/spans.py" "$scratch/spans" 8 >"$log" 2>&1
result 'a span for each job, acquire and hold, with their events' $? "$log"
python3 "$here/exposition.py" "$scratch/metrics" redlock_acquires_total redlock_node_up \
    redlock_wait_seconds redlock_hold_seconds redlock_node_latency_seconds >"$log" 2>&1
result 'its metrics are in order' $? "$log"
grep -qx 'redlock_hold_seconds_count{client="otel-example",label="example"} 8' "$scratch/metrics"
result 'eight holds, with the label that the program gives them' $? "$scratch/metrics"
if command -v promtool >"$log"; then
    promtool check metrics <"$scratch/metrics" >"$log" 2>&1
    result 'promtool check metrics' $? "$log"
else
    skip 'promtool check metrics' 'promtool is not installed: the package prometheus'
fi

# shellcheck disable=SC2086
"$otel" "$scratch/more" "$scratch/metrics" 0 $urls >"$log" 2>&1 &
pid=$!
left=600
until [ -s "$scratch/more" ] || [ $left -eq 0 ]; do
    left=$((left - 1))
    sleep 0.05
done
kill -s TERM "$pid"
wait "$pid"
status=$?
pid=
[ $status -eq 0 ] && [ -s "$scratch/more" ]
result 'without a number of jobs it goes on until SIGTERM' $? "$log"

# Nodes that do not answer keep it from being open; its first metrics say that it takes signals.
rm "$scratch/metrics"
for i in 1 2 3; do kill -s STOP "$(cat "$scratch/nodes/$i/pid")"; done
# shellcheck disable=SC2086
timeout -s KILL 30 "$otel" "$scratch/none" "$scratch/metrics" 0 $urls >"$log" 2>&1 &
pid=$!
until [ -e "$scratch/metrics" ]; do sleep 0.01; done
kill -s TERM "$pid"
wait "$pid"
status=$?
pid=
for i in 1 2 3; do kill -s CONT "$(cat "$scratch/nodes/$i/pid")"; done
[ $status -eq 0 ] && [ ! -s "$scratch/none" ]
result 'a signal before it is open ends it, too' $? "$log"
"$otel" "$scratch/more" "$scratch/metrics" many redis://127.0.0.1 >"$log" 2>&1
[ $? -eq 2 ] && grep -q usage "$log"
result 'a number of jobs that is none is refused' $? "$log"
finish
