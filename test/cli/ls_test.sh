#!/bin/sh
# redlock ls, on real nodes: what it lists and what not; nodes that are down; read-only users.
# Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
patient
start_nodes 5
each() { for each_n in 1 2 3 4 5; do ask "$each_n" "$@"; done >"$log" 2>&1; }
# lists WHAT PATTERN [OPTION]...: one case: a line of ls matches
lists() {
    lists_what=$1
    lists_pattern=$2
    shift 2
    "$redlock" ls "$@" >"$out" 2>"$err"
    holds "$lists_what" grep -q -e "$lists_pattern" "$out"
}
# order OPTION...: the names of held locks, in one line
order() { "$redlock" ls "$@" --json | sed -n 's/^{"kind": "lock", "key": "\([^"]*\)".*/\1/p' | paste -sd' ' -; }
is_waited_for() { "$redlock" status "$1" | grep -q '^  1 client waits'; }

status 'no locks' 0 "$redlock" ls
says '... says how much was read' '^0 locks held, 0 clients wait; read 5 of 5 nodes, 0 keys each, in' "$out"

# The keys of redlock. The release at the end lets the waiting clients go.
token=$("$redlock" acquire --fence --ttl 20m --max-ttl 1h --holder web1:4711 nightly)
await is_everywhere nightly "${token% *}" --ttl 20m --max-ttl 1h
for i in 1 2; do "$redlock" acquire --shared --ttl 10m --max-ttl 1h --holder "reader:$i" config; done >"$log"
"$redlock" acquire --permits 3 --take 2 --ttl 15m --max-ttl 1h --holder up:1 uploads >"$log"
start "$redlock" run --wait 20m nightly -- true 2>"$scratch/waiter"
waiter=$pid
await is_waited_for nightly
lists 'a lock: holder, fence, age' '^nightly  *exclusive  *web1:4711  *[3-5]/5  *[0-9]\{16\}  *[0-9.]* m\{0,1\}s  *[12][0-9] min  *1  *[0-9.]* m\{0,1\}s$'
lists 'readers' '^config  *2 readers  *reader:[12] +1  *[3-5]/5 '
lists 'a semaphore' '^uploads  *2/3 permits  *up:1 +1  *[3-5]/5 '
says '... and the sum' '^3 locks held, 1 client waits; read 5 of 5 nodes,' "$out"
lists '--json has all of a lock' \
    "^{\"kind\": \"lock\", \"key\": \"nightly\", \"held\": true, \"mode\": \"exclusive\", \"votes\": [3-5], \"nodes\": 5, \"quorum\": 3, \"holding\": 1, \"holders\": .{\"holder\": \"web1:4711\", \"token\": \"${token% *}\", .*\"fence\": ${token#* }, .*\"waiting\": 1, \"waiting_to_read\": 0, \"longest_wait_ms\": [0-9]*, \"longest_waiter\": \"[^\"]*:[0-9]*\"" --json
says '... of a semaphore' '"key": "uploads".*"permits": 3.*"slot": [0-2]' "$out"
says '... of a node' '^{"kind": "node", "node": "127.0.0.1:[0-9]*", "up": true, "read": true, "complete": true, .*"standing": "votes"' "$out"
says '... and of all' '^{"kind": "summary", "locks": 3, "leftovers": 0, "foreign": 0, "waiting": 1, "nodes": 5, "nodes_read": 5' "$out"
if python3 -c '' 2>/dev/null; then
    python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$out" 2>"$log"
    result '... and every line is JSON' $? "$log"
else
    skip '... and every line is JSON' 'python3 is not installed'
fi
holds '--waiting: what clients wait for' [ "$(order --waiting)" = nightly ]
[ "$(order)" = 'config nightly uploads' ] && [ "$(order --sort left)" = 'config uploads nightly' ] &&
    [ "$(order --sort waiting)" = 'nightly config uploads' ]
result '--sort' $?
[ "$(order --prefix up)" = uploads ] && [ "$(order --prefix 'up*')" = '' ]
result '--prefix, which is no pattern' $?

"$redlock" release nightly "${token% *}" && wait "$waiter"
result 'who waited gets the lock' $? "$scratch/waiter"

# Keys of other programs, and left-overs.
each set legacy some-uuid PX 600000
each hset redisson:lock uuid:1 1
each pexpire redisson:lock 600000
each set settings x
ask 1 set crashed 00112233445566778899aabbccddeeff00112233:dead:9 PX 600000 >"$log"
"$redlock" acquire --ttl 10m --max-ttl 1h "$(printf 'odd\033[31m\nname')" >"$log"
lists 'without a quorum: apart' '^crashed  *exclusive  *dead:9  *1/5 '
sed -n '/^without a quorum/,/^$/p' "$out" | grep -q '^crashed'
result '... under a heading of their own' $? "$out"
says 'the lock of another library, by its value' '^legacy  *-  *"some-uuid"  *5/5 ' "$out"
says '... that is no string, by its type' '^redisson:lock  *-  *(hash)  *5/5 ' "$out"
says '... and what never ends is only counted' '(up to 1 that are no locks)' "$out"
says 'strange bytes in a name are not printed' '^odd?\[31m?name  exclusive' "$out"
wide=$(printf '\346\274\242\345\255\227') # two ideograms
token=$("$redlock" acquire "$wide")
lists '... and wide characters take two columns' "^$wide \{11\}exclusive"
"$redlock" release "$wide" "$token"

