#!/bin/sh
# The controls: each known way to build Redlock wrongly must be caught by the checker within a stated
# number of seeds, and so must each broken assumption. TAP; a control that is not caught fails.
#
#   controls.sh --cc CC --root DIR --sim PROGRAM --include DIR [--hiredis PREFIX] [--only NAME]
#
# --include: where the build has put what it makes of lib/redis/scripts.
#
# A control of the kind "patch" is broken/NAME.patch, applied to a copy of lib/ and linked with the
# simulator, with all assertions off: it is the checker that has to catch it. The kind "break" is a
# switch of the simulator, for what is wrong in a server or a clock. The kind "preset" breaks an
# assumption and nothing else: what Redlock cannot do.
#
# A patch that no longer applies fails its controls: bring it up to date with lib/.
#
# What is caught must be what was broken: the same histories, up to the seed that is printed, have no
# violation with the library as it is.
#
# These are no controls, since thousands of histories do not notice them:
#   - the server's break join-anew, which the server's differential test catches;
#   - a pass that counts as the vote of a node that may not vote. It takes a release that runs late on
#     a node that has evicted a key since: a restart ends the connection on which it would come;
#   - a pass that is dated by an answer from before the client listened there, or of any age. A node's
#     clock outlives its server here, and age costs nothing but validity;
#   - a release that reserves nothing where it is not home. Who is known to wait is passed the key there.
#   - votes of nodes with another configuration that count, and rounds that go on when one is adopted:
#     a client adopts the newer one in the turn in which it has read it. What they would break is
#     refuted in test/model/proof/sets.py;
#   - a new node that is given a key before the old ones have renewed it: it is one vote among two
#     majorities all the same.
set -u

cc=cc
root=
sim=
only=
includes=
link='-lhiredis -luv -lpthread'
prefix=
while [ $# -gt 1 ]; do
    case $1 in
    --cc) cc=$2 ;;
    --root) root=$2 ;;
    --sim) sim=$2 ;;
    --include) includes="$includes -I$2" ;;
    --hiredis) prefix=$2 ;;
    --only) only=$2 ;;
    *) break ;;
    esac
    shift 2
