#!/bin/sh
# Whole stories under valgrind's memcheck: no error, and no memory left behind.
#
#   valgrind.sh BUILD     BUILD: a build folder without sanitizers
#
# Runs examples/demo on five redis-servers, once as it is and once with one of them killed. Every
# invalid read or write, use of an uninitialised value and lost block makes it exit with status 99.
# Reachable blocks count as well: the C library and libuv free theirs before the check.
#
# Output is TAP. Exit status 77: valgrind is not installed.
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/tap.sh"

[ $# -eq 1 ] || {
    sed -n '/^#   valgrind.sh/s/^#   //p' "$0" >&2
    exit 2
}
demo=$1/examples/demo
nodes_sh=$(dirname "$0")/../cluster/nodes.sh
command -v valgrind >/dev/null 2>&1 || {
    echo "valgrind.sh: not installed. On Debian and Ubuntu: apt-get install valgrind" >&2
    exit 77
}
[ -x "$demo" ] || {
    echo "valgrind.sh: there is no $demo: meson setup $1 && ninja -C $1" >&2
    exit 2
}

# shellcheck source=test/scratch.sh
. "$(dirname "$0")/scratch.sh"

# checked WHAT COMMAND...
checked() {
    checked_what=$1
    shift
    valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=all \
        --errors-for-leak-kinds=all --num-callers=30 --track-fds=no "$@" >"$log" 2>&1
    result "$checked_what" $? "$log"
}

some_nodes 5
# shellcheck disable=SC2086
set -- $urls

checked 'the story of a lock' "$demo" "$@"
checked 'the same while a node dies' "$demo" \
    --kill "sh '$nodes_sh' kill '$scratch/nodes' 5" "$@"

finish
