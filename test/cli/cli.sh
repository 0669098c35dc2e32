# Functions for the tests of redlock(1); to be sourced with the arguments REDLOCK NODES_SH.
#
#   start_nodes N [OPTION]...   N nodes below $nodes; REDLOCK_NODES names them
#   stop_nodes
#   port I, url I               of node I
#   ask I COMMAND...            what it answers
#   patient                     from now on, wait longer for a node that hangs, unless a case says otherwise:
#                               with the default, nodes hang on a busy machine, which changes the output
#   await COMMAND...            until it succeeds, for at most a minute
#   in_time MS SCENE [AFTER]        runs SCENE, and AFTER, until SCENE took no longer than MS
#   status WHAT WANTED COMMAND...   one case: the command's exit status; output in $out and $err
#   start COMMAND...            in the background; sets $pid
#   says WHAT PATTERN [FILE]        one case: a line of FILE ($err) matches
#   comes WHAT PATTERN FILE         ... before long; "lacks": none does
#   holds WHAT COMMAND...           one case: the command succeeds; if not, $out, $err and $err.bg are shown
# shellcheck shell=sh disable=SC2034,SC2154

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
redlock=$(cd "$(dirname "$1")" && pwd)/${1##*/} # meson gives a relative path
nodes_sh=$2
# shellcheck source=cluster/server.sh
. "$(dirname "$nodes_sh")/server.sh" # $cli asks a node

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-cli.XXXXXX") || exit 2
nodes=$scratch/nodes
out=$scratch/out
err=$scratch/err
log=$scratch/log
left='' # pids to end

clean_up() {
    for clean_pid in $left; do
        # By now another test's process may have this number: ours is our child, or has our $HOME.
        { grep -qx "PPid:.$$" "/proc/$clean_pid/status" ||
            tr '\0' '\n' <"/proc/$clean_pid/environ" | grep -qx "HOME=$scratch"; } 2>/dev/null && kill -s KILL "$clean_pid"
    done
    [ ! -e "$nodes" ] || sh "$nodes_sh" stop "$nodes"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# Always as under nohup, so that no case depends on running without it.
trap '' HUP

# Removes the settings of the user who runs the tests.
unset REDLOCK_NODES REDLOCK_CONFIG REDLOCK_TOKEN XDG_CONFIG_HOME REDLOCK_PASSWORD_FILE REDLOCK_USER
export HOME="$scratch" LC_ALL=C

# The nodes of these tests are new, and a strict guard would wait for --max-ttl. Options of single
# cases turn it on.
mkdir -p "$scratch/.config/redlock"
echo 'guard = off' >"$scratch/.config/redlock/redlock.conf"

patient() {
    printf '%s\n' 'node-timeout = 5s' 'connect-timeout = 5s' >>"$scratch/.config/redlock/redlock.conf"
}

start_nodes() {
    start_n=$1
    shift
    sh "$nodes_sh" start -n "$start_n" --dir "$nodes" "$@" >"$log" 2>&1 || {
        result 'nodes' 1 "$log"
        finish
        exit 1
    }
    REDLOCK_NODES=$(paste -sd, "$nodes/urls")
    export REDLOCK_NODES
    start_i=0
    while read -r start_url; do # asked for often: in variables, each saves the start of a program
        start_i=$((start_i + 1))
        eval "url_$start_i=\$start_url"
        read -r "port_$start_i" <"$nodes/$start_i/port"
    done <"$nodes/urls"
}

stop_nodes() { sh "$nodes_sh" stop "$nodes" >"$log" 2>&1; }
port() { eval "echo \"\$port_$1\""; }
url() { eval "echo \"\$url_$1\""; }
ask() {
    eval "ask_port=\$port_$1"
    shift
    "$cli" -p "$ask_port" "$@"
}
each_node() {
    for each_i in $(seq "$(wc -l <"$nodes/urls")"); do sh "$nodes_sh" "$1" "$nodes" "$each_i"; done
}

await() {
    await_left=600
    until "$@" >/dev/null 2>&1; do
        await_left=$((await_left - 1))
        [ "$await_left" -gt 0 ] || return 1
        sleep 0.1
    done
}

start() {
    "$@" &
    pid=$!
    left="$left $pid"
}
# keep_held KEY [OPTION]...: a holder in the background; sets $pid
keep_held() {
    keep_key=$1
    shift
    start "$redlock" run -q "$@" "$keep_key" -- sleep 1000 2>>"$log"
}
# is_everywhere KEY TOKEN [OPTION]...: extends a hold, so that a node that was too slow for the acquire
# gets the key. Clients wait in line at home only if home has the key.
is_everywhere() {
    is_key=$1
    is_token=$2
    shift 2
    "$redlock" extend "$@" "$is_key" "$is_token" &&
        "$redlock" status "$is_key" | grep -q ': held by.* on \([0-9]*\) of \1 nodes'
}

# runs PID: does it exist, and is it not a zombie?
runs() { grep -q '^State:[[:space:]]*[RSDTtI]' "/proc/$1/status" 2>/dev/null; }
gone() { ! runs "$1"; }
is_stopped() { grep -q '^State:[[:space:]]*[Tt]' "/proc/$1/status" 2>/dev/null; }

ms() { echo $(($(date +%s%N) / 1000000)); }

# On a busy machine, neither the process under test nor this shell may get the processor in time. Another
# process, which only looks at the clock, notices that; then the scene proves nothing, and is repeated.
# The time is that of SCENE, or what it sets $ended to.
held_up_ms=100 # a quiet machine is late by half of that
in_time() {
    in_time_left=10
    while :; do
        while read -r in_time_up _ </proc/uptime && echo "$in_time_up" && sleep 0.04; do :; done >"$scratch/clock" 2>/dev/null &
        in_time_clock=$!
        left="$left $in_time_clock"
        ended=''
        began=$(ms)
        "$2"
        in_time_took=$((${ended:-$(ms)} - began))
        sleep 0.05 # the clock is looked at once more
        kill "$in_time_clock"
        wait "$in_time_clock" 2>/dev/null
        [ -z "${3-}" ] || "$3"
        [ "$in_time_took" -gt "$1" ] || break
        in_time_gap=$(awk 'NR > 1 && 1e3 * ($1 - last) > gap { gap = 1e3 * ($1 - last) }
            { last = $1 } END { printf "%d", gap }' "$scratch/clock")
        echo "# $in_time_took ms of at most $1; the machine stood still for $in_time_gap ms"
        in_time_left=$((in_time_left - 1))
        [ "$in_time_gap" -gt "$held_up_ms" ] && [ "$in_time_left" -gt 0 ] || return 1
    done
    echo "# after $in_time_took ms of at most $1"
}

status() {
    status_what=$1
    status_wanted=$2
    shift 2
    "$@" >"$out" 2>"$err" </dev/null
    status_got=$?
    [ "$status_got" -eq "$status_wanted" ]
    result "$status_what: status $status_wanted" $? "$err"
    [ "$status_got" -eq "$status_wanted" ] || echo "# it is $status_got"
}

says() {
    grep -q -e "$2" "${3:-$err}"
    result "$1" $? "${3:-$err}"
}
comes() {
    await grep -q -e "$2" "$3"
    result "$1" $? "$3"
}
lacks() {
    ! grep -q -e "$2" "$3"
    result "$1" $? "$3"
}

holds() {
    holds_what=$1
    shift
    "$@"
    holds_status=$?
    cat "$out" "$err" "$err.bg" >"$scratch/both" 2>/dev/null
    result "$holds_what" $holds_status "$scratch/both"
}
