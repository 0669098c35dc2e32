#!/bin/sh
# redlock kick: it takes a lock from its holder, which notices this like any loss, and stores a note.
# Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 5
patient

# hold KEY OPTION...: `run` in the background, which says what happens in $err.KEY.HOLDER; sets $pid
hold() {
    hold_key=$1 hold_name=$2
    shift 2
    start "$redlock" run --ttl 3s --node-timeout 500ms --holder "$hold_name" "$@" "$hold_key" -- sleep 1000 2>"$err.$hold_key.$hold_name"
}
has() { "$redlock" status "$1" | grep -q -e "$2"; }

# -- What it does not do --

status 'no reason' 64 "$redlock" kick --yes k
says '... says what it is for' 'kick: why? --reason TEXT is noted'
status 'no terminal, no --yes' 64 "$redlock" kick --reason x k
says '... says the remedy' 'no terminal to ask on; give --yes'
status 'an empty reason' 64 "$redlock" kick --yes --reason '  ' k
status 'a reason in two lines' 64 "$redlock" kick --yes --reason "a$(printf '\nb')" k
says '... says so' 'reason: it has a control character'
status 'a reason that is no UTF-8' 64 "$redlock" kick --yes --reason "$(printf 'a\377')" k
says '... says so' 'reason: it is not UTF-8'
status 'a reason that is too long' 64 "$redlock" kick --yes --reason "$(printf '%201s' x)" k
says '... says so' 'reason: it is longer than 200 bytes'
status 'two locks' 64 "$redlock" kick --yes --reason x k,l
says '... says so' 'one lock at a time'
status 'two choices' 64 "$redlock" kick --yes --reason x --slot 1 --token 1 k
status 'nobody holds it' 1 "$redlock" kick --yes --reason x k
says '... says so' 'k: nobody holds it'
holds '... and nothing is noted' [ "$("$cli" -p "$(port 1)" dbsize)" = 0 ]

"$redlock" acquire --ttl 30s kept >"$log"
for i in 1 2 3 4 5; do ask $i client pause 60000 write >"$log"; done
start "$redlock" kick -v --yes --reason x kept 2>"$err"
await grep -q '5 of 5 nodes up' "$err"
kill -s TERM "$pid"
for i in 1 2 3 4 5; do ask $i client unpause >"$log"; done
wait "$pid"
[ $? -eq 143 ] && has kept 'on 5 of 5 nodes'
result 'SIGTERM while it looks: nothing is kicked' $? "$err"

# -- A lock --

hold k one
one=$pid
await has k 'held by one '
hold k two
await has k '1\. two, for'
status 'it is kicked' 0 "$redlock" kick --yes --reason 'its machine burnt, söll' k
says '... it said first what that means' 'finds out at its next renewal'
says '... and who is next' 'next in line is two'
says '... then what became of it' '^k: one was kicked; next in line was two$' "$out"
holds '... on each node' [ "$(grep -c '^  127.0.0.1:[0-9]*  *deleted  *noted$' "$out")" -eq 5 ]
holds 'who waited has it' await has k 'held by two '
wait "$one"
[ $? -eq 75 ]
result 'the command of who was kicked is terminated, status 75' $? "$err.k.one"
says '... as for any loss' '^redlock: k: the lock was lost: .*the token is gone.*; the command is terminated$' "$err.k.one"
says '... and says why' '^redlock: k: one was kicked by [^ ]*@[^ ]* at 20[0-9: -]*: its machine burnt, söll$' "$err.k.one"
"$redlock" status k >"$out"
says 'status shows it' '^  one was kicked by .*: its machine burnt, söll$' "$out"
"$redlock" status --json k >"$out"
says '... as JSON' '"kicks": \[{"kicked_at": "20[0-9-]*T[0-9:.]*Z", "by": "[^"]*@[^"]*", "what": "lock", "holder": "one", "token": "[0-9a-f]\{40\}", "reason": "its machine burnt, söll"}\]}' "$out"
says '... and the lock as before' '"holder": "two"' "$out"

