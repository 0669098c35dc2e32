#!/bin/sh
# Concurrent readers: run --shared, its exit statuses and sentences, tokens for scripts, and what status
# reports about readers and waiting clients. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
start_nodes 5

# begin NAME [OPTION]...: a run of k in the background that holds until $scratch/NAME is removed, as far
# as it gets the lock; it sets $pid and NAME_pid
begin() {
    begin_name=$1
    shift
    : >"$scratch/$begin_name"
    # shellcheck disable=SC2016
    start "$redlock" run --holder "$begin_name" "$@" k -- \
        sh -c 'echo "$1" >>"$2"; while [ -e "$0" ]; do sleep 0.1; done' "$scratch/$begin_name" \
        "$begin_name" "$served" 2>"$err.$begin_name"
    eval "${begin_name}_pid=$pid"
}
end() {
    rm "$scratch/$1"
    eval "wait \"\$$1_pid\""
}
served=$scratch/served
: >"$served"
begun() { grep -qx "$1" "$served"; }

# -- concurrent readers --

begin first --shared
await begun first
begin second --shared
await begun second
result 'two readers hold it at once' $? "$served"
status 'status: it is held' 0 "$redlock" status k
says '... by readers' '^k: held by 2 readers for another [0-9]* s, on 5 of 5 nodes (3 needed)$' "$out"
holds '... on each node' [ "$(grep -c '^  127.0.0.1:[0-9]* *readers  *[0-9]* s ' "$out")" -eq 5 ]
says '... it lists them' '^  2 clients read:$' "$out"
says '... each with its lease' '^    - first for another [0-9]* s, on 5 of 5 nodes$' "$out"
status 'status --json' 0 "$redlock" status --json k
says '... as JSON' '"held": true, "foreign": false, "holder": null, "token": null, "remaining_ms": [0-9]*,' "$out"
says '... who reads' '"shared": true, "reading": 2, "readers": \[{"holder": "\(first\|second\)", "token": "[0-9a-f]\{40\}:\(first\|second\)", "votes": 5, "remaining_ms": [0-9]*}, ' "$out"
says '... of a node' '"held": true, "reserved": false, .*, "shared": true}\]' "$out"

status 'a writer is kept out' 1 "$redlock" run --no-wait k -- touch "$scratch/ran"
says '... and it says by whom' '^redlock: k: not acquired: held by readers for another [0-9]* s$'
status '... by -E 42' 42 "$redlock" acquire --no-wait -E 42 k
status 'one more reader is not' 0 "$redlock" run --shared --no-wait k -- true
holds 'no writer ran its command' [ ! -e "$scratch/ran" ]

# -- writers and readers take turns --

begin writer
waits() { "$redlock" status k | grep -q -e "$1"; }
await waits '^    1\. writer, for '
result 'status lists a writer that waits' $? "$err.writer"
comes '... which says for whom it waits' '^redlock: k: waiting: held by readers for another' "$err.writer"
begin third --shared
await waits '^    - third, for '
result 'a reader that comes later waits behind it' $? "$err.third"
comes '... and says why' '^redlock: k: waiting: held by readers for another .*; a writer is next$' "$err.third"
! begun third && ! begun writer
result '... it has not begun' $? "$served"
"$redlock" status k >"$out"
says 'status has both lists' '^  1 client waits, the next one first:$' "$out"
says '... of readers, too' '^  1 client waits to read:$' "$out"
"$redlock" status --json k >"$out"
says '... as JSON' '"waiting": 2, "waiters": \[{"holder": "writer", .*"shared": false}, {"holder": "third", .*"shared": true}\]' "$out"
end first
end second
await begun writer
! begun third
result 'the writer follows the last reader, the later reader does not' $? "$served"
status 'status names the writer' 0 "$redlock" status k
says '... as ever' '^k: held by writer for another' "$out"
status 'a reader is kept out by a writer' 1 "$redlock" run --shared --no-wait k -- true
says '... and it says by whom' 'k: not acquired: held by writer for another [0-9]* s$'
begin fourth --shared
await waits '^    - fourth, for '
end writer
await begun third && await begun fourth
result 'both readers follow the writer together' $? "$served"
end third
end fourth
[ "$(sed -n 3p "$served")" = writer ]
result 'that was the order' $? "$served"
is_free() { ! "$redlock" status k >/dev/null; }
holds 'free again' await is_free

# -- a fence, a loss --

