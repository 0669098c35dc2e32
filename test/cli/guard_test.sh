#!/bin/sh
# The guard process of redlock run: it starts before the command, is replaced when it dies, and survives
# redlock; the lock is kept until the command is gone. Arguments: REDLOCK NODES_SH PRELOAD
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
preload=$3
start_nodes 3

# with_fork WHAT COMMAND...: with the fork() of preload.c; the process becomes COMMAND
with_fork=$scratch/with_fork
cat >"$with_fork" <<SH
#!/bin/sh
what=\$1
shift
exec env "ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0" \\
    "LD_PRELOAD=$preload" "REDLOCK_TEST_FORK=\$what" "\$@"
SH
chmod +x "$with_fork"
# its_guard PID: the guard process of a redlock
its_guard() {
    grep -lx "PPid:[[:space:]]*$1" /proc/[0-9]*/status 2>/dev/null | while read -r guard_file; do
        ! grep -q '^Name:.*-guard$' "$guard_file" || basename "${guard_file%/status}"
    done
}
has_guard() { [ -n "$(its_guard "$1")" ]; }

# hold KEY COMMAND...: redlock in the background with a command whose shell, and one process more in
# its group, go on until they are ended; sets $pid, $first and $second. COMMAND is what precedes run.
hold() {
    hold_key=$1
    shift
    rm -f "$scratch/first" "$scratch/second"
    # shellcheck disable=SC2016
    start "$@" "$hold_key" -- sh -c 'sleep 1000 & echo $! >"$0/second.new"; mv "$0/second.new" "$0/second"
        echo $$ >"$0/first.new"; mv "$0/first.new" "$0/first"; wait; wait' "$scratch" \
        >"$out.bg" 2>"$err.bg"
    await test -s "$scratch/first"
    first=$(cat "$scratch/first")
    second=$(cat "$scratch/second")
    left="$left $first $second"
}

# -- there is none --

status 'no process for the guard' 71 "$with_fork" fail:2 "$redlock" run k -- touch "$scratch/ran"
says '... and it says why' 'cannot start a guard process: Resource temporarily unavailable'
holds '... and the command does not run' [ ! -e "$scratch/ran" ]
status '... and the lock is free' 1 "$redlock" status k
status 'no process for the command' 71 "$with_fork" fail:1 "$redlock" run k -- touch "$scratch/ran"

# On a machine that is too busy for it, --repeat tries again.
for what in run elect; do
    rm -f "$scratch/ran"
    start "$with_fork" stop:2 "$redlock" "$what" --repeat=10ms k -- touch "$scratch/ran" 2>"$err.bg"
    holds "$what --repeat: a guard that does not become ready is started another time" await test -e "$scratch/ran"
    holds '... and it says why' grep -q 'cannot start a guard process: it does not become ready' "$err.bg"
    kill -s TERM "$pid"
    wait "$pid" 2>/dev/null
done

# If the guard did not start first, the command would kill redlock before there is a guard.
# shellcheck disable=SC2016
"$with_fork" slow:2 "$redlock" run --ttl 2s k -- \
    sh -c 'sleep 1000 & echo $! >"$0"; kill -KILL $PPID; wait' "$scratch/alone" 2>"$err"
alone=$(cat "$scratch/alone")
left="$left $alone"
holds 'the command kills its redlock at once: its group is ended' await gone "$alone"

# -- a name --

start "$with_fork" - "$redlock" run --nodes "$REDLOCK_NODES,redis://slow.invalid" k -- sh -c 'exit 5' 2>"$err"
await gone "$pid" || kill -s KILL "$pid"
wait "$pid"
holds 'a name that is still being resolved does not delay the end: status 5' [ $? -eq 5 ]

# -- it dies --

