#!/bin/sh
# Commands that read the nodes, with two sets: ls, metrics, doctor, status and kick find all nodes from any of
# them, and count the majority of a lock's set.
# Arguments: REDLOCK NODES_SH
# Lists of nodes are words.
# shellcheck disable=SC2046,SC2086
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/set.sh
. "$(dirname "$0")/set.sh"

make_ttl=1s
make 1 2 3
"$redlock" set add-set --yes b $(list 4 5 6) >>"$log" 2>&1
holds 'there are two sets' sets_are 'first 1 2 3' 'b 4 5 6'

# Each key is on all nodes, so that the nodes of one set hold the lock, and the keys on the others are strays. No key
# expires during the test, however slow the machine is.
held='h1 h2 h3 h4 h5 h6 h7 h8'
token=0123456789012345678901234567890123456789
for i in $held doomed; do
    for j in 1 2 3 4 5 6; do ask $j set $i "$token:web:1" px 10000000 >/dev/null; done
done
ask 1 set left $token px 10000000 >/dev/null
ask 4 set left $token px 10000000 >/dev/null
names() { for names_i in "$@"; do echo "127.0.0.1:$(port "$names_i")"; done | sort | tr '\n' ' '; }
first=$(names 1 2 3) b=$(names 4 5 6)

use 5
status 'ls, by way of one node' 0 "$redlock" ls
holds '... counts the votes of a set' [ "$(grep -cE '^(h[1-8]|doomed)  *(first|b)  *exclusive  *web:1  *3/3 ' "$out")" = 9 ]
says '... reads the nodes of both' '; read 6 of 6 nodes, ' "$out"
says '... a key without a quorum has one vote of the set' '^left  *[a-z]*  *exclusive  *no name  *1/3 ' "$out"
says '... the other one is astray' "^left: \\(127.0.0.1:$(port 1)\\|127.0.0.1:$(port 4)\\)\$" "$out"
"$redlock" ls --json >"$out" 2>"$err"
says '... --json has the set of a node' "\"node\": \"127.0.0.1:$(port 2)\".*\"member\": true, \"set\": \"first\"}\$" "$out"
for i in $held; do # the library's word and that of ls are two
    set=$(sed -n "s/^{\"kind\": \"lock\", \"key\": \"$i\".*\"nodes\": 3, \"quorum\": 2, .*\"set\": \"\\([a-z]*\\)\", .*/\\1/p" "$out")
    asked=$("$redlock" status --json "$i" | tr '{' '\n' | sed -n 's/^"node": "\([^"]*\)".*/\1/p' | sort | tr '\n' ' ')
    strays=$(sed -n "s/^.*\"key\": \"$i\".*\"strays\": \[\([^]]*\)\].*/\1/p" "$out" | tr -d '",' | tr ' ' '\n' | sort | tr '\n' ' ')
    case $set in first) wanted=$first astray=$b ;; *) wanted=$b astray=$first ;; esac
    [ "$asked" = "$wanted" ] || echo "$i is in $set, and status asks $asked"
    [ "$strays" = "$astray" ] || echo "$i: astray at $strays, not $astray"
done >"$err"
holds '... and of a lock, as status has it, and what is astray' [ ! -s "$err" ]
status 'metrics' 0 "$redlock" metrics
says '... counts the locks of both' '^redlock_locks{state="held"} 9$' "$out"
says '... the nodes' '^redlock_nodes 6$' "$out"
says '... and what a set needs' '^redlock_quorum 2$' "$out"
says '... and has all nodes' "^redlock_node_up{node=\"127.0.0.1:$(port 1)\"} 1" "$out"
"$redlock" doctor >"$out" 2>"$err"
says 'doctor judges each set' '^ok  *number  *set first: an odd number: 1 may fail' "$out"
says '... by its own majority' '^[a-z]*  *quorum  *set b: .* 2 are needed' "$out"
says '... and says which node is in which' "^127.0.0.1:$(port 3)  *first " "$out"
for begin in '5' '1 2 3' '1 2 3 4 5 6'; do
    use $begin
    "$redlock" status $held >"$out" 2>"$err" || echo "with nodes $begin: status $?" >>"$out"
    [ "$(grep -c '^h[1-8]: held by .*, on 3 of 3 nodes (2 needed)$' "$out")" = 8 ] && [ "$(grep -c '^  127' "$out")" = 24 ]
    result "status asks the nodes of the key's set, by way of nodes $begin" $? "$out"
done
use 5
status 'kick counts them, too' 0 "$redlock" kick --yes --reason test doomed
says '... and their notes' '^  127.0.0.1:[0-9]*  *deleted  *noted$' "$out"
use 1
"$redlock" status doomed >"$out" 2>"$err"
says '... which any node has' 'was kicked by' "$out"
status 'a release of what is gone' 75 "$redlock" release doomed $token
status 'a ttl above that of the configuration' 64 "$redlock" run --json --ttl 30s w1 -- true
says '... and the event says so' '"event": "refused", "key": "w1", "status": "ERR_INVALID", "message": "ttl_ms is 30000, ' "$err"

# Each of these keys is in one set or in the other.
for i in 4 5 6; do sh "$nodes_sh" kill "$nodes" $i; done
for i in w1 w2 w3 w4 w5 w6 w7 w8; do "$redlock" acquire --json --ttl 1s --wait 1s $i 2>&1; done >"$out"
says 'a set is down: who waits for its locks counts its nodes' '"event": "waiting".*"nodes_voting": 0, "quorum": 2' "$out"
result '... and who waits for nodes waits for these' "$(! grep '"event": "waiting"' "$out" | grep -qv '"nodes_voting": 0'; echo $?)" "$out"

finish
