#!/bin/sh
# redlock doctor: each finding, on a node that causes it. Arguments: REDLOCK NODES_SH
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source=test/cli/doctor.sh
. "$(dirname "$0")/doctor.sh"
start_nodes 3
patient
tell() { ask "$@" >/dev/null 2>&1; }


older() { [ "$("$cli" -p "$(port 3)" info server | sed -n 's/^uptime_in_seconds:\([0-9]*\).*/\1/p')" -ge 1 ]; }
await older
for i in 1 2 3; do
    tell "$i" config set appendonly yes
    tell "$i" config set appendfsync always
done
status 'nothing to complain of' 0 "$redlock" doctor --ttl 1s
says '... and it says so' '^These nodes can be trusted with locks.$' "$out"
[ "$(grep -c '^ok ' "$out")" -ge 12 ] && ! grep -q '^warning\|^error' "$out"
result 'every check is ok' $? "$out"
! grep -q '.\{81\}' "$out" && ! grep -q "$(printf '\033')" "$out"
result '80 columns, no colours in a file' $? "$out"
holds "no key is left but the node's secret" [ "$("$cli" -p "$(port 1)" keys '*')" = libredlock:secret ]
if command -v script >/dev/null; then
    TERM=xterm script -qec "'$redlock' doctor --ttl 1s" /dev/null >"$out" </dev/null
    holds 'colours on a terminal' grep -q "$(printf '\033\\[32mok')" "$out"
    TERM=xterm NO_COLOR=1 script -qec "'$redlock' doctor --ttl 1s" /dev/null >"$out" </dev/null
    lacks '... and none with NO_COLOR' "$(printf '\033')" "$out"
fi

finds 'too young for a strict guard' note guard 'for another [0-9]* s, until it is older than --max-ttl, 1h' 1 \
    --guard strict --max-ttl 1h
says '... and the verdict says until when' '^These nodes can be trusted with locks in 3[56][0-9][0-9] s\.$' "$out"
finds '... of a quorum' warning quorum 'strict clients are granted nothing for another 3[56][0-9][0-9] s' 1 \
    --guard strict --max-ttl 1h
age=$("$cli" -p "$(port 1)" info server | tr -d '\r' | sed -n 's/^uptime_in_seconds://p')
age=$((age + 2))s
trusted() { "$redlock" doctor --ttl 1s --guard strict --max-ttl "$age" | tr -s ' \n' ' ' | grep -q 'let it vote (all 3)'; }
await trusted
status 'old enough: from then on clients let it vote' 0 \
    "$redlock" run --wait 30s --ttl 1s --node-timeout 250ms --grace 50ms --guard strict --max-ttl "$age" of-age -- true
finds 'observed does not look' ok guard 'let it vote (all 3)' 0 --guard observed
tell 2 acl setuser default -info
finds 'no INFO, no vote' error guard "INFO is refused (127.0.0.1:$(port 2))" 2 --guard strict --max-ttl 1ms
tell 2 acl setuser default +info

tell 1 config set no-appendfsync-on-rewrite yes
finds 'AOF that is not always flushed' warning persistence "not flushed while it is rewritten.*($(one 1))" 1
tell 1 config set no-appendfsync-on-rewrite no
tell 1 config set appendfsync everysec
finds 'AOF each second' note persistence "flushed every second.*($(one 1))" 0
tell 1 config set appendonly no
finds 'no AOF' warning persistence "nothing is saved: a restart forgets.*($(one 1))" 1
tell 1 config set save '3600 1'
finds 'snapshots' warning persistence 'snapshots only' 1
tell 1 config set appendonly yes
tell 1 config set appendfsync always

tell 2 config set maxmemory-policy allkeys-lru
finds 'allkeys-lru without maxmemory' warning eviction "allkeys-lru, without effect.*(127.0.0.1:$(port 2))" 1
tell 2 config set maxmemory 100mb
finds 'allkeys-lru with maxmemory' error eviction 'allkeys-lru with maxmemory set' 2
finds 'which a guard does not use' note guard "do not use it: it may evict locks (127.0.0.1:$(port 2))" 2 \
    --guard observed
