#!/bin/sh
# redlock acquire, extend, release, status: a lock in several processes of a script; and their JSON.
# Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 3
patient
ttl_of() { "$cli" -p "$(port "$1")" pttl "$2"; }

status 'acquire' 0 "$redlock" acquire --holder me k
token=$(cat "$out")
echo "$token" | grep -qx '[0-9a-f]\{40\}:me'
result 'it prints the token and nothing else' $? "$out"
holds 'which is what the nodes have' [ "$("$cli" -p "$(port 1)" get k)" = "$token" ]
status 'the lock outlives the process' 1 "$redlock" acquire --no-wait k
says '... and it says who has it' 'k: not acquired: held by me for another'
status 'extend' 0 "$redlock" extend --ttl 1h k "$token"
[ "$(ttl_of 1 k)" -gt 3500000 ] && [ "$(ttl_of 3 k)" -gt 3500000 ]
result 'the nodes have the new ttl' $?
REDLOCK_TOKEN=$token status 'the token can come from the environment' 0 "$redlock" extend k
other=$(echo "$token" | tr 0-9a-f 1-9a-f0)
status 'extend with another token' 75 "$redlock" extend k "$other"
status 'release with another token' 75 "$redlock" release k "$other"
status 'release without the holder' 75 "$redlock" release k "${token%:me}"
status 'it is still held' 0 "$redlock" status k
status 'release' 0 "$redlock" release k "$token"
[ ! -s "$out" ] && [ ! -s "$err" ]
result '... is silent' $? "$err"
status 'release again' 75 "$redlock" release k "$token"
says '... and it says why' 'k: it was not held by this token any more'
status 'extend after release' 75 "$redlock" extend k "$token"
status 'it is free' 1 "$redlock" status k

status 'an acquire that is short' 0 "$redlock" acquire --ttl 100ms k
status 'it ends by its ttl' 0 "$redlock" acquire --wait 5s --ttl 100ms k
status 'two keys' 0 "$redlock" acquire a,b
both=$(cat "$out")
status 'one of them' 1 "$redlock" acquire --no-wait b
status 'a release in another order' 0 "$redlock" release b,a "$both"
status 'a comma in a key' 0 "$redlock" acquire 'x\,y'
holds '... is one key' [ "$("$cli" -p "$(port 1)" exists x,y)" = 1 ]
"$redlock" acquire k2 >/dev/full 2>"$err"
[ $? -eq 71 ] && [ "$("$cli" -p "$(port 1)" exists k2)" = 0 ]
result 'a token that cannot be printed is released' $? "$err"

# -- fences --

