#!/bin/sh
# redlock set: administrators die at each step of a change, or run concurrently; nodes are away, or have
# lost data. Arguments: REDLOCK NODES_SH
# Lists of nodes are words.
# shellcheck disable=SC2046,SC2086
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/set.sh
. "$(dirname "$0")/set.sh"

id=0123456789abcdef
make_ttl=1s
# begun "OLD..." "NEW..." I...: the change c0ffee00 from OLD to NEW, whose administrator died when nodes I had its text,
# of epoch 2; the others of OLD have epoch 1. Without NEW it is the init of OLD, of epoch 1, that reached nodes I.
max_ttl=1000
begun() {
    use $1
    begun_old=$1 begun_was='' begun_is="epoch 1\nchange 00000001\nmax_ttl $max_ttl\nnodes $(list $1)"
    if [ -n "$2" ]; then
        begun_was=$begun_is
        begun_is="epoch 2\nchange c0ffee00\nmax_ttl $max_ttl\nold $(list $1)\nnodes $(list $2)"
    fi
    shift 2
    for begun_i in 1 2 3 4 5 6 7 8 9 10; do
        begun_text=''
        case " $begun_old " in *" $begun_i "*) begun_text=$begun_was ;; esac
        case " $* " in *" $begun_i "*) begun_text=$begun_is ;; esac
        {
            echo flushall
            [ -z "$begun_text" ] || printf 'set libredlock:config "libredlock-config 1\\nid %s\\n%s\\nself %s\\n"\n' \
                $id "$begun_text" "$(url $begun_i)"
        } | ask $begun_i >>"$log"
    done
}
vote() { ask "$1" get libredlock:config:vote; }
voted() {
    voted_word=$1
    shift
    for voted_i in "$@"; do ask "$voted_i" set libredlock:config:vote "c0ffee00 $voted_word" >/dev/null; done
}
old='1 2 3 4 5' new='6 7 8 9 10'

# -- The administrator dies while writing the joint text --

for where in '1' '1 6' '3 4 5 6 7 8'; do
    begun "$old" "$new" $where
    status "it is on $where: show" 1 "$redlock" set show
    says '... says what to do' 'a change is pending: redlock set resume, or redlock set abort' "$out"
    status '... another change is refused' 1 "$redlock" set replace --yes "$(url 1)" "$(url 6)"
    status '... resume' 0 "$redlock" set resume
    says '... waits' '^waits [12] s: until' "$out"
    holds '... the new nodes are the set' agree_on $new
    begun "$old" "$new" $where
    status "it is on $where: abort" 0 "$redlock" set abort
    says '... decides' '^decided: back$' "$out"
    holds '... the old nodes are the set' agree_on $old
done
begun "$old" "$new" 1
ask 2 set libredlock:config 'something else' >/dev/null
status 'a text that nobody understands' 1 "$redlock" set show
says '... is shown' "^  127.0.0.1:$(port 2): its configuration is not of a version" "$out"
status '... and left alone by resume' 0 "$redlock" set resume
holds '... as it was' [ "$(text 2)" = 'something else' ]

# -- The administrator votes and dies --

begun "$old" "$new" $old $new
voted 'done' 1 2 3
status 'done was decided: abort' 1 "$redlock" set abort
says '... says that it is too late' 'too late: the change was decided, and is done'
holds '... and ends it' agree_on $new
begun "$old" "$new" $old $new
voted 'done' 4
status 'one has voted done, the fourth: abort' 0 "$redlock" set abort
holds '... has a majority without it' agree_on $old
begun "$old" "$new" $old $new
voted 'done' 1
status 'one has voted done, the first: abort' 1 "$redlock" set abort
holds '... joins it' agree_on $new
begun "$old" "$new" $old $new
voted back 1 2 3
status 'back was decided: resume' 1 "$redlock" set resume
says '... says so' 'the change had been aborted: the old nodes are the set'
lacks '... and does not wait' '^waits' "$out"
holds '... and ends it' agree_on $old
begun '1 2 3 4' "$new" 1 2 3 4 $new
voted back 3 4
status 'two of four have voted back: resume' 1 "$redlock" set resume
holds '... goes back, since done has no majority any more' agree_on 1 2 3 4
begun "$old" "$new" $old $new
voted back 1 2
ask 1 set libredlock:config:vote 'c0ffee01 back' >/dev/null
ask 2 set libredlock:config:vote 'c0ffee01 back' >/dev/null
status 'votes of another change' 0 "$redlock" set resume
holds '... do not count' agree_on $new

# -- kill -9 at each step --

# dies_at PATTERN: replaces all nodes, and is killed when a line of its output matches
dies_at() {
    make $old
    rm -f "$scratch/died"
    "$redlock" set resize --yes $(list $new) >"$scratch/died" 2>&1 &
    dies_pid=$!
    await grep -q "$1" "$scratch/died"
    kill -s KILL "$dies_pid"
    wait "$dies_pid" 2>/dev/null
}
for step in '^epoch 2, old' '^carried' '^waits' '^waited' '^decided'; do
    dies_at "$step"
    status "killed at $step: resume" 0 "$redlock" set resume
    holds '... the new nodes are the set' agree_on $new
    dies_at "$step"
    "$redlock" set abort >"$out" 2>"$err"
    aborted=$?
    case $step:$aborted in
        '^waited:1' | '^decided:1' | '^decided:0') agree_on $new ;;
        *:0) agree_on $old || agree_on $new ;;
        *) false ;;
    esac
    result "killed at $step: abort (status $aborted) leads to one end" $? "$err"
