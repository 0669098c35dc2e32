# Functions for the tests of `redlock set`; to be sourced after cli.sh. Ten nodes, in no set.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154,SC2317

start_nodes 10
echo 'node-timeout = 500ms' >>"$scratch/.config/redlock/redlock.conf" # on a busy machine
all=$REDLOCK_NODES

# list I...: URLs of these nodes, with spaces; use I...: begin with these nodes
list() {
    list_urls=''
    for list_i in "$@"; do eval "list_urls=\"$list_urls \$url_$list_i\""; done
    echo "${list_urls# }"
}
use() {
    REDLOCK_NODES=$(list "$@" | tr ' ' ,)
    export REDLOCK_NODES
}
text() { ask "$1" get libredlock:config; }
# has_epoch I EPOCH [WORD]: WORD: old (joint) or nodes (stable)
has_epoch() { text "$1" | grep -qx "epoch $2"; }
is_joint() { text "$1" | grep -q '^old '; }
# members_are I...: by `show`; agree_on I...: the same, and all nodes agree
show_has() { [ "$(sed 's/.*"nodes": \[\([^]]*\)\].*/\1/' "$out" | tr -d '",')" = "$(list "$@")" ]; }
members_are() {
    "$redlock" set show --json >"$out"
    show_has "$@"
}
agree_on() { "$redlock" set show --json >"$out" 2>"$err" && show_has "$@"; }
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
    for reset_i in 1 2 3 4 5 6 7 8 9 10; do ask "$reset_i" flushall >/dev/null; done
}
# make I...: a new set of these nodes
make() {
    reset
    use "$@"
    "$redlock" set init --yes --max-ttl "${make_ttl:-2s}" >>"$log" 2>&1
}

# Loops that take a lock in turn: if two hold it at once, the folder exists. A loop ends at the first failure.
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
        sleep 0.6 # leaves the processors to those who are looked at
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
# load_goes_on N: N more locks are granted, without overlap or failure
load_goes_on() {
    await_grants=$(($(grants) + $1))
    more() { [ "$(grants)" -ge "$await_grants" ]; }
    await more
    result 'locks are granted' $? "$scratch/loads"
    [ ! -s "$scratch/overlaps" ]
    result '... never to two at once' $? "$scratch/overlaps"
    [ ! -s "$scratch/failures" ]
    result '... and no client has failed' $? "$scratch/loads"
}

# races N: a concurrent resume and abort reach one end, N times. The caller defines race_begins I, which
# leaves a change pending, and race_is done|back: whether the nodes agree on that end.
random() { od -An -N2 -tu2 /dev/urandom | awk '{ printf "%.3f", $1 / 65536 * '"$1"' }'; }
races() {
    races_done=0
    for i in $(seq "$1"); do
        race_begins "$i"
        (sleep "$(random 0.1)"; exec "$redlock" set resume --guard strict --max-ttl 1h) >"$scratch/resume" 2>&1 &
        pid=$!
        sleep "$(random 0.8)"
        "$redlock" set abort --guard strict --max-ttl 1h >"$scratch/abort" 2>&1
        aborted=$?
        wait $pid
        resumed=$?
        if [ $resumed -eq 0 ] && [ $aborted -eq 1 ]; then
            races_done=$((races_done + 1))
            race_is "done" || echo "$i: done, and they do not agree on that"
        elif [ $aborted -eq 0 ] && [ $resumed -le 1 ]; then # 0: it came when all was over
            race_is back || echo "$i: back, and they do not agree on that"
        else
            echo "$i: resume $resumed, abort $aborted"
            cat "$scratch/resume" "$scratch/abort"
        fi
    done >"$scratch/races"
    echo "# $races_done of $1 were done, the others went back"
    [ ! -s "$scratch/races" ]
    result 'a resume and an abort at once come to one end' $? "$scratch/races"
}