grant=$("$redlock" acquire --fence --holder me f) && echo "$grant" >"$out"
holds 'acquire --fence prints token and fence in one line' grep -qx '[0-9a-f]\{40\}:me [0-9]\{16\}' "$out"
token=${grant% *} fence=${grant#* }
status 'extend leaves the fence alone' 0 "$redlock" extend f "$token"
holds '... as the nodes have it' [ "$("$cli" -p "$(port 1)" get libredlock:fence:f)" = "$fence" ]
status 'release' 0 "$redlock" release f "$token"
holds '... leaves the counter' [ "$("$cli" -p "$(port 1)" get libredlock:fence:f)" = "$fence" ]
"$redlock" acquire --fence --json f,g >"$out"
next=$(sed -n 's/.*"fence": \([0-9]*\), "valid_ms".*/\1/p' "$out")
[ -n "$next" ] && [ "$next" -gt "$fence" ]
result 'the next one is larger; with --json a number' $? "$out"
holds 'two keys have one fence' [ "$("$cli" -p "$(port 1)" get libredlock:fence:g)" = "$next" ]
"$cli" -p "$(port 1)" set libredlock:fence:h no-number >/dev/null
"$cli" -p "$(port 2)" set libredlock:fence:h no-number >/dev/null
status 'a counter that is none' 69 "$redlock" acquire --fence --wait 1s h
says '... is told' 'h: not acquired: .*error reply'

# A majority's answers are enough for a grant. The third node, which is slow and has none of our scripts,
# still gets the key before the command ends. On a slow machine, that node may not be connected when it
# should be asked: then the scene proves nothing, and is repeated.
slow() { # COMMAND...: while the third node is slow
    for i in 1 2 3; do ask "$i" script flush >"$log"; done
    ask 3 client pause 300 write >"$log"
    "$redlock" "$@" --node-timeout 20s --guard off >"$out" 2>"$err"
}
at_last() {
    at_last_left=8
    until "$@"; do
        at_last_left=$((at_last_left - 1))
        [ "$at_last_left" -gt 0 ] || return 1
    done
}
has_third() { [ "$(ask 3 exists s)" = 1 ]; }
acquires() {
    for i in 1 2 3; do ask "$i" del s >"$log"; done
    slow acquire "$@" s
    token=$(sed 's/ .*//' "$out")
    [ -n "$token" ] && has_third
}
extends() {
    ask 3 del s >"$log"
    slow extend "$@" s "$token"
    has_third
}
at_last acquires --fence && [ "$(ask 3 get s)" = "$token" ]
result 'acquire: a slow node without the script has the key, too' $? "$err"
holds 'extend: ... and gets it again' at_last extends
holds 'acquire --shared: ... has the lease, too' at_last acquires --shared
holds 'extend --shared: ... and gets it again' at_last extends --shared
"$redlock" release s "$token"

# A node that connects later than the others takes part as well: the third one continues when the command
# has waited for it for a while, or has ended.
for i in 1 2 3; do ask "$i" del s >"$log"; done
sh "$nodes_sh" pause "$nodes" 3
"$redlock" acquire s >"$out" 2>"$err" &
pid=$!
for _ in 1 2 3 4 5 6; do
    gone "$pid" || sleep 0.05
done
sh "$nodes_sh" resume "$nodes" 3
wait "$pid"
token=$(cat "$out")
[ -n "$token" ] && has_third
result 'acquire: a node that connects late has the key, too' $? "$err"
"$redlock" release s "$token"

# It waits for half of the validity at most, not for the node timeout.
each_but_third() { [ "$(ask 1 exists s)" = 1 ] && [ "$(ask 2 exists s)" = 1 ]; }
has_output() { [ -s "$out" ]; }
prints_in_time() {
    for i in 1 2; do ask "$i" del s >"$log"; done
    "$redlock" acquire --node-timeout 2s --ttl 2s s >"$out" 2>"$err" &
    pid=$!
    await has_output && each_but_third && wait "$pid"
}
extends_in_time() {
    for i in 1 2; do ask "$i" del s >"$log"; done
    token=$("$redlock" acquire --node-timeout 250ms --ttl 10m --max-ttl 1h s 2>"$err") &&
        "$redlock" extend --node-timeout 2s --ttl 2s s "$token" 2>"$err"
}
ask 3 client pause 600000 write >"$log"
holds 'acquire: a node does not answer: the token is printed while the lock is held' at_last prints_in_time
holds 'extend: ... and it is extended' at_last extends_in_time
ask 3 client unpause >"$log"

# A signal during that time.
ends_by_signal() {
    for i in 1 2 3; do ask "$i" del s >"$log"; done
    ask 3 client pause 60000 write >"$log"
    "$redlock" acquire --node-timeout 60s "$@" s >"$out" 2>"$err" &
    pid=$!
    await is_on_first
    kill -s TERM "$pid"
    ask 3 client unpause >"$log"
    wait "$pid"
    [ $? -eq 143 ] && [ "$(ask 1 exists s)" = 0 ]
}
tells_interrupted() { grep -q '"status": "ERR_CANCELED", .*"interrupted by a signal (Terminated)"' "$out"; }
ends_silently() { ends_by_signal && [ ! -s "$out" ]; }
ends_and_tells() { ends_by_signal --json && tells_interrupted; }
is_on_first() { [ "$(ask 1 exists s)" = 1 ]; }
holds 'a signal while it waits for that: the lock is released, no token is printed' at_last ends_silently
holds '... with --json a line says so' at_last ends_and_tells
for i in 1 2 3; do ask "$i" set s somebody >"$log"; done
"$redlock" acquire --json s >"$out" 2>"$err" &
pid=$!
await grep -q . "$err"
kill -s TERM "$pid"
wait "$pid"
[ $? -eq 143 ] && tells_interrupted
result '... and while it waits for the lock' $? "$out"
for i in 1 2 3; do ask "$i" del s >"$log"; done

# A pipe that nobody reads: both ends are open here until the reading one is closed.
mkfifo "$scratch/pipe"
exec 3<>"$scratch/pipe"
exec 4>"$scratch/pipe"
exec 3>&-
for i in 1 2 3; do ask "$i" del s >"$log"; done
(trap - PIPE; exec "$redlock" acquire s >&4 2>"$err")
[ $? -eq 71 ] && [ "$(ask 1 exists s)" = 0 ]
result 'a pipe that nobody reads: the lock is released' $? "$err"
exec 4>&-

# -- status --

token=$("$redlock" acquire --holder me k)
status 'one held, one free' 1 "$redlock" status k free
says 'a held one' '^k: held by me for another [0-9.]* s, on 3 of 3 nodes (2 needed)$' "$out"
says 'a free one' '^free: free$' "$out"
holds 'each node has its line' [ "$(grep -c "^  127.0.0.1:$(port 1)" "$out")" -eq 2 ]
lacks 'all may vote with the guard off' 'votes in' "$out"
status 'a guard that is strict' 0 "$redlock" status --guard strict --max-ttl 1h k
says '... says when a young node votes' "127.0.0.1:$(port 2) *me .* votes in 6[01] min$" "$out"
"$cli" -p "$(port 1)" set odd thing >/dev/null
status 'a foreign value' 1 "$redlock" status odd
says '... is told' "127.0.0.1:$(port 1) *not a lock: thing *for ever" "$out"
"$cli" -p "$(port 1)" set odd "$(printf '\033[31mred')" >/dev/null
"$redlock" status odd >"$out"
lacks 'a value that would harm a terminal does not' "$(printf '\033')" "$out"

# Another library's lock: one random string with a ttl, the same on a quorum.
plant() { # VALUE NODE...
    plant_value=$1
    shift
    for plant_i in "$@"; do "$cli" -p "$(port "$plant_i")" set other "$plant_value" px 30000 >/dev/null; done
}
plant 9b1f3a70-0c21-4f7e-8d52 1 3
status 'a lock of another library' 0 "$redlock" status other
says '... is held, by its value' \
    '^other: held by another library.s client (value "9b1f3a70-0c21-4f7e-8d52") for another [0-9.]* s, on 2 of 3 nodes (2 needed)$' \
    "$out"
says '... on its nodes' "127.0.0.1:$(port 3) *\"9b1f3a70-0c21-4f7e-8d52\"  *[23][0-9.]* s" "$out"
"$redlock" status --json other >"$out"
says '... as JSON' '"held": true, "foreign": true, "holder": "9b1f3a70-0c21-4f7e-8d52", "token": null, "remaining_ms": ' "$out"
status '... and no other has it' 1 "$redlock" acquire --no-wait other
says '... which is told' \
    'other: not acquired: held by another library.s client (value "9b1f3a70-0c21-4f7e-8d52") for another'
plant 0123456789-0123456789-0123456789-0123456789 1 3
"$redlock" status other >"$out"
says '... a long value is cut' ' "0123456789-0123456789-0123456789-01..."  ' "$out"
plant 9b1f3a70-0c21-4f7e-8d52 1 3
"$cli" -p "$(port 3)" del other >/dev/null
status 'its key on a minority' 1 "$redlock" status other
says '... is no lock' '^other: no client has a quorum; keys are left on 1 of 3 nodes$' "$out"
"$cli" -p "$(port 1)" persist other >/dev/null
plant 9b1f3a70-0c21-4f7e-8d52 3
"$cli" -p "$(port 3)" persist other >/dev/null
status 'a value for ever' 1 "$redlock" status other
says '... is no lock either' "127.0.0.1:$(port 3) *not a lock: 9b1f3a70" "$out"
ours=$("$redlock" acquire eternal)
for node in 1 2 3; do "$cli" -p "$(port "$node")" persist eternal >"$log"; done
status 'a lock whose keys never end' 0 "$redlock" status eternal
says '... is held' '^eternal: held by .*:[0-9]* for ever, on 3 of 3 nodes' "$out"
status '... and no other has it' 1 "$redlock" acquire --no-wait eternal
says '... which is told' 'eternal: not acquired: held by .*:[0-9]* for ever$'
status '... until it is released' 0 "$redlock" release eternal "$ours"
# Waiting clients. The clients have left this line, so that it does not change.
waits() { # NODE SECONDS CLIENT HOLDER: a client has waited so long
    waits_now=$("$cli" -p "$(port "$1")" time | head -n 1)
    "$cli" -p "$(port "$1")" zadd 'libredlock:line:{other}' "$((waits_now - $2))000000" \
        "${3}000000000000000100000000$4" >"$log"
}
waits 2 70 aaaaaaaaaaaaaaaa :web1:4711
waits 2 9 bbbbbbbbbbbbbbbb ''
waits 2 2 cccccccccccccccc ':db%s1'
waits 3 60 dddddddddddddddd :lost:1
waits 3 50 aaaaaaaaaaaaaaaa :web1:4711
"$redlock" status other >"$out"
says 'who waits' '^  4 clients wait, the next one first:$' "$out"
says '... first, who has waited longest' '^    1. web1:4711, for 7[0-9] s$' "$out"
says '... without a name' '^    2. no name (client bbbbbbbbbbbbbbbb), for [0-9.]* s$' "$out"
says '... whatever the name is' '^    3. db%s1, for [0-9.]* s$' "$out"
says '... and who stands elsewhere' "^    4. lost:1, for 6[0-9] s, in another line, on 127.0.0.1:$(port 3)\$" "$out"
"$redlock" status --json other >"$out"
says '... as JSON' "\"waiting\": 4, \"waiters\": \[{\"holder\": \"web1:4711\", \"client\": \"aaaaaaaaaaaaaaaa\", \"waited_ms\": 7[0-9]*, \"node\": \"127.0.0.1:$(port 2)\", \"shared\": false}, {\"holder\": null, " "$out"
waits_all=$(for i in $(seq 300); do printf '1 %016x000000000000000100000000 ' "$i"; done)
# shellcheck disable=SC2086
"$cli" -p "$(port 2)" zadd 'libredlock:line:{many}' $waits_all >"$log"
"$redlock" status many >"$out"
grep -q '^  300 clients wait, ' "$out" && grep -q '^  200. no name ' "$out" && [ "$(tail -n 1 "$out")" = '       and 100 more' ]
result '... 200 of them' $? "$out"
"$redlock" status nobody >"$out"
lacks '... or nobody' wait "$out"
for i in 1 2 3; do "$cli" -p "$(port "$i")" set handed reserved px 30000; done >"$log"
status 'a lock that is handed over is nobody.s' 1 "$redlock" status handed
says '... and it says so' '^handed: just released, and kept for the next client for another [23][0-9.]* s$' "$out"
holds '... of each node' [ "$(grep -c '^  127.0.0.1:[0-9]*  *reserved  *[23][0-9.]* s ' "$out")" -eq 3 ]
"$redlock" status --json handed >"$out"
says '... as JSON' '"held": false, "foreign": false, "holder": null, "token": null, "answered": 3, "quorum": 2, "waiting": 0, "waiters": \[\], "nodes": \[{.*"held": false, "reserved": true, "latency_ms": [0-9.]*, "remaining_ms": [23]' "$out"
for i in 1 2 3; do "$cli" -p "$(port "$i")" set 'libredlock:line:{odd}' text; done >"$log"
"$redlock" status odd >"$out"
says 'a line that is none' '^  who waits is not known: ' "$out"
"$redlock" status --json odd >"$out"
says '... as JSON' '"waiting": null, "waiters": \[\]' "$out"
for i in 1 3; do "$cli" -p "$(port "$i")" hset hash field 1 >/dev/null; done
status 'a hash' 1 "$redlock" status hash
says '... is what it is' "127.0.0.1:$(port 3) *not a lock: (hash)  *for ever" "$out"
status '... and in the way' 1 "$redlock" acquire --no-wait hash
says '... which is told' \
    'not acquired: the key holds something other than this library.s lock on 2 of 3 nodes: (hash)'
sh "$nodes_sh" kill "$nodes" 3
status 'a node is down' 0 "$redlock" status k
says '... which is told' "127.0.0.1:$(port 3) *connection refused" "$out"
sh "$nodes_sh" kill "$nodes" 2
status 'two are down' 69 "$redlock" status k
says '... so nobody knows' '^k: not known, 1 of 3 nodes answer (2 needed)$' "$out"
status 'extend' 69 "$redlock" extend k "$token"
status 'release' 69 "$redlock" release --node-timeout 250ms k "$token"
sh "$nodes_sh" restart "$nodes" 2
sh "$nodes_sh" restart "$nodes" 3

# -- JSON: each line is one value --

# A small parser: strings are taken out first, then brackets must match.
cat >"$scratch/json.awk" <<'AWK'
{
    text = $0
    gsub(/"([^"\\]|\\["\\\/bfnrt]|\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f])*"/, "s", text)
    gsub(/-?[0-9]+(\.[0-9]+)?|true|false|null/, "v", text)
    gsub(/[ ]/, "", text)
    do {
        before = text
        gsub(/\[\]|\{\}|\[[sv](,[sv])*\]|\{s:[sv](,s:[sv])*\}/, "v", text)
    } while (text != before)
    if (text != "v") { print "not JSON: " $0; bad = 1 }
}
END { exit bad || NR == 0 }
AWK
json() { awk -f "$scratch/json.awk" "$1"; }
echo '{"a": [1, {"b": "\u001b"}], "c": }' >"$log"
! json "$log" >/dev/null
result 'the parser finds what is no JSON' $?

odd=$(printf 'q"\\\\\t\351\303\251')
"$redlock" acquire --json "$odd" >"$out"
json "$out" && grep -q '"status": "OK"' "$out" && grep -q '"valid_ms": [0-9]' "$out"
result 'acquire --json, of a key with quotes and broken UTF-8' $? "$out"
"$redlock" acquire --json --no-wait "$odd" >"$out" 2>/dev/null
[ $? -eq 1 ] && json "$out" && grep -q '"status": "ERR_HELD"' "$out"
result '... held' $? "$out"
token=$("$redlock" acquire j)
"$redlock" extend --json j "$token" >"$out" && json "$out" && grep -q "\"token\": \"$token\"" "$out"
result 'extend --json' $? "$out"
"$redlock" status --json j "$odd" none >"$out"
[ "$(wc -l <"$out")" -eq 3 ] && json "$out" && grep -q '"held": false' "$out"
result 'status --json: a line for each key' $? "$out"
"$redlock" release --json j "$token" >"$out" && json "$out"
result 'release --json' $? "$out"
"$redlock" doctor --json >"$out"
holds 'doctor --json' json "$out"
"$redlock" acquire k4 >/dev/null
"$redlock" run --json --no-wait k4 -- true >"$out" 2>"$err"
[ $? -eq 1 ] && json "$err" && grep -q '"event": "refused".*"ERR_HELD".*held by' "$err"
result 'run --json: why not' $? "$err"
"$redlock" run --json k3 -- echo plain >"$out" 2>"$err"
[ "$(cat "$out")" = plain ] && json "$err" && grep -q '"event": "ended".*"exit_status": 0' "$err"
result 'run --json: on stderr, since stdout is the command'"'"'s' $? "$err"

finish
