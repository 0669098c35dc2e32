#!/bin/sh
# Independent Redis nodes as plain processes: the five nodes of the demo, the tests and the bench.
#
#   nodes.sh start [-n N] [--dir DIR] [--aof] [--tls]
#                                               start N nodes (5), print one URL per line
#   nodes.sh stop DIR                           stop them and remove what start has made
#   nodes.sh status DIR                         one line per node
#   nodes.sh kill DIR I                         node I crashes (SIGKILL)
#   nodes.sh pause DIR I                        node I hangs (SIGSTOP)
#   nodes.sh resume DIR I                       ... and goes on (SIGCONT)
#   nodes.sh restart DIR I                      node I comes up again on its port, empty unless --aof
#
# Every node has a folder of its own, DIR/1 to DIR/N, with its configuration, its pid and its log;
# DIR/urls holds the URLs. Without --dir the folder is a fresh one under TMPDIR, named on stderr.
#
# With --tls the URLs are rediss:// ones: each node has a port with TLS, besides the plain one that
# these scripts use, and a certificate for 127.0.0.1 and localhost by an authority made for the set,
# DIR/tls/ca.crt, which the URLs name. Not for production (certificates.sh says why).
#
# Ports are never fixed: a random one below the kernel's ephemeral range is tried, and another one
# if Redis finds it in use. A pid is signalled only while it is a server whose working directory is
# the node's folder, so a pid that the system has reused is never signalled.
#
# The server is REDLOCK_SERVER, or redis-server or valkey-server from the PATH.
#
# C programs start nodes by tool/local_nodes.h, which end with the process that started them. This
# stays a script because its nodes outlive the shell that started them and are found again by their
# folder, and because nothing has to be built first.
set -eu

# shellcheck source=cluster/server.sh
. "$(dirname "$0")/server.sh"
start_timeout_s=20
port_tries=50
mark=.made-by-nodes.sh