tell 2 config set maxmemory-policy noeviction
finds 'noeviction with maxmemory' ok eviction 'noeviction (all 3)' 0
tell 2 config set maxmemory 1mb
finds 'its memory is full' error commands 'SET is refused: OOM' 2
holds '... and eviction says so too' grep -q 'noeviction, but its memory is' "$out.joined"
tell 2 config set maxmemory 0

status 'up for less than the ttl, but nothing is forgotten' 0 "$redlock" doctor --ttl 1d
says '... and says so' '^ok  *uptime  *up for less than the longest ttl, 1d; it does not forget' "$out"
tell 1 config set appendfsync everysec
"$redlock" doctor --ttl 1d >"$out"
[ $? -eq 1 ] && grep -q 'warning  uptime .*less than the longest' "$out"
result 'up for less than the ttl, and it may forget: a warning' $? "$out"
tell 1 config set appendfsync always

tell 1 config set repl-diskless-sync-delay 0
tell 3 replicaof 127.0.0.1 "$(port 1)"
linked() { "$cli" -p "$(port 3)" info replication | grep -q 'master_link_status:up'; }
await linked
finds 'a replica' error role "a replica of 127.0.0.1:$(port 1).*($(one 3))" 2
holds '... and its primary has one' grep -q "warning *role *a primary with 1 replica ($(one 1))" "$out.joined"
holds '... and both are one replication' grep -q 'error *identity .*belong to one replication' "$out.joined"
finds 'which a guard does not use' note guard "do not use it: it is a replica (127.0.0.1:$(port 3))" 2 \
    --guard observed
tell 3 replicaof no one
await sh -c "$cli -p $(port 1) info replication | grep -q connected_slaves:0"

finds 'one server by two names' error identity "127.0.0.1:$(port 1) and localhost:$(port 1) are the same server" 2 \
    --nodes "$(url 1),redis://localhost:$(port 1),$(url 2)"
finds 'two databases of a server' error identity 'are the same server' 2 \
    --nodes "$(url 1),$(url 1)/1,$(url 2)"
"$redlock" metrics --nodes "$(url 1),$(url 1)/1,$(url 2)" >"$out" 2>"$err"
holds '... and metrics has each sample once' [ -z "$(grep -v '^#' "$out" | cut -d ' ' -f 1 | sort | uniq -d)" ]
finds 'one node' warning number 'one node' 1 --nodes "$(url 2)"
finds 'two nodes' warning number 'two nodes: both are needed' 1 --nodes "$(url 1),$(url 2)"

tell 1 acl setuser weak on '>pw' '~*' '&*' +ping +info +time
finds 'a user without rights' error commands "SET is refused: NOPERM" 2 \
    --nodes "redis://weak:pw@$(one 1),$(url 2),$(url 3)"
holds '... and how to give him those' grep -q 'remedy *allow it: ACL SETUSER weak +set' "$out.joined"
tell 1 acl setuser weak +set +eval +evalsha '+script|load' +get
finds 'a user who may not delete' error commands 'the script that releases is refused' 2 \
    --nodes "redis://weak:pw@$(one 1),$(url 2),$(url 3)"
holds '... whose keys end by their ttl' [ "$("$cli" -p "$(port 1)" keys 'redlock-doctor:*' | wc -l)" -le 3 ]
tell 1 acl setuser weak +del +pttl +pexpire -info
finds 'a user without INFO' warning mode 'INFO is refused' 1 \
    --nodes "redis://weak:pw@$(one 1),$(url 2),$(url 3)"
finds '... and without PUBLISH' warning commands 'PUBLISH is refused' 1 \
    --nodes "redis://weak:pw@$(one 1),$(url 2),$(url 3)"
tell 1 acl setuser keyed on '>pw' '~mine:*' '~libredlock:line:*' '~libredlock:secret' '~libredlock:config' '&*' +@all
finds 'a user for some keys' error commands 'SET is refused: NOPERM' 2 \
    --nodes "redis://keyed:pw@$(one 1),$(url 2),$(url 3)"
finds '--key-prefix' ok commands 'are allowed (all 3)' 0 --key-prefix mine: \
    --nodes "redis://keyed:pw@$(one 1),$(url 2),$(url 3)"
