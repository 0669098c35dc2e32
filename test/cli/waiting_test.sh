#!/bin/sh
# What a waiting redlock reports: who holds the lock, and which nodes go away and come back. Arguments:
# REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 5 --aof # so that a lock survives their restart

# wait_for_lock COMMAND...: in the background; its output goes to $err.bg; sets $pid
wait_for_lock() {
    start "$redlock" "$@" >"$out.bg" 2>"$err.bg"
}
# has FILE COUNT PATTERN: so many lines of it, before long
counts() { [ "$(grep -c -e "$3" "$1")" -eq "$2" ]; }
has() { await counts "$@"; }

start "$redlock" run --holder me k -- sleep 1000 2>"$err"
holder=$pid
await "$redlock" status k
wait_for_lock run --wait 1m k -- true
quiet_log=$scratch/quiet
"$redlock" run -q k -- true 2>"$quiet_log" &
quiet=$!
json_log=$scratch/json
"$redlock" acquire --json --ttl 1s k >"$json_log.out" 2>"$json_log" &
json=$!
elect_log=$scratch/elect
"$redlock" elect --ttl 9s --id first boss -- sleep 1000 2>"$log" &
first=$!
left="$left $quiet $json $first"
await "$redlock" status boss
"$redlock" elect --ttl 9s --id second boss -- sleep 1000 2>"$elect_log" &
second=$!
left="$left $second"
holds 'a waiter says who holds the lock, and how long' has "$err.bg" 1 '^redlock: k: waiting: held by me for another [0-9]* s$'
comes '... elect, who leads' '^redlock: boss: first leads$' "$elect_log"

await grep -q '"event": "waiting", "key": "k", "holder": "me", "remaining_ms": [0-9]*, "message": ".*", "shared": false, "nodes_voting": 5, "quorum": 3}' \
    "$json_log"
result '--json: the holder is an event' $? "$json_log"

for i in 1 2 3; do sh "$nodes_sh" kill "$nodes" "$i"; done
has "$err.bg" 3 'waiting: node 127.0.0.1:[0-9]* went away: .*; [2-4] of 5 nodes can vote, 3 are needed'
result 'three of five nodes are killed: it says so, of each' $? "$err.bg"
says '... and that too few are left' "node 127.0.0.1:$(port 3) went away: .*; 2 of 5 nodes can vote" "$err.bg"
has "$elect_log" 3 'boss: waiting: node .* went away'
result '... elect, too' $? "$elect_log"
for i in 1 2 3; do sh "$nodes_sh" restart "$nodes" "$i"; done
holds 'they are back: it says so' has "$err.bg" 3 'waiting: node 127.0.0.1:[0-9]* is up; [3-5] of 5 nodes can vote, 3 are needed'
holds '... and who holds the lock was said once' counts "$err.bg" 1 'held by'

has "$json_log" 3 '"event": "node", .*"up": true, "voting": true, "status": "OK"' &&
    counts "$json_log" 3 '"event": "node", .*"up": false, "voting": false, "status": "ERR_NODE_'
result '... and so is each node, going and coming' $? "$json_log"
kill -s TERM "$holder"
wait "$pid"
wait "$quiet"
result 'who was quiet gets it, too' $? "$quiet_log"
[ ! -s "$quiet_log" ]
result '... and was quiet' $? "$quiet_log"
wait "$json"
[ "$(wc -l <"$json_log.out")" -eq 1 ] && grep -q '"status": "OK", "token"' "$json_log.out"
result 'acquire --json has its one line on stdout' $? "$json_log.out"
kill -s TERM "$first" "$second"

# -- from the beginning --

