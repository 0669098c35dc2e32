#!/bin/sh
# cluster/chaos.sh itself: what it refuses, and that it leaves nothing behind, whatever ends it.
#
#   script_test.sh ROOT
#
# REDLOCK_CHAOS_CLIENT and REDLOCK_CHAOS_CLOCK name the build's files.
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
root=$1

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-script.XXXXXX") || exit 2
child=''
clean_up() {
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -z "$child" ] || wait "$child"
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' HUP INT TERM
log=$scratch/log
export TMPDIR="$scratch/t"
mkdir "$TMPDIR"

chaos() { sh "$root/cluster/chaos.sh" "$@" >"$log" 2>&1 </dev/null; }

# refused STATUS WORDS: whether the last chaos ended with these, and left no folder
refused() {
    [ "$status" -eq "$1" ] && grep -q -e "$2" "$log" && [ -z "$(ls -A "$TMPDIR")" ]
}

# refuses WHAT WORDS OPTION...: one case, with these words
refuses() {
    refuses_what=$1 refuses_words=$2
    shift 2
    chaos "$@"
    status=$?
    refused 2 "$refuses_words"
    result "$refuses_what" $? "$log"
}

# left_behind: processes that work below our TMPDIR, or have a file there as an argument
left_behind() {
    for proc in /proc/[0-9]*; do
        if readlink "$proc/cwd" | grep -q "^$TMPDIR/" ||
            tr '\0' ' ' <"$proc/cmdline" | grep -q " $TMPDIR/"; then
            echo "$proc $(tr '\0' ' ' <"$proc/cmdline")"
        fi
    done 2>/dev/null
}

chaos --help && grep -q 'A first run' "$log" && grep -q -e '--control' "$log"
result 'help teaches' $? "$log"
chaos --list && grep -q '^  failover ' "$log" && grep -q '^ \*failover ' "$log"
result 'scenarios and faults are listed' $? "$log"

chaos --plan --seed 9 && cp "$log" "$scratch/plan" &&
    chaos --plan --seed 9 && cmp "$log" "$scratch/plan"
result 'a seed has one plan' $? "$log"

refuses 'an unknown fault is named' "no fault 'rain'" --faults sigstop,rain
refuses 'a scenario and faults' 'exclude each other' --scenario all --faults sigstop
refuses 'TLS elsewhere' 'it is for --backend local and netns' --tls --backend compose
refuses 'no time' 'seconds 0' --seconds 0
refuses 'a run too short for a fault' 'too short' --scenario pause --seconds 2 --ttl-ms 9000
mkdir "$scratch/full" && touch "$scratch/full/x"
refuses 'a folder that is not empty' 'not empty' --report "$scratch/full"
refuses 'no client program' 'no such file' --client "$scratch/none"
if [ "$(id -u)" -ne 0 ]; then
    chaos --backend netns
    status=$?
    refused 2 'must be root'
    result 'netns without rights' $? "$log"
elif unshare -U true 2>/dev/null; then
    unshare -U sh "$root/cluster/chaos.sh" --backend netns >"$log" 2>&1
    status=$?
    refused 2 'must be root'
    result 'netns without rights' $? "$log"
else
    skip 'netns without rights' 'root, and no user namespaces to lose rights in'
fi

printf '#!/bin/sh\necho out of luck >&2\nexit 7\n' >"$scratch/dies"
chmod +x "$scratch/dies"
chaos --client "$scratch/dies" --seconds 5 --scenario calm --report "$scratch/died"
status=$?
refused 2 'status 7' && grep -q 'out of luck' "$log"
result 'a client that ends by itself makes the run unusable' $? "$log"
[ -z "$(left_behind)" ]
result 'nothing of it is left' $?

for bad in '--nodes foo' '--control quorum2' '--control kept-slot' --under '--ttl-ms 0' '--clients x' '--nonsense' 'more'; do
    # shellcheck disable=SC2086
    "$REDLOCK_CHAOS_CLIENT" --nodes redis://127.0.0.1:1 --dir "$scratch" --process 9 $bad >"$log" 2>&1
    [ $? -eq 2 ] && [ -s "$log" ]
    result "the client refuses $bad" $? "$log"
done
"$REDLOCK_CHAOS_CLIENT" --nodes redis://127.0.0.1:1 --dir "$scratch/nowhere" --process 9 >"$log" 2>&1
[ $? -eq 3 ] && grep -q nowhere "$log"
result 'the client has no folder' $? "$log"
"$REDLOCK_CHAOS_CLIENT" --help | grep -q -- --ttl-ms
result "the client's help" $?

for number in 130 143; do
    name=TERM
    [ "$number" -ne 130 ] || name=INT
    # A shell starts background processes with SIGINT ignored; Python sets its own handler.
    sh "$root/cluster/chaos.sh" --scenario pause --seconds 60 --report "$scratch/$name" \
        >"$log" 2>&1 &
    child=$!
    # A fault has begun, and locks have changed hands: enough for a verdict.
    until grep -q '"begin"' "$scratch/$name/events.jsonl" 2>/dev/null &&
        [ "$(grep -c ' enter ' "$scratch/$name/register.log")" -ge 20 ]; do
        kill -s 0 "$child" 2>/dev/null || break
        sleep 0.1
    done
    kill -s "$name" "$child"
    wait "$child"
    status=$?
    child=''
    [ "$status" -eq "$number" ]
    result "SIG$name ends it in order" $? "$log"
    grep -q '"interrupted": true' "$scratch/$name/run.json"
    result "SIG$name: the record says so" $? "$scratch/$name/run.json"
    left_behind >"$scratch/left"
    [ ! -s "$scratch/left" ] && [ -z "$(ls -A "$TMPDIR")" ]
    result "SIG$name: nothing is left" $? "$scratch/left"
done
finish
