#!/bin/sh
# redlock elect: it reports the leader, and runs a command while it leads. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 3

start "$redlock" elect --ttl 3s --id one boss >"$out.1" 2>"$err.1"
one=$pid
comes 'the first one leads' '^one leads (we)$' "$out.1"
# shellcheck disable=SC2016
"$redlock" elect --ttl 3s --id two --json boss -- \
    sh -c 'echo $$ >"$0"; echo "$REDLOCK_KEY"; exec sleep 1000' "$scratch/two" >"$out.2" 2>"$err.2" &
two=$!
left="$left $two"
await grep -q '"leader": "one"' "$err.2" && [ ! -e "$scratch/two" ]
result 'the second one sees it, and does not run' $? "$err.2"
kill -s TERM "$one"
wait "$one"
[ $? -eq 143 ]
result 'SIGTERM resigns: status 143' $? "$err.1"
await test -s "$scratch/two"
result 'the second one follows' $? "$err.2"
says '... and says so' '"event": "elected"' "$err.2"
[ "$(cat "$out.2")" = boss ]
result 'its command runs, with REDLOCK_KEY' $? "$out.2"
child=$(cat "$scratch/two")
rm "$scratch/two"

each_node pause
await gone "$child"
result 'no quorum: the command is terminated' $? "$err.2"
comes '... and the loss is told' '"event": "lost"' "$err.2"
each_node resume
await test -s "$scratch/two"
result '... and it is elected again when the nodes are back' $? "$err.2"
child=$(cat "$scratch/two")
kill -s KILL "$two"
await gone "$child"
result 'killed: its command is ended, too' $? "$err.2"

"$redlock" elect --ttl 3s --id three boss -- sh -c 'exit 6' >"$out" 2>"$err"
holds 'a dead leader is followed; the status is the command'"'"'s' [ $? -eq 6 ]
start "$redlock" elect --ttl 3s --id four --repeat=50ms boss -- sh -c 'echo run' >"$out" 2>"$err"
four=$pid
twice() { [ "$(wc -l <"$out")" -ge 2 ]; }
holds '--repeat' await twice
kill -s TERM "$four"
holds '... until SIGTERM' await gone "$four"
start "$redlock" elect --ttl 3s --id five --health 'exit 4' --health-interval 1s boss -- sleep 1000 2>"$err.5"
five=$pid
comes '--health: it campaigns again' 'the leadership was lost: --health failed 3 times in a row' "$err.5"
kill -s TERM "$five"
await gone "$five"

# shellcheck disable=SC2016
fenced() { "$redlock" elect --fence --ttl 3s --id "$1" fenced -- sh -c 'echo "$REDLOCK_FENCE"' 2>"$err"; }
first=$(fenced five) && second=$(fenced six) && echo "$first $second" >"$out"
grep -qx '[0-9]\{16\} [0-9]\{16\}' "$out" && [ "$second" -gt "$first" ]
result '--fence: REDLOCK_FENCE, larger each time' $? "$err"
start "$redlock" elect --fence --ttl 3s --id seven fenced >"$out" 2>"$err"
seven=$pid
holds '... and without a command it is printed' await grep -q '^seven leads (we, fence [0-9]\{16\})$' "$out"
kill -s TERM "$seven"
await gone "$seven"

# A signal arrives while it still waits for a node that hangs.
sh "$nodes_sh" pause "$nodes" 3
start "$redlock" elect --ttl 3s --node-timeout 20s --connect-timeout 30s --id eight hung >"$out" 2>"$err"
eight=$pid
knows_client() { ask 1 client list | grep -q name=redlock-cli; }
await knows_client
kill -s TERM "$eight"
await gone "$eight" || kill -s KILL "$eight"
wait "$eight"
[ $? -eq 143 ] && [ ! -s "$out" ]
result 'SIGTERM before it has begun: status 143' $? "$err"
sh "$nodes_sh" resume "$nodes" 3