# The note, byte by byte: any party with access to the nodes may read it.
"$cli" -p "$(port 1)" zrange 'libredlock:kicks:{k}' 0 -1 withscores >"$out"
says 'the note is a line' '^1 [0-9]\{13\} [^ ]*@[^ ]* lock [0-9a-f]\{40\} one its machine burnt, söll$' "$out"
holds '... with its time as the score' [ "$(sed -n 's/^1 \([0-9]*\) .*/\1/p' "$out")" = "$(sed -n 2p "$out")" ]
life=$("$cli" -p "$(port 1)" pttl 'libredlock:kicks:{k}')
[ "$life" -gt 86000000 ] && [ "$life" -le 86400000 ]
result '... for a day' $?

# Data of other programs is not a note.
for text in '1 1 a@b lock - - ' '1 x a@b lock - - why' '2 99999999999999 a@b lock - - why' "1 9999999999999 a@b lock - - $(printf '\033[2J')" '1 9999999999999 a@b slot:x - - why' nothing; do
    "$cli" -p "$(port 2)" zadd 'libredlock:kicks:{k}' 5 "$text" >>"$log"
done
"$redlock" status k >"$out"
holds '... and is not shown' [ "$(grep -c 'was kicked' "$out")" -eq 1 ]
await has k 'held by two '
for i in 1 2 3 4 5 6; do
    "$redlock" kick --yes --json --reason "again $i" k >"$out" 2>"$err" || break
    "$redlock" acquire --holder "three$i" --ttl 20s --wait 10s k >>"$log" 2>&1
done
says 'JSON' '^{"key": "k", "status": "OK", "kicked_at": .*"holder": "three5", .*"reason": "again 6", "count": 1, "next": null, "nodes": \[{"node": "127.0.0.1:[0-9]*", "deleted": true, "status": "OK", "noted": true}' "$out"
"$redlock" status k | sed -n 's/.*was kicked by .*: again //p' | paste -s -d ' ' >"$out"
says 'the last five are kept, the last first' '^6 5 4 3 2$' "$out"

# -- Readers --

hold r a --shared
a=$pid
hold r b --shared
hold r c --shared
await has r '3 clients read'
token=$("$redlock" status --json r | grep -o '"holder": "a", "token": "[^"]*"' | sed 's/.*token": "\(.*\)"/\1/')
status 'one reader, by its token' 0 "$redlock" kick --yes --reason x --token "$token" r
says '... who is named' '^r: a was kicked$' "$out"
holds '... and no other' has r '2 clients read'
wait "$a"
[ $? -eq 75 ]
result '... its command is terminated' $? "$err.r.a"
status 'the same again' 75 "$redlock" kick --yes --reason x --token "$token" r
says '... says that it is gone' 'nobody holds it by this token any more'
status 'all readers' 0 "$redlock" kick --yes --reason 'all of them' r
says '... says how many' '^r: 2 readers were kicked$' "$out"
comes '... who says so' 'every reader was kicked by .*: all of them$' "$err.r.b"
status '... and it is free' 1 "$redlock" status r

# -- Permits --

hold s x --permits 3 --take 2
x=$pid
hold s y --permits 3
await has s '3 of 3 permits held'
status 'a semaphore, and no slot' 64 "$redlock" kick --yes --reason x s
says '... says which there are' 's is a semaphore: say which slot, by --slot; in use are: 0, 1, 2'
slot=$("$redlock" status s | sed -n 's/^  \([0-9]\) *x .*/\1/p' | head -n 1)
status 'a slot' 0 "$redlock" kick --yes --reason 'one slot' --slot "$slot" s
says '... who had it' "^s: x (slot $slot) was kicked\$" "$out"
wait "$x"
[ $? -eq 75 ]
result '... and holds none of its permits any more' $? "$err.s.x"
holds '... the other one does' await has s '1 of 3 permits held'
status 'a slot that is free' 1 "$redlock" kick --yes --reason x --slot "$slot" s
says '... says so' "s: nobody has slot $slot; in use are: "

