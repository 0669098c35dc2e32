#!/bin/sh
# redlock set add-set and remove-set: one set becomes three, and one again, under held locks and waiters.
# Arguments: REDLOCK NODES_SH
# Lists of nodes are words.
# shellcheck disable=SC2046,SC2086
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/set.sh
. "$(dirname "$0")/set.sh"

# -- What is refused --

make_ttl=4s load_ttl=3800ms ttl='--ttl 3800ms --max-ttl 4s'
make 1 2 3
status 'add-set without nodes' 64 "$redlock" set add-set --yes b
says '... says what is needed' 'redlock set add-set NAME URL..., 1 to 7 nodes'
status 'a bad name' 64 "$redlock" set add-set --yes 'a b' "$(url 4)"
says '... says which are good' '"a b" is no name of a set: 1 to 32 letters, digits'
status 'the name of the first set' 64 "$redlock" set add-set --yes first "$(url 4)"
says '... says that it will be that' '"first" is the set that there is, from then on'
status 'a node that the set has' 64 "$redlock" set add-set --yes b "$(url 4)" "localhost:$(port 2)"
says '... says so' "$(url 2) is a node of the set"
status 'a node twice' 64 "$redlock" set add-set --yes b "$(url 4)" "$(url 4)"
status 'a node that is down' 69 "$redlock" set add-set --yes b "$(url 4)" 127.0.0.1:1
status 'remove-set of the only one' 64 "$redlock" set remove-set --yes first
says '... says so' 'there is only one set'
[ -z "$(text 4)" ] && [ "$(epoch)" = 1 ]
result 'nothing of that was done' $?
status 'a dry run' 0 "$redlock" set add-set --dry-run b $(list 4 5 6)
says '... says who comes, and into which set' "^  comes   $(url 4)  b\$" "$out"
says '... and who stays' "^  stays   $(url 1)  first\$" "$out"
says '... and what a lock needs' 'a majority of its old set and one of its new set' "$out"
[ -z "$(text 4)" ] && [ "$(epoch)" = 1 ]
result '... and does nothing' $?

# -- Under load --

held='h1 h2 h3 h4 h5 h6'
begin_load -q r1 r1 r2 r3
begin_load --fence r2
for i in $held; do
    "$redlock" run $ttl $i -- sh -c 'exec sleep 3000' 2>"$err.$i" &
    left="$left $!"
    eval "pid_$i=$!"
done
on_all() { for on_i in 1 2 3; do [ "$(ask $on_i exists "$1")" = 1 ] || return 1; done; }
for i in $held; do await on_all $i; done
for i in h1 h2 h3; do # they wait through all changes
    "$redlock" run -q $ttl --wait 1000s $i -- touch "$scratch/got.$i" 2>>"$log" &
    left="$left $!"
done
fenced='f1 f2 f3 f4 f5 f6'
for i in $fenced; do
    for j in 1 2; do ask $j set libredlock:fence:$i 7000000000000000 px 1000000 >/dev/null; done
    for j in 2 3; do ask $j set "libredlock:permits:{$i}" 3 px 1000000 >/dev/null; done
done
await [ -s "$scratch/grants" ]

# placed "I..."...: the fences of new locks, which outlive them, are each on all nodes of one of these sets, and on no
# other; each set gets some
placed_calls=0
placed() {
    placed_calls=$((placed_calls + 1))
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        "$redlock" acquire -q --fence $ttl --wait 20s "n$placed_calls-$i" >/dev/null 2>>"$log"
    done
    await are_placed "$@" || return 1
    for placed_set in "$@"; do grep -qx "$placed_set" "$scratch/placed" || return 1; done
}
are_placed() {
    # Turns lines of a name and a node into the nodes of each name.
    for i in 1 2 3 4 5 6 7 8 9 10; do ask $i --raw keys "libredlock:fence:n$placed_calls-*" | sed "s/\$/ $i/"; done |
        awk 'NF == 2 { on[$1] = on[$1] (on[$1] ? " " : "") $2 } END { for (i in on) print on[i] }' >"$scratch/placed"
    [ "$(wc -l <"$scratch/placed")" -eq 12 ] || return 1
    while read -r are_placed_on; do
        for are_placed_set in "$@"; do [ "$are_placed_on" != "$are_placed_set" ] || continue 2; done
        return 1
    done <"$scratch/placed"
}

