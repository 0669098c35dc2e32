#!/bin/sh
# redlock-bench: each workload runs, its JSON is valid, every wrong argument is named with a remedy;
# and the figures of contention are right for records with known figures. Arguments: BENCH [REDLOCK]
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
bench=$1
redlock=${2-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-bench.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
out=$scratch/out
err=$scratch/err

# runs WHAT MEMBERS OPTION...: one case; the JSON is one object on one line, with these members
runs() {
    runs_what=$1
    runs_members=$2
    shift 2
    case " $* " in
    *' shells '*) ;;
    *) set -- --seconds 0.05 "$@" ;;
    esac
    "$bench" --node-count 3 --json "$@" >"$out" 2>"$err" </dev/null &&
        [ "$(wc -l <"$out")" -eq 1 ] &&
        python3 - "$out" "$runs_members" <<'PY' >>"$err" 2>&1
import json, sys
figures = json.load(open(sys.argv[1]))
for name in sys.argv[2].split():
    assert name in figures, name
PY
    result "$runs_what" $? "$err"
}

# records LINE...: writes records from lines with times in ms; readers and permits are waits, and a
# permit's last number has its slots
records() {
    for line in "$@"; do
        case $line in
        wait*) echo "$line" | awk '{ print $1, $2 * 1000000, $3 * 1000000, $4 * 1000000, $5, $5 }' ;;
        reader*) echo "$line" | awk '{ print "wait", $2 * 1000000, $3 * 1000000, $4 * 1000000, $5, $5, 1 }' ;;
        permit*) echo "$line" | awk '{ print "wait", $2 * 1000000, $3 * 1000000, $4 * 1000000, $5, $5, 0, $6 }' ;;
        *) echo "$line" ;;
        esac
    done >"$scratch/records"
}

side=0 # the report's side that figures checks
# figures WHAT STATUS FIGURE=VALUE,... OPTION...: one case: the figures of the records
figures() {
    figures_what=$1
    figures_status=$2
    figures_want=$3
    shift 3
    "$bench" --json --records "$scratch/records" "$@" >"$out" 2>"$err" </dev/null
    [ $? -eq "$figures_status" ] && python3 - "$out" "$figures_want" "$side" <<'PY' >>"$err" 2>&1
import json, sys
report = json.load(open(sys.argv[1]))
side = report["sides"][int(sys.argv[3])]
for want in sys.argv[2].split(","):
    name, value = want.split("=")
    got = side[name]
    # A histogram's values are within 0.4 %.
    assert (got is None) if value == "null" else abs(got - float(value)) <= 0.004 * abs(float(value)), (name, got)
PY
    result "$figures_what" $? "$err"
}

# bad WHAT PATTERN OPTION...: one case: status 2, and one line on stderr that matches
bad() {
    bad_what=$1
    bad_pattern=$2
    shift 2
    "$bench" "$@" >"$out" 2>"$err" </dev/null
    [ $? -eq 2 ] && [ ! -s "$out" ] && grep -q -e "^redlock-bench: .*$bad_pattern" "$err" &&
        [ "$(wc -l <"$err")" -eq 1 ]
    result "$bad_what" $? "$err"
}

