#!/bin/sh
# The demo: locks taken and released on five real Redis processes, with figures.
#
#   sh cluster/demo.sh [--tls]
#
# It installs what is missing (setup.sh says what and why), builds into build/demo, starts five
# nodes, walks through the life of a lock while one node is killed, runs a short bench, and stops
# the nodes. It leaves nothing behind but build/demo, even if it is interrupted.
set -eu
exec </dev/null

case ${1-} in
'') tls='' ;;
--tls) tls=--tls ;;
*)
    echo 'usage: sh cluster/demo.sh [--tls]' >&2
    exit 2
    ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
build=build/demo
nodes=''
child=''

clean_up() {
    trap '' HUP INT TERM PIPE
    if [ -n "$child" ]; then
        kill "$child" 2>/dev/null || :
        wait "$child" 2>/dev/null || :
    fi
    if [ -n "$nodes" ] && [ -e "$nodes" ]; then
        sh cluster/nodes.sh stop "$nodes" || :
    fi
    [ -z "$log" ] || rm -f "$log"
}
log=''
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 141' PIPE

# run COMMAND...: in the background, since a waiting shell can be interrupted
run() {
    "$@" &
    child=$!
    run_status=0
    wait "$child" || run_status=$?
    child=''
    return "$run_status"
}

# quietly WHAT COMMAND...: its output is shown only if it fails
quietly() {
    quietly_what=$1
    shift
    run "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        echo "demo.sh: $quietly_what failed; the output is above" >&2
        exit 1
    }
}

sh cluster/setup.sh demo

log=$(mktemp "${TMPDIR:-/tmp}/redlock-demo.XXXXXX")
echo "Building in $build ..."
if [ ! -e "$build/build.ninja" ]; then
    rm -rf "$build"
    quietly 'meson setup' meson setup "$build" --buildtype=release -Dtests=disabled
fi
quietly 'the build' ninja -C "$build"

echo 'Starting five Redis processes ...'
nodes=$(mktemp -d "${TMPDIR:-/tmp}/redlock-demo.XXXXXX")
rmdir "$nodes" # nodes.sh removes the folder at the end only if it has made it
sh cluster/nodes.sh start -n 5 ${tls:+"$tls"} --dir "$nodes" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
sh cluster/nodes.sh status "$nodes"
echo

# shellcheck disable=SC2046
run "$build/examples/demo" --kill "sh cluster/nodes.sh kill '$nodes' 5" $(cat "$nodes/urls")

echo
echo 'The killed node is started again, empty, for the bench: uncontested locks, 64 at a time,'
echo 'and the same commands over plain hiredis for comparison.'
echo
sh cluster/nodes.sh restart "$nodes" 5
run "$build/bench/redlock-bench" --nodes "$(paste -s -d, "$nodes/urls")" --workload cycle \
    --in-flight 64 --seconds 1 --baseline

sh cluster/nodes.sh stop "$nodes"
echo
echo 'The five processes are stopped.'