finds '... and no fences' note fences 'a lock with a fence is refused: NOPERM' 0 --key-prefix mine: \
    --nodes "redis://keyed:pw@$(one 1),$(url 2),$(url 3)"
finds '--fence: they have to work' error fences 'a lock with a fence is refused: NOPERM' 2 --fence \
    --key-prefix mine: --nodes "redis://keyed:pw@$(one 1),$(url 2),$(url 3)"
holds '... and how to allow them' grep -q 'remedy *allow them: ACL SETUSER keyed .* ~libredlock:fence:\*' "$out.joined"
long=mine:$(printf '%090d' 0) # as long as an ACL may have it
tell 1 acl setuser long on '>pw' "~$long*" '~libredlock:*' '&*' +@all
finds 'a long --key-prefix' ok commands 'are allowed (all 3)' 0 --key-prefix "$long" \
    --nodes "redis://long:pw@$(one 1),$(url 2),$(url 3)"
tell 1 acl setuser keyed '~libredlock:fence:*'
finds 'counters allowed' ok fences 'are allowed (all 3)' 0 --fence --key-prefix mine: \
    --nodes "redis://keyed:pw@$(one 1),$(url 2),$(url 3)"
keyed="redis://keyed:pw@$(one 1),$(url 2),$(url 3)"
tell 1 acl setuser keyed resetkeys '~mine:*' '~libredlock:line:*' '~libredlock:fence:*' '~libredlock:config'
finds '... but not the secret' warning line "the line of waiting clients is refused: NOPERM .*($(one 1))" 1 \
    --key-prefix mine: --nodes "$keyed"
tell 1 acl setuser keyed '~libredlock:secret'
finds 'all that waiting in turn needs' ok line 'can wait in turn (all 3)' 0 --key-prefix mine: --nodes "$keyed"
for right in zadd zrem zrange zrank zcard zpopmin time; do
    tell 1 acl setuser keyed "-$right"
    finds "a line without $right" warning line "the line of waiting clients is refused: .*($(one 1))" 1 \
        --key-prefix mine: --nodes "$keyed"
    tell 1 acl setuser keyed "+$right"
done
remedy '... locks work, and how to allow it' \
    'allow it, ACL SETUSER keyed .*+zpopmin.* ~libredlock:line:\* ~libredlock:secret: without it .* not served in turn .*; locks work'
holds '... and no line is left' [ -z "$("$cli" -p "$(port 1)" keys 'libredlock:line:*')" ]
# The further rights for readers and semaphores; clients that do not use these need no such rights.
finds 'no keys of readers' note readers "a shared lock is refused: .*($(one 1))" 0 --key-prefix mine: --nodes "$keyed"
remedy '... what does not work, and how to allow it' \
    'if you use --shared, which does not work without it: ACL SETUSER keyed .*+pexpireat +time ~libredlock:\*; .* Other locks work'
finds 'no keys of semaphores' note permits "a semaphore is refused: NOPERM .*($(one 1))" 0 --key-prefix mine: \
    --nodes "$keyed"
remedy '... what does not work, and how to allow it' \
    'if you use --permits, which does not work without it: ACL SETUSER keyed +mget .* ~libredlock:\*; .* Other locks work'
# right CHECK WORD: without it CHECK is refused
without() {
    finds "$1 without $2" note "$1" "is refused: .*($(one 1))" "$3" --key-prefix mine: --nodes "$keyed"
}
for right in readers: intent: upgrade: line:shared: line:permits: permits: slot:; do
    tell 1 acl setuser keyed resetkeys '~mine:*' '~libredlock:fence:*' '~libredlock:line:{*' '~libredlock:secret' '~libredlock:config'
    for other in readers: intent: upgrade: line:shared: line:permits: permits: slot:; do
        [ "$other" = "$right" ] || tell 1 acl setuser keyed "~libredlock:$other*"
    done
    case $right in *permits: | slot:) without permits "libredlock:$right" 0 ;; *) without readers "libredlock:$right" 0 ;; esac
