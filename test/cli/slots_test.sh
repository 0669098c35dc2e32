#!/bin/sh
# Permits of a semaphore for operators and scripts: what status reports about slots and the clients that
# wait for them; acquire --permits, extend and release. Arguments: REDLOCK NODES_SH
#
# Happy path: each slot with its holder, votes, time and fence; a token that begins with the slots.
# Failure modes: a lock has the same name; nodes disagree, have left-over keys, forbid reading, or are
# down; the maximum number of slots.
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 5
# acquire ends when a quorum has the slot, so 3/5 is valid, too. No permit expires while a case waits.
printf 'ttl = 10m\nmax-ttl = 1h\n' >>"$scratch/.config/redlock/redlock.conf"
ask_all() { for i in 1 2 3 4 5; do ask "$i" "$@"; done >"$log" 2>&1; }
narrow() {
    lacks "$1: 80 columns" '.\{81\}' "$out"
}

# Nodes that have the scripts run them all before acquire ends.
for option in --fence -v; do
    # shellcheck disable=SC2016
    "$redlock" run --permits 5 --take 2 $option warm -- \
        sh -c 'until "$0" status warm | grep -q "  5/5  "; do sleep 0.05; done' "$redlock" 2>"$err"
done

# -- acquire, extend, release --

status 'acquire --permits' 0 "$redlock" acquire --permits 5 --holder web1:471 s
one=$(cat "$out")
says '... prints the slot, an @ and the token' '^0@[0-9a-f]\{40\}:web1:471$' "$out"
status '... several, with a fence' 0 "$redlock" acquire --permits 5 --take 2 --fence --holder web2:472 s
says '... has them all, and the fence' '^1,2@[0-9a-f]\{40\}:web2:472 [0-9]\{16\}$' "$out"
two=$(cut -d' ' -f1 "$out") fence=$(cut -d' ' -f2 "$out")
status '... as JSON' 0 "$redlock" acquire --permits 5 --json --holder me@home s
says '... the slots are a list' '"token": "3@[0-9a-f]*:me@home", "slots": \[3\], "valid_ms"' "$out"
three=$(sed 's/.*"token": "\([^"]*\)".*/\1/' "$out")
status 'extend' 0 "$redlock" extend --permits 5 --ttl 1h s "$two"
lives() { # lives SLOT: on how many nodes it ends later than the first ttl does
    for i in 1 2 3 4 5; do ask "$i" pttl "libredlock:slot:$1:{s}"; done | awk '$1 > 600000' | wc -l
}
[ "$(lives 1)" -ge 3 ] && [ "$(lives 2)" -ge 3 ]
result '... renews what it is of' $?
[ "$(lives 0)" -eq 0 ] && [ "$(lives 3)" -eq 0 ]
result '... and no other' $?
status 'extend without --permits' 64 "$redlock" extend s "$two"
says '... says what is missing' 'extend: TOKEN is of a permit: add --permits K$'
status 'a token without its slots' 64 "$redlock" extend --permits 5 s "${two#*@}"
says '... says what is missing' 'extend: TOKEN: it names no slot; give what acquire --permits printed'
for bad in '@' ',1@' '1,@' '1024@' '0,1,2,3,4,5,6,7,8@' '1,1@' 'x@'; do
    status "slots that are none: $bad" 64 "$redlock" release s "$bad${two#*@}"
done
status 'with --shared' 64 "$redlock" release --shared s "$two"
status 'slots above K' 64 "$redlock" extend --permits 2 s "$two"
status 'another K' 64 "$redlock" acquire --permits 6 s
says '... has both numbers' ' 5, and this lock is of 6'

# -- status --

start "$redlock" run --permits 5 --take 3 --holder batch:9 s -- true
waiter=$pid
waits() { "$redlock" status s | grep -q '^  1 client waits for permits, '; }
await waits
ask_all set 'libredlock:slot:4:{s}' reserved px 600000
status 'status' 0 "$redlock" status s
says '... how many' '^s: 4 of 5 permits held, 1 reserved, 0 free (3 of 5 nodes needed)$' "$out"
says '... a slot of one' '^  0     web1:471    [345]/5    [0-9.]* min *-$' "$out"
says '... of several, with the fence' "^  2     web2:472    [345]/5    [0-9.]* min *$fence\$" "$out"
says '... one that is reserved' '^  4     reserved    [345]/5    [0-9.]* min *-$' "$out"
says '... who waits, and for how many' '^    1\. batch:9 wants 3, has waited [0-9.]* m\{0,1\}\(s\|min\)$' "$out"
says '... each node, and its number' '^  127\.0\.0\.1:[0-9]* *5  *[0-9.]* ms$' "$out"
lacks '... and nothing of a lock that is not there' '^s: free' "$out"
narrow status
status 'status --json' 0 "$redlock" status --json s
says '... the numbers' '"permits": 5, "permits_free": 0, "permits_held": 4, "slots": \[{"slot": 0, ' "$out"
says '... a slot' "{\"slot\": 2, \"held\": true, \"reserved\": false, \"holder\": \"web2:472\", \"token\": \"2@[0-9a-f]*:web2:472\", \"votes\": [345], \"remaining_ms\": [0-9]*, \"fence\": $fence}" "$out"
says '... who waits' '"permits_waiting": 1, "permits_waiters": \[{"holder": "batch:9", "client": "[0-9a-f]\{16\}", "node": "[^"]*", "take": 3, "waited_ms": [0-9]*}\]' "$out"
says '... a node' '"latency_ms": [0-9.]*, "permits": 5}' "$out"
says '... the lock of that name is another thing' '"key": "s", "held": false, ' "$out"
if command -v python3 >/dev/null; then
    python3 -m json.tool <"$out" >"$log" 2>&1
    result '... is JSON' $? "$log"