if python3 -c '' 2>/dev/null; then
    runs 'cycle' 'sides slices' --slices 1 --warmup 0
    runs 'cycle beside the bare fan-out' 'sides ratios slices' \
        --baseline --slices 1 --warmup 0.1
    runs 'cycle with and without a fence' 'sides ratios' \
        --fencing both --slices 1 --warmup 0
    runs 'cycle of readers and of exclusive locks' 'sides ratios' \
        --shared both --slices 1 --warmup 0
    runs 'cycle of threads and of workers' 'sides ratios' \
        --blocking --in-flight 3 --slices 1 --warmup 0
    runs 'cycle of readers beside the bare fan-out' 'sides ratios' \
        --shared on --baseline --slices 1 --warmup 0
    runs 'cycle of permits and of exclusive locks' 'sides ratios permits take' \
        --permits 3 --take 2 --slices 1 --warmup 0
    runs 'cycle of permits beside the bare fan-out' 'sides ratios permits' \
        --permits 3 --fencing on --baseline --slices 1 --warmup 0
    "$bench" --node-count 1 --release script --slices 1 --seconds 0.05 --warmup 0 >"$out" 2>"$err" </dev/null
    if grep -q 'has no command for a release' "$err"; then
        skip 'cycle with releases by commands and by scripts' 'needs Valkey 9 or Redis 8.4: test/servers.sh'
    else
        runs 'cycle with releases by commands and by scripts' 'sides ratios' --release both --slices 1 --warmup 0.3
    fi
    for how in '--again at-once --hold-ms 0 --linger-ms 50' '--think-ms 3 --fencing on' '--idle' '--apart --distance-ms 2' \
        '--waiters-per-process 20,1' '--readers 67' '--readers 100 --think-ms 1'; do
        # shellcheck disable=SC2086
        runs "contend $how" 'sides slices' --workload contend --processes 3 --slices 1 --warmup 0 $how
    done
    for seconds in 0.2 2 10; do # on a busy machine a short run may have no grants
        "$bench" --node-count 3 --workload contend --processes 4 --hold-ms 0 --slices 2 --seconds "$seconds" --warmup 0.1 \
            --json --save-records "$scratch/records" >"$out" 2>"$err" </dev/null
        ! grep -q '"grants_per_s": 0[,.}]' "$out" || continue
        break
    done
    python3 "$(dirname "$0")/figures.py" "$scratch/records" "$out" >>"$err" 2>&1
    result 'contend: the figures, computed again from the records' $? "$err"

    for seconds in 0.2 2 10; do
        "$bench" --node-count 1 --workload contend --processes 3 --hold-ms 2 --apart --slices 1 --seconds "$seconds" \
            --warmup 0 --save-records "$scratch/records" >"$out" 2>"$err" </dev/null
        "$bench" --workload contend --records "$scratch/records" >"$out" 2>>"$err"
        overlap=$?
        [ "$overlap" -ne 3 ] || break
    done
    [ "$overlap" -eq 3 ] && grep -q 'TWO HOLDERS AT ONE TIME: [1-9]' "$out"
    result 'clients of different locks, taken for those of one: their holds overlap' $? "$out"

    for seconds in 0.5 2 10; do
        "$bench" --node-count 3 --workload contend --processes 6 --readers 67 --hold-ms 2 --slices 1 --seconds "$seconds" --warmup 0.1 \
            --json --save-records "$scratch/records" >"$out" 2>"$err" </dev/null
        mixed=$?
        ! grep -q '"grants_per_s": 0[,.}]' "$out" || continue
        break
    done
    [ "$mixed" -eq 0 ] && python3 "$(dirname "$0")/mixed.py" "$scratch/records" "$out" >>"$err" 2>&1
    result 'contend: readers and writers, computed again from the records' $? "$err"

    for seconds in 0.5 2 10; do
        "$bench" --node-count 3 --workload contend --processes 8 --permits 6 --take 2 --hold-ms 2 --slices 1 --seconds "$seconds" \
            --warmup 0.1 --json --save-records "$scratch/records" >"$out" 2>"$err" </dev/null
        permits=$?
        ! grep -q '"grants_per_s": 0[,.}]' "$out" || continue
        break
    done
    [ "$permits" -eq 0 ] && python3 "$(dirname "$0")/permits.py" "$scratch/records" "$out" 6 2 >>"$err" 2>&1
    result 'contend: permits, computed again from the records' $? "$err"

    slice='slice 1000000000 2000000000 1000 500 6 20 40'
    # Waiter 1 is overtaken once, by 2; 2 is later overtaken by 0 and gets nothing. 0 is its own successor once.
    records "$slice" 'wait 1000 1010 1020 0' 'wait 1001 1050 1060 1' 'wait 1002 1030 1040 2' 'wait 1021 1070 1080 0' \
        'wait 1041 0 0 2' 'wait 1081 1090 1100 0'
    figures 'figures of known records' 0 \
        "grants_per_s=5,hand_overs_per_s=3,gap_p50_ms=10,gap_p99_ms=10,wait_p50_ms=28,wait_p99_ms=49,wait_max_ms=959,\
overtakings_per_grant=0.4,overtakers_percent=40,most_overtaken=1,attempts_per_grant=1.2,commands_per_grant=4,\
executed_per_grant=8,client_cpu_us_per_lock=200,node_cpu_us_per_lock=100,least_grants_of_a_waiter=1,\
most_grants_of_a_waiter=3,overlaps=0" --workload contend
    figures 'with a distance' 0 'overtakings_per_grant=0,most_overtaken=0' --workload contend --distance-ms 50
    figures 'tau: one pair of ten is not in order' 0 'tau=0.8,overlaps=0' --workload shells
    records "$slice" 'wait 1000 1040 1050 0' 'wait 1001 1030 1035 1' 'wait 1002 1010 1020 2'
    figures 'the last one is served first' 0 'tau=-1,overtakings_per_grant=1,most_overtaken=2' --workload shells
    # Waiters 0 and 1 read at the same time; 2 writes, waits for both, and again for them; 1 waits
    # for one writer.
    records "$slice" 'reader 1000 1010 1030 0' 'reader 1001 1015 1040 1' 'wait 1005 1041 1050 2' 'reader 1042 1051 1060 0' \
        'reader 1043 1052 1060 1' 'wait 1051 1070 1080 2'
    figures 'readers' 0 "grants_per_s=4,wait_p50_ms=9,wait_max_ms=14,phases_per_grant=0,most_phases=0,overlaps=0,\
least_grants_of_a_waiter=2" --workload contend
    records "$slice" 'reader 1000 1010 1030 0' 'reader 1001 1015 1040 1' 'wait 1005 1041 1050 2' 'reader 1042 1071 1090 0' \
        'reader 1043 1072 1090 1' 'wait 1045 1051 1060 3' 'wait 1046 1061 1070 4'
    figures 'readers that wait for two writers' 0 'grants_per_s=4,phases_per_grant=1,most_phases=2' --workload contend
    side=1
    figures '... who waited for readers, one phase' 0 'grants_per_s=3,phases_per_grant=0.333,most_phases=1' --workload contend
    side=0
    records "$slice" 'reader 1000 1010 1030 0' 'reader 1001 1015 1040 1' 'wait 1005 1039 1050 2' 'reader 1042 1049 1060 0'
    figures 'a writer beside a reader, and a reader beside a writer' 3 'overlaps=2' --workload contend
    # Two slots, 0 and 1 (bits 1 and 2), are free for 2 ms, 10 ms and 1 ms; more wait than that from 1050 to 1502.
    records "$slice" 'permit 900 1000 1500 0 1' 'permit 900 1000 1400 1 2' 'permit 1000 1502 1900 2 1' \
        'permit 1000 1410 1800 3 2' 'permit 1100 1801 0 4 2' 'wait 1050 0 0 5'
    figures 'permits' 0 "permits_in_use=1.887,permits_in_use_percent=98.67,hand_overs_per_s=3,gap_p50_ms=2,gap_p99_ms=10,\
overtakings_per_grant=0.2,overlaps=0" --workload contend --permits 2
    records "$slice" 'permit 1000 1000 1500 0 5' 'permit 1000 1501 1600 1 6'
    figures 'several at once' 0 'permits_in_use=1.198,permits_in_use_percent=null,gap_p50_ms=1,overlaps=0' \
        --workload contend --permits 4 --take 2
    records "$slice" 'permit 1000 1010 1030 0 3' 'permit 1001 1029 1040 1 2' 'permit 1001 1035 1040 2 1'
    figures 'two holders of a slot at one time' 3 'overlaps=1' --workload contend --permits 3
    records "$slice" 'wait 1000 1010 1030 0' 'wait 1001 1029 1040 1' 'wait 900 999 1005 2'
    figures 'two holders at one time' 3 'overlaps=1,grants_per_s=2,hand_overs_per_s=2' --workload contend
    records 'slice 1000000000 2000000000 0 0 0 0 0' 'wait 1000 1010 1020 0'
    figures 'what is not measured is no 0' 0 "grants_per_s=1,client_cpu_us_per_lock=null,node_cpu_us_per_lock=null,\
attempts_per_grant=null,commands_per_grant=null,executed_per_s=null" --workload contend
    records "$slice" 'wait 1000 1010 1020 0' 'wait 1500 1501 1502 1' 'wait 1900 2000 2001 1'
    figures 'a gap in which nobody waited is none; the end of a slice' 0 'gap_p50_ms=null,hand_overs_per_s=1,grants_per_s=2' \
        --workload contend
    records "$slice" 'wait 1000 999 1020 0'
    "$bench" --workload contend --records "$scratch/records" >"$out" 2>"$err"
    [ $? -eq 1 ] && grep -q 'records:2: neither a wait nor a slice' "$err"
    result 'records that cannot be' $? "$err"
    records "$slice" 'wait 1000 1010 1020 0'
    "$bench" --workload contend --records "$scratch/records" >"$out" 2>"$err"
    grep -q "^redlock-bench [0-9.]*: contend, the records of $scratch/records\$" "$out"
    result 'records, of whichever nodes and clients' $? "$out"
    if [ -n "$redlock" ]; then
        runs 'shells' 'sides slices' --workload shells --redlock "$redlock" --shells 3 --work-ms 10 --slices 2
        runs 'shells beside another program' 'ratios' --workload shells --redlock "$redlock" --shells 2 --work-ms 1 \
            --slices 1 --beside env
        "$bench" --node-count 1 --workload shells --redlock "$scratch/none" --slices 1 --work-ms 1 >"$out" 2>"$err"
        [ $? -eq 1 ] && grep -q 'no shell has run behind .*/none' "$err"
        result 'no redlock' $? "$err"
    else
        skip 'shells' 'redlock(1) is not built'
    fi
    runs 'keep' 'renewals_per_s notified_in_time notified_late' --workload keep --locks 10 --ttl-ms 500