start "$redlock" elect -n redis://127.0.0.1:1 --ttl 3s lonely >"$out" 2>"$err"
comes 'it says that it waits for nodes' '^redlock: lonely: waiting for nodes: 0 of 1 nodes up' "$err"
kill -s TERM "$pid"
await gone "$pid"

start "$redlock" elect --ttl 3s --id twelve boss >"$out" 2>"$err"
await grep -q '^twelve leads (we)$' "$out"
each_node pause
kill -s TERM "$pid"
await gone "$pid"
says 'a resignation that too few nodes learn of is reported' '^redlock: boss: not resigned: .*; it ends with its ttl$' "$err"
each_node resume

# Stopped until it is elected, it finds the nodes' votes and the signal at once.
sh "$nodes_sh" pause "$nodes" 3
# shellcheck disable=SC2016
start "$redlock" elect -v --ttl 60s --max-ttl 60s --node-timeout 6s --connect-timeout 30s --id nine late -- \
    sh -c 'trap "" TERM; echo >"$0"; sleep 1' "$scratch/late" 2>"$err"
nine=$pid
await knows_client
sh "$nodes_sh" pause "$nodes" 1
sh "$nodes_sh" pause "$nodes" 2
await grep -q 'nodes up' "$err" && await grep -q '^State:[[:space:]]*S' "/proc/$nine/status"
kill -s STOP "$nine"
each_node resume
has_key() { [ "$(ask 1 exists "$1")$(ask 2 exists "$1")" = 11 ]; }
await has_key late
kill -s TERM "$nine"
kill -s CONT "$nine"
wait "$nine"
[ $? -eq 143 ] && [ ! -e "$scratch/late" ]
result 'SIGTERM as it is elected: status 143, and nothing was started' $? "$err"

# It is elected again while the last command still ends.
# shellcheck disable=SC2016
start "$redlock" elect -v --ttl 9s --grace 3s --id ten again -- \
    sh -c 'echo $$ >>"$0"; [ "$(wc -l <"$0")" -gt 1 ] && exit 7; trap "" TERM; while sleep 0.1; do [ ! -e "$1" ] || exit 3; done' \
    "$scratch/again" "$scratch/go" >"$out" 2>"$err"
ten=$pid
await test -s "$scratch/again"
for i in 1 2 3; do ask $i del again >"$log"; done
elected_twice() { [ "$(grep -c elected "$err")" -eq 2 ]; }
await elected_twice
touch "$scratch/go"
wait "$ten"
[ $? -eq 7 ]
result 'elected again while the command is being ended: it starts again' $? "$err"
says '... and why it was lost is said' 'again: the leadership was lost: too many nodes have lost the key; the command is' "$err"

# shellcheck disable=SC2016
REDLOCK_TOKEN=outer REDLOCK_SLOT=1 "$redlock" elect --ttl 3s boss -- \
    sh -c 'echo "${REDLOCK_TOKEN-none} ${REDLOCK_SLOT-none}"' >"$out" 2>"$err"
holds 'its command does not get the token of an enclosing lock' [ "$(cat "$out")" = 'none none' ]
status 'no such command' 127 "$redlock" elect --ttl 3s boss -- no-such-command
status 'no name' 64 "$redlock" elect
printf '%s\n' 'guard = off' 'on-lost = ignore' >"$scratch/run.conf"
status 'the file has options of run' 0 "$redlock" elect --config "$scratch/run.conf" --grace 1s --health true boss -- true
status '--repeat without a command' 64 "$redlock" elect --repeat boss
status 'a bad id' 64 "$redlock" elect --id 'a b' boss
says '... is named' '^redlock: --id must be '

# The nodes become a set whose longest ttl is below its own; then it cannot campaign again.
start "$redlock" elect --ttl 9s --id eleven over -- sleep 1000 >"$out" 2>"$err"
eleven=$pid
await has_key over
"$redlock" set init --yes --max-ttl 5s >"$log" 2>&1
for i in 1 2 3; do ask $i del over >"$log"; done
await gone "$eleven" || kill -s TERM "$eleven"
wait "$eleven"
[ $? -eq 75 ]
result 'it cannot lead any more: it ends with its command' $? "$err"

finish
