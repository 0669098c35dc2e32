#!/bin/sh
# cluster/nodes.sh stops what it has started, and nothing else.
#
#   nodes_test.sh NODES_SH
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
nodes_sh=$1
# shellcheck source=cluster/server.sh
. "$(dirname "$nodes_sh")/server.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-nodes-test.XXXXXX") || exit 2
dir=$scratch/nodes
stranger=''
clean_up() {
    [ -z "$stranger" ] || kill "$stranger"
    [ ! -e "$dir" ] || sh "$nodes_sh" stop "$dir"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log

nodes() { sh "$nodes_sh" "$@" >"$log" 2>&1; }
port() { cat "$dir/$1/port"; }
ask() { timeout 2 "$cli" -p "$(port "$1")" ping 2>&1; }
# runs PID: whether the process is there and is no zombie
runs() { grep -q '^State:[[:space:]]*[RSDTtI]' "/proc/$1/status" 2>/dev/null; }

sh "$nodes_sh" start -n 3 --dir "$dir" >"$scratch/out" 2>"$log"
result 'start' $? "$log"
diff "$scratch/out" "$dir/urls" >"$log" && [ "$(wc -l <"$scratch/out")" -eq 3 ]
result 'it prints one URL a node, as in urls' $? "$log"
[ "$(ask 1)$(ask 2)$(ask 3)" = PONGPONGPONG ]
result 'all of them answer' $?
[ "$("$cli" -p "$(port 1)" config get maxmemory-policy | tail -n 1)" = noeviction ]
result 'they do not evict' $?
nodes start --dir "$dir"
[ $? -eq 1 ] && grep -q 'already holds nodes' "$log"
result 'a folder in use is refused' $? "$log"

"$cli" -p "$(port 2)" set a b >"$log"
nodes kill "$dir" 2 && [ "$(ask 2)" != PONG ]
result 'kill' $? "$log"
nodes kill "$dir" 2
[ $? -eq 1 ] && grep -q 'not running' "$log"
result 'kill of a dead node is refused' $? "$log"
old=$(port 2)
nodes restart "$dir" 2 && [ "$(ask 2)" = PONG ] && [ "$(port 2)" = "$old" ]
result 'restart on the same port' $? "$log"
[ "$("$cli" -p "$old" dbsize)" = 0 ]
result 'it comes back empty' $?

nodes pause "$dir" 3 && nodes status "$dir" && grep -q '^3 .* paused$' "$log"
result 'pause' $? "$log"
nodes resume "$dir" 3 && [ "$(ask 3)" = PONG ]
result 'resume' $? "$log"

nodes restart "$dir" 4
[ $? -eq 1 ] && grep -q 'no node 4' "$log"
result 'a node that does not exist is refused' $? "$log"
nodes start -n 0
[ $? -eq 1 ] && grep -q '1 to 127' "$log"
result 'no nodes are refused' $? "$log"
# A system with only valkey-server and valkey-cli.
mkdir "$scratch/bin"
find /usr/bin /bin ! -name '*redis*' ! -name '*valkey*' ! -name 'apt*' ! -type d \
    -exec ln -sft "$scratch/bin" {} + 2>"$log"
for program in server cli; do
    case $program in server) path=$(command -v "$server") ;; *) path=$(command -v "$cli") ;; esac
    printf '#!/bin/sh\nexec %s "$@"\n' "$path" >"$scratch/bin/valkey-$program"
    chmod +x "$scratch/bin/valkey-$program"
done
(
    unset REDLOCK_SERVER
    PATH=$scratch/bin
    nodes start -n 1 --dir "$scratch/x" && nodes stop "$scratch/x" || exit 1
    sh "$(dirname "$nodes_sh")/setup.sh" demo >"$log" 2>&1
    ! grep -q redis "$log" # of which nothing is missing
)
result 'Valkey alone will do' $? "$log"