done
tell 1 acl setuser keyed '~libredlock:*'
for right in zscore zcount zrangebyscore zremrangebyscore pexpireat exists; do
    tell 1 acl setuser keyed "-$right"
    without readers "$right" 0
    tell 1 acl setuser keyed "+$right"
done
for right in zadd zrem zrange zrank time; do # which the line misses, too
    tell 1 acl setuser keyed "-$right"
    without readers "$right" 1
    tell 1 acl setuser keyed "+$right"
done
for right in zadd zrem zrange zrank zcard time; do
    tell 1 acl setuser keyed "-$right"
    without permits "$right" 1
    tell 1 acl setuser keyed "+$right"
done
for right in mget exists; do
    tell 1 acl setuser keyed "-$right"
    without permits "$right" 0
    tell 1 acl setuser keyed "+$right"
done
finds 'all that readers need' ok readers 'can be shared by readers (all 3)' 0 --key-prefix mine: --nodes "$keyed"
finds 'all that semaphores need' ok permits 'semaphores can be used (all 3)' 0 --key-prefix mine: --nodes "$keyed"
holds '... and nothing is left' [ -z "$("$cli" -p "$(port 1)" keys 'libredlock:*mine:*')" ]
tell 1 acl setuser keyed '-pubsub|numsub'
finds 'no PUBSUB NUMSUB' warning line 'PUBSUB NUMSUB is refused: NOPERM' 1 --key-prefix mine: --nodes "$keyed"
tell 1 acl setuser keyed '+pubsub|numsub' resetchannels '&redlock:*'
finds "no client's channel" warning line "PUBLISH to a client's channel is refused: NOPERM" 1 \
    --key-prefix mine: --nodes "$keyed"
grep -q "^warning *line *SUBSCRIBE to a client's channel is refused" "$out.joined" && grep -q '^ok *commands .*(all 3)' "$out.joined"
result '... and none to listen to' $? "$out.joined"
tell 1 acl setuser keyed resetchannels '&libredlock:client:*'
finds '... but no other' ok line 'can wait in turn (all 3)' 1 --key-prefix mine: --nodes "$keyed"
tell 1 acl setuser keyed '&*'
finds 'a wrong password' error reachable 'AUTH: WRONGPASS' 2 \
    --nodes "redis://weak:no@$(one 1),$(url 2),$(url 3)"
tell 1 config set requirepass secret
finds 'no password' error reachable 'AUTH: NOAUTH' 2
remedy '... and how to give one without showing it' 'name a file .*by --password-file'
"$cli" -p "$(port 1)" -a secret config set requirepass '' >/dev/null 2>&1

# With a strict guard, clients need no AOF.
tell 1 config set appendonly no
tell 1 config set save ''
finds 'no AOF, a strict guard' note persistence \
    "nothing is saved.*($(one 1))" 0 --guard strict --max-ttl 1ms
remedy '... which does without' 'none is needed if all clients have a strict guard'
finds 'no AOF, a guard that observes' warning persistence \
    "nothing is saved.*($(one 1))" 1 --guard observed
remedy '... which does not do without' 'set appendonly .* or guard = strict in all clients'
tell 1 config set appendonly yes
tell 1 config set appendfsync everysec
finds 'too young, a strict guard' note uptime 'less than the longest ttl' 1 --guard strict --max-ttl 1h --ttl 1d
tell 1 config set appendfsync always

# A member of a cluster: even one that has every slot refuses a fence.
# The port of its bus is chosen as nodes.sh chooses a node's: one that is taken is another try.
cp "$nodes/3/redis.conf" "$scratch/alone.conf"
joins() {
    bus=$(awk -v seed="$(od -An -N4 -tu4 /dev/urandom)" 'BEGIN { srand(seed); print 10000 + int(rand() * 20000) }')
    sh "$nodes_sh" kill "$nodes" 3
    { cat "$scratch/alone.conf"; printf 'cluster-enabled yes\ncluster-port %s\n' "$bus"; } >"$nodes/3/redis.conf"
    sh "$nodes_sh" restart "$nodes" 3
}
await joins
finds 'a member of a cluster' error mode "a member of a cluster ($(one 3))" 2
tell 3 flushall # a slot with a key is its own already
tell 3 cluster flushslots
tell 3 cluster addslotsrange 0 16383
has_slots() { "$cli" -p "$(port 3)" set k v | grep -q OK && tell 3 del k; }
await has_slots
finds '... with all slots' error fences "CROSSSLOT.*($(one 3))" 2 --fence
remedy '... is explained' 'a cluster stores a lock and its counter in different slots'
status '... and a fence is refused' 69 "$redlock" run --no-wait --fence --nodes "$(url 3)" k -- true
says '... with the reason' 'refused by a cluster node: .*CROSSSLOT'

