#!/bin/sh
# The model of fences: spin visits every state of fence.pml. docs/proof.md explains it.
#
#   check.sh [--cc CC] [NAME...]           the quick set, or the checks of these names
#   check.sh [--cc CC] --long [NAME...]    the large bounds as well: some minutes, 8 GB
#   check.sh [--cc CC] --story NAME        prints the counter-example of a control, step by step
#   check.sh --list                        all names
#
# A "proof" must find no error in a complete search, which neither depth nor memory cut off. A
# "control" breaks a rule or an assumption and must end in the named assertion. So must a "witness",
# which claims that something good never happens: a model in which nobody ever holds anything would
# be safe, too. Everything else fails.
#
# Output is TAP: for each check the states, the depth of the search and the seconds.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"

usage() {
    sed -n '/^#   check.sh/s/^#   //p' "$0" >&2
    exit 2
}

# kind, name, the violation that it must find ("-": none), options. "long" is a proof that only
# --long runs.
checks='
proof   fence-lost     -       -DATTEMPTS_0=1 -DATTEMPTS_1=1 -DRESTART
long    fence          -       -DATTEMPTS_1=1
long    fence-two      -       -DAHEAD=0
long    fence-two-lost -       -DATTEMPTS_1=1 -DRESTART -DAHEAD=0
witness fence-reach    raising -DATTEMPTS_0=1 -DATTEMPTS_1=1 -DRESTART -DWITNESS
control no-raise       fence   -DATTEMPTS_0=1 -DNO_RAISE
control blind-raise    fence   -DATTEMPTS_1=1 -DBLIND_RAISE
control raise-above    fence   -DATTEMPTS_1=1 -DRAISE_ABOVE
control fewer          fence   -DATTEMPTS_1=1 -DFEWER -DRAISE_ABOVE
control mortal         fence   -DATTEMPTS_1=1 -DMORTAL
control lost-counters  fence   -DATTEMPTS_0=1 -DATTEMPTS_1=1 -DRESTART -DNO_GUARD
'

long=no story='' cc=cc
while [ $# -gt 0 ]; do
    case $1 in
    --long) long=yes; shift ;;
    --cc) cc=${2-}; shift 2 || usage ;;
    --story) story=${2-}; [ -n "$story" ] || usage; shift 2 ;;
    --list) echo "$checks" | awk 'NF { print $2 }'; exit 0 ;;
    -*) usage ;;
    *) break ;;
    esac
done
for name in "$@" $story; do
    echo "$checks" | awk -v name="$name" '$2 == name { found = 1 } END { exit !found }' || {
        echo "check.sh: there is no check '$name'; --list shows the names" >&2
        exit 2
    }
done
command -v spin >/dev/null 2>&1 || {
    [ -z "$story" ] || exec >&2
    echo '1..0 # SKIP spin is not installed. On Debian and Ubuntu: apt-get install spin'
    [ -z "$story" ]
    exit
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-model.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM
cd "$scratch" || exit 2

memory_mb=2000
[ "$long" = no ] || memory_mb=14000

# search KIND OPTIONS: leaves the output of the search in ./log. In a story nodes keep their
# numbers.
search() {
    search_flags='-O2 -DSAFETY -DNOREDUCE'
    case $1 in control | witness) search_flags='-O1 -DSAFETY -DNOREDUCE' ;; esac
    shift
    [ -z "$story" ] || set -- "$@" -DPLAIN
    rm -f pan ./*.trail
    spin -a "$@" "$here/fence.pml" >log 2>&1 || return 1
    # spin's own C code has warnings. $cc may be several words.
    # shellcheck disable=SC2086
    $cc -w $search_flags -DMEMLIM="$memory_mb" -o pan pan.c >>log 2>&1 || return 1
    ./pan -m1000 >log 2>&1
}

# verdict KIND WANTED: why the search in ./log is wrong; nothing if it is right
verdict() {
    grep -q 'Full statespace search for' log || echo 'the search did not run to its end'
    case $1 in control | witness)
        grep -q "assertion violated.*$2" log || echo "no violation of the assertion on '$2'"
        return
        ;;
    esac
    grep -q 'errors: 0$' log || echo 'there is an error'
    grep -q -e 'Search not completed' -e 'out of memory' -e 'pan: reached' log &&
        echo 'the search is not complete'
    grep -q 'max search depth too small' log && echo 'the depth is too small'
}

# figures: "N states, depth N, N s"
figures() {
    awk '/depth reached/ { sub(/.*depth reached /, ""); sub(/,.*/, ""); depth = $0 }
        /states, stored/ { states = $1 }
        /elapsed time/ { seconds = $4 }
        END { printf "%d states, depth %d, %s s", states, depth, seconds }' log
}

while read -r kind name wanted options; do
    [ -n "$kind" ] || continue
    if [ -n "$story" ]; then
        [ "$name" = "$story" ] || continue
    elif [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    elif [ "$kind" = long ] && [ "$long" = no ]; then
        continue
    fi
    # shellcheck disable=SC2086
    search "$kind" $options </dev/null
    verdict "$kind" "$wanted" >why
    if [ -n "$story" ]; then
        # shellcheck disable=SC2086
        spin -t -k fence.pml.trail -DPLAIN $options "$here/fence.pml" </dev/null |
            sed -n -e 's/^ *\(client\|node\|time\)/\1/p' -e '/assertion violated/p'
        continue
    fi
    [ -s why ] && cat log >>why
    [ ! -s why ]
    result "$kind $name: $(figures) ($options)" $? why
done <<EOT
$checks
EOT
[ -n "$story" ] || finish