# shellcheck disable=SC2016
print_fence='echo "$REDLOCK_FENCE"'
status 'a fence of a writer' 0 "$redlock" run --fence f -- sh -c "$print_fence"
writers=$(cat "$out")
status '... of a reader' 0 "$redlock" run --shared --fence f -- sh -c "$print_fence"
holds '... is not below that of the writer before it' [ "$(cat "$out")" -ge "$writers" ]
status '... of the next writer' 0 "$redlock" run --fence f -- sh -c "$print_fence"
holds '... which is above both' [ "$(cat "$out")" -gt "$writers" ]
status 'its own status' 3 "$redlock" run --shared k -- sh -c 'exit 3'
begin fifth --shared --ttl 3s --node-timeout 250ms --grace 100ms
await begun fifth
each_node kill
wait "$pid"
[ $? -eq 75 ]
result 'a reader whose nodes are gone is ended: status 75' $? "$err.fifth"
each_node restart
await sh -c "'$redlock' run --no-wait --shared up -- true"

# -- when redlock is killed --

begin sixth --shared --ttl 30s
sixth=$pid
await begun sixth
begin seventh --shared --ttl 30s
await begun seventh
kill -s KILL "$pid"
one_reads() { [ "$("$redlock" status --json k | sed 's/.*"reading": \([0-9]*\).*/\1/')" -eq 1 ]; }
await one_reads
result 'the guard process gives up the lease of one that was killed' $? "$err.seventh"
comes '... and says so' 'k: the lock is released' "$err.seventh"
holds '... of no other reader' runs "$sixth"
end sixth

# -- scripts --

status 'acquire --shared' 0 "$redlock" acquire --shared s
one=$(cat "$out")
status '... and another' 0 "$redlock" acquire --shared --holder two s
two=$(cat "$out")
status 'extend it' 0 "$redlock" extend --shared --ttl 20s s "$one"
status 'a writer waits for both' 1 "$redlock" acquire --no-wait s
status 'release one' 0 "$redlock" release --shared s "$one"
status '... which is not held any more' 75 "$redlock" extend --shared s "$one"
status '... and cannot be released' 75 "$redlock" release --shared s "$one"
status 'as a writer the other cannot be extended' 75 "$redlock" extend s "$two"
status 'it still reads' 1 "$redlock" acquire --no-wait s
says '... as it says' 's: not acquired: held by readers for another'
status 'it can be released: its token is enough' 0 "$redlock" release s "$two"
status 'free' 0 "$redlock" run --no-wait s -- true
status '--shared applies to what holds' 64 "$redlock" status --shared s
says '... and it says so' '\-\-shared does not apply to status'

# -- a lock of another library --

plain() { # plain VALUE: on how many nodes SET NX sets it
    for i in 1 2 3 4 5; do "$cli" -p "$(port $i)" set p "$1" nx px 60000; done | grep -c OK
}
reading=$("$redlock" acquire --shared p)
await sh -c "'$redlock' status p | grep -q 'on 5 of 5 nodes (3'" # a quorum is enough for acquire
holds 'SET NX is refused while somebody reads' [ "$(plain theirs)" -eq 0 ]
"$redlock" release --shared p "$reading"
has_plain() {
    plain theirs >"$log"
    for i in 1 2 3 4 5; do [ "$("$cli" -p "$(port $i)" get p)" = theirs ] || return 1; done
}
await has_plain # where it was reserved, a moment later
result '... and not when nobody does' $? "$log"
status 'a reader is refused by such a key' 1 "$redlock" run --shared --no-wait p -- true
says '... and it says by whose' "p: not acquired: held by another library.s client (value \"theirs\") for another"
holds '... which it leaves alone' [ "$("$cli" -p "$(port 1)" get p)" = theirs ]

# -- left-overs --

for i in 1 2; do
    "$cli" -p "$(port $i)" eval "local t = redis.call('time')
        redis.call('zadd', 'libredlock:readers:{r}', t[1] * 1000 + 60000, '$(printf '%040d' 1):dead')
        return redis.call('set', 'r', 'redlock:shared', 'px', 60000)" 0 >"$log"
done
status 'a reader without a quorum holds nothing' 1 "$redlock" status r
says '... but keys are left' '^r: no client has a quorum; keys are left on 2 of 5 nodes$' "$out"
says '... of it' '^    - dead on 2 of 5 nodes: no quorum$' "$out"

finish