status 'one set to two' 0 "$redlock" set add-set --yes b $(list 4 5 6)
says '... both majorities first' '^epoch 2, old and new nodes: on 6 of 6$' "$out"
holds '... all nodes have both' sets_are 'first 1 2 3' 'b 4 5 6'
holds '... and a lock is on the nodes of one' placed '1 2 3' '4 5 6'
agrees
says '... show has them' "^members b $(url 4) $(url 5)" "$out"
says '... and the set of a node' "^  127.0.0.1:$(port 4) .* stable .* -  *b\$" "$out"
status 'resize without a name' 64 "$redlock" set resize --yes $(list 1 2)
says '... says that it is needed' 'is no set; there are several: first, b'
status 'resize to a node of the other set' 64 "$redlock" set resize --yes first $(list 1 4)
says '... says so' "$(url 4) is a node of set b"
status 'the same name again' 64 "$redlock" set add-set --yes b "$(url 7)"
status 'no such set' 64 "$redlock" set remove-set --yes c
says '... says which there are' 'remove-set: "c" is no set; there are several: first, b'
status 'the same nodes' 0 "$redlock" set resize --yes b $(list 6 5 4)
says '... need no change' 'the set has these nodes already'

status 'two sets to three, with JSON' 0 "$redlock" set add-set --json --yes c $(list 7 8 9)
says '... which has the sets' "^{\"command\": \"add-set\", \"exit_status\": 0, .*\"sets\": \[.*{\"name\": \"c\", \"nodes\": \[\"$(url 7)\", .*\"step\": \"joint\"" "$out"
holds '... a lock is on the nodes of one' placed '1 2 3' '4 5 6' '7 8 9'
status 'a node of one is replaced' 0 "$redlock" set replace --yes "$(url 5)" "$(url 10)"
holds '... in its set' sets_are 'first 1 2 3' 'b 4 6 10' 'c 7 8 9'
status 'one is resized' 0 "$redlock" set resize --yes c $(list 7 8 9 5)
holds '... and it alone' sets_are 'first 1 2 3' 'b 4 6 10' 'c 7 8 9 5'
keys=$(for i in $fenced; do echo "libredlock:fence:$i libredlock:permits:{$i}"; done)
for j in 1 2 3 4 5 6 7 8 9 10; do
    ask $j --raw mget $keys | paste - - | awk -F'\t' -v j=$j '$1 == "7000000000000000" && $2 == 3 { print "f" NR, j }'
done >"$scratch/fenced"
for i in $fenced; do
    for set in '1 2 3' '4 6 10' '7 8 9 5'; do
        with=0 n=0
        for j in $set; do
            n=$((n + 1))
            ! grep -qx "$i $j" "$scratch/fenced" || with=$((with + 1))
        done
        [ $with -lt $n ] || break
    done
    [ $with -eq $n ] || { [ "$set" = '7 8 9 5' ] && ask 1 exists libredlock:fence:$i | grep -q 1; } || echo "$i is on no set"
    "$redlock" acquire --fence $ttl --wait 5s $i 2>>"$log" | grep -q ' 70000000[0-9]*$' || echo "$i: a smaller fence"
done >"$out"
holds 'fences and permits have come along' [ ! -s "$out" ]
status 'the first one is removed' 0 "$redlock" set remove-set --yes first
holds '... the others are left' sets_are 'b 4 6 10' 'c 7 8 9 5'
status 'and another one' 0 "$redlock" set remove-set --yes b
holds '... one is left' sets_are 'c 7 8 9 5'
holds '... which gets all locks' placed '5 7 8 9'
use 1 2 3
status 'what is held is not granted, by way of nodes that have left' 1 "$redlock" acquire $ttl --no-wait h1
load_goes_on 15
for i in $held; do
    eval "pid=\$pid_$i"
    { runs "$pid" && ! grep -q lost "$err.$i"; } || { echo "$i is lost"; cat "$err.$i"; }
    [ ! -e "$scratch/got.$i" ] || echo "$i was granted twice"
done >"$out"
holds 'what was held through six changes was never lost' [ ! -s "$out" ]
end_load
for i in h1 h2 h3; do
    eval "kill -s TERM \$pid_$i"
    await [ -e "$scratch/got.$i" ] || echo "$i"
done >"$out"
holds '... and those who waited all the time get it then' [ ! -s "$out" ]
for i in h4 h5 h6; do eval "kill -s TERM \$pid_$i"; done

finish
