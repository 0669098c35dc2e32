#!/bin/sh
# Permits of a semaphore: run --permits and --take, the numbers that the command finds, exit statuses and
# sentences, a redlock that is killed. Arguments: REDLOCK NODES_SH
#
# Happy path: as many run as there are permits, each with its own number; one more waits, and gets the
# number of the one that ended.
# Failure modes: invalid uses (options, several keys, another K); no permit is free; the nodes are gone; a
# holder's redlock is killed, and its guard process releases.
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
start_nodes 3

# begin NAME [OPTION]...: a run of k in the background that holds until $scratch/NAME is removed, as far
# as it gets its permits; their numbers are in $scratch/NAME.slot then, and NAME_pid is set
begin() {
    begin_name=$1
    shift
    : >"$scratch/$begin_name"
    # shellcheck disable=SC2016
    start "$redlock" run --holder "$begin_name" "$@" k -- \
        sh -c 'echo "$REDLOCK_SLOT" >"$0.new"; mv "$0.new" "$0.slot"
            while [ -e "$0" ]; do sleep 0.1; done' "$scratch/$begin_name" 2>"$err.$begin_name"
    eval "${begin_name}_pid=$pid"
}
end() {
    rm "$scratch/$1"
    eval "wait \"\$$1_pid\""
}
begun() { [ -e "$scratch/$1.slot" ]; }
slot_of() { cat "$scratch/$1.slot"; }
in_use() { "$redlock" status "libredlock:slot:$1:{k}" | grep -q "held by $2 for another"; }
is_free() { ! "$redlock" status "libredlock:slot:$1:{k}" >/dev/null; }

# -- as many as there are --

begin first --permits 2
await begun first
begin second --permits 2 --json
await begun second
result 'two of two run at once' $? "$err.second"
[ "$(cat "$scratch/first.slot" "$scratch/second.slot" | sort | paste -sd, -)" = 0,1 ]
result '... with the numbers 0 and 1' $? "$scratch/first.slot"
says '--json: which one' "\"event\": \"acquired\", .*\"slots\": \[$(slot_of second)\]}" "$err.second"
holds '... and status of the slot says who' in_use "$(slot_of first)" first
status 'a third is kept out' 1 "$redlock" run --permits 2 --no-wait k -- touch "$scratch/ran"
says '... and it says why' '^redlock: k: not acquired: none of 2 permits is free, or others wait for those that are$'
status '... two at once are' 1 "$redlock" run --permits 2 --take 2 --no-wait k -- touch "$scratch/ran"
says '... and it says why' '^redlock: k: not acquired: fewer than 2 of 2 permits are free, or others wait for those that are$'
status '... by -E 42' 42 "$redlock" run --permits 2 --no-wait -E 42 k -- touch "$scratch/ran"
status '... after a while' 1 "$redlock" run --permits 2 --wait 100ms -q k -- touch "$scratch/ran"
holds 'none of these ran its command' [ ! -e "$scratch/ran" ]
status 'a lock of the same key is another thing' 0 "$redlock" run --no-wait k -- true
begin third --permits 2
comes 'who waits says so' '^redlock: k: waiting: none of 2 permits is free, or others wait for those that are$' "$err.third"
! begun third
result '... and has not begun' $?
free=$(slot_of first)
end first
await begun third
[ "$(slot_of third)" = "$free" ]
result '... until one is free: it has its number' $? "$scratch/third.slot"

# -- another number of permits --

status 'another K while permits are in use' 64 "$redlock" run --permits 3 k -- touch "$scratch/ran"
says '... and it has both numbers' '^redlock: k: not acquired: .* 2, and this lock is of 3'
status '... with --repeat, too' 64 "$redlock" run --permits 3 --repeat k -- touch "$scratch/ran"
status '... and with -E' 64 "$redlock" run --permits 3 -E 0 k -- touch "$scratch/ran"
status '... as JSON' 64 "$redlock" run --permits 3 --json k -- touch "$scratch/ran"
says '... an event' '"event": "refused", "key": "k", "status": "ERR_PERMITS", "message": ".* 2, and this lock is of 3'
end second
end third
await is_free 0 && await is_free 1
status 'when all are free another K is good' 0 "$redlock" run --permits 3 --no-wait k -- true
holds 'none of these ran its command' [ ! -e "$scratch/ran" ]

