#!/bin/sh
# The user that doctor --acl creates, on real nodes: it may do everything that redlock and the library
# do, and nothing in its line is superfluous. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
start_nodes 3

# make_user LINE...: creates the user app with these rules on every node; cuts all other connections
make_user() {
    for i in 1 2 3; do
        # redis-cli reads a line as a person writes it
        printf '%s\n' "$*" | sed 's/PASSWORD/secret/' | ask "$i" >"$log" 2>&1
        [ "$(cat "$log")" = OK ] || return 1
        ask "$i" acl log reset >/dev/null
        ask "$i" config resetstat >/dev/null
    done
}
# refusals: the commands that nodes have refused since then
refusals() {
    for i in 1 2 3; do ask "$i" acl log; done | sed -n '/^object$/{n;p;}' | sort -u
}
urls() { sed 's|//|//app:secret@|' "$nodes/urls" | paste -sd, -; }

# Does what an operator and a program do, with keys that begin with $1. Ends at the first failure.
everything() {
    key=$1
    export REDLOCK_NODES="$2"
    "$redlock" run --wait 5s "$key"run -- true || return
    "$redlock" run --wait 5s --fence --ttl 5s --node-timeout 1s "$key"fenced,"$key"second -- sleep 2 || return # extends
    everything_token=$("$redlock" acquire --wait 5s --ttl 20s "$key"k) || return
    await_status is_everywhere "$key"k "$everything_token" --ttl 20s || return
    # A waiter is next after the release, long before the ttl ends.
    "$redlock" run --wait 15s "$key"k -- true &
    everything_pid=$!
    await_status is_waited_for "$key"k || return
    "$redlock" queue --json "$key"k | grep -q '"alive": true' || return
    "$redlock" release "$key"k "$everything_token" || return
    wait "$everything_pid" || return
    # Nodes that reserve it for other clients do not grant it at first.
    everything_token=$("$redlock" acquire --wait 5s --ttl 20s "$key"k) || return
    await_status is_everywhere "$key"k "$everything_token" --ttl 20s || return
    "$redlock" kick --yes --reason 'for a test' "$key"k >"$out" || return
    [ "$(grep -c 'deleted  *noted' "$out")" -eq 3 ] || return
    "$redlock" status "$key"k | grep -q 'was kicked by .*: for a test' || return
    everything_token=$("$redlock" acquire --shared --wait 5s --ttl 20s "$key"r) || return
    "$redlock" run --shared --fence --wait 5s --ttl 5s --node-timeout 1s "$key"r -- sleep 2 || return # extends
    await_status is_everywhere "$key"r "$everything_token" --ttl 20s --shared || return
    "$redlock" status "$key"r | grep -q '^  1 client reads:' || return
    # A writer waits for the reader, and another reader for the writer.
    "$redlock" run --wait 15s "$key"r -- true &
    everything_pid=$!
    await_status is_waited_for "$key"r || return
    "$redlock" run --shared --wait 15s "$key"r -- true &
    everything_reader=$!
    await_status is_read_next "$key"r || return
    "$redlock" release --shared "$key"r "$everything_token" || return
    wait "$everything_pid" && wait "$everything_reader" || return
    timeout 60 "$redlock" elect --fence "$key"leader -- true || return
    # A program's semaphore: the commands that only its scripts run.
    ask 1 --user app --pass secret --no-auth-warning mget "libredlock:slot:0:{${key}s}" || return
    "$redlock" run --wait 5s --guard observed --nodes "$(echo "$2" | sed 's/,/\/1,/g')" "$key"k -- true ||
        return
    "$redlock" ls ${key:+--prefix "$key"} >"$out" || return
    ! grep 'not for this user' "$out" || return
    "$redlock" doctor --ttl 1ms --fence ${key:+--key-prefix "$key"} >"$out"
    [ $? -lt 2 ] && ! grep -q 'refused\|not known' "$out"
}
await_status() { await "$@" || { "$redlock" status "$2"; return 1; }; }
is_waited_for() { "$redlock" status "$1" | grep -q '^  1 client waits, '; }
is_read_next() { "$redlock" status "$1" | grep -q '^  1 client waits to read:'; }

# The command for releases on newer servers; others reject the word in an ACL.
native=
for word in delifeq delex; do
    ask 1 command info "$word" 2>/dev/null | grep -q "$word" && native=" +$word"