say() { printf 'nodes.sh: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}
usage() {
    sed -n '/^#   nodes.sh/s/^#   //p' "$0" >&2
    exit 2
}

need_server() {
    command -v "$server" >/dev/null 2>&1 ||
        die "$server is not installed. On Debian and Ubuntu: apt-get install redis-server (or valkey-server)"
    command -v "$cli" >/dev/null 2>&1 ||
        die "$cli is not installed. On Debian and Ubuntu: apt-get install redis-tools (or valkey-tools)"
}

# -- one node ------------------------------------------------------------------------------------

# running PID: whether it runs. A zombie does not, once its last thread has ended: until then it has
# its port.
running() {
    kill -s 0 "$1" 2>/dev/null || return 1
    # "PID (NAME) STATE ...": called often, so it starts no program
    read -r running_stat 2>/dev/null <"/proc/$1/stat" || return 1
    case ${running_stat##*) } in Z* | X*) ;; *) return 0 ;; esac
    set -- "/proc/$1/task/"*
    [ $# -gt 1 ]
}

# alive FOLDER: is the recorded pid still this node's server?
alive() {
    [ -s "$1/pid" ] || return 1
    read -r alive_pid <"$1/pid"
    case $alive_pid in '' | *[!0-9]*) return 1 ;; esac
    [ "$(readlink "/proc/$alive_pid/cwd" 2>/dev/null)" = "$1" ] && running "$alive_pid"
}

# signal FOLDER SIGNAL: returns 1 if the process is gone
signal() {
    alive "$1" || return 1
    kill -s "$2" "$alive_pid" 2>/dev/null
}

# answers FOLDER: whether this process, and no other server, answers on the node's port. Asking
# takes three programs, so only when its log says that it is ready, or after a second.
answers() {
    alive "$1" || return 1
    read -r answers_port <"$1/port"
    timeout 2 "$cli" -h 127.0.0.1 -p "$answers_port" info server 2>/dev/null </dev/null |
        grep -qx "process_id:$alive_pid.\{0,1\}" # a carriage return
}

random_port() {
    # 10000 to 29999: above the well-known ports, below Linux's ephemeral ones (32768 and up), so
    # that no outgoing connection takes the port of a node that is down for a while.
    echo $((10000 + $(od -An -N2 -tu2 /dev/urandom) % 20000))
}

# write_conf FOLDER AOF TLS: comes first, because only folders with a configuration are cleaned up
write_conf() {
    conf_port=$(random_port)
    cat >"$1/redis.conf" <<CONF
bind 127.0.0.1
port $conf_port
daemonize no
logfile redis.log
save ""
appendonly $2
appendfsync everysec
maxmemory-policy noeviction
CONF
    printf '%s\n' "$conf_port" >"$1/port"
    [ "$3" = yes ] || return 0
    printf '%s\n' "$(random_port)" >"$1/tls-port"
    cat >>"$1/redis.conf" <<CONF
tls-port $(cat "$1/tls-port")
tls-cert-file ../tls/node.crt
tls-key-file ../tls/node.key
tls-ca-cert-file ../tls/ca.crt
tls-auth-clients no
CONF
}

# encoded TEXT: percent-encoded for a value in a URL
encoded() {
    printf '%s' "$1" | od -An -v -tx1 | LC_ALL=C awk '
        BEGIN { for (i = 33; i < 127; i++) character[sprintf("%02x", i)] = sprintf("%c", i) }
        { for (i = 1; i <= NF; i++)
            printf "%s", character[$i] ~ /^[A-Za-z0-9\/._-]$/ ? character[$i] : "%" toupper($i) }'
}

# url FOLDER: the URL for clients
url() {
    if [ -s "$1/tls-port" ]; then
        printf 'rediss://127.0.0.1:%s?tls_ca=%s\n' "$(cat "$1/tls-port")" \
            "$(encoded "$dir/tls/ca.crt")"
    else
        printf 'redis://127.0.0.1:%s\n' "$(cat "$1/port")"
    fi
}

# launch FOLDER: starts one server in the background, with none of our files open. An interruption
# waits until the pid is recorded: the signals are ignored here, and our traps run afterwards. The
# server sets its own handlers.
launch() {
    : >"$1/redis.log"
    (
        trap '' HUP INT TERM
        cd "$1"
        "$server" ./redis.conf </dev/null >>stdout.log 2>&1 \
            3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
        printf '%s\n' "$!" >pid
    )
}

# await FOLDER: 0: it answers; 1: it ended
await() {
    await_left=$((start_timeout_s * 20))
    read -r await_pid <"$1/pid"
    until { grep -qi 'ready to accept connections' "$1/redis.log" || [ $((await_left % 20)) -eq 0 ]; } && answers "$1"; do
        running "$await_pid" || return 1
        grep -q 'Address already in use' "$1/redis.log" && return 1
        await_left=$((await_left - 1))
        [ "$await_left" -gt 0 ] || {
            say "$1: the server does not answer after $start_timeout_s s; its log ends with:"
            tail -n 5 "$1/redis.log" >&2
            return 1
        }
        sleep 0.05
    done
}

# halt FOLDER: ends the node's server and returns when it is gone
halt() {
    signal "$1" CONT || return 0
    signal "$1" TERM || return 0
    halt_left=60
    while alive "$1"; do
        halt_left=$((halt_left - 1))
        # After five seconds without a clean end it is killed.
        [ "$halt_left" -gt 10 ] || signal "$1" KILL || return 0
        [ "$halt_left" -gt 0 ] || die "$1: process $alive_pid cannot be ended"
        sleep 0.05
    done
}

# -- the commands --------------------------------------------------------------------------------

folders() {
    for folder in "$1"/[0-9]*; do
        [ ! -e "$folder/redis.conf" ] || printf '%s\n' "${folder##*/}"
    done | sort -n
}

stop_all() {
    # First signals all, then waits for each.
    for i in $(folders "$1"); do
        signal "$1/$i" CONT || continue
        signal "$1/$i" TERM || continue
    done
    for i in $(folders "$1"); do
        halt "$1/$i"
    done
    for i in $(folders "$1"); do
        rm -rf "${1:?}/$i"
    done
    rm -f "$1/urls"
    [ ! -e "$1/tls/$mark" ] || rm -rf "${1:?}/tls"
    if [ -e "$1/$mark" ]; then
        # A folder that an interruption left empty is not among folders().
        rmdir "$1"/[0-9]* 2>/dev/null || :
        rm -f "$1/$mark"
        rmdir "$1" 2>/dev/null || say "$1 is kept: it holds files that are not ours"
    fi
}

undo() {
    [ -d "$dir" ] || return 0
    [ "$made" = no ] || : >"$dir/$mark"
    stop_all "$dir"
}

start() {
    count=5 dir='' aof=no tls=no
    while [ $# -gt 0 ]; do
        case $1 in
        -n) [ $# -ge 2 ] || usage; count=$2; shift 2 ;;
        --dir) [ $# -ge 2 ] || usage; dir=$2; shift 2 ;;
        --aof) aof=yes; shift ;;
        --tls) tls=yes; shift ;;
        *) usage ;;
        esac
    done
    case $count in '' | *[!0-9]* | 0*) die "-n $count: the number of nodes is 1 to 127" ;; esac
    [ "$count" -le 127 ] || die "-n $count: the number of nodes is 1 to 127"
    need_server

    # From here on everything is undone unless all nodes come up.
    made=no
    trap 'undo' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if [ -z "$dir" ]; then
        made=yes
        dir=${TMPDIR:-/tmp}/redlock-nodes.$$.$(random_port)
        mkdir -m 700 "$dir"
    elif [ ! -d "$dir" ]; then
        made=yes
        mkdir -p "$dir"
    fi
    dir=$(cd "$dir" && pwd -P)
    if [ -n "$(folders "$dir")" ]; then
        trap - EXIT
        die "$dir already holds nodes. First: sh $0 stop $dir"
    fi
    [ "$made" = no ] || : >"$dir/$mark"

    if [ "$tls" = yes ]; then
        [ ! -e "$dir/tls" ] || die "$dir/tls is there already: with --tls it is what certificates go into"
        mkdir "$dir/tls"
        : >"$dir/tls/$mark"
        sh "$(dirname "$0")/certificates.sh" authority "$dir/tls"
        sh "$(dirname "$0")/certificates.sh" make "$dir/tls" node IP:127.0.0.1,DNS:localhost
    fi
    i=0
    while [ "$i" -lt "$count" ]; do
        i=$((i + 1))
        mkdir "$dir/$i"
        write_conf "$dir/$i" "$aof" "$tls"
        launch "$dir/$i"
    done
    i=0
    while [ "$i" -lt "$count" ]; do
        i=$((i + 1))
        tries=$port_tries
        until await "$dir/$i"; do
            tries=$((tries - 1))
            if [ "$tries" -eq 0 ] || ! grep -q 'Address already in use' "$dir/$i/redis.log"; then
                say "node $i does not start; its output:"
                cat "$dir/$i/stdout.log" "$dir/$i/redis.log" >&2
                exit 1
            fi
            halt "$dir/$i"
            write_conf "$dir/$i" "$aof" "$tls"
            launch "$dir/$i"
        done
        url "$dir/$i" >>"$dir/urls"
    done
    say "$count nodes in $dir; to stop them: sh $0 stop $dir"
    cat "$dir/urls"
    # They are up and printed: too late to be interrupted.
    trap '' HUP INT TERM
    trap - EXIT
}