else
    skip 'the workloads' 'python3 is not installed'
fi
"$bench" --node-count 3 --slices 1 --seconds 0.1 --warmup 0 >"$out" 2>"$err" </dev/null &&
    grep -q '^redlock-bench [0-9.]*: cycle, 3 nodes started here, 64 in flight' "$out" &&
    grep -q '^locks/s  *[0-9]' "$out"
result 'the table' $? "$err"
"$bench" --node-count 1 --slices 1 --seconds 0.05 --warmup 0 >/dev/full 2>"$err" </dev/null
[ $? -eq 1 ] && grep -q 'the report cannot be written' "$err"
result '... that cannot be written' $? "$err"

bad 'a workload that is none' '"stopped": it takes one of cycle|contend|shells|keep' --workload stopped
bad 'an option of another workload' '\-\-locks does not apply to --workload cycle' --locks 3
bad 'a baseline of another workload' '\-\-baseline does not apply to --workload keep' \
    --workload keep --baseline
bad 'a baseline that is none' '\-\-baseline "x": it takes one of formatted|argv' --baseline=x
bad 'two comparisons at once' '\-\-shared both and --baseline: one' --shared both --baseline
bad 'two other comparisons' 'one comparison at a time' --shared both --fencing both
bad 'threads, and another comparison' '\-\-blocking compares exclusive locks' --blocking --baseline
bad 'threads that read' '\-\-blocking compares exclusive locks' --blocking --shared on
bad 'threads of contend' '\-\-blocking does not apply to --workload contend' --workload contend --blocking
bad 'readers that wait beside each other in a process' '\-\-readers takes one waiter' --workload contend --readers 50 \
    --waiters-per-process 2
