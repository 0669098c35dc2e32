# What the tests of `redlock set` share; to be sourced after cli.sh. Ten nodes, in no set.
# shellcheck shell=sh disable=SC2034,SC2154

start_nodes 10
echo 'node-timeout = 500ms' >>"$scratch/.config/redlock/redlock.conf" # on a busy machine
all=$REDLOCK_NODES

# url I: of node I; list I...: URLs of these nodes, with spaces; use I...: begin with these nodes
url() { sed -n "$1p" "$nodes/urls"; }
list() { for list_i in "$@"; do url "$list_i"; done | paste -sd ' ' -; }
use() {
    REDLOCK_NODES=$(list "$@" | tr ' ' ,)
    export REDLOCK_NODES
}
text() { ask "$1" get libredlock:config; }
# has_epoch I EPOCH [WORD]: WORD: old (joint) or nodes (stable)
has_epoch() { text "$1" | grep -qx "epoch $2"; }
is_joint() { text "$1" | grep -q '^old '; }
# members are I...: by `show`
members_are() {
    members_are_is=$("$redlock" set show --json | sed 's/.*"nodes": \[\([^]]*\)\].*/\1/' | tr -d '",')
    [ "$members_are_is" = "$(list "$@")" ]
}
agrees() { "$redlock" set show >"$out" 2>"$err"; }
epoch() { "$redlock" set show --json | sed 's/.*"epoch": \([0-9]*\), "change".*/\1/; q'; }
# reset: no node has a configuration
reset() {
    for reset_i in 1 2 3 4 5 6 7 8 9 10; do
        ask "$reset_i" flushall >/dev/null
        ask "$reset_i" client kill type normal >/dev/null
    done
}
# make I...: a new set of these nodes
make() {
    reset
    use "$@"
    "$redlock" set init --yes --max-ttl "${make_ttl:-2s}" >>"$log" 2>&1
}