# -- several, a fence, a status --

# shellcheck disable=SC2016
print='echo "$REDLOCK_SLOT/$REDLOCK_FENCE/$REDLOCK_KEY"'
status 'three of three' 0 "$redlock" run --permits 3 --take 3 k -- sh -c "$print"
holds '... with three numbers, a space between' [ "$(tr ' ' '\n' <"$out" | cut -d/ -f1 | sort | paste -sd, -)" = 0,1,2 ]
status '--verbose' 0 "$redlock" run --permits 3 --take 3 -v k -- true
says '... says them' 'k: acquired slots [0-2] [0-2] [0-2], valid for'
status '--fence' 0 "$redlock" run --permits 3 --fence k -- sh -c "$print"
says '... has both' '^[0-2]/[1-9][0-9]*/k$' "$out"
status 'the status of the command' 3 "$redlock" run --permits 3 k -- sh -c 'exit 3'
status 'a run inside does not have the number of the one around it' 0 \
    "$redlock" run --permits 3 k -- "$redlock" run other -- sh -c "$print"
says '... its lock has none' '^//other$' "$out"

# -- what cannot be --

for k in 0 1025 -1 x; do
    status "--permits $k" 64 "$redlock" run --permits="$k" k -- true
    says '... and it says so' '\-\-permits'
done
status '--take 9' 64 "$redlock" run --permits 20 --take 9 k -- true
says '... and it says so' '\-\-take'
status 'more than there are' 64 "$redlock" run --permits 2 --take 3 k -- true
says '... and it says so' '\-\-take 3 is more than --permits 2'
status '--take alone' 64 "$redlock" run --take 2 k -- true
says '... and it says so' '\-\-take has no effect without --permits'
status '--permits with --shared' 64 "$redlock" run --permits 2 --shared k -- true
says '... and it says so' '\-\-permits and --shared exclude each other'
status '--permits with two keys' 64 "$redlock" run --permits 2 k,l -- true
says '... and it says so' '\-\-permits is for one key, and these are 2'
status '... but a comma in one is good' 0 "$redlock" run --permits 2 'k\,l' -- true
status '--permits applies to what holds' 64 "$redlock" status --permits 2 k
says '... and it says so' '\-\-permits does not apply to status'

# -- when redlock is killed --

# The ttl is far longer than a case waits: a permit that is free in time was released.
begin fourth --permits 3 --take 2 --ttl 10m --max-ttl 10m
fourth=$pid
await begun fourth
begin fifth --permits 3 --ttl 10m --max-ttl 10m
await begun fifth
kill -s KILL "$fourth"
comes 'the guard process gives up the permits of one that was killed' 'k: the lock is released' "$err.fourth"
for slot in $(slot_of fourth); do
    holds "... slot $slot" await is_free "$slot"
done
holds '... and no other' in_use "$(slot_of fifth)" fifth
status '... they can be had' 0 "$redlock" run --permits 3 --take 2 --no-wait k -- true
begin sixth --permits 3 --take 3 --ttl 10m --max-ttl 10m
sixth=$pid
await grep -q 'waiting: fewer than 3 of 3 permits are free' "$err.sixth"
end fifth
await begun sixth
kill -s KILL "$sixth"
await grep -q 'k: the lock is released' "$err.sixth" && await is_free 0 && await is_free 1 && await is_free 2
result 'so does one that was there before the grant' $? "$err.sixth"

# -- a loss --

begin seventh --permits 3 --ttl 3s --node-timeout 250ms --grace 100ms
await begun seventh
each_node kill
wait "$pid"
[ $? -eq 75 ]
result 'a holder whose nodes are gone is ended: status 75' $? "$err.seventh"
status 'and one that begins finds no quorum: status 69' 69 "$redlock" run --permits 3 --no-wait k -- true

finish