fi

status 'a lock of the same name' 0 "$redlock" acquire --holder locker s
lock=$(cat "$out")
status 'status' 0 "$redlock" status s
says '... shows the lock' '^s: held by locker for another' "$out"
says '... and the semaphore' '^s: 4 of 5 permits held' "$out"
holds '... and the nodes once' [ "$(grep -c '^  node ' "$out")" -eq 1 ]
status 'it is released' 0 "$redlock" release s "$lock"

ask_all del 'libredlock:slot:4:{s}'
status 'release: the token is enough' 0 "$redlock" release s "$two"
wait "$waiter"
result '... and who waits has the permits' $?
status '... again' 75 "$redlock" release s "$two"
status '... with --permits' 0 "$redlock" release --permits 5 s "$three"
status 'one is held' 0 "$redlock" status s
says '... says so' '^s: 1 of 5 permits held, 4 free' "$out"
status '... and released' 0 "$redlock" release s "$one"
none_held() { "$redlock" status s | grep -q '^s: 0 of 5 permits held, 5 free'; }
await none_held
status 'none is held: status 1, as free' 1 "$redlock" status s
status '... and of another name nothing is said' 1 "$redlock" status other
lacks '... of permits' permit "$out"

# -- what is odd --

for i in 1 2; do ask "$i" set 'libredlock:slot:1:{o}' "$(printf '%040d' 1):dead" px 600000; done >"$log"
ask_all set 'libredlock:slot:6:{o}' "$(printf '%040d' 2):above" px 600000
ask_all set 'libredlock:permits:{o}' 3
ask 4 set 'libredlock:permits:{o}' 7 >"$log"
status 'a quorum has one' 0 "$redlock" status o
says '... as many as most nodes say' '^o: 1 of 3 permits held, 1 without a quorum, 2 free' "$out"
says '... what a minority has' '^  1     dead        2/5    -  *-$' "$out"
says '... what is above the number' 'the number was lowered: 1 slot above it is no longer granted once free' "$out"
says '... who disagrees' "^  127.0.0.1:$(port 4) has another number of permits: 7\$" "$out"
narrow '... all that'
ask_all del 'libredlock:permits:{o}'
status 'nobody knows how many' 0 "$redlock" status o
says '... as it says' '^o: 1 permit held, 1 without a quorum (3 of 5 nodes needed)$' "$out"
says '... and why' 'no node knows how many there are: the last acquire was over a day ago' "$out"

for i in 1 2 3 4 5; do
    ask "$i" eval "redis.call('set', 'libredlock:permits:{big}', 1024)
        for i = 0, 1023 do
            redis.call('set', 'libredlock:slot:' .. i .. ':{big}', string.rep('3', 40) .. ':w' .. i, 'px', 600000)
        end" 0
done >"$log"
status 'as many as there can be' 0 "$redlock" status big
says '... are counted' '^big: 1024 of 1024 permits held, 0 free' "$out"
holds '... 200 are listed' [ "$(grep -c '^  [0-9]* *w[0-9]* *5/5 ' "$out")" -eq 200 ]
says '... and the rest is' '^  and 824 more; --json has all$' "$out"
holds '... --json has all' [ "$("$redlock" status --json big | grep -o '"slot": ' | wc -l)" -eq 1024 ]

# A user that may only use locks.
for i in 1 2 3 4 5; do
    ask "$i" acl setuser locks on '>pw' '~big' '~libredlock:line:{big}*' '~libredlock:line:shared:*' '~libredlock:config' '&*' +@all
done >"$log"
status 'a user who may not look' 1 "$redlock" status --nodes "$(sed 's|//|//locks:pw@|' "$nodes/urls" | paste -sd, -)" big
says '... sees the lock' '^big: free$' "$out"
says '... and why not the permits' '^  who holds permits is not known: permission denied by an ACL$' "$out"

for i in 1 2; do sh "$nodes_sh" kill "$nodes" "$i"; done
status 'two nodes are down' 0 "$redlock" status o
says '... they are named' "^  127.0.0.1:$(port 1) *\(connection refused\|not connected\)" "$out"
says '... and the others are enough' '^  6     above       3/5 ' "$out"
sh "$nodes_sh" kill "$nodes" 3
status 'three are' 69 "$redlock" status o
says '... and that is too few' '^o: permits are not known, 2 of 5 nodes answer (3 needed)$' "$out"

finish
