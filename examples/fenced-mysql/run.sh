#!/bin/sh
# A worker is stopped in the middle of a sale, for longer than its lock lives: what a database does
# without and with the check of the fence.
#
#   run.sh [--worker PROGRAM] [--keep FOLDER]
#
# It installs what is missing (cluster/setup.sh says what and why), builds into build/demo, starts
# its own MariaDB and five Redis processes in their own folder, and plays worker.c three times. Exit
# status 0: oversold without the check, refused with it, and not oversold either if the worker is
# stopped between its write and its commit. With --worker nothing is installed and built; with
# --keep, FOLDER (it must not exist) gets what the workers said and what the tables held.
#
# Nothing here waits for luck. A worker says where it is and then waits for a byte from its stdin, a
# FIFO that this script holds. The script reads that, stops the process (SIGSTOP), sees in /proc
# that it is stopped, and only then writes the byte. It also sees that the lock was taken over: the
# second worker got it while the first one was still stopped.
#
# Only processes that were started here are ended, by their pids; the folder is removed, also on
# Ctrl-C. The server listens on a socket in that folder and nowhere else. It does not touch a
# MariaDB that the machine already has.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
nodes_sh=$root/cluster/nodes.sh
worker='' keep=''
while [ $# -gt 0 ]; do
    case $1:${2-} in
    --worker:?*) worker=$2 ;;
    --keep:?*) keep=$2 ;;
    *)
        sed -n '/^#   run.sh/s/^#   //p' "$0" >&2
        exit 2
        ;;
    esac
    shift 2
done

scratch='' database='' pids='' child=''

# runs PID: whether it is a child of ours that has not ended (the pid may have been reused)
runs() {
    awk -v parent=$$ '$1 == "State:" { state = $2 } $1 == "PPid:" { ours = $2 == parent }
        END { exit !(ours && state != "Z") }' "/proc/$1/status" 2>/dev/null
}

# finish PID: ends a process of ours and returns when it is gone
finish() {
    runs "$1" || return 0
    kill -s CONT "$1" || :
    kill -s TERM "$1" || :
    finish_left=200
    while runs "$1"; do
        finish_left=$((finish_left - 1))
        [ "$finish_left" -ne 0 ] || kill -s KILL "$1" || :
        sleep 0.05
    done
    wait "$1" 2>/dev/null || :
}

