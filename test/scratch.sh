# For tests in shell, to be sourced: their own folder, $scratch, with $log in it. At the end it
# stops the nodes in $scratch/nodes, and the process $pid, unless that is ''.
#
#   some_nodes N     one case: N nodes are started by $nodes_sh, and $urls names them
# shellcheck shell=sh disable=SC2034,SC2154
scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-test.XXXXXX") || exit 2
log=$scratch/log
pid=''
clean_up() {
    [ -z "$pid" ] || kill -s KILL "$pid"
    [ ! -e "$scratch/nodes" ] || sh "$nodes_sh" stop "$scratch/nodes"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM

some_nodes() {
    sh "$nodes_sh" start -n "$1" --dir "$scratch/nodes" >"$log" 2>&1
    result "$1 nodes" $? "$log"
    urls=$(cat "$scratch/nodes/urls")
}