# -- Left-overs, and what is not ours --

one=0123456789012345678901234567890123456789
"$cli" -p "$(port 1)" set left "$one:gone" px 60000 >>"$log"
"$cli" -p "$(port 2)" set left "another library's" px 60000 >>"$log"
status 'what nobody holds' 0 "$redlock" kick --yes --reason x left
says '... says so' 'left: no client has a quorum; what is left of gone is deleted'
holds '... is deleted, and nothing else' [ "$("$cli" -p "$(port 1)" exists left)$("$cli" -p "$(port 2)" exists left)" = 01 ]
for i in 1 2 3; do "$cli" -p "$(port $i)" set left "another library's" px 60000; done >>"$log"
status "another library's lock" 64 "$redlock" kick --yes --reason x left
says '... says what to do' "left: held by another library's client .*\"Taking a lock away\""

# -- Nodes that do not answer --

"$redlock" acquire --ttl 29s --holder lost d >>"$log"
sh "$nodes_sh" kill "$nodes" 1
sh "$nodes_sh" kill "$nodes" 2
status 'two nodes are down' 0 "$redlock" kick --yes --reason x d
says '... they are named' "^  127.0.0.1:$(port 1)  *connection refused.*not noted: " "$out"
"$redlock" acquire --ttl 29s --holder lost --wait 10s e >>"$log"
sh "$nodes_sh" kill "$nodes" 3
status 'three nodes are down' 69 "$redlock" kick --yes --reason x e
says '... it says that the holder may keep it' 'only 2 of 5 nodes answer (3 needed): .* may hold it by the others'
says '... and what to do' '^e: not known whether what is left of lost was kicked: .* Kick again when' "$out"

# -- On a terminal --

if ! command -v script >/dev/null; then
    skip 'the question' 'script is not installed'
    finish
    exit
fi
for i in 1 2 3; do sh "$nodes_sh" restart "$nodes" $i; done
# answer KEY WORD [COMMAND...]: answers WORD, after COMMAND
answer() {
    answer_key=$1 answer_word=$2
    shift 2
    : >"$scratch/screen"
    (await grep -q 'y/N' "$scratch/screen" && { [ $# -eq 0 ] || "$@" >>"$log" 2>&1; } &&
        printf '%s\n' "$answer_word" && sleep 1) |
        script -qefc "$redlock kick --reason asked $answer_key; status=\$?
            cat /proc/self/fdinfo/0; exit \$status" "$scratch/screen" >/dev/null 2>&1
}
"$redlock" acquire --ttl 29s --holder asked t >>"$log"
answer t n
[ $? -eq 1 ]
result 'on a terminal it asks; no' $? "$scratch/screen"
says '... and asks of whom' 'Kick asked from t? \[y/N\]' "$scratch/screen"
grep -q '^flags:' "$scratch/screen" && ! grep -Eq '^flags:.*[4-7][0-7]{3}.?$' "$scratch/screen"
result '... and leaves the terminal without O_NONBLOCK' $? "$scratch/screen"
has t 'held by asked'
result '... nothing was done' $? "$scratch/screen"
answer t y
result 'yes' $? "$scratch/screen"
says '... it is kicked' 't: asked was kicked' "$scratch/screen"

# While it asks, another client gets the lock: that one keeps it.
token=$("$redlock" acquire --ttl 29s --holder first u)
goes_on() { "$redlock" release u "$token" && "$redlock" acquire --ttl 29s --holder second u; }
answer u y goes_on
[ $? -eq 75 ]
result 'whoever came between is not kicked: status 75' $? "$scratch/screen"
says '... it says so' 'u: first did not hold it any more: nothing was kicked' "$scratch/screen"
has u 'held by second' && ! has u kicked
result '... holds it on, and nothing is noted' $? "$scratch/screen"

finish