done
line="$("$redlock" doctor --acl app)$native"
holds 'the server takes the line' make_user "$line"
everything '' "$(urls)" >"$scratch/all" 2>&1
result 'all that redlock does is allowed' $? "$scratch/all"
refusals >"$log"
holds '... and the nodes have refused nothing' [ ! -s "$log" ]
for i in 1 2 3; do ask "$i" info commandstats; done >"$scratch/stats"
for word in $(printf '%s\n' "$line" | grep -o '+[a-z|]*' | tr -d +); do
    case $word in unsubscribe) continue ;; esac # of a program that lives on
    grep -q "^cmdstat_$word:" "$scratch/stats" || echo "$word"
done >"$log"
holds '... and every command in the line was used' [ ! -s "$log" ]
ask 1 --user app --pass secret --no-auth-warning flushall >"$out" 2>&1
grep -q NOPERM "$out" && [ "$(refusals)" = flushall ]
result 'FLUSHALL is not' $? "$out"

holds 'a line for some keys' make_user "$("$redlock" doctor --acl app --key-prefix 'mine*:')$native"
everything 'mine*:' "$(urls)" >"$scratch/all" 2>&1
result '... allows all of it on them' $? "$scratch/all"
refusals >"$log"
holds '... and the nodes have refused nothing' [ ! -s "$log" ]
status '... and nothing on others' 69 "$redlock" run --nodes "$(urls)" --no-wait minex: -- true

# Without the line, locks work: a waiting client asks again after a pause.
for lacking in '-zadd' '-publish' 'resetchannels'; do
    make_user "$line"
    for i in 1 2 3; do ask "$i" acl setuser app "$lacking" >"$log"; done
    REDLOCK_NODES=$(urls)
    export REDLOCK_NODES
    token=$("$redlock" acquire --ttl 20s lacking)
    "$redlock" run --wait 15s lacking -- true 2>"$err" &
    waiter=$!
    await grep -q 'waiting: held by' "$err"
    "$redlock" release lacking "$token" && wait "$waiter"
    result "a user with $lacking gets the lock after it was released" $? "$err"
    "$redlock" status lacking >"$out" 2>"$err"
    holds '... and it is free afterwards' [ $? -eq 1 ]
done

# Without that command, releases are scripts, and doctor reports the cost.
if [ -n "$native" ]; then
    make_user "$("$redlock" doctor --acl app)"
    REDLOCK_NODES=$(urls)
    "$redlock" run --wait 5s slow -- true && "$redlock" run --wait 5s slow -- true
    result "a user without$native gets and releases locks" $? "$log"
    "$redlock" doctor --ttl 1ms >"$out"
    tr -s ' \n' ' ' <"$out" | grep -q "ACL SETUSER app$native; without it releases run a script"
    result '... and doctor says what to allow' $? "$out"
    for i in 1 2 3; do ask "$i" info commandstats; done | grep '^cmdstat_del\(ifeq\|ex\):' >"$log"
    ! grep -v 'calls=0,' "$log"
    result '... and none of them was run' $? "$log"
else
    echo "# no command for releases here: Valkey 9 and Redis 8.4 have one (test/servers.sh)"
fi

# Clients without readers need none of the readers' rights.
make_user "$line"
for i in 1 2 3; do ask "$i" acl setuser app -zscore -zcount -zrangebyscore -zremrangebyscore -pexpireat >"$log"; done
REDLOCK_NODES=$(urls)
token=$("$redlock" acquire --ttl 20s alone)
"$redlock" run --wait 15s alone -- true &
waiter=$!
await is_waited_for alone
"$redlock" release alone "$token" && wait "$waiter"
result 'without the commands of readers there are locks, in turn' $? "$log"
refusals >"$log"
holds '... and the nodes have refused nothing' [ ! -s "$log" ]
status '... but no readers' 69 "$redlock" run --shared --no-wait alone -- true

status 'no name' 64 "$redlock" doctor --acl ''
status 'a name with a space' 64 "$redlock" doctor --acl 'a b'
status 'a prefix with a space' 64 "$redlock" doctor --acl a --key-prefix 'a b'
says '... says why' 'key-prefix: for an ACL'

finish