status() {
    for i in $(folders "$1"); do
        if ! alive "$1/$i"; then
            state=down
        elif grep -q '^State:[[:space:]]*T' "/proc/$alive_pid/status"; then
            state=paused
        else
            state=up
        fi
        printf '%s %s %s\n' "$i" "$(url "$1/$i")" "$state"
    done
}

restart() {
    need_server
    halt "$1"
    tries=$port_tries
    restarted=$1
    trap 'halt "$restarted"; exit 130' HUP INT TERM
    while
        launch "$1"
        ! await "$1"
    do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ] || ! grep -q 'Address already in use' "$1/redis.log"; then
            cat "$1/stdout.log" "$1/redis.log" >&2
            die "node ${1##*/} does not come up again on port $(cat "$1/port"); its output is above"
        fi
        halt "$1"
        sleep 0.1
    done
    trap - HUP INT TERM
}

[ $# -ge 1 ] || usage
command=$1
shift
case $command in
start)
    start "$@"
    exit 0
    ;;
stop | status) [ $# -eq 1 ] || usage ;;
kill | pause | resume | restart) [ $# -eq 2 ] || usage ;;
*) usage ;;
esac

[ -d "$1" ] || die "$1: no such folder; it is what 'nodes.sh start' named"
dir=$(cd "$1" && pwd -P)
[ -n "$(folders "$dir")" ] || [ -e "$dir/$mark" ] || die "$1 holds no nodes"
case $command in
stop)
    stop_all "$dir"
    exit 0
    ;;
status)
    status "$dir"
    exit 0
    ;;
esac

case $2 in '' | *[!0-9]*) die "$2: nodes are numbered 1, 2, 3 ..." ;; esac
node=$dir/$2
[ -e "$node/redis.conf" ] || die "there is no node $2 in $1"
case $command in
kill) signal "$node" KILL || die "node $2 is not running" ;;
pause) signal "$node" STOP || die "node $2 is not running" ;;
resume) signal "$node" CONT || die "node $2 is not running" ;;
restart) restart "$node" ;;
esac
if [ "$command" = kill ]; then
    # When this returns, the node is gone: its last thread, too, which may have its sockets for longer
    # than the first one has its folder.
    killed=$alive_pid
    while alive "$node" || [ "$(find "/proc/$killed/task" -name '[0-9]*' -prune 2>/dev/null | wc -l)" -gt 1 ]; do
        sleep 0.01
    done
fi