done
# When a signal ends it, redlock set says how to continue.
make $old
rm -f "$scratch/died"
"$redlock" set resize --yes $(list $new) >"$scratch/died" 2>"$err" &
pid=$!
await grep -q '^waits' "$scratch/died"
kill -s TERM $pid
wait $pid
holds 'SIGTERM ends it: status 143' [ $? -eq 143 ]
says '... and says where to look' 'interrupted; redlock set show says'
status '... abort' 0 "$redlock" set abort

# -- Two at once --

# An administrator who has the lock keeps others away. (On a busy machine a short ttl would end it.)
make_ttl=10s
make $old
make_ttl=1s
rm -f "$scratch/died"
"$redlock" set resize --yes $(list $new) >"$scratch/died" 2>&1 &
pid=$!
lock="redlock set $(text 1 | sed -n 's/^id //p')"
is_locked() { [ "$(ask "$1" exists "$lock")" = 1 ]; }
for i in $new; do await is_locked "$i"; done
status 'another one, at once' 1 "$redlock" set abort
says '... is kept away, and hears by whom' 'held by resize@'
wait $pid
result '... and the first one ends it' $? "$scratch/died"
holds '... as he wished' agree_on $new

# Without it, a resume and an abort reach one end. (The nodes have started too recently for strict clients,
# so there is no lock.)
max_ttl=300
race_begins() {
    case $(($1 % 2)) in 0) olds=$old ;; *) olds='1 2 3 4' ;; esac
    begun "$olds" "$new" $olds $new
}
race_is() { case $1 in done) agree_on $new ;; *) agree_on $olds ;; esac; }
races 8
grep -q 'without that lock' "$scratch/resume"
result '... without a lock' $? "$scratch/resume"
max_ttl=1000

# -- Nodes that are away --

make $old
sh "$nodes_sh" kill "$nodes" 5
status 'a node is down: replace' 0 "$redlock" set replace --yes "$(url 1)" "$(url 6)"
says '... says who has not got it' "not on all: 127.0.0.1:$(port 5): .*redlock set resume"
status '... show' 1 "$redlock" set show
says '... says so, too' "^  127.0.0.1:$(port 5): .*: when it is back: redlock set resume\$" "$out"
sh "$nodes_sh" restart "$nodes" 5 >>"$log" 2>&1
status '... it is back, and has forgotten everything: show' 1 "$redlock" set show
status '... resume' 0 "$redlock" set resume
holds '... all agree' agree_on 2 3 4 5 6
status 'the node that is down is replaced' 0 sh -c "sh '$nodes_sh' kill '$nodes' 6; '$redlock' set replace --yes '$(url 6)' '$(url 7)'"
holds '... they agree' agree_on 2 3 4 5 7
sh "$nodes_sh" restart "$nodes" 6 >>"$log" 2>&1

make $old
for i in 3 4 5; do sh "$nodes_sh" pause "$nodes" $i; done
status 'three of five hang: replace' 69 "$redlock" set replace --yes "$(url 1)" "$(url 6)"
says '... is refused' "too few nodes answer"
for i in 3 4 5; do sh "$nodes_sh" resume "$nodes" $i; done
rm "$out"
"$redlock" set resize --yes $(list $new) >"$out" 2>"$err" &
pid=$!
await grep -q '^waits' "$out"
for i in 3 4 5; do sh "$nodes_sh" pause "$nodes" $i; done
wait $pid
holds 'three of five hang during a change: status 69' [ $? -eq 69 ]
says '... with their names, and what to do' "127.0.0.1:$(port 4): .*When they are back: redlock set resume, or redlock set abort"
status '... abort cannot decide, either' 69 "$redlock" set abort
for i in 3 4 5; do sh "$nodes_sh" resume "$nodes" $i; done
status '... they are back: resume' 0 "$redlock" set resume
holds '... all agree' agree_on $new

# A node that has lost its text during a change has no vote any more.
begun "$old" "$new" $old $new
ask 1 del libredlock:config libredlock:config:vote >/dev/null
voted 'done' 2 3
ask 4 set libredlock:config:vote 'c0ffee00 back' >/dev/null
ask 5 set libredlock:config:vote 'c0ffee00 back' >/dev/null
status 'a lost vote that decides' 69 "$redlock" set abort
says '... is not guessed' "127.0.0.1:$(port 1) lost the text during the change"
holds '... and not given again' [ "$(vote 1)" = 'c0ffee00 forgot' ]
ask 1 del libredlock:config:vote >/dev/null
status '... unless the operator says so' 0 "$redlock" set abort
holds '... then it goes back' agree_on $old

# An init that was killed: as long as a node has no text, clients may count votes by other lists.
begun '1 2 3' '' 1 2
sh "$nodes_sh" kill "$nodes" 3
status 'an init that died, and a node is down: resume' 69 "$redlock" set resume
says '... says that it needs all' "epoch 1, which all nodes must have: too few nodes: 127.0.0.1:$(port 3): "
sh "$nodes_sh" restart "$nodes" 3
status '... it is back: resume' 0 "$redlock" set resume
holds '... all agree' agree_on 1 2 3

finish