done
if [ $# -gt 0 ] || [ -z "$root" ] || [ -z "$sim" ]; then
    echo "usage: controls.sh --cc CC --root DIR --sim PROGRAM --include DIR [--hiredis PREFIX]" \
        "[--only NAME]" >&2
    exit 2
fi
for lua in lua5.1 lua-5.1 lua51; do # as Debian, FreeBSD and others call it
    if pkg-config --exists "$lua"; then
        includes="$includes $(pkg-config --cflags "$lua")"
        link="$link $(pkg-config --libs "$lua")"
        break
    fi
done
if [ -n "$prefix" ]; then
    includes="$includes -isystem $prefix/include"
    link="-L$prefix/lib -Wl,-rpath,$prefix/lib $link"
else
    includes="$includes $(pkg-config --cflags hiredis)"
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
patch  max-hold-ignored        validity  100   --preset kept
patch  no-second-look          success   2000  --preset clocks
patch  late-vote-prolongs      revived   500   --preset clocks
patch  one-token               validity  200   --preset network
patch  one-token               overlap   500   --preset network
break  blind-release           overlap   50    --preset quiet
patch  drop-owed               orphan    300   --preset restarts
patch  native-refused-is-done   orphan    2000  --preset restarts
break  stopped-clock           validity  50    --preset clocks
break  stopped-clock           overlap   200   --preset clocks
break  extend-shortens         validity  3000  --preset network --nodes 5
patch  error-is-granted        validity  50    --preset restarts
patch  refused-is-released     orphan    200   --preset swarm
patch  unanswered-is-answered  orphan    200   --preset network
patch  unanswered-is-released  orphan    200   --preset swarm
patch  unsent-is-granted       validity  100   --preset restarts
patch  busy-not-owed           orphan    2500  --preset swarm
patch  busy-not-retried        leftover  200   --preset swarm
patch  repay-forgets           leftover  5000  --preset restarts --requests 4
patch  down-not-owed           orphan    200   --preset swarm
patch  debt-of-last-ttl        orphan    4000  --preset restarts --guard off --nodes 5 --requests 100
patch  validity-from-raise     validity  100   --preset network
patch  validity-from-raise     overlap   8000  --preset swarm
patch  no-quarantine           overlap   50    --preset forgetful
patch  half-quarantine         overlap   3000  --preset forgetful
patch  first-quarantine        overlap   6000  --preset forgetful
patch  replid-ignored          overlap   2000  --preset forgetful
patch  young-ignored           overlap   500   --preset forgetful
patch  uptime                  overlap   7000  --preset forgetful --nodes 3
break  long-ttl                overlap   500   --preset forgetful
patch  no-write-back           fence     100   --preset fenced
patch  no-write-back           fence     200   --preset network
patch  first-counter           fence     100   --preset fenced --break raise-larger
patch  late-vote-fences        fence     1000  --preset fenced
break  raise-blind             fence     300   --preset fenced
break  raise-anywhere          fence     500   --preset fenced
break  raise-larger            fence     5000  --preset fenced --nodes 3 --steps 5000
break  counter-ttl             fence     100   --preset fenced
break  counter-left            fence     100   --preset leaders
break  flushall                overlap   100   --preset forgetful
break  walls-apart             fence     200   --preset forgetful
patch  share-ends-for-all      lost_late 100   --preset shared
patch  share-loss-of-one       lost_late 100   --preset shared
patch  linger-leaves           orphan    200   --preset lingering
patch  linger-stays           stall     300   --preset lingering
patch  turn-not-given          stuck     100   --preset lines
patch  heir-is-silent          stall     200   --preset lines
patch  head-spins              spin      1500  --preset lines --trouble all --nodes 5
patch  join-unheard            order     50    --preset lines
patch  releaser-is-greedy      order     4000  --preset lines --trouble none --nodes 5
patch  look-not-awaited        order     6000  --preset lines --trouble none
patch  leave-not-owed          stall     800   --preset lines --trouble connections --nodes 1
break  partial-set             validity  200   --preset several
break  take-any                overlap   50    --preset lines
break  take-keeps              validity  50    --preset lines
break  leave-blind             overlap   50    --preset lines
break  pass-blind              validity  1500  --preset lines --nodes 3
break  pass-twice              fence     10000 --preset fenced --nodes 1 --steps 5000
patch  pass-by-arrival         validity  200   --preset lines --trouble none
patch  pass-token-again        revived   50    --preset lines
patch  pass-not-refused        orphan    300   --preset lines
patch  pass-forgets            orphan    6000  --preset forgetful --nodes 3
break  serve-stays             stall     50    --preset lines
break  heir-untold             order     50    --preset lines
break  join-dead               order     1000  --preset lines --trouble connections
break  messages                stall     200   --preset lines --trouble none
break  take-any                validity  50    --preset readers
break  share-any               overlap   50    --preset readers
break  share-shortens          validity  50    --preset readers
break  share-shortens          state     50    --preset readers
break  share-ends              validity  50    --preset readers
break  upgrade-blind           overlap   100   --preset readers
patch  upgrade-is-hoped        overlap   100   --preset readers
patch  upgrade-forgets-stray   validity  3000  --preset readers --nodes 3
patch  upgrade-keeps-fence     fence     100   --preset readers
break  intent-stays            state     50    --preset readers
break  intent-unheard          order     200   --preset phases
patch  writer-notes-nothing    order     200   --preset phases
patch  probe-goes-by           order     3000  --preset phases
patch  reader-serves-nobody    stall     300   --preset phases --trouble none --guard off
break  members-uncut           overlap   6000   --preset members
break  members-unmet           overlap   1500  --preset members
break  members-impatient       overlap   100   --preset members
patch  one-majority            overlap   500   --preset members
break  members-unmet           overlap   1500  --preset sets
break  members-impatient       overlap   300   --preset sets
patch  mover-stays             overlap   1000  --preset sets
patch  mover-hurries           overlap   1000  --preset sets
patch  seats-not-moved         orphan    200   --preset sets
break  permits-counted         overlap   100   --preset permits
break  permits-counted         count     600   --preset permits
break  permits-above           count     100   --preset permits
break  permits-twice           count     100   --preset turns
break  permits-served          count     50    --preset turns
break  permits-pass            order     200   --preset turns
break  permits-left            stall     50    --preset turns
break  permits-left            stall     50    --preset phases
break  take-any                overlap   50    --preset permits
break  take-any                count     50    --preset permits
break  take-keeps              validity  50    --preset permits
patch  peek-believed           count     50    --preset permits --break permits-lies
patch  turn-believed           count     50    --preset turns --break permits-lies
patch  one-slot                count     300   --preset permits
patch  slots-of-now            orphan    500   --preset permits
patch  adopt-hopes             validity  500   --preset adopted
patch  elect-not-told          lost_late 200   --preset elected
patch  leader-not-told         stuck     50    --preset elected
patch  room-ignored            stuck     100   --preset slow
patch  evicts-ignored          overlap   6000  --preset evicting
patch  unfit-forgotten         overlap   10000 --preset evicting
patch  abandoned-is-kept       orphan    100   --preset quiet
patch  close-keeps             orphan    50    --preset lines
patch  release-is-hoped        success   300   --preset quiet
patch  no-deadline             stuck     20    --preset quiet
patch  tries-not-counted       spin      20    --preset quiet
patch  watchdog-sleeps         stall     800   --preset kept
patch  signs-ignored           state     500   --preset kept
patch  leader-lacks-fence      fence     20    --preset elected
patch  linger-outlasts         success   100   --preset lingering
patch  last-come-first         order     100   --preset lines
patch  close-leaks             leftover  20    --preset quiet
patch  close-leaves-stream     seam      100   --preset elected
preset unguarded               overlap   100   --preset forgetful --guard off
preset observed-anew           overlap   1000  --preset forgetful --guard observed
preset amnesia                 overlap   100   --preset amnesia
preset stale                   overlap   100   --preset stale
preset steps                   overlap   100   --preset steps
'

# compile SOURCE OBJECT
compile() {
    # $cc and $includes may be several words.
    # shellcheck disable=SC2086
    $cc -std=c11 -D_GNU_SOURCE -O2 -DNDEBUG -w -I"$root/lib" -I"$root/include" \
        -I"$root/test" -I"$root/tool" -I"$root" $includes -c -o "$2" "$1"
}

# build NAME: $scratch/NAME, the simulator with a broken library. Only what the patch changes is
# compiled.
build() {
    broken=$1
    there=$scratch/$broken.d
    changed=$(sed -n 's,^+++ [^/]*/\([^[:space:]]*\).*,\1,p' "$root/test/sim/broken/$broken.patch")
    case $changed in
    *.h*)
        echo "broken/$broken.patch changes a header, which this script is not made for"
        return 1
        ;;
    esac
    for file in $changed; do
        mkdir -p "$there/${file%/*}" && cp "$root/lib/$file" "$there/$file" || return 1
    done
    (cd "$there" && patch -s -p1 -F0 <"$root/test/sim/broken/$broken.patch") ||
        { echo "broken/$broken.patch does not apply to lib/ any more"; return 1; }
    set -- "$scratch"/*.o
    for object in "$scratch"/lib/*.o; do
        member=${object##*/}
        file=${member%%+*}/${member#*+}
        file=${file%.o}.c
        if [ -e "$there/$file" ]; then
            compile "$there/$file" "$there/$member" || return 1
            object=$there/$member
        fi
        set -- "$@" "$object"
    done
    # shellcheck disable=SC2086
    $cc -o "$scratch/$broken" "$@" $link
    rm -rf "$there"
}

