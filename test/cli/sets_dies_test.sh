#!/bin/sh
# redlock set add-set and remove-set: administrators die at each step, or run concurrently; rival changes
# of several sets. Arguments: REDLOCK NODES_SH
# Lists of nodes are words.
# shellcheck disable=SC2046,SC2086
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/set.sh
. "$(dirname "$0")/set.sh"

make_ttl=1s
# died PATTERN WORD...: redlock set WORD... is killed when a line of its output matches
died() {
    died_at=$1
    shift
    rm -f "$scratch/died"
    "$redlock" set "$@" --yes >"$scratch/died" 2>&1 &
    died_pid=$!
    await grep -q "$died_at" "$scratch/died"
    kill -s KILL "$died_pid"
    wait "$died_pid" 2>/dev/null
}
two() {
    make 1 2 3 && "$redlock" set add-set --yes b $(list 4 5 6) >>"$log" 2>&1
    two_id=$(text 1 | sed -n 's/^id //p') two_max=$(text 1 | sed -n 's/^max_ttl //p')
}
for step in '^epoch [24], old' '^carried' '^waits' '^waited' '^decided'; do
    make 1 2 3
    died "$step" add-set b $(list 4 5 6)
    status "add-set, killed at $step: resume" 0 "$redlock" set resume
    holds '... there are two sets' sets_are 'first 1 2 3' 'b 4 5 6'
    died "$step" remove-set first
    "$redlock" set abort >"$out" 2>"$err"
    case $? in
        0) sets_are 'first 1 2 3' 'b 4 5 6' || sets_are 'b 4 5 6' ;; # the change had ended already
        *) sets_are 'b 4 5 6' ;;
    esac
    result "remove-set, killed at $step: abort leads to one end" $? "$err"
done

# put CHANGE LINE... -- I...: the joint text of an administrator that has died, of epoch 4
put() {
    put_text=$(printf 'libredlock-config 1\nid %s\nepoch 4\nchange %s\nmax_ttl %s' "$two_id" "$1" "$two_max")
    shift
    while [ "$1" != -- ]; do
        put_text="$put_text
$1"
        shift
    done
    shift
    for put_i in "$@"; do
        ask "$put_i" set libredlock:config "$put_text
self $(url "$put_i")
" >>"$log"
    done
}
old_a="old first $(list 1 2 3)" old_b="old b $(list 4 5 6)"
new_a="set first $(list 1 2 3)" new_b="set b $(list 4 5 6)"
two
put c0ffee00 "$old_a" "$old_b" "$new_a" "$new_b" "set c $(list 7 8 9)" -- 1 4 5 6 7 8 9
put c0ffee01 "$old_a" "$old_b" "$new_b" -- 2 3
status 'two rival changes, of which each has one set' 69 "$redlock" set resume
says '... stop each other' 'has another text'
put c0ffee01 "$old_a" "$old_b" "$new_b" -- 4 5
status '... the one that has both' 0 "$redlock" set resume
holds '... is done' sets_are 'b 4 5 6'
two
put c0ffee00 "$old_a" "$old_b" "$new_a" "$new_b" "set c $(list 7 8 9)" -- 1 2 3 4 5 6 7 8 9
for i in 1 2 3 4; do ask $i set libredlock:config:vote 'c0ffee00 done' >/dev/null; done
for i in 5 6; do ask $i set libredlock:config:vote 'c0ffee00 back' >/dev/null; done
status 'one set votes done, and one back: resume' 1 "$redlock" set resume
says '... goes back' '^decided: back$' "$out"
holds '... and agrees' sets_are 'first 1 2 3' 'b 4 5 6'
two
for i in 5 6; do sh "$nodes_sh" pause "$nodes" $i; done
status 'one of two sets is down: add-set' 69 "$redlock" set add-set --yes c $(list 7 8 9)
says '... is refused' 'a majority of the old and one of the new nodes are needed, of each set'
holds '... and does nothing' [ -z "$(text 7)" ]
"$redlock" doctor >"$out" 2>"$err"
says '... doctor says which set lacks nodes' '^error  *quorum  *set b: [01] of 3 nodes are usable, 2 are needed' "$out"
says '... and that the other does not' '^ok  *quorum  *set first: ' "$out"
status '... ls says so' 69 "$redlock" ls
says '... of that set' 'set b: [01] of 3 nodes could be read, 2 are needed'
status '... and metrics' 69 "$redlock" metrics
grep -q '^redlock_locks' "$out"
holds '... which does not count then' [ $? -eq 1 ]
for i in 5 6; do sh "$nodes_sh" resume "$nodes" $i; done

two_id=0123456789abcdef two_max=300
race_begins() {
    reset
    use 1 2 3
    put c0ffee00 "$old_a" "$old_b" "$new_a" "$new_b" "set c $(list 7 8 9)" -- 1 2 3 4 5 6 7 8 9
}
race_is() {
    case $1 in
    done) sets_are 'first 1 2 3' 'b 4 5 6' 'c 7 8 9' ;;
    *) sets_are 'first 1 2 3' 'b 4 5 6' ;;
    esac
}
races 5

finish