sh "$nodes_sh" kill "$nodes" 3
printf 'port %s\ndir %s\nlogfile /dev/null\n' "$(port 3)" "$scratch" >"$scratch/sentinel.conf"
"$server" "$scratch/sentinel.conf" --sentinel >"$log" 2>&1 &
left="$left $!"
await sh -c "$cli -p $(port 3) ping"
finds 'a Sentinel' error mode "a Sentinel, which stores nothing ($(one 3))" 2
kill "$!"
await gone "$!"

# Servers that are not Redis, or hide it.
# answers WHAT PATTERN SCRIPT: a server in Python on a port of its own, which it writes to a file. The
# doctor waits for what it says, or for as long as $answers_by. The finding is an error of reachable, or
# $answers_as
answers_by='' answers_elsewhere='' answers_as=''
answers() {
    rm -f "$scratch/port"
    python3 - "$scratch/port" >"$log" 2>&1 <<PYTHON &
import os, re, socket, sys, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
def told(port):
    with open(sys.argv[1] + "~", "w") as file:
        file.write(str(port))
    os.rename(sys.argv[1] + "~", sys.argv[1])
def talk(act):
    listener = socket.create_server(("127.0.0.1", 0))
    told(listener.getsockname()[1])
    while True:
        act(listener.accept()[0])
def bend(pattern, change): # a node that says something else
    def pass_on(near):
        far = socket.create_connection(("127.0.0.1", $(port 1)))
        while request := near.recv(65536):
            far.sendall(request)
            near.sendall(re.sub(pattern, lambda found: change.ljust(len(found[0])), far.recv(65536)))
    talk(lambda near: threading.Thread(target=pass_on, args=(near,), daemon=True).start())
$3
PYTHON
    answers_pid=$!
    left="$left $answers_pid"
    await test -s "$scratch/port"
    # shellcheck disable=SC2086
    finds "$1" ${answers_as:-error reachable} "$2.*(127.0.0.1:$(cat "$scratch/port"))" 2 ${answers_by:+--node-timeout $answers_by} \
        --nodes "$(url 1),$(url 2),redis://${answers_login-}127.0.0.1:$(cat "$scratch/port")"
    [ -z "$answers_elsewhere" ] ||
        reasons '... elsewhere' "$answers_elsewhere" --nodes "redis://127.0.0.1:$(cat "$scratch/port")"
    kill "$answers_pid"
}
if command -v python3 >/dev/null; then
    answers_elsewhere='not Redis: an HTTP server'
    answers 'an HTTP server' 'not Redis: an HTTP server' '
server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
told(server.server_port)
server.serve_forever()'
    answers_elsewhere=''
    answers 'an SSH server' 'not Redis: an SSH server' '
talk(lambda s: (s.sendall(b"SSH-2.0-OpenSSH_9\r\n"), s.recv(99), s.close()))'
    answers 'memcached' 'not Redis: a memcached server' '
talk(lambda s: (s.recv(99), s.sendall(b"ERROR\r\n"), s.close()))'
    answers 'some other server' 'not Redis: a server that answers PING with "?\[31mwhat' '
talk(lambda s: (s.recv(99), s.sendall(b"\x1b[31mwhat?"), s.close()))'
    answers_by=100ms
    answers 'a server that says nothing' 'it accepts connections, but: no answer in time' '
kept = []
talk(kept.append)'
    # Each byte of these would restart the timeout of a socket.
    answers 'an endless answer, drop by drop' 'it accepts connections, but: no answer in time' '
