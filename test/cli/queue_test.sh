#!/bin/sh
# redlock queue: which clients wait, in which order and where, and whether they still listen. Arguments:
# REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 5
patient

# places: the rows of `redlock queue`, a word for each: place, wants, who, and "gone"
places() {
    "$redlock" queue "$1" 2>>"$log" |
        sed -n 's/^  \([0-9-][0-9]*\)  *\([a-z0-9]*\( read\| permits\{0,1\}\)\{0,1\}\)  *[0-9.]* m\{0,1\}s  *20[0-9-]* [0-9:]*  \(.*\)$/\1 \2 \4/p' |
        tr -s ' ' | sed 's/ /-/g' | paste -s -d ' '
}
are_places() { [ "$(places "$1")" = "$2" ]; }

status 'nobody waits' 1 "$redlock" queue k
says '... it says so' '^  nobody waits$' "$out"
says '... of whom' '^k: no client holds it$' "$out"

keep_held k --holder me
holder=$pid
await "$redlock" status k
keep_held k --holder first
await are_places k '1-exclusive-first'
keep_held k --holder second
second=$pid
await are_places k '1-exclusive-first 2-exclusive-second'
keep_held k --holder reader --shared
holds 'who waits, in order, and for what' await are_places k '1-exclusive-first 2-exclusive-second --to-read-reader'
status 'somebody waits' 0 "$redlock" queue k
says '... it says where' '^  3 clients wait, in line at 127.0.0.1:[0-9]*$' "$out"
says '... and who holds it' '^k: held by me for another ' "$out"
status 'JSON' 0 "$redlock" queue --json k
says '... has places' '"waiting": 3, "home": "127.0.0.1:[0-9]*", "usual_home": "127.0.0.1:[0-9]*", .*"places": \[{"place": 1, "wants": "exclusive", "holder": "first", "client": "[0-9a-f]\{16\}", "since": "20[0-9-]*T[0-9:.]*Z", "waited_ms": [0-9]*, "node": "127.0.0.1:[0-9]*", "alive": true}, .*{"place": null, "wants": "shared", "holder": "reader", ' "$out"
home=$(sed -n 's/.*"home": "127.0.0.1:\([0-9]*\)", "usual.*/\1/p' "$out")

kill -s KILL "$second"
holds 'one that was killed is gone' await are_places k '1-exclusive-first 2-exclusive-second-gone --to-read-reader'

# Its home dies: the others move to another node, and redlock reports it.
for i in 1 2 3 4 5; do [ "$(port $i)" != "$home" ] || at=$i; done
sh "$nodes_sh" kill "$nodes" "$at"
holds 'their node dies: they stand in line at another' await are_places k '1-exclusive-first --to-read-reader'
"$redlock" queue k | tr -s ' \n' ' ' >"$out"
says '... which is said' "its home 127.0.0.1:$home cannot be reached (.*): until it is back clients that wait stand in line at 127.0.0.1:[0-9]*" "$out"
says '... and named' "2 clients wait, in line at 127.0.0.1:[0-9]*" "$out"
lacks '... another one' "in line at 127.0.0.1:$home" "$out"
kill -s TERM "$holder"
sh "$nodes_sh" restart "$nodes" "$at"

# Permits: a line of their own.
keep_held s --permits 2 --take 2 --holder all
await "$redlock" status s
keep_held s --permits 2 --holder one
await are_places s '1-1-permit-one'
keep_held s --permits 2 --take 2 --holder two
holds 'who waits for permits, and for how many' await are_places s '1-1-permit-one 2-2-permits-two'
"$redlock" queue s >"$out"
says '... which is said' '^  2 clients wait for permits, in line at ' "$out"
says '... and what is free' '^s: 2 of 2 permits held, 0 free$' "$out"

# Places of a client that is not one of ours, and of no client at all.
"$cli" -p "$(port 1)" zadd 'libredlock:line:{odd}' 1000000 "$(printf '\033[31m')" >>"$log"
"$redlock" queue odd >"$out"
says 'what is no place is shown, without its escape sequences' '^  1  *exclusive .* ?\[31m' "$out"
"$redlock" queue --json odd >"$out"
says '... and nothing is known of it' '"client": null, .*"alive": null' "$out"

for i in 1 2 3; do sh "$nodes_sh" kill "$nodes" $i; done
status 'too few nodes' 69 "$redlock" queue k
says '... says so' 'not known, [0-9] of 5 nodes answer (3 needed)' "$out"
status 'no key' 64 "$redlock" queue
says '... says so' 'queue: an argument is missing'

finish
