#!/bin/sh
# Chaos: injects faults into five real Redis nodes while clients lock, and afterwards a checker
# reads the clients' history.
#
#   sh cluster/chaos.sh                  half a minute, all faults, local processes
#   sh cluster/chaos.sh --help           everything else
#
# It installs what is missing (setup.sh says what and why), builds into build/chaos, and runs
# cluster/chaos/main.py. If REDLOCK_CHAOS_CLIENT and REDLOCK_CHAOS_CLOCK name the build's files
# (and, for permits in shells, REDLOCK_CHAOS_REDLOCK), nothing is installed or built. All processes
# that it starts are ended, even if it is interrupted.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/chaos

# quietly WHAT COMMAND...: its output is shown only if it fails
quietly() {
    quietly_what=$1
    shift
    quietly_output=$("$@" 2>&1 </dev/null) || {
        printf '%s\n' "$quietly_output" >&2
        echo "chaos.sh: $quietly_what failed; the output is above" >&2
        exit 2
    }
}

if [ -z "${REDLOCK_CHAOS_CLIENT-}" ] || [ -z "${REDLOCK_CHAOS_CLOCK-}" ]; then
    case " $* " in
    *' --help '* | *' -h '* | *' --list '* | *' --plan '*) ;;
    *)
        # Local processes need no more than the demo and Python.
        case " $* " in
        *' compose '* | *'=compose '*) set_up='chaos compose' ;;
        *' netns '* | *'=netns '*) set_up=chaos ;;
        *) command -v python3 >/dev/null 2>&1 && set_up=demo || set_up=chaos ;;
        esac
        for what in $set_up; do
            sh "$root/cluster/setup.sh" "$what" >&2
        done
        if [ ! -e "$build/build.ninja" ]; then
            rm -rf "$build"
            quietly 'meson setup' meson setup "$build" "$root" --buildtype=release \
                -Dtests=disabled -Dbench=false -Dexamples=false
        fi
        quietly 'the build' ninja -C "$build"
        ;;
    esac
    REDLOCK_CHAOS_CLIENT=$build/cluster/chaos/redlock-chaos-client
    REDLOCK_CHAOS_CLOCK=$build/cluster/chaos/redlock-chaos-clock.so
    REDLOCK_CHAOS_REDLOCK=$build/cli/redlock
    REDLOCK_CHAOS_PYTHON=$build/bindings/python
    REDLOCK_CHAOS_NODE=$build/bindings/node/redlock.node
    export REDLOCK_CHAOS_CLIENT REDLOCK_CHAOS_CLOCK REDLOCK_CHAOS_REDLOCK REDLOCK_CHAOS_PYTHON REDLOCK_CHAOS_NODE
fi
command -v python3 >/dev/null 2>&1 || {
    echo 'chaos.sh: python3 is not installed; as root: sh cluster/setup.sh chaos' >&2
    exit 2
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || {
    echo "chaos.sh: $(python3 --version 2>&1) is too old, 3.9 is needed" >&2
    exit 2
}
exec python3 -B "$root/cluster/chaos/main.py" "$@"