def drip(s):
    try:
        s.sendall(b"+")
        while True:
            s.sendall(b"a")
            time.sleep(0.02)
    except OSError:
        pass
talk(lambda s: threading.Thread(target=drip, args=(s,), daemon=True).start())'
    answers 'an endless answer, as fast as it can' \
        'it accepts connections, but: \(an endless answer\|no answer in time\)' '
def pour(s):
    try:
        s.sendall(b"+")
        while True:
            s.sendall(b"a" * 65536)
    except OSError:
        pass
talk(lambda s: threading.Thread(target=pour, args=(s,), daemon=True).start())'
    answers 'a node that hangs after its first answers' 'it accepts connections, but: no answer in time' '
kept = []
talk(lambda s: (s.recv(99), s.sendall(b"+PONG\r\n+\r\n"), kept.append(s)))'
    answers_by='' answers_elsewhere=DENIED
    answers 'a node in protected mode' 'DENIED Redis is running in protected mode' '
talk(lambda s: (s.sendall(b"-DENIED Redis is running in protected mode\r\n"), s.recv(99), s.close()))'
    answers_login=app:secret@ answers_elsewhere='max number of clients'
    answers 'a node with too many clients' 'ERR max number of clients reached' '
talk(lambda s: (s.sendall(b"-ERR max number of clients reached\r\n"), s.recv(99), s.close()))'
    remedy '... does not lack a password' 'raise maxclients'
    answers_login='' answers_elsewhere='' answers_as='note clock'
    answers 'a clock that is no number' 'not known: .* its answer is no time' '
bend(rb"(?<=10\r\n)\d{10}(?=\r)", b"nan")'
    answers_as='warning role'
    answers 'a node that does not say its role' 'INFO does not say whether it is a primary' '
bend(rb"role:master", b"")'
    answers_as='ok uptime'
    answers 'a negative uptime' 'up for less than the longest ttl' '
bend(rb"uptime_in_seconds:\d+\r\nuptime_in_days:\d+", b"uptime_in_seconds:-9")'
    answers_by=100ms answers_as=
    answers_login=app:secret@
    answers '... nor to a password' 'it accepts connections, but: no answer in time' '
kept = []
talk(kept.append)'
else
    skip 'servers that are not Redis' 'python3 is not installed'
fi
if command -v openssl >/dev/null &&
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -keyout "$scratch/key" -out "$scratch/cert" >"$log" 2>&1 &&
    { cat >"$scratch/tls.conf" && "$server" "$scratch/tls.conf" --tls-port 0 --port 0 --unixsocket \
        "$scratch/tls.socket" --daemonize yes >"$log" 2>&1; } <<CONF
tls-cert-file $scratch/cert
tls-key-file $scratch/key
tls-ca-cert-file $scratch/cert
tls-auth-clients no
pidfile $scratch/tls.pid
logfile /dev/null
dir $scratch
CONF
then
    await test -s "$scratch/tls.pid"
    left="$left $(cat "$scratch/tls.pid")"
    await "$cli" -s "$scratch/tls.socket" config set tls-port "$(port 3)"
    finds 'a TLS port' error reachable "its port requires TLS ($(one 3))" 2
    kill "$(cat "$scratch/tls.pid")"
    await gone "$(cat "$scratch/tls.pid")"
else
    skip 'a TLS port' 'no openssl, or a server without TLS'
fi
sh "$nodes_sh" restart "$nodes" 3
sh "$nodes_sh" kill "$nodes" 3
finds 'a node is down' error reachable "no connection: Connection refused ($(one 3))" 2
holds '... and a quorum is left' grep -q 'ok *quorum *2 of 3 nodes are usable, 2 are needed' "$out.joined"
sh "$nodes_sh" kill "$nodes" 2
finds 'two are down' error quorum '1 of 3 nodes are usable, 2 are needed' 2
finds 'one node, which is down' error quorum 'the node is not usable' 2 --nodes "redis://$(one 2)"
sh "$nodes_sh" pause "$nodes" 1
finds 'a node hangs' error reachable 'it accepts connections, but: no answer in time' 2 --node-timeout 100ms

finish