# The simulator and the library are compiled once for all patches, all but the recipe with threads.
objects() {
    mkdir "$scratch/lib"
    {
        for source in "$root"/test/sim/*.c "$root"/tool/server/server*.c \
            "$root"/tool/server/bytes.c "$root"/tool/server/resp.c \
            "$root"/tool/list.c "$root"/tool/number.c "$root"/tool/utf8.c "$root"/tool/option*.c; do
            case $source in
            *_test.c) ;;
            */tool/*) echo "$source $scratch/tool_$(basename "$source" .c).o" ;;
            *) echo "$source $scratch/$(basename "$source" .c).o" ;;
            esac
        done
        for room in base core redis client lock mode nodes query wait watch election uv; do
            for source in "$root/lib/$room"/*.c; do
                echo "$source $scratch/lib/$room+$(basename "$source" .c).o"
            done
        done
    } >"$scratch/sources"
    while read -r source object; do
        compile "$source" "$object" &
        number=$((number + 1))
        [ $((number % 4)) -eq 0 ] && wait
    done <"$scratch/sources"
    wait
}

number=0
objects
number=0
failed=0
seen=' ' # of a patch only the first violation is looked for, unless in test/run.sh --long
printf '%s' "$controls" | grep -v '^$' >"$scratch/controls"
while read -r kind name violation seeds arguments; do
    case $only in
    '' | "$name") ;;
    *) continue ;;
    esac
    case $kind,$seen,${REDLOCK_LONG-} in patch,*" $name "*,) continue ;; esac
    seen="$seen$name "
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