await "$redlock" run --no-wait k -- true
hold k "$redlock" run --ttl 2s
guard=$(its_guard "$pid")
[ -n "$guard" ] && ! grep -q redlock "/proc/$guard/comm" && ! grep -aq redlock "/proc/$guard/cmdline"
result 'neither its name nor its arguments have "redlock" in them' $?
kill -s KILL "$guard"
comes 'it is killed: redlock says so' 'the guard process was killed; another one has replaced it' "$err.bg"
await has_guard "$pid" && [ "$(its_guard "$pid")" != "$guard" ]
result '... and has another' $?
guard=$(its_guard "$pid")
kill -s STOP "$guard"
comes 'it is stopped: redlock says so' 'the guard process was stopped; another one has replaced it' "$err.bg"
await gone "$guard" && [ "$(its_guard "$pid")" != "$guard" ] && runs "$first"
result '... and has another' $?
stop_redlock() {
    kill -s STOP "$pid"
    began=$(ms)
    await gone "$first" && await gone "$second"
}
# and redlock has another guard, in case it is stopped again
end_redlock() {
    await "$redlock" run --no-wait k -- true # before the lock is over it may find an end, and no loss
    kill -s CONT "$pid"
    wait "$pid"
    lost=$?
    [ "$in_time_took" -gt 2000 ] || return
    hold k "$redlock" run --ttl 2s
}
holds '... which ends the command if redlock is stopped, before the lock is over' in_time 2000 stop_redlock end_redlock
holds '... status 75' [ "$lost" -eq 75 ]

hold k "$with_fork" fail:3 "$redlock" run
kill -s KILL "$(its_guard "$pid")"
wait "$pid"
[ $? -eq 71 ] && gone "$first" && gone "$second"
result 'it is killed and there is no other: the command is terminated, status 71' $? "$err.bg"
says '... and it says so' 'and cannot be replaced (Resource temporarily unavailable); the command is terminated' \
    "$err.bg"
status '... and the lock is free' 1 "$redlock" status k

hold k "$redlock" run --json
kill -s KILL "$(its_guard "$pid")"
comes '--json has it as an event' '"event": "guard", "key": "k", "message": "killed", "replaced": true' "$err.bg"

kill_all() {
    kill -s STOP "$pid" # so that it cannot replace its guard
    kill -s KILL "$(its_guard "$pid")" "$pid"
}
kill_all
holds 'both are killed: so is the first process of the command' await gone "$first"
kill -s KILL "$second"
for i in 1 2 3; do redis-cli -p "$(port "$i")" flushall >/dev/null; done

export REDLOCK_TEST_STRAY="$scratch/stray"
hold stray "$with_fork" none "$redlock" run
unset REDLOCK_TEST_STRAY
kill -s STOP "$pid" # so that it hears of both deaths at once
kill -s KILL "$(its_guard "$pid")" "$first" "$second"
kill -s CONT "$pid"
wait "$pid"
[ $? -eq 137 ] && [ ! -e "$scratch/stray" ]
result 'it dies together with the command: its number is not signalled any more' $? "$err.bg"

# -- it is there before the lock is --

# wait_behind COMMAND...: a holder of k ($holder), and behind it a redlock that waits ($pid), with its
# guard ($guard) and the process that is to become COMMAND ($gate)
its_gate() {
    grep -lx "PPid:[[:space:]]*$1" /proc/[0-9]*/status 2>/dev/null | while read -r gate_file; do
        ! grep -q '^Name:.*lock-command$' "$gate_file" || basename "${gate_file%/status}"
    done
}
wait_behind() {
    await "$redlock" run --no-wait k -- true
    hold k "$redlock" run
    holder=$pid
    start "$redlock" run k -- "$@" >"$out.behind" 2>"$err.behind"
    await has_guard "$pid"
    await grep -q 'waiting: held by' "$err.behind"
    guard=$(its_guard "$pid")
    gate=$(its_gate "$pid")
    left="$left $guard $gate"
}
is_hit() { is_stopped "$1" || gone "$1"; }
let_go() {
    kill -s TERM "$holder"
    wait "$holder"
}

wait_behind touch "$scratch/early"
[ -n "$gate" ] && [ "$(find "/proc/$gate/fd" -lname 'socket:*' | wc -l)" -eq 1 ]
result 'while redlock waits its command has nothing of redlock open but the gate' $?
kill -s TERM "$pid"
wait "$pid"
[ $? -eq 143 ] && gone "$guard" && gone "$gate"
result 'who gives up waiting leaves no process' $? "$err.behind"
let_go

wait_behind touch "$scratch/early"
kill -s KILL "$pid"
await gone "$guard" && await gone "$gate" && ! grep -v 'k: waiting: ' "$err.behind"
result 'who is killed waiting leaves none either, and nothing is said' $? "$err.behind"
runs "$first" && [ ! -e "$scratch/early" ]
result '... the holder goes on, and the command was not run' $?
let_go

