#!/bin/sh
# redlock run: what it passes through, its exit status, and what happens to the command when the lock
# is lost. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 3

# -- a command that ends --

status 'success' 0 "$redlock" run k -- true
status 'its own status' 3 "$redlock" run k -- sh -c 'exit 3'
status 'ended by a signal' 137 "$redlock" run k -- sh -c 'kill -KILL $$'
status 'free again' 1 "$redlock" status k

printf 'one\ntwo\n' | "$redlock" run k -- sort -r >"$out"
holds 'stdin and stdout pass' [ "$(cat "$out")" = "$(printf 'two\none')" ]
"$redlock" run k -- sh -c 'echo word >&2' >"$out" 2>"$err"
[ "$(cat "$err")" = word ] && [ ! -s "$out" ]
result 'stderr passes, and nothing else is said' $? "$err"
"$redlock" run 'a b' -- sh -c 'exec 3>&-; ls -l /proc/self/fd' >"$out" 2>&1
lacks 'the command inherits no connection' socket "$out"

# shellcheck disable=SC2016
"$redlock" run --holder me a,b -- \
    sh -c 'echo "$REDLOCK_KEY $REDLOCK_TOKEN $REDLOCK_VALID_MS"; redlock=$0; "$redlock" status a b
           "$redlock" extend "$REDLOCK_KEY" && echo extended' "$redlock" >"$out" 2>"$err"
says 'REDLOCK_KEY, _TOKEN, _VALID_MS' '^a,b [0-9a-f]\{40\}:me 2[0-9]\{4\}$' "$out"
holds 'both keys are held meanwhile' [ "$(grep -c ': held by me for another [0-9]* s, on 3 of 3 nodes' "$out")" -eq 2 ]
says 'the token in the environment is the lock' '^extended$' "$out"

# shellcheck disable=SC2016
print_fence='echo "$REDLOCK_KEY ${REDLOCK_FENCE-none}"'
fence_of() { sed -n 's/^f \([0-9]\{16\}\)$/\1/p' "$1"; }
status '--fence' 0 "$redlock" run --fence f -- sh -c "$print_fence"
first=$(fence_of "$out")
status '--fence again' 0 "$redlock" run --fence -v f -- sh -c "$print_fence"
second=$(fence_of "$out")
[ -n "$first" ] && [ "$second" -gt "$first" ]
result 'REDLOCK_FENCE, larger each time' $? "$out"
says '-v tells it' "acquired with fence $second, valid for"
holds 'the nodes have the counter' [ "$("$cli" -p "$(port 1)" get libredlock:fence:f)" = "$second" ]
ttl_of_counter() { "$cli" -p "$(port 1)" pttl libredlock:fence:f; }
holds '... for a day' [ "$(ttl_of_counter)" -gt 86000000 ]
status '--fence-retention' 0 "$redlock" run --fence --fence-retention 2d f -- true
holds '... is what they are told' [ "$(ttl_of_counter)" -gt 172000000 ]
status 'a fence outside' 0 "$redlock" run --fence outer -- "$redlock" run f -- sh -c "$print_fence"
says '... is not that of the lock inside' '^f none$' "$out"
"$redlock" run --json --fence f -- true 2>"$err"
says '--json has it as a number' '"event": "acquired".*"fence": [0-9]\{16\}[,}]'

status 'no such command' 127 "$redlock" run k -- no-such-command
says '... and it says what to do' 'no-such-command: no such command in PATH; give its full path'
status 'no such file' 127 "$redlock" run k -- "$scratch/none"
: >"$scratch/plain"
status 'not executable' 126 "$redlock" run k -- "$scratch/plain"
says '... and it says what to do' 'chmod +x'
printf '#!/no/such/interpreter\n' >"$scratch/script"
chmod +x "$scratch/script"
status 'its interpreter is missing' 126 "$redlock" run k -- "$scratch/script"
says '... and it says so' 'the interpreter in its first line'
status 'free after all these' 1 "$redlock" status k

# -- two that want the same --