start "$redlock" run --holder me m -- sleep 1000 2>"$err"
holder=$pid
await "$redlock" status m
for i in 1 2 3; do sh "$nodes_sh" kill "$nodes" "$i"; done
wait_for_lock run n -- true
has "$err.bg" 1 "^redlock: n: waiting for nodes: 2 of 5 nodes up; .*127.0.0.1:$(port 1): "
result 'nodes are missing from the beginning: it says which' $? "$err.bg"
for i in 1 2 3; do sh "$nodes_sh" restart "$nodes" "$i"; done
wait "$pid"
result '... and goes on when they are there' $? "$err.bg"
kill -s TERM "$holder"
wait "$holder"

# -- in turn --

start "$redlock" run --holder me l -- sleep 1000 2>"$err"
holder=$pid
await "$redlock" status l
# What status reports about l: the holder, then the waiting clients, in one line
queue() { "$redlock" status l | sed -n 's/^l: held by \([^ ]*\) .*/\1/p; s/^  *[0-9]*\. \([^ ]*\), for [0-9.]* m\{0,1\}s$/\1/p' | paste -s -d ' '; }
is_queue() { [ "$(queue)" = "$*" ]; }
order=$scratch/order
in_line=me
for i in 1 2 3 4 5; do
    "$redlock" run -q --holder "shell-$i" l -- sh -c "echo $i >>'$order'" 2>"$log" &
    eval "shell_$i=$!"
    left="$left $!"
    in_line="$in_line shell-$i"
    # shellcheck disable=SC2086
    await is_queue $in_line || queue >>"$log"
done
# shellcheck disable=SC2086
holds 'status lists who waits, in the order in which they came' is_queue $in_line
"$redlock" status --json l >"$out"
says '... as JSON' '"waiting": 5, "waiters": \[{"holder": "shell-1", "client": "[0-9a-f]\{16\}", "waited_ms": [0-9]*, "node": "127.0.0.1:[0-9]*", "shared": false}, {"holder": "shell-2"' "$out"
# shellcheck disable=SC2154
kill -s TERM "$shell_2"
holds 'who is ended leaves the line' await is_queue me shell-1 shell-3 shell-4 shell-5
# shellcheck disable=SC2154
kill -s KILL "$shell_3"
await gone "$shell_3"
kill -s TERM "$holder"
wait "$holder"
# shellcheck disable=SC2154
wait "$shell_5"
[ "$(paste -s -d ' ' "$order")" = '1 4 5' ]
result 'they are served in order, but for that one and one that was killed' $? "$order"
is_over() { ! "$redlock" status l | grep -q 'wait\|reserved'; }
holds '... after which nobody waits, and nothing is reserved' await is_over

# -- on a terminal --

if ! command -v script >/dev/null; then
    skip 'the line on a terminal' 'script is not installed'
    finish
    exit
fi
start "$redlock" run --holder me t -- sleep 1000 2>"$err"
holder=$pid
await "$redlock" status t
screen=$scratch/screen
env TERM=xterm script -qfc "stty cols 40; $redlock run t -- sh -c 'echo be''gun'" "$screen" </dev/null >/dev/null 2>&1 &
session=$!
left="$left $session"
escape=$(printf '\033')
lines() { tr '\r' '\n' <"$screen" | sed -n "s/^$escape\[J\(redlock: t: waiting\)/\1/p"; }
two() { [ "$(lines | uniq | wc -l)" -ge 2 ]; }
await two
lines >"$out"
grep -q '^redlock: t: waiting [0-9.]* m\{0,1\}s: held by me' "$out"
result 'a line says who holds it, and is kept up to date' $? "$screen"
[ -s "$out" ] && ! grep -q '.\{40\}' "$out"
result '... and is cut to the width of the terminal' $? "$out"
sh "$nodes_sh" kill "$nodes" 5
comes '... sentences take its place' "$escape\[Jredlock: t: waiting: node 127.0.0.1:$(port 5) went away" "$screen"
kill -s TERM "$holder"
await grep -q begun "$screen"
tr '\r' '\n' <"$screen" | grep -B1 'begun' >"$out"
grep -qx "$escape\[J\(begun\)\{0,1\}" "$out"
result '... and it is gone when the command begins' $? "$screen"
wait "$session"

finish