clean_up() {
    trap '' HUP INT TERM PIPE
    # The last one may have been started but not recorded yet.
    for pid in $child $pids $database ${!:-}; do finish "$pid"; done
    [ -z "$scratch" ] || [ ! -e "$scratch/nodes" ] || sh "$nodes_sh" stop "$scratch/nodes" || :
    [ -z "$scratch" ] || rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 141' PIPE

die() {
    echo "run.sh: $*" >&2
    exit 1
}

# quietly WHAT COMMAND...: shows what it wrote only if it fails. In the background: a shell that
# waits can be interrupted.
quietly() {
    quietly_what=$1
    shift
    "$@" >"$scratch/log" 2>&1 </dev/null &
    child=$!
    quietly_status=0
    wait "$child" || quietly_status=$?
    child=''
    [ "$quietly_status" -eq 0 ] || {
        cat "$scratch/log" >&2
        die "$quietly_what failed; its output is above"
    }
}

# await WHAT PID LOG COMMAND...: until the command succeeds, as long as the process lives
await() {
    await_what=$1
    await_pid=$2
    await_log=$3
    shift 3
    await_left=1200
    until "$@"; do
        await_left=$((await_left - 1))
        if [ "$await_left" -eq 0 ] || { ! runs "$await_pid" && ! "$@"; }; then
            tail -n 10 "$await_log" >&2
            die "waited in vain for $await_what; what there is of its log is above"
        fi
        sleep 0.05
    done
}

# -- what it needs -------------------------------------------------------------------------------

prepare() {
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-fenced.XXXXXX")
    # The name of a Unix socket is short, by the system's rules.
    [ "${#scratch}" -le 90 ] ||
        die "$scratch is too long a name for a socket; set TMPDIR to a folder with a shorter one"
    if [ -n "$worker" ]; then
        [ -x "$worker" ] || die "$worker: no such program"
        command -v mariadbd >/dev/null 2>&1 || PATH=$PATH:/usr/sbin
        command -v mariadbd >/dev/null 2>&1 ||
            die 'mariadbd is not installed; first: sh cluster/setup.sh mariadb'
        return
    fi
    sh "$root/cluster/setup.sh" mariadb
    PATH=$PATH:/usr/sbin # where Debian puts servers
    echo 'Building in build/demo ...'
    if [ ! -e "$root/build/demo/build.ninja" ]; then
        rm -rf "$root/build/demo"
        quietly 'meson setup' meson setup "$root/build/demo" "$root" \
            --buildtype=release -Dtests=disabled
    elif ! ninja -C "$root/build/demo" -t query examples/fenced-mysql/worker >/dev/null 2>&1; then
        # It was set up before MariaDB's headers were installed.
        quietly 'meson setup' meson setup --reconfigure "$root/build/demo" "$root"
    fi
    quietly 'the build' ninja -C "$root/build/demo"
    worker=$root/build/demo/examples/fenced-mysql/worker
}

sql() { mariadb --no-defaults --user=root --socket="$scratch/socket" "$@" 2>"$scratch/sql.log"; }
is_up() { sql -e 'SELECT 1' >/dev/null; }

# It takes less than a second, and starts a process that would outlive it, so an interrupt waits for
# its end.
install_database() {
    trap '' HUP INT TERM
    mariadb-install-db "$@" --auth-root-authentication-method=normal --skip-test-db \
        --skip-name-resolve
}

start_database() {
    # Small, and without this machine's option files.
    set -- --no-defaults --datadir="$scratch/data" --innodb-buffer-pool-size=16M \
        --innodb-log-file-size=8M --innodb-use-native-aio=0
    [ "$(id -u)" -ne 0 ] || set -- "$@" --user=root # it refuses to run as root without this
    mkdir "$scratch/data" "$scratch/tmp"
    # Not even the temporary folder is shared: a server that starts removes the temporary tables
    # that it finds there, also those of another server.
    export TMPDIR="$scratch/tmp"
    quietly mariadb-install-db install_database "$@"
    # Since 11.6 the server refuses by itself to write to a row that has changed since the same
    # transaction read it. That would hide what happens to everything that is not read in the same
    # transaction. With it on, the stale sale is refused too, by an error.
    mariadbd "$@" --socket="$scratch/socket" --skip-networking --pid-file="$scratch/mariadbd.pid" \
        --loose-innodb-snapshot-isolation=OFF >"$scratch/mariadbd.log" 2>&1 </dev/null &
    database=$!
    await mariadbd "$database" "$scratch/mariadbd.log" is_up
    sql -e "CREATE DATABASE shop; USE shop;
        CREATE TABLE stock (id INT PRIMARY KEY, rest INT NOT NULL, fence BIGINT UNSIGNED NOT NULL);
        CREATE TABLE orders (number INT PRIMARY KEY AUTO_INCREMENT, item INT NOT NULL,
                             worker INT NOT NULL, fence BIGINT UNSIGNED NOT NULL);" ||
        die "$(cat "$scratch/sql.log")"
}

# -- one play ------------------------------------------------------------------------------------

# start NUMBER fenced|unfenced STDIN
start() {
    : >"$play/worker.$1"
    # shellcheck disable=SC2046
    "$worker" "$1" "$scratch/socket" "$2" $(cat "$scratch/nodes/urls") \
        <"$3" >"$play/worker.$1" 2>&1 3>&- &
    pids="$pids $!"
}

# outcome PID: its exit status
outcome() {
    outcome_status=0
    wait "$1" || outcome_status=$?
    pids=$(echo " $pids " | sed "s/ $1 / /")
}

has_said() { grep -q "$2" "$play/worker.$1"; }
stands_still() { grep -q '^State:[[:space:]]*T' "/proc/$1/status"; }
has_ended() { ! runs "$1"; }
waits_for_row() {
    [ "$(sql -N -e "SHOW GLOBAL STATUS LIKE 'innodb_row_lock_current_waits'" | cut -f 2)" = 1 ]
}

# tell NUMBER: prints the new output of worker NUMBER
tell() {
    tell_from=$(cat "$scratch/told.$1" 2>/dev/null || echo 0)
    tell_to=$(wc -l <"$play/worker.$1")
    sed -n "$((tell_from + 1)),${tell_to}s/^/  worker $1  /p" "$play/worker.$1"
    echo "$tell_to" >"$scratch/told.$1"
}
say() { echo "            $*"; }

# pause POINT: waits until worker 1 reports POINT, and stops it there
pause() {
    await "worker 1 to say: $1" "$first" "$play/worker.1" has_said 1 "$1"
    kill -s STOP "$first"
    await 'worker 1 to stand still' "$first" "$play/worker.1" stands_still "$first"
    tell 1
    say '-- SIGSTOP: worker 1 is stopped. It does not know, and its lease runs out --'
    echo >&3 # for when it goes on
}

resume() {
    stands_still "$first" || die 'worker 1 did not stand still'
    say '-- SIGCONT: worker 1 goes on --'
    kill -s CONT "$first"
}

# play NAME fenced|unfenced write|commit: one item; worker 1 is stopped before its write or commit
play() {
    play=$scratch/play/$1
    mkdir -p "$play"
    rm -f "$scratch"/told.*
    sql shop -e 'DELETE FROM orders; DELETE FROM stock; INSERT INTO stock VALUES (7, 1, 0);
                 ALTER TABLE orders AUTO_INCREMENT = 1' || die "$(cat "$scratch/sql.log")"
    mkfifo "$scratch/go.$1"
    exec 3<>"$scratch/go.$1"
    start 1 "$2" "$scratch/go.$1"
    first=$!
    if [ "$3" = commit ]; then
        await 'worker 1 to write' "$first" "$play/worker.1" has_said 1 'about to write'
        echo >&3
        pause 'about to commit'
    else
        pause 'about to write'
        echo >&3
    fi

    start 2 "$2" /dev/null
    second=$!
    if [ "$3" = commit ]; then
        await 'worker 2 to wait for the row' "$second" "$play/worker.2" waits_for_row
        tell 2
        say 'waits: worker 1 has the row locked in the database'
        resume
    else
        await 'worker 2 to end' "$second" "$play/worker.2" has_ended "$second"
        tell 2
        resume
    fi
    outcome "$first"
    first_status=$outcome_status
    exec 3>&-
    outcome "$second"
    second_status=$outcome_status
    tell 1
    tell 2
    sql shop -N -e 'SELECT number, item, worker, fence FROM orders ORDER BY number' >"$play/orders"
    sql shop -N -e 'SELECT id, rest, fence FROM stock' >"$play/stock"
    orders=$(wc -l <"$play/orders")
    sql shop -t -e 'SELECT id AS item, rest, fence FROM stock; SELECT * FROM orders' |
        sed 's/^/            /'
}

# -- the three plays -----------------------------------------------------------------------------

prepare
[ -z "$keep" ] || mkdir "$keep"
echo 'Starting a MariaDB and five Redis processes ...'
start_database
quietly 'nodes.sh' sh "$nodes_sh" start -n 5 --dir "$scratch/nodes"
bad=0

echo
echo '1. Without the check: UPDATE stock SET rest = rest - 1, fence = mine WHERE id = 7'
echo '   One item is in stock. Worker 1 is stopped between its look at the lock and its write.'
echo
play unfenced unfenced write
if [ "$first_status,$second_status,$orders" = 0,0,2 ]; then
    echo '   OVERSOLD: 2 orders for 1 item. The older holder wrote last.'
else
    echo "   Not oversold, so it shows nothing: exit statuses $first_status and $second_status"
    bad=1
fi

echo
echo '2. With the check: ... WHERE id = 7 AND fence <= mine'
echo '   The same item, the same stop.'
echo
play fenced fenced write
if [ "$first_status,$second_status,$orders" = 4,0,1 ] && has_said 1 '^refused: a later holder'; then
    echo '   REFUSED: 1 order for 1 item. The stale write found a larger fence in its row.'
else
    echo "   Not refused: $orders orders for 1 item, exit statuses $first_status and $second_status"
    bad=1
fi

echo
echo '3. With the check, and worker 1 is stopped later: between its write and its commit.'
echo '   It has the row locked. Worker 2 claims the row before it reads, so it waits, and reads 0.'
echo
play commit fenced commit
if [ "$first_status,$second_status,$orders" = 0,3,1 ]; then
    echo '   IN ORDER: 1 order for 1 item.'
else
    echo "   Not in order: $orders orders for 1 item, exit statuses $first_status and $second_status"
    bad=1
fi

[ -z "$keep" ] || cp -R "$scratch"/play/. "$keep"
echo
if [ "$bad" -eq 0 ]; then
    echo 'The lock alone could not keep a holder that stood still from writing late. The fence could,'
    echo 'since the database looks at it.'
else
    echo 'This is not what the example is there to show.'
fi
[ "$bad" -eq 0 ]