# hold KEY [OPTION]...: a run in the background that holds KEY until it is signalled; sets $pid, and
# $child once the command runs. SIGINT is not ignored in it, as a shell would have it, nor is SIGHUP,
# as nohup would; unless $hold_signals says otherwise.
hold_signals=INT,HUP
hold() {
    hold_key=$1
    shift
    rm -f "$scratch/child"
    # shellcheck disable=SC2016
    start env --default-signal="$hold_signals" "$redlock" run "$@" "$hold_key" -- \
        sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 1000' "$scratch/child" \
        >"$out.bg" 2>"$err.bg"
    await test -s "$scratch/child"
    child=$(cat "$scratch/child")
}

hold k
status 'another has it' 1 "$redlock" run --no-wait k -- touch "$scratch/ran"
says '... and it says who' "k: not acquired: held by [^ ]*:$pid for another"
status '-E' 42 "$redlock" run --no-wait -E 42 k -- touch "$scratch/ran"
status '-E 0, for cron' 0 "$redlock" run --no-wait -E 0 k -- touch "$scratch/ran"
holds '... is silent' [ ! -s "$err" ]
status '--wait ends' 1 "$redlock" run --wait 300ms k -- touch "$scratch/ran"
holds 'none of these ran the command' [ ! -e "$scratch/ran" ]
status 'another key is free' 0 "$redlock" run --no-wait other -- true

"$redlock" run k -- touch "$scratch/ran" 2>"$err" &
waiter=$!
left="$left $waiter"
kill -s TERM "$pid"
wait "$pid"
[ $? -eq 143 ] && gone "$child"
result 'SIGTERM is passed on, status 143' $?
wait "$waiter" && [ -e "$scratch/ran" ]
result 'who waits is next' $? "$err"

sets() {
    $cli -p "$(port 1)" info commandstats | sed -n 's/^cmdstat_set:calls=\([0-9]*\),.*/\1/p'
}
has_asked() {
    [ "$(sets)" -gt "$1" ]
}
hold k
before=$(sets)
"$redlock" run k -- touch "$scratch/ran2" 2>"$err" &
waiter=$!
left="$left $waiter"
await has_asked "$before" # it was refused, so it waits
kill -s TERM "$waiter"
wait "$waiter"
[ $? -eq 143 ] && [ ! -e "$scratch/ran2" ] && runs "$child"
result 'who waits can be interrupted, status 143' $?
kill -s HUP "$pid"
wait "$pid"
holds 'SIGHUP is passed on' [ $? -eq 129 ]

