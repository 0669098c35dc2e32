# What the tests of `redlock set` share; to be sourced after cli.sh. Ten nodes, in no set.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154

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
# sets_are "NAME I..."...: by the text of the last node of the last set
sets_are() {
    sets_are_wanted=$(for sets_are_set in "$@"; do
        echo "set ${sets_are_set%% *} $(list ${sets_are_set#* })"
    done)
    for sets_are_set in "$@"; do
        for sets_are_i in ${sets_are_set#* }; do
            [ "$(text "$sets_are_i" | grep '^set ')" = "$sets_are_wanted" ] || { echo "node $sets_are_i:"; text "$sets_are_i"; }
        done
    done >"$out"
    [ ! -s "$out" ]
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

# Loops that take a lock in turn: two inside at once would find the folder. A loop ends at the first failure.
cat >"$scratch/inside" <<INSIDE
mkdir "$scratch/in.\$1" || { echo "\$1" >>"$scratch/overlaps"; exit 1; }
echo "\$1" >>"$scratch/grants"
sleep 0.01
rmdir "$scratch/in.\$1"
INSIDE
for i in load overlaps failures grants loads; do : >"$scratch/$i"; done
loops=''
load() {
    while [ -e "$scratch/load" ]; do
        "$redlock" run -q --ttl "${load_ttl:-1800ms}" --max-ttl "${make_ttl:-2s}" --wait 20s "$1" "$2" -- sh "$scratch/inside" "$2" || { echo "$2: status $?" >>"$scratch/failures"; break; }
    done
}
# begin_load OPTION NAME...: a loop for each name
begin_load() {
    load_option=$1
    shift
    for load_name in "$@"; do
        load "$load_option" "$load_name" 2>>"$scratch/loads" &
        loops="$loops $!"
        left="$left $!"
    done
}
end_load() {
    rm "$scratch/load"
    # shellcheck disable=SC2086
    wait $loops
}
grants() { wc -l <"$scratch/grants"; }