bad 'a share of readers that is none' '\-\-readers "101": it takes a number from 0 to 100' --workload contend --readers 101
bad 'readers of cycle' '\-\-readers does not apply to --workload cycle' --readers 50
bad 'no such permits' 'it takes a number from 1 to 64' --permits 65
bad 'more than there are' '\-\-take 3: there are 2 permits' --permits 2 --take 3
bad 'some of no permits' '\-\-take is of --permits K' --take 2
bad 'permits of readers' '\-\-permits and readers exclude' --permits 2 --shared on
bad 'permits that some read' '\-\-permits and readers exclude' --workload contend --permits 2 --readers 50
bad 'permits and another comparison' 'one comparison at a time' --permits 2 --fencing both
bad 'permits that wait beside each other in a process' '\-\-permits takes one waiter' --workload contend --permits 2 \
    --waiters-per-process 2
bad 'a comparison that contend has not' 'is for cycle' --workload contend --fencing both
bad 'no list of waiters' 'it takes numbers from 1 to 10000' --workload contend --waiters-per-process 3,
bad 'a holder alone' '\-\-idle needs --processes 2 or more' --workload contend --idle --processes 1
bad 'no time for thought' 'exclude each other' --workload contend --again at-once --think-ms 3
bad 'a fence and the baseline' 'one comparison at a time' --baseline --fencing both
bad 'an empty place in the list' 'a URL is missing before or after a comma' --nodes redis://a,,redis://b
bad 'too many nodes' 'too many URLs; at most 31' --nodes "$(printf 'redis://h%s,' $(seq 32) | sed 's/,$//')"
bad 'a URL that is none' '\-\-nodes: ' --nodes foo
bad '--nodes and --node-count' 'exclude each other' --nodes redis://h --node-count 3
bad '--nodes and --redis-server' 'exclude each other' --nodes redis://h --redis-server x
bad '--nodes and --distance-ms' 'leave --nodes out' --nodes redis://h --distance-ms 3
bad 'a slice too short' 'it takes a number of seconds from 0.05 to 3600' --seconds 0.01
bad 'no seconds' '\-\-seconds "1s": it takes a number of seconds' --seconds 1s
bad 'no clients' 'it takes a number from 1 to 2000' --workload contend --processes 0
bad 'unknown option' '\-\-frob is not an option of redlock-bench; see redlock-bench --help' --frob
bad 'value missing' '\-\-seconds needs a value' --seconds
bad 'value too much' '\-\-json takes no value' --json=1
bad 'a word' '"x" is no option' x
"$bench" --redis-server "$scratch/none" >"$out" 2>"$err"
[ $? -eq 1 ] && grep -q 'No such file' "$err"
result 'a server that is not there' $? "$err"
"$bench" --help >"$out" 2>"$err" && [ ! -s "$err" ] && grep -q '^  --workload W ' "$out" &&
    grep -q '^Exit status:' "$out"
result 'help' $? "$out"
"$bench" --version | grep -q '^redlock-bench [0-9]'
result 'version' $?
finish
