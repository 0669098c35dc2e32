#!/bin/sh
# redlock(1) and passwords that are in no argument: from a file and from a descriptor, what is wrong
# with them, and a file that changes while a command runs. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
start_nodes 3

# ask NODE WORD...: as a user that is never changed; all WORD...: on every node
ask() {
    ask_port=$(port "$1")
    shift
    "$cli" -p "$ask_port" --user admin -a admin --no-auth-warning "$@"
}
all() { for all_i in 1 2 3; do ask "$all_i" "$@" || return 1; done >"$log"; }
for i in 1 2 3; do
    "$cli" -p "$(port "$i")" acl setuser admin reset on '>admin' '~*' '&*' +@all >"$log"
    ask "$i" acl setuser app reset on '>old' '~*' '&*' +@all >"$log"
    ask "$i" acl setuser default off >"$log"
done

file=$scratch/password
(umask 077 && echo old >"$file")
silent() {
    holds "$1" [ ! -s "$err" ]
}

# -- From where --

status 'without a password' 69 "$redlock" run --no-wait k -- true
status 'from a file' 0 "$redlock" run -u app --password-file "$file" k -- true
silent '... and nothing is said'
REDLOCK_USER=app REDLOCK_PASSWORD_FILE=$file
export REDLOCK_USER REDLOCK_PASSWORD_FILE
status 'the file from the environment' 0 "$redlock" run k -- true
status 'a command in the command' 0 "$redlock" run k -- "$redlock" run k2 -- true
unset REDLOCK_USER REDLOCK_PASSWORD_FILE
printf 'guard = off\nuser = app\npassword-file = %s\n' "$file" >"$scratch/conf"
status 'the file from the configuration' 0 "$redlock" run -c "$scratch/conf" k -- true
printf 'old\r\n' >"$file"
status 'a line end of another system' 0 "$redlock" run -u app --password-file "$file" k -- true
printf old >"$file"
status 'no line end' 0 "$redlock" run -u app --password-file "$file" k -- true
from() { "$redlock" "$@" <"$file"; }
status 'from standard input' 1 from status -u app --password-fd 0 k
behind() { "$redlock" "$@" 7<"$file"; }
status 'from a descriptor' 1 behind status -u app --password-fd 7 k
# shellcheck disable=SC2016
status 'which the command does not get' 0 behind run -u app --password-fd 7 k -- \
    sh -c '! [ -e /proc/self/fd/7 ]'
piped() { echo old | "$redlock" "$@"; }
status 'from a pipe' 1 piped status -u app --password-file /dev/stdin k
status 'instead of that of the URLs' 0 "$redlock" run -u app --password-file "$file" \
    --nodes "$(sed 's|//|//app:wrong@|' "$nodes/urls" | paste -sd,)" k -- true
status 'all commands: acquire' 0 "$redlock" acquire -u app --password-file "$file" k
token=$(cat "$out")
status '... extend' 0 "$redlock" extend -u app --password-file "$file" k "$token"
status '... release' 0 "$redlock" release -u app --password-file "$file" k "$token"
"$redlock" doctor -u app --password-file "$file" >"$out" 2>"$err"
holds '... doctor' grep -q 'reachable *it answers (all 3)' "$out"
status '... elect' 0 "$redlock" elect -u app --password-file "$file" name -- true

# -- What is wrong with it --

bad() {
    bad_what=$1
    bad_pattern=$2
    bad_status=$3
    shift 3
    "$redlock" "$@" >"$out" 2>"$err" </dev/null
    [ $? -eq "$bad_status" ] && grep -q -e "^redlock: .*$bad_pattern" "$err" &&
        ! grep -q hunter2 "$err"
    result "$bad_what" $? "$err"
}
wrong=$scratch/wrong
bad 'no file' '/none: No such file' 78 status --password-file "$scratch/none" k
: >"$wrong"
bad 'an empty file' 'it is empty' 78 status --password-file "$wrong" k
echo >"$wrong"
bad 'a line end alone' 'it is empty' 78 status --password-file "$wrong" k
printf 'hunter2\nhunter2\n' >"$wrong"
bad 'two lines' 'more than one line' 78 status --password-file "$wrong" k
printf 'hunter2\0\n' >"$wrong"
bad 'a zero byte' 'a zero byte in it' 78 status --password-file "$wrong" k
printf '%0513d\n' 0 >"$wrong"
bad 'a long one' 'longer than 512 bytes' 78 status --password-file "$wrong" k
bad 'no descriptor' '\-\-password-fd 9: Bad file descriptor' 78 status --password-fd 9 k
bad 'both' 'exclude each other' 64 status --password-file "$file" --password-fd 0 k
bad 'a user without a password' '\-\-user has no effect without' 64 status --user app k
bad 'a long user' '\-\-user is longer than 128' 64 status --password-file "$file" \
    --user "$(printf '%0129d' 0)" k
echo hunter2 >"$wrong"
bad 'a wrong one' 'authentication failed' 69 run --no-wait -u app --password-file "$wrong" k -- true
says '... in the words of the nodes' ': authentication failed (WRONGPASS '
chmod 640 "$file"
bad 'a file that others can read' 'others can read it; chmod 600' 0 run -u app \
    --password-file "$file" k -- true
