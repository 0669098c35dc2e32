#!/bin/sh
# redlock status --watch: reports events of locks at once. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
start_nodes 5 --aof # so that locks survive a restart

# watch OPTION... KEY...: in the background; its lines go to $seen; sets $watcher
seen=$scratch/seen
watch() {
    # A background job of a script ignores SIGINT.
    env --default-signal=INT "$redlock" status --watch --interval 200ms "$@" >"$seen" 2>"$err" &
    watcher=$!
    left="$left $watcher"
}
# saw PATTERN: a line of this end, before long
saw() { await grep -q -e "^20[0-9-]* [0-9:.]* $1\$" "$seen"; }

keep_held k --holder one
one=$pid
await "$redlock" status k
watch k,free 'l'
saw 'k: held by one for another [0-9.]* s, on [345] of 5 nodes' && saw 'free: free' && saw 'l: free'
result 'at first what there is, of several keys' $? "$seen"
keep_held k --holder two
saw 'k: two waits'
result 'a waiter comes' $? "$seen"
kill -s TERM "$one"
saw 'k: handed over from one to two, on [345] of 5 nodes'
result 'a hand-over from one redlock run to the next' $? "$seen"
lacks '... who waits no longer, and that is not said as well' 'two waits no longer' "$seen"
keep_held k --holder three --shared
saw 'k: three waits to read'
result 'one that would read' $? "$seen"
kill -s TERM "$pid"
saw 'k: three waits no longer'
result '... goes' $? "$seen"
lines=$(grep -c 'k: ' "$seen")
"$redlock" kick --yes --reason 'for a test' k >>"$log" 2>&1
saw 'k: released by two' && saw 'k: two was kicked by .*: for a test'
result 'a kick' $? "$seen"
[ "$(grep -c 'k: ' "$seen")" -eq $((lines + 2)) ]
result '... in two lines' $? "$seen"

keep_held k --holder four --shared
four=$pid
keep_held k --holder five --shared
five=$pid
saw 'k: read by four for another [0-9.]* s, on [345] of 5 nodes' && saw 'k: read by five .*'
result 'readers come' $? "$seen"
kill -s TERM "$four"
saw 'k: four reads no longer'
result '... and go' $? "$seen"
keep_held l --permits 1 --holder six
six=$pid
saw 'l: slot 0 held by six for another [0-9.]* s, on [345] of 5 nodes'
result 'a permit' $? "$seen"
keep_held l --permits 1 --holder seven
saw 'l: seven waits for 1 permit'
result '... who waits for it' $? "$seen"
kill -s TERM "$six"
saw 'l: slot 0 handed over from six to seven, on [345] of 5 nodes'
result '... and gets it' $? "$seen"
"$redlock" acquire --ttl 2s --holder brief free >>"$log" 2>&1
saw 'free: no longer held by brief, whose time was over: .*'
result 'a lock that is not renewed' $? "$seen"

# The node that keeps the line hangs: its clients move to another node, and stay listed meanwhile.
keep_held l --permits 1 --holder eight
saw 'l: eight waits for 1 permit'
home=$("$redlock" queue --json l | sed 's/.*"home": "127.0.0.1:\([0-9]*\)", "usual.*/\1/')
for i in 1 2 3 4 5; do [ "$(port $i)" != "$home" ] || at=$i; done
sh "$nodes_sh" pause "$nodes" "$at"
saw "node 127.0.0.1:$home went away: .*; [0-4] of 5 nodes can vote, 3 are needed"
result 'a node goes' $? "$seen"
sh "$nodes_sh" resume "$nodes" "$at"
saw "node 127.0.0.1:$home is up; [1-5] of 5 nodes can vote, 3 are needed"
result '... and comes back' $? "$seen"
lacks '... whoever stood in line there waits on' 'eight waits no longer' "$seen"
for i in 1 2 3; do sh "$nodes_sh" kill "$nodes" $i; done
saw 'l: not known, 2 of 5 nodes answer (3 needed)'
result 'too few nodes' $? "$seen"
for i in 1 2 3; do sh "$nodes_sh" restart "$nodes" $i; done
await "$redlock" status l
lacks '... of which nothing is concluded' 'l: released\|l: slot 0 released\|seven waits no longer' "$seen"
kill -s TERM "$watcher"
wait "$watcher"
result 'SIGTERM ends it, status 0' $? "$err"

# -- JSON --

watch --json k m
await grep -q '"event": "free", "key": "m"' "$seen"
kill -s TERM "$five"
keep_held m --holder alpha
comes '--json: an object for each event' '^{"at": "20[0-9-]*T[0-9:.]*Z", "event": "held", "key": "m", "kind": "exclusive", "holder": "alpha", "token": "[0-9a-f]\{40\}:alpha", "remaining_ms": [0-9]*, "votes": [0-9]}$' "$seen"
keep_held m --holder beta
comes '... for each of them' '"event": "waits", "key": "m", "kind": "exclusive", "holder": "beta", "client": "[0-9a-f]\{16\}", "waited_ms": [0-9]*}$' "$seen"
"$redlock" kick --yes --reason 'again' m >>"$log" 2>&1
comes '... a hand-over' '"event": "handed_over", "key": "m", .*"holder": "beta", .*"from": "alpha"}$' "$seen"
comes '... a kick' '"event": "kicked", "key": "m", "kicked_at": "[^"]*", "by": "[^"]*", "what": "lock", "holder": "alpha", .*"reason": "again"}$' "$seen"
python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' <"$seen" 2>"$log"
result '... all of it is JSON' $? "$log"
kill -s INT "$watcher"
wait "$watcher"
result 'SIGINT ends it, status 0' $? "$err"

# -- A pipe --

{
    "$redlock" status --watch --interval 200ms m 2>"$err"
    echo $? >"$scratch/ended"
} | head -n 1 >"$out"
holds 'a line goes through a pipe at once' grep -q 'm: held by beta' "$out"
[ "$(cat "$scratch/ended")" -eq 0 ] && [ ! -s "$err" ]
result '... and who reads no more ends it, quietly' $? "$err"

# -- What is wrong --

status 'no key' 64 "$redlock" status --watch
status 'an interval alone' 64 "$redlock" status --interval 1s k
says '... says so' 'interval has no effect without --watch'
status 'an interval that is too short' 64 "$redlock" status --watch --interval 1ms k

finish
