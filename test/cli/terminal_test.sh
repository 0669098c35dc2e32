#!/bin/sh
# redlock run on a terminal: which process gets Ctrl-C, which may read, what Ctrl-Z does. script(1) makes
# the terminal, an interactive bash is the shell with job control, a pipe types. Arguments: REDLOCK
# NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
for tool in script bash; do
    command -v "$tool" >/dev/null || {
        skip "the terminal" "$tool is not installed"
        finish
        exit 0
    }
done
start_nodes 3
keys=$scratch/keys
screen=$scratch/screen
mkfifo "$keys"

# begin: starts a shell on its own terminal; text written to descriptor 5 is typed
begin() {
    : >"$screen"
    # A background job of a script ignores SIGINT, and so would everything that it starts.
    env --default-signal=INT,QUIT script -qfc 'env PS1="shell> " TERM=dumb bash --norc --noprofile -i' "$screen" \
        <"$keys" >/dev/null 2>&1 &
    session=$!
    left="$left $session"
    exec 5>"$keys"
    await grep -q 'shell> ' "$screen"
    type_in "redlock=$redlock; cd $scratch"
}
type_in() { printf '%s\n' "$*" >&5; }
press() { printf '%b' "$1" >&5; }
end() {
    type_in exit
    exec 5>&-
    await gone "$session"
}
shows() { await grep -q -e "$1" "$screen"; }

# The typed text is for the other shell.
# shellcheck disable=SC2016
{
begin
type_in '$redlock run k -- sh -c "echo be""gun; exec sleep 1000"; echo ended""=$?'
shows 'begun'
press '\003'
shows 'ended=130'
result 'Ctrl-C ends the command: 130' $? "$screen"

type_in '$redlock run k -- sh -c "trap \"echo ca\"\"ught\" INT; echo st""ubborn; while :; do sleep 0.05; done"; echo ended""=$?'
shows 'stubborn'
press '\003'
shows 'caught'
press '\003'
shows 'ended=137'
result 'Ctrl-C twice kills it: 137' $? "$screen"

type_in '$redlock run k -- sh -c "read word; echo got""=\$word"; echo read""=$?'
await "$redlock" status k
type_in hello
shows 'got=hello'
result 'a command that reads is given the terminal' $? "$screen"
shows 'read=0'
result '... and ends as usual' $? "$screen"
type_in 'echo still"" here'
shows 'still here'
result '... and the shell has it again' $? "$screen"

type_in '$redlock run k -- bash --norc --noprofile -ic "echo in""ner; exit 4"; echo shell""=$?'
shows 'shell=4'
result 'an interactive shell can be the command' $? "$screen"

type_in '$redlock run k -- sh -c "echo \$\$ >$PWD/pid; exec sleep 1000"'
await test -s "$scratch/pid"
child=$(cat "$scratch/pid")
press '\032'
await is_stopped "$child" && shows 'Stopped'
result 'Ctrl-Z stops the command, and redlock, and the shell says so' $? "$screen"
type_in 'fg; echo fg""=$?'
resumed() { ! is_stopped "$child" && runs "$child"; }
await resumed
result 'fg continues both' $? "$screen"
press '\003'
shows 'fg=130'
result '... and Ctrl-C works again' $? "$screen"

rm "$scratch/pid"
type_in '$redlock run --ttl 2s k -- sh -c "echo \$\$ >$PWD/pid; exec sleep 1000"'
await test -s "$scratch/pid"
child=$(cat "$scratch/pid")
press '\032'
await is_stopped "$child"
await gone "$child"
result 'stopped for longer than the ttl: it never runs again' $? "$screen"
type_in 'fg; echo late""=$?'
shows 'late=75'
result '... and fg tells the loss: 75' $? "$screen"

type_in '$redlock run k -- cat &'
await "$redlock" status k
asks() { type_in jobs; grep -q 'Stopped.*cat' "$screen"; }
await asks
shows 'Stopped.*cat'
result 'in the background a command that reads is stopped, as any job' $? "$screen"
type_in 'kill %1; kill -CONT %1; wait; echo all"" done'
shows 'all done'
result '... and can be ended' $? "$screen"
end
}

finish