# No node answers while it connects.
each_node pause
for command in 'run k -- true' 'kick --yes --reason x k' 'extend k 0123456789012345678901234567890123456789'; do
    # shellcheck disable=SC2086
    start "$redlock" ${command%% *} --connect-timeout 10m --node-timeout 5s ${command#* } 2>"$err"
    await grep -q '^State:[[:space:]]*S' "/proc/$pid/status"
    kill -s TERM "$pid"
    await gone "$pid" && wait "$pid"
    holds "${command%% *} can be interrupted while it connects, status 143" [ $? -eq 143 ]
done
each_node resume

# A signal comes between the grant and the start: meanwhile redlock writes into a full pipe.
mkfifo "$scratch/full"
exec 3<>"$scratch/full"
dd if=/dev/zero of="$scratch/full" bs=1 oflag=nonblock 2>"$log"
start "$redlock" run --json full -- sleep 10 2>"$scratch/full" 3<&-
is_granted() { [ "$(ask 1 exists full)$(ask 2 exists full)$(ask 3 exists full)" = 111 ]; }
await is_granted
kill -s TERM "$pid"
full=$pid
start cat "$scratch/full" >"$out.bg"
wait "$full"
holds 'SIGTERM before the command has started is passed on' [ $? -eq 143 ]
kill "$pid"
exec 3<&-

# Nobody reads what it says: the command goes on, and ends by SIGPIPE when it writes itself.
# shellcheck disable=SC2016
{
    "$redlock" run -v --ttl 2s k -- sh -c 'sleep 2; sh -c "kill -s PIPE \$\$"; [ $? -eq 141 ] && exit 6' 2>&1
    echo $? >"$out"
} | true
holds 'a reader of its messages that ends does not end the command' [ "$(cat "$out")" = 6 ]

# nohup redlock run ...: a signal that was ignored when it started stays ignored.
hold_signals=INT
hold k
hold_signals=INT,HUP
kill -s HUP "$pid"
kill -s TERM "$pid"
wait "$pid"
holds '... unless it is ignored, as under nohup' [ $? -eq 143 ]

# -- signals --

# Without SIGCHLD, redlock would not notice the end, and would hold the lock for ever.
status 'SIGCHLD is blocked when it starts' 3 \
    timeout -s KILL 60 env --block-signal=CHLD "$redlock" run k -- sh -c 'exit 3'

# shellcheck disable=SC2016
start env --default-signal=INT "$redlock" run k -- \
    sh -c 'trap "echo got INT" INT; echo ready; while :; do sleep 0.05; done' >"$out" 2>"$err"
await grep -q ready "$out"
kill -s INT "$pid"
await grep -q 'got INT' "$out" && runs "$pid"
result 'one SIGINT is passed on' $? "$out"
kill -s INT "$pid"
wait "$pid"
holds 'the second one kills: status 137' [ $? -eq 137 ]
says '... and says so' 'second SIGINT'
status 'free again' 1 "$redlock" status k

start "$redlock" run k -- sh -c 'trap "echo got USR1; exit 7" USR1; echo ready; while :; do sleep 0.05; done' \
    >"$out" 2>"$err"
await grep -q ready "$out"
kill -s USR1 "$pid"
wait "$pid"
[ $? -eq 7 ] && grep -q 'got USR1' "$out"
result 'SIGUSR1 is passed on' $? "$out"

# -- a command that forks away --

# shellcheck disable=SC2016
start "$redlock" run k -- sh -c 'sleep 1000 & echo $! >"$0"; exit 5' "$scratch/fork" 2>"$err"
await test -s "$scratch/fork"
away=$(cat "$scratch/fork")
status 'it has forked away: the lock stays' 1 "$redlock" run --no-wait k -- true
runs "$pid" && runs "$away"
result '... and redlock waits for it' $?
kill "$away"
wait "$pid"
holds '... and ends with the status of the first process' [ $? -eq 5 ]

# -- loss --

resume() { each_node resume; }

# The keys live for 2 s after the last renewal, which was before the pause.
stop_the_nodes() {
    hold k --ttl 2s
    each_node pause
    began=$(ms)
    wait "$pid"
    lost=$?
}
holds 'all nodes stopped: the command is terminated before the lock is' in_time 2000 stop_the_nodes resume
[ "$lost" -eq 75 ] && gone "$child"
result '... status 75' $? "$err.bg"
says '... and it says so' 'k: the lock was lost: .*; the command is terminated' "$err.bg"

# shellcheck disable=SC2016
stop_the_nodes_of_a_stubborn_one() {
    rm -f "$scratch/stubborn"
    start "$redlock" run --ttl 2s k -- sh -c \
        'trap "" TERM; echo $$ >"$0"; while :; do date +%s%N >"$0.new"; mv "$0.new" "$0.beat"; sleep 0.02; done' \
        "$scratch/stubborn" \
        2>"$err"
    await test -s "$scratch/stubborn"
    child=$(cat "$scratch/stubborn")
    each_node pause
    began=$(ms)
    wait "$pid"
    lost=$?
    ended=$(($(cat "$scratch/stubborn.beat") / 1000000)) # when it was last alive
}
holds 'a command that ignores SIGTERM is killed in time' in_time 2000 stop_the_nodes_of_a_stubborn_one resume
[ "$lost" -eq 75 ] && gone "$child"
result '... status 75' $? "$err"

# With stdin piped, and the writer still writing.
(while echo line; do sleep 0.05; done) 2>/dev/null | {
    # shellcheck disable=SC2016
    "$redlock" run --ttl 2s k -- sh -c 'echo $$ >"$0"; exec cat >/dev/null' "$scratch/cat" 2>"$err"
    echo $? >"$scratch/status"
} &
pipeline=$!
left="$left $pipeline"
await test -s "$scratch/cat"
each_node pause
wait "$pipeline"
[ "$(cat "$scratch/status")" -eq 75 ] && gone "$(cat "$scratch/cat")"
result 'lost while stdin is piped: status 75' $? "$err"
each_node resume

# shellcheck disable=SC2016
start "$redlock" run --ttl 2s k -- sh -c 'sleep 1000 & echo $! >"$0"; exit 5' "$scratch/fork2" 2>"$err"
await test -s "$scratch/fork2"
each_node pause
wait "$pid"
[ $? -eq 75 ] && gone "$(cat "$scratch/fork2")"
result 'one that has forked away is ended, too' $? "$err"
each_node resume

for i in 1 2 3; do "$cli" -p "$(port "$i")" flushall >/dev/null; done
hold k --ttl 2s
flushes=
for at in $(port 1) $(port 2) $(port 3); do # together: a renewal in between would find some keys
    "$cli" -p "$at" flushall >/dev/null &
    flushes="$flushes $!"
done
# shellcheck disable=SC2086
wait $flushes
wait "$pid"
[ $? -eq 75 ] && gone "$child"
result 'the nodes forget: status 75' $? "$err.bg"
says '... and it says so, once' 'k: the lock was lost: [01] of 3 renewed' "$err.bg"

hold k --ttl 2s --on-lost=ignore
each_node pause
comes '--on-lost=ignore says so' 'goes on without it' "$err.bg"
holds '... and the command goes on' runs "$child"
kill "$child"
wait "$pid"
holds '... and its status is returned' [ $? -eq 143 ]
each_node resume

# -- redlock itself fails --

hold k --ttl 2s
kill -s KILL "$pid"
holds 'redlock is killed: so is the command' await gone "$child"
comes '... and its guard says so' 'redlock was killed' "$err.bg"

await "$redlock" run --no-wait k -- true
stop_redlock() {
    hold k --ttl 2s
    kill -s STOP "$pid"
    began=$(ms)
    await gone "$child"
}
# after the lock has ended: earlier, it may find a command that has ended, and no loss
go_on() {
    await "$redlock" run --no-wait k -- true
    kill -s CONT "$pid"
    wait "$pid"
    lost=$?
}
holds 'redlock is stopped: the command is terminated before the lock is' in_time 2000 stop_redlock go_on
holds '... and when it goes on it ends with 75' [ "$lost" -eq 75 ]

# -- at least --

began=$(ms)
status '--at-least: the status of the command' 3 "$redlock" run --at-least 400ms k -- sh -c 'exit 3'
holds '... which ended sooner' [ $(($(ms) - began)) -ge 400 ]
start "$redlock" run --ttl 1s --at-least 1h k -- touch "$scratch/kept" 2>"$err.bg"
await test -e "$scratch/kept"
status '... meanwhile another client does not get the lock' 1 "$redlock" run --no-wait k -- true
kill -s TERM "$pid"
wait "$pid"
result '... until SIGTERM comes' $? "$err.bg"
status '... and the lock is free' 0 "$redlock" run --no-wait k -- true
start "$redlock" run --ttl 1s --at-least 1h k -- rm "$scratch/kept" 2>"$err.bg"
await test ! -e "$scratch/kept"
for i in 1 2 3; do ask "$i" del k; done >"$log"
wait "$pid"
lost=$?
holds '... a loss is reported though the command has ended' [ "$lost" -eq 75 ]

# -- any --

# shellcheck disable=SC2016
"$redlock" run a -- sh -c 'exec "$0" run --holder me --any "a,b\\,c" -- sh -c "echo \"\$REDLOCK_KEY\"
    \"$0\" status \"\$REDLOCK_KEY\"; \"$0\" extend \"\$REDLOCK_KEY\" && echo extended"' "$redlock" >"$out" 2>"$err"
says '--any: the key that is free is REDLOCK_KEY' '^b\\,c$' "$out"
says '... that one is held' '^b,c: held by me' "$out"
says '... and is extended by its name' '^extended$' "$out"
status '... free again' 1 "$redlock" status a "b\\,c"
status '--any: all are held' 1 "$redlock" run a,b -- "$redlock" run --no-wait --any a,b -- true
says '... by whom' 'a,b: not acquired: held by '
"$redlock" run a -- sleep 1000 &
holder=$!
"$redlock" run b -- touch "$scratch/any" &
left="$left $holder $!"
await test -e "$scratch/any"
await "$redlock" run --no-wait b -- true
# shellcheck disable=SC2016
"$redlock" run b -- sh -c 'rm "$0"; while [ ! -e "$0" ]; do sleep 0.05; done' "$scratch/any" &
left="$left $!"
await test ! -e "$scratch/any"
# shellcheck disable=SC2016
"$redlock" run --json --any a,b -- sh -c 'echo "$REDLOCK_KEY"; kill -s KILL "$PPID"; sleep 1000' >"$out" 2>"$err" &
pid=$!
await test -s "$err"
touch "$scratch/any"
await test -s "$out"
holds '--any waits until one is free' [ "$(cat "$out")" = b ]
holds '... and when it is killed, its guard releases that one' await "$redlock" run --no-wait b -- true
status '... alone' 1 "$redlock" run --no-wait a -- true
kill -s TERM "$holder"
wait "$pid" 2>/dev/null
# shellcheck disable=SC2016
"$redlock" run a,b -- sh -c '"$0" run --any a,b -- true & echo $! >"$1"; wait $!; echo $? >"$1"' "$redlock" "$scratch/pid" \
    2>"$err.bg" &
await test -s "$scratch/pid"
kill -s TERM "$(cat "$scratch/pid")"
wait $!
holds '--any: a signal ends the waiting' [ "$(cat "$scratch/pid")" -eq 143 ]
status '--any: a key that is named twice' 64 "$redlock" run --any a,a -- true
says '... is refused' 'KEY: a key is named twice'

# -- health --

# shellcheck disable=SC2016
flaky='read -r n key <"$CHECKS"; n=$((n + 1)); echo "$n $REDLOCK_KEY" >"$CHECKS"; [ $((n % 3)) -eq 0 ]'
echo 0 >"$scratch/checks"
CHECKS=$scratch/checks "$redlock" run --health "$flaky" --health-interval 2s h -- sleep 1000 2>"$err.bg" &
pid=$!
left="$left $pid"
# The command takes longer to end than the interval: the check does not run again after the loss.
# shellcheck disable=SC2016
ends='trap '\''"$0" run --no-wait k -- true; echo $? >"$1"; sleep 1.5; exit 0'\'' TERM; while :; do sleep 0.05; done'
"$redlock" run --guard off --ttl 300s --grace 60s --json --health 'exit 9' --health-interval 1s k -- \
    sh -c "$ends" "$redlock" "$scratch/other" 2>"$err"
holds '--health: three failures end the command: status 75' [ $? -eq 75 ]
says '... and it says so' '"event": "lost", "key": "k", "status": "ERR_SILENT", "message": "--health failed 3 times in a row' "$err"
holds '... each is an event' [ "$(grep -c unhealthy "$err")" -eq 3 ]
holds '... meanwhile another client does not get the lock' [ "$(cat "$scratch/other")" -eq 1 ]
status '... and then it is free' 0 "$redlock" run --no-wait k -- true
# shellcheck disable=SC2016
CHECKS=$scratch/hangs "$redlock" run --health 'echo $$ >"$CHECKS"; exec sleep 1000' --health-interval 1s k -- \
    sleep 1000 2>"$err"
[ $? -eq 75 ] && grep -q 'the last time: it ran for longer than 1s; the command is terminated' "$err"
result '... a check that hangs fails' $? "$err"
holds '... and is killed' await gone "$(cat "$scratch/hangs")"
holds '... two failures in a row are none' await grep -q '^[4-9] h$' "$scratch/checks"
kill -s TERM "$pid"
wait "$pid"
holds '... and the checks end with the command' [ $? -eq 143 ]
printf '%s\n' 'guard = off' 'grace = 10s' >"$scratch/grace.conf"
status '--on-lost=ignore needs no grace' 0 "$redlock" run --config "$scratch/grace.conf" --on-lost=ignore --ttl 15s k -- true
status '--health and --on-lost=ignore' 64 "$redlock" run --on-lost=ignore --health true k -- true

# -- again and again --

start "$redlock" run --repeat=50ms k -- sh -c 'echo run; exit 64' >"$out" 2>"$err"
three() { [ "$(wc -l <"$out")" -ge 3 ]; }
holds '--repeat' await three
kill -s TERM "$pid"
holds '... until SIGTERM comes' await gone "$pid"
holds '... and the lock is free' await "$redlock" run --no-wait k -- true

# -- passwords --

# shellcheck disable=SC2016
show='printf "%s\n" "${REDLOCK_NODES-none}"'
# hides FROM TO: what the command finds if REDLOCK_NODES was FROM
hides() {
    env "REDLOCK_NODES=$1" "$redlock" run -n "$REDLOCK_NODES" k -- sh -c "$show" >"$out" 2>"$err"
    printf '%s\n' "$2" | cmp -s - "$out"
    result "REDLOCK_NODES for the command: $2" $? "$out"
}
hides 'redis://u:se%2Ccret@h:1, redis://:a:b@[::1]:2/3 unix://:x@/tmp/a@b?db=1' \
    'redis://h:1, redis://[::1]:2/3 unix:///tmp/a@b?db=1'
hides 'redis://a,redis://b:1' 'redis://a,redis://b:1'
hides 'redis://a,redis://user:secret' none # the @host is missing
hides 'redis://a:1?password=secret' none
hides 'redis://:se/cret@a' none
hides 'unix://:se/cret@/tmp/a' none
hides 'secret' none
each_password() {
    for each_i in 1 2 3; do
        redis-cli -p "$(port "$each_i")" ${2:+-a "$2"} config set requirepass "$1" >/dev/null 2>&1
    done
}
each_password hush ''
plain=$REDLOCK_NODES
REDLOCK_NODES=$(printf %s "$plain" | sed 's,redis://,&:hush@,g')
status 'nodes with a password' 0 "$redlock" run k -- sh -c "$show"
holds '... which the command does not get' [ "$(cat "$out")" = "$plain" ]
status '... by --keep-passwords' 0 "$redlock" run --keep-passwords k -- sh -c "$show"
holds '... it does' [ "$(cat "$out")" = "$REDLOCK_NODES" ]
status '... nor that of elect' 0 "$redlock" elect --ttl 3s boss -- sh -c "$show"
holds '... does' [ "$(cat "$out")" = "$plain" ]
# The guard still has the password: it needs it for the release.
hold k
kill -s KILL "$pid"
comes '... but its guard process does' 'k: the lock is released' "$err.bg"
REDLOCK_NODES=$plain
each_password '' hush

# -- connections are cut --

cat >"$scratch/cut" <<END
for port in $(port 1) $(port 2) $(port 3); do
    $cli -p \$port client kill type normal >/dev/null &
done
wait
END
: >"$log"
for _ in $(seq 12); do # some of these are cut while they release
    "$redlock" run --node-timeout 10s k -- sh "$scratch/cut" 2>>"$log" || echo "status $?" >>"$log"
done
lacks 'a release that is cut off is confirmed' . "$log"

# -- no quorum --

sh "$nodes_sh" kill "$nodes" 1
status 'one of three is down' 0 "$redlock" run k -- true
sh "$nodes_sh" kill "$nodes" 2
status 'two of three are down' 69 "$redlock" run --no-wait k -- true
says '... and it says which and why' "127.0.0.1:$(port 2): .*refused"
status 'two of three are down, with --wait' 69 "$redlock" run --wait 300ms k -- true
start "$redlock" run k -- true 2>"$err"
await grep -q 'waiting for nodes' "$err"
sh "$nodes_sh" restart "$nodes" 1
wait "$pid"
result 'who waits for ever also waits for nodes' $? "$err"

finish