chmod 600 "$file"
if [ "$(id -u)" -eq 0 ]; then # somebody else's, who lets the group read it, as it has to be then
    chown 1 "$file" && chmod 640 "$file"
    status 'a file of somebody else' 0 "$redlock" run -u app --password-file "$file" k -- true
    silent '... that the group can read'
    chmod 644 "$file"
    bad '... that all can read' 'others can read it; chmod o-rwx' 0 run -u app \
        --password-file "$file" k -- true
    chown 0 "$file" && chmod 600 "$file"
fi

# A command does not continue as the default user either, even if that needs no password.
for i in 1 2 3; do ask "$i" acl setuser default on nopass '~*' '&*' +@all >"$log"; done
token=$("$redlock" acquire -u app --password-file "$file" --ttl 5m open)
for command in 'run --no-wait open2 -- touch ran' 'acquire --no-wait open2' "extend open $token" \
    "release open $token" 'status open' 'queue open' 'ls' 'kick --yes --reason test open' 'metrics' 'doctor'; do
    wanted=69
    [ "$command" != doctor ] || wanted=2
    for user in app nosuch; do
        rm -f "$scratch/ran"
        # shellcheck disable=SC2046
        (cd "$scratch" && exec "$redlock" "${command%% *}" -u "$user" --password-file "$wrong" \
            $(echo "$command" | cut -s -d ' ' -f 2-)) >"$out" 2>"$err" </dev/null
        [ $? -eq "$wanted" ] && [ ! -e "$scratch/ran" ]
        result "$user, a wrong password, the default user is open: ${command%% *}" $? "$err"
    done
done
status '... and the lock is as it was' 0 "$redlock" release -u app --password-file "$file" open "$token"
for i in 1 2 3; do ask "$i" acl setuser default off >"$log"; done

# A server without AUTH repeats the arguments.
"$server" --port 0 --unixsocket "$scratch/bare" --save '' --rename-command AUTH '' >"$log" 2>&1 &
left="$left $!"
await "$cli" -s "$scratch/bare" ping
echo hunter2 >"$wrong"
"$redlock" doctor --nodes "unix://$scratch/bare" --password-file "$wrong" >"$out" 2>&1
grep -q "unknown command 'AUTH'" "$out" && ! grep -q hunter2 "$out"
result 'doctor does not show what a server repeats' $? "$out"

# -- It changes while a command runs --

# replaced, as tools for secrets do it
write() { (umask 077 && echo "$1" >"$file.new") && mv "$file.new" "$file"; }
begin() {
    "$redlock" run -v -u app --password-file "$file" --ttl 3s --node-timeout 250ms "$@" \
        sh -c "echo \$\$ >'$scratch/pid'; while [ ! -e '$scratch/enough' ]; do sleep 0.05; done" \
        >"$out" 2>"$err" &
    run=$!
    left="$left $run"
    await [ -s "$scratch/pid" ]
}
has() { [ "$(grep -c "$1" "$err")" -ge "$2" ]; }
# the renewals of five ttls
renewed() { await has 'renewed' $(($(grep -c renewed "$err") + $1)); }

begin k --
! grep -q hunter2 "/proc/$run/cmdline" && ! tr '\0' '\n' <"/proc/$run/environ" | grep -q '^old$'
result 'it is in no argument' $?
all acl setuser app '>hunter2'
write hunter2
holds 'a new one is read and used' await has 'accepts the new password' 3
all acl setuser app '<old'
for i in 1 2 3; do
    ask "$i" client kill user app >"$log"
    renewed 2
done
result '... by new connections too' $? "$err"
write nonsense
holds 'a wrong one is reported' await has 'refuses the new password: authentication failed (WRONGPASS .*); the one before stays' 3
holds '... and the lock is renewed by the one before' renewed 2
: >"$file"
holds 'so is an empty file' await has 'it is empty; the password before stays in use' 1
rm "$file" && mkfifo -m 600 "$file" # without a writer
holds 'a pipe in its place stops nothing' await has 'it is empty; the password before stays in use' 2
rm "$file"
holds 'nor does it that there is none' renewed 3
all acl setuser app resetpass '>third'
renewed 2
write third
holds 'the right one replaces it' await has 'accepts the new password' 6
! grep -q -e hunter2 -e nonsense "$err" && ! grep -q 'lost' "$err"
result 'nothing was lost, and no password said' $? "$err"
: >"$scratch/enough"
wait "$run"
result 'the command ended by itself' $? "$err"

# The guard process of a killed redlock releases with the password that is in the file by then.
rm -f "$scratch/enough" "$scratch/pid"
begin k --
all acl setuser app resetpass '>fourth'
kill -s STOP "$run"
write fourth
kill -s KILL "$run"
holds 'the guard process reads the file' await has 'the lock is released' 1

# With --json.
rm -f "$scratch/enough" "$scratch/pid"
begin --json k --
all acl setuser app resetpass '>fifth'
write fifth
holds 'an event for each node' await has '"event": "password", .*"status": "OK"' 3
write sixth
holds '... for a refusal, too' await has '"event": "password", .*"status": "ERR_NODE_AUTH"' 3
: >"$scratch/enough"
wait "$run"
result 'and the status is 0' $? "$err"

stop_nodes
finish