for victim in guard gate; do
    for signal in KILL STOP; do
        # shellcheck disable=SC2016
        wait_behind sh -c 'grep -lx "PPid:[[:space:]]*$PPID" /proc/[0-9]*/status | while read -r file; do
                grep "^Name:.*lock-guard$" "$file"; done; exit 9'
        hit=$guard
        [ "$victim" = guard ] || hit=$gate
        kill -s "$signal" "$hit"
        await is_hit "$hit" # else it is replaced when the command is there
        let_go
        wait "$pid"
        [ $? -eq 9 ] && [ "$(wc -l <"$out.behind")" -eq 1 ] && await gone "$guard" && await gone "$gate"
        result "its $victim gets SIG$signal meanwhile: the command runs all the same, guarded" $? "$out.behind"
    done
done

# shellcheck disable=SC2016
wait_behind sh -c 'echo $REDLOCK_KEY $REDLOCK_VALID_MS; exec sleep 1000'
let_go
comes 'it has the lock: the command knows' '^k 2[0-9]\{4\}$' "$out.behind"
holds '... and has the guard of the waiting' [ "$(its_guard "$pid")" = "$guard" ]
kill -s KILL "$pid"
comes '... which gives the lock back if redlock is killed' 'k: the lock is released' "$err.behind"
holds '... when the command is gone' gone "$gate"

# -- redlock dies --

hold k "$redlock" run --holder me
kill -s KILL "$pid"
comes 'redlock is killed: the lock is released' 'k: the lock is released' "$err.bg"
gone "$first" && gone "$second"
result '... when the command is gone' $?
status '... and free for the next one' 0 "$redlock" run --no-wait k -- true

# One process of the group runs as long as it may. Whenever the lock is free, it is gone.
# shellcheck disable=SC2016
start "$redlock" run --grace 1s k -- sh -c \
    '(trap "" TERM; while :; do sleep 0.05; done) & echo $! >"$0.new"; mv "$0.new" "$0"; wait' "$scratch/stubborn" \
    2>"$err.bg"
await test -s "$scratch/stubborn"
stubborn=$(cat "$scratch/stubborn")
left="$left $stubborn"
kill -s KILL "$pid"
"$redlock" run k -- sh -c "! grep -q '^State:[[:space:]]*[RSDTtI]' /proc/$stubborn/status" 2>"$err"
result '... not before the last of its group is gone' $? "$err"

start "$redlock" elect --id one boss,x -- sleep 1000 2>"$err.bg"
await "$redlock" status 'boss\,x'
await has_guard "$pid"
kill -s KILL "$pid"
comes 'redlock elect is killed: the leadership is released' 'boss,x: the lock is released' "$err.bg"
status '... and free' 1 "$redlock" status 'boss\,x'

# -- the lock is lost --

# beats PID: the last sign of life of a command that ignores SIGTERM
# shellcheck disable=SC2016
beats='trap "" TERM; while :; do date +%s%N >"$0.new"; mv "$0.new" "$0"; sleep 0.02; done'
# The nodes do not answer until the loss is reported, and answer again in the middle of the grace, on the
# same connections: these are kept for four times --node-timeout.
for command in "run --ttl 4s --grace 1s --node-timeout 1s" \
    "elect --ttl 4s --grace 1s --node-timeout 1s --id one"; do
    rm -f "$scratch/beat"
    # shellcheck disable=SC2086
    start "$redlock" $command k -- sh -c "$beats" "$scratch/beat" 2>"$err"
    await test -s "$scratch/beat"
    each_node pause
    await grep -q 'was lost: ' "$err"
    says "${command%% *}: the loss is told" 'was lost: not renewed in time: .*; the command is terminated'
    kill -s TERM "$pid" # so that elect does not lead again; the command ignores it
    each_node resume
    "$redlock" run -q k -- date +%s%N >"$out"
    wait "$pid" # for the last beat
    holds '... and nobody else has the lock before the command is gone' [ "$(cat "$out")" -gt "$(cat "$scratch/beat")" ]
    echo "# by $((($(cat "$out") - $(cat "$scratch/beat")) / 1000000)) ms"
done

finish
