#!/bin/sh
# Output that cannot be written, and descriptors that are closed. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
start_nodes 3
token=$("$redlock" acquire kept)

mkfifo "$scratch/unread"
exec 3<>"$scratch/unread"
exec 4>"$scratch/unread" 3<&-

# cannot WHAT COMMAND...: it ends with 71 and the reason, with stdout full, closed and without a reader
cannot() {
    cannot_what=$1
    shift
    if [ -w /dev/full ]; then
        "$@" >/dev/full 2>"$err"
        [ $? -eq 71 ] && grep -q 'cannot write the .*No space left on device' "$err"
        result "$cannot_what: no space is left" $? "$err"
    else
        skip "$cannot_what: no space is left" 'there is no /dev/full'
    fi
    "$@" >&- 2>"$err"
    [ $? -eq 71 ] && grep -q 'cannot write the .*Bad file descriptor' "$err"
    result "$cannot_what: stdout is closed" $? "$err"
    "$@" >&4 2>"$err" 4>&-
    [ $? -eq 71 ] && grep -q 'cannot write the .*Broken pipe' "$err"
    result "$cannot_what: stdout has no reader" $? "$err"
}
cannot 'help' "$redlock" --help
cannot 'help of a command' "$redlock" run --help
cannot 'version' "$redlock" --version
cannot 'status' "$redlock" status k
cannot 'status --json' "$redlock" status --json k
cannot 'doctor' "$redlock" doctor
cannot 'doctor --json' "$redlock" doctor --json
cannot 'acquire' "$redlock" acquire k
cannot 'acquire --json' "$redlock" acquire --json k
status '... and it is released' 1 "$redlock" status k
cannot 'extend --json' "$redlock" extend --json kept "$token"
cannot 'release --json' "$redlock" release --json gone "$token"
cannot 'elect' "$redlock" elect --ttl 3s --id one boss
cannot 'elect --json' "$redlock" elect --json --ttl 3s --id one boss
status '... and the leadership is given up' 1 "$redlock" status boss

# The reader of the token ends while the nodes hang.
mkfifo "$scratch/full"
exec 3<>"$scratch/full"
dd if=/dev/zero of="$scratch/full" bs=1 oflag=nonblock 2>"$log"
start "$redlock" acquire --ttl 20s full >"$scratch/full" 2>"$err" 3<&-
is_granted() { [ "$(ask 1 exists full)$(ask 2 exists full)$(ask 3 exists full)" = 111 ]; }
await is_granted
each_node pause
exec 3<&-
await gone "$pid"
each_node resume
says 'acquire: no reader and no nodes: it does not say that the lock is released' \
    'cannot write the token (Broken pipe); the lock ends with its ttl' "$err"

# The command works, redlock passes on its status, and closed descriptors are closed for it, too.
# shellcheck disable=SC2016
look='for i in 0 1 2; do [ ! -e "/proc/$$/fd/$i" ] || printf "%s" "$i" >>"$0"; done; exit 7'
finds() {
    [ "$1" -eq 7 ] && [ "$(cat "$scratch/open")" = "$2" ]
    result "closed: the command runs, and finds ${2:-none} open" $? "$scratch/open"
    : >"$scratch/open"
}
: >"$scratch/open"
run() { "$redlock" run k -- sh -c "$look" "$scratch/open"; }
run <&- >"$out" 2>"$err"
finds $? 12
run </dev/null >&- 2>"$err"
finds $? 02
run </dev/null >"$out" 2>&-
finds $? 01
run <&- >&- 2>"$err"
finds $? 2
run <&- >&- 2>&-
finds $? ''
"$redlock" run -v k -- sh -c 'exit 7' 2>&- </dev/null # what it says on stderr goes nowhere
holds 'stderr is closed, and it has something to say' [ $? -eq 7 ]
"$redlock" elect --ttl 3s --id one boss -- sh -c "$look" "$scratch/open" <&- >&- 2>&-
finds $? ''
status 'the nodes got nothing that was meant for another' 1 "$redlock" status k

finish
