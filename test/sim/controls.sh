#!/bin/sh
# The controls: each known way to build Redlock wrongly must be caught by the checker within a stated
# number of seeds, and so must each broken assumption. TAP; a control that is not caught fails.
#
#   controls.sh --cc CC --root DIR --sim PROGRAM
#
# A control of the kind "patch" is broken/NAME.patch, applied to a copy of lib/core and linked with the
# simulator, with the core's own assertions off: it is the checker that has to catch it. The kind "break"
# is a switch of the simulator, for what is wrong in the driver, the node or the clock. The kind "preset"
# breaks an assumption and nothing else: what Redlock cannot do.
#
# A patch that no longer applies fails its controls: bring it up to date with lib/core.
set -u

cc=cc
root=
sim=
while [ $# -gt 1 ]; do
    case $1 in
    --cc) cc=$2 ;;
    --root) root=$2 ;;
    --sim) sim=$2 ;;
    *) break ;;
    esac
    shift 2
done
if [ $# -gt 0 ] || [ -z "$root" ] || [ -z "$sim" ]; then
    echo "usage: controls.sh --cc CC --root DIR --sim PROGRAM" >&2
    exit 2
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-controls.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# kind, name, violation to be found, seeds that are enough, what the runner is given
controls='
patch  late-reply              validity  100   --preset swarm
patch  late-reply              overlap   1000  --preset clocks
patch  validity-from-reply     validity  20    --preset swarm
patch  validity-from-reply     overlap   1000  --preset clocks
patch  no-drift                validity  20    --preset clocks
patch  no-drift                overlap   1000  --preset clocks
patch  no-release              orphan    50    --preset swarm
patch  gone-is-renewed         validity  200   --preset network
patch  gone-is-renewed         overlap   4000  --preset network
patch  half-quorum             validity  50    --preset quiet
patch  half-quorum             overlap   50    --preset quiet
patch  repair-when-lost        revived   500   --preset clocks
patch  unanswered-did-not-run  orphan    2000  --preset restarts
patch  watchdog-hopes          validity  100   --preset kept
patch  watchdog-hopes          overlap   4000  --preset kept
patch  no-second-look          success   2000  --preset clocks
patch  late-vote-prolongs      revived   500   --preset clocks
break  one-token               validity  200   --preset network
break  one-token               overlap   500   --preset network
break  blind-release           overlap   50    --preset quiet
break  drop-owed               orphan    300   --preset restarts
break  stopped-clock           validity  50    --preset clocks
break  stopped-clock           overlap   200   --preset clocks
break  extend-shortens         validity  3000  --preset network --nodes 5
patch  error-is-granted        validity  50    --preset restarts
patch  refused-is-released     orphan    200   --preset swarm
patch  unanswered-is-answered  orphan    200   --preset swarm
patch  unanswered-is-released  orphan    200   --preset swarm
patch  unsent-is-granted       validity  100   --preset restarts
patch  busy-not-owed           orphan    1500  --preset restarts
patch  busy-not-retried        leftover  200   --preset swarm
patch  repay-forgets           leftover  4000  --preset restarts
patch  down-not-owed           orphan    200   --preset swarm
patch  debt-of-last-ttl        orphan    4000  --preset restarts --guard off --nodes 5
patch  validity-from-second    validity  300   --preset network
patch  validity-from-raise     validity  100   --preset network
patch  validity-from-raise     overlap   2000  --preset network
patch  no-quarantine           overlap   50    --preset forgetful
patch  half-quarantine         overlap   500   --preset forgetful
patch  first-quarantine        overlap   3000  --preset forgetful
patch  replid-ignored          overlap   500   --preset forgetful
patch  young-ignored           overlap   500   --preset forgetful
patch  quarantine-asked        overlap   8000  --preset forgetful --nodes 3
break  uptime                  overlap   500   --preset forgetful
break  long-ttl                overlap   500   --preset forgetful
patch  no-write-back           fence     100   --preset fenced
patch  no-write-back           fence     200   --preset network
patch  first-counter           fence     100   --preset fenced --break raise-larger
patch  late-vote-fences        fence     300   --preset fenced
break  raise-blind             fence     300   --preset fenced
break  raise-anywhere          fence     500   --preset fenced
break  raise-larger            fence     4000  --preset fenced
break  counter-ttl             fence     100   --preset fenced
break  counter-left            fence     100   --preset leaders
break  flushall                overlap   100   --preset forgetful
break  walls-apart             fence     200   --preset forgetful
preset unguarded               overlap   100   --preset forgetful --guard off
preset observed-anew           overlap   1000  --preset forgetful --guard observed
preset amnesia                 overlap   100   --preset amnesia
preset stale                   overlap   100   --preset stale
preset steps                   overlap   100   --preset steps
'

# compile SOURCE OBJECT [INCLUDE]
compile() {
    # $cc may be several words.
    # shellcheck disable=SC2086
    $cc -std=c11 -D_GNU_SOURCE -O2 -DNDEBUG -w ${3:+"-I$3"} -I"$root/lib" -I"$root/test" -c -o "$2" "$1"
}

# build NAME: $scratch/NAME, the simulator with a broken core. Only what the patch changes is compiled.
build() {
    mkdir -p "$scratch/$1.d" && cp -R "$root/lib/core" "$scratch/$1.d/" || return 1
    (cd "$scratch/$1.d" && patch -s -p1 -F0 <"$root/test/sim/broken/$1.patch") ||
        { echo "broken/$1.patch does not apply to lib/core any more"; return 1; }
    if grep -q '^+++ .*\.h' "$root/test/sim/broken/$1.patch"; then
        echo "broken/$1.patch changes a header, which this script is not made for"
        return 1
    fi
    set -- "$1" "$scratch"/*.o
    for changed in "$scratch/$1.d"/core/*.c; do
        file=$(basename "$changed" .c)
        if cmp -s "$changed" "$root/lib/core/$file.c"; then
            set -- "$@" "$scratch/core/$file.o"
        else
            compile "$changed" "$scratch/$1.d/$file.o" "$scratch/$1.d" || return 1
            set -- "$@" "$scratch/$1.d/$file.o"
        fi
    done
    broken=$1
    shift
    $cc -o "$scratch/$broken" "$@"
}

# The simulator and the core are compiled once for all patches.
objects() {
    mkdir "$scratch/core"
    for source in "$root"/test/sim/*.c "$root"/lib/core/*.c; do
        name=$(basename "$source" .c)
        case $source in
        */golden*) continue ;;
        */lib/core/*) compile "$source" "$scratch/core/$name.o" & ;;
        *) compile "$source" "$scratch/$name.o" & ;;
        esac
    done
    wait
}

objects
number=0
failed=0
printf '%s' "$controls" | grep -v '^$' >"$scratch/controls"
while read -r kind name violation seeds arguments; do
    number=$((number + 1))
    case $kind in
    patch)
        program=$scratch/$name
        [ -x "$program" ] || build "$name" >"$scratch/log" 2>&1
        ;;
    break)
        program=$sim
        arguments="--break $name $arguments"
        ;;
    preset) program=$sim ;;
    esac
    # shellcheck disable=SC2086
    if [ -x "$program" ] &&
        "$program" $arguments --seeds "1..$seeds" --expect "$violation" --no-progress \
            >"$scratch/log" 2>&1; then
        echo "ok $number - $name: $(sed -n '1s/: .*//p' "$scratch/log") of at most $seeds"
    else
        failed=1
        echo "not ok $number - $name ($violation, within $seeds seeds, $arguments)"
        sed 's/^/# /' "$scratch/log"
    fi
done <"$scratch/controls"
echo "1..$number"
exit $failed