REDLOCK_SERVER=no-such-server nodes start --dir "$scratch/x"
[ $? -eq 1 ] && grep -q 'apt-get install redis-server' "$log" && [ ! -e "$scratch/x" ]
result 'without a server it names the package' $? "$log"
REDLOCK_SERVER=false nodes start --dir "$scratch/x"
[ $? -eq 1 ] && [ ! -e "$scratch/x" ]
result 'a server that ends at once leaves nothing' $? "$log"

# A pid that another process has by now.
pids=$(cat "$dir"/*/pid)
sleep 300 &
stranger=$!
echo "$stranger" >"$scratch/pid"
nodes kill "$dir" 1
cp "$scratch/pid" "$dir/1/pid"
nodes kill "$dir" 1
[ $? -eq 1 ] && runs "$stranger"
result 'a process that has a reused pid is not signalled' $? "$log"

nodes pause "$dir" 2
nodes stop "$dir" && [ ! -e "$dir" ]
result 'stop, a paused node too' $? "$log"
left=0
for pid in $pids; do
    ! runs "$pid" || left=$((left + 1))
done
[ "$left" -eq 0 ] && runs "$stranger"
result 'no server is left, and the stranger is' $?

# With a pipe as its output: a server that kept it open would block the reader for ever.
mkdir "$dir" "$dir/mine"
# shellcheck disable=SC2016
timeout 20 sh -c 'sh "$1" start -n 1 --dir "$2" 2>/dev/null | cat' sh "$nodes_sh" "$dir" >"$log"
result 'start in a pipe ends' $? "$log"
nodes stop "$dir" && [ -d "$dir/mine" ] && rmdir "$dir/mine" && rmdir "$dir"
result 'a folder that was there before stays' $? "$log"

if command -v openssl >/dev/null && "$cli" --help 2>&1 | grep -q -e --tls; then
    # A folder whose name has to be encoded in a URL.
    dir=$scratch/'with space, comma, é'
    nodes start -n 2 --tls --dir "$dir"
    result 'start with TLS' $? "$log"
    grep -c '^rediss://127\.0\.0\.1:[0-9]*?tls_ca=/.*with%20space%2C%20comma%2C%20%C3%A9/tls/ca\.crt$' "$dir/urls" >"$log"
    [ "$(cat "$log")" -eq 2 ]
    result '... the URLs name the authority' $? "$dir/urls"
    ask_tls() {
        timeout 2 "$cli" --tls --cacert "$dir/tls/ca.crt" -p "$(cat "$dir/$1/tls-port")" ping 2>&1
    }
    [ "$(ask_tls 1)$(ask_tls 2)$(ask 2)" = PONGPONGPONG ]
    result '... they answer, and on the plain port too' $?
    old=$(cat "$dir/2/tls-port")
    nodes kill "$dir" 2 && nodes restart "$dir" 2 && [ "$(ask_tls 2)" = PONG ] &&
        [ "$(cat "$dir/2/tls-port")" = "$old" ]
    result '... also after a restart, on the same port' $? "$log"
    nodes stop "$dir" && [ ! -e "$dir" ]
    result '... and nothing of it is left' $? "$log"
    dir=$scratch/nodes
    mkdir -p "$dir/tls" && : >"$dir/tls/mine"
    nodes start -n 1 --tls --dir "$dir"
    [ $? -eq 1 ] && grep -q 'tls is there already' "$log"
    result 'a folder that is in the way is not used' $? "$log"
    nodes start -n 1 --dir "$dir" && nodes stop "$dir" && [ -e "$dir/tls/mine" ]
    result '... nor removed' $? "$log"
    rm -r "$dir"
fi

sh "$nodes_sh" start -n 20 --dir "$dir" >"$log" 2>&1 &
starter=$!
# As soon as one server has been started ...
while [ ! -s "$dir/1/pid" ]; do :; done
kill "$starter"
wait "$starter"
[ $? -eq 143 ] && [ ! -e "$dir" ]
result 'start that is interrupted leaves nothing' $? "$log"

finish