# Kicks, of names that are held or free.
"$redlock" kick --yes --reason 'its machine burnt' uploads --slot 0 >"$log" 2>&1
"$redlock" acquire --ttl 1m --max-ttl 1h --holder web2:1 gone >"$log"
"$redlock" kick --yes --reason 'it hung' gone >"$log" 2>&1
lists 'who was kicked, by whom, why' '^gone: web2:1 was kicked by [^ ]*@[^ ]* at 20.*: it hung$'
says '... of a semaphore' '^uploads: up:1 was kicked from slot 0 by .*: its machine burnt$' "$out"
holds '... each once, though all nodes have the note' [ "$(grep -c 'was kicked' "$out")" -eq 2 ]
lists '... with --json' '^{"kind": "kicked", "key": "gone".*"kicks": \[{"kicked_at": .*"reason": "it hung"}\]}$' --json

# It changes nothing.
changes() { for i in 1 2 3 4 5; do ask "$i" info persistence | grep '^rdb_changes'; done; }
changes >"$scratch/before"
"$redlock" ls >"$out" && changes | cmp - "$scratch/before" >"$log"
result 'it writes nothing on the nodes' $? "$log"

# Many keys: small steps, up to a limit.
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "SET many:%d %040x PX 600000\r\n", i, i }' >"$scratch/many"
for i in 1 2 3 4 5; do ask "$i" --pipe <"$scratch/many" >"$log" 2>&1; done
lists '4,000 locks more' '^4003 locks held'
lists '... of which it reads no more than it is told' 'read [12][0-9]* keys and stopped there, see --max-keys; it has 40[0-9]*$' \
    --max-keys 1000
each flushdb

# Users. The read-only one can read, and nothing else.
make_user() {
    for i in 1 2 3 4 5; do
        printf '%s\n' "$*" | sed 's/PASSWORD/secret/' | ask "$i"
        ask "$i" acl log reset
    done >"$log" 2>&1
}
urls() { sed 's|//|//app:secret@|' "$nodes/urls" | paste -sd, -; }
refusals() { for i in 1 2 3 4 5; do ask "$i" acl log; done | sed -n '/^object$/{n;p;}' | sort -u | paste -sd' ' -; }
for i in 1 2; do "$redlock" acquire --fence --ttl 10m --max-ttl 1h "mine:$i"; done >"$log"
"$redlock" acquire --permits 2 --ttl 10m --max-ttl 1h mine:s >"$log"
"$redlock" acquire --shared --ttl 10m --max-ttl 1h mine:r >"$log"
each set mine:hash x PX 1
each hset mine:hash a b
each pexpire mine:hash 600000
each set other:1 x PX 600000
make_user "$("$redlock" doctor --acl app --read-only)"
lists 'a user who may only look' '^4 locks held, 0 clients wait; read 5 of 5 nodes' --nodes "$(urls)"
holds '... and is refused nothing' [ -z "$(refusals)" ]
status '... and can acquire nothing' 69 "$redlock" acquire --nodes "$(urls)" --no-wait mine:3
make_user "$("$redlock" doctor --acl app --read-only --key-prefix mine:)"
lists 'one for some keys, who asks for these' '^4 locks held' --nodes "$(urls)" --prefix mine:
holds '... is refused nothing' [ -z "$(refusals)" ]
lists '... and who asks for all: what is refused is counted' '1 keys are not for this user to read: NOPERM' \
    --nodes "$(urls)"
make_user "$("$redlock" doctor --acl app --read-only | sed 's/ +scan//')"
status 'one who may not scan' 69 "$redlock" ls --nodes "$(urls)"
says '... is said what is missing' 'not all was read: NOPERM.*scan.*redlock doctor --acl NAME' "$out"
status 'a wrong password' 69 "$redlock" ls --nodes "$(sed 's|//|//app:wrong@|' "$nodes/urls" | paste -sd, -)"
says '... is said, too' 'not read: WRONGPASS' "$out"

# Nodes that are down, or hang.
sh "$nodes_sh" kill "$nodes" 2
sh "$nodes_sh" pause "$nodes" 4
status 'a node is down, another hangs' 0 timeout 30 "$redlock" ls --node-timeout 100ms
says '... both are named' "127.0.0.1:$(port 4): not read: no answer in time" "$out"
says '... with the reason' "127.0.0.1:$(port 2): not read: Connection refused" "$out"
says '... and locks have the votes that there are' '^mine:1  *exclusive .*  [23]/5  ' "$out"
sh "$nodes_sh" kill "$nodes" 1
status 'without a quorum' 69 timeout 30 "$redlock" ls --node-timeout 100ms
says '... says so' '2 of 5 nodes could be read, 3 are needed'
sh "$nodes_sh" resume "$nodes" 4

status 'a word' 64 "$redlock" ls nightly
says '... names what shows it' '"nightly" .* redlock status KEY'
status 'a column that there is not' 64 "$redlock" ls --sort color
status 'a prefix that no name can have' 64 "$redlock" ls --prefix "$(printf '%02000d' 0)"
status '--read-only without --acl' 64 "$redlock" doctor --read-only

stop_nodes
start_nodes 3 --tls
"$redlock" acquire --ttl 10m --max-ttl 1h safe >"$log"
for i in $(seq 100); do echo "SET many:$i $(printf '%040x' "$i") PX 600000"; done >"$scratch/many"
for i in 1 2 3; do ask "$i" --pipe <"$scratch/many" >"$log" 2>&1; done
lists 'nodes with TLS' '^101 locks held, 0 clients wait; read 3 of 3 nodes'

finish
