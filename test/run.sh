#!/bin/sh
# Every test.
#
#   sh test/run.sh                        all that CI does: three legs, and each test in one of them
#   sh test/run.sh --quick                one leg: gcc, without the tests that take longest
#   sh test/run.sh --compiler gcc|clang   one leg: every test, built with this compiler
#   sh test/run.sh --sanitize             one leg: clang, hiredis 1.x, ASan with leaks, UBSan, fuzzers
#   sh test/run.sh --tsan                 one leg: clang, TSan, the tests of what has threads
#   sh test/run.sh --long [SECONDS]       what test/judged.txt names, and the simulator for an hour
#   sh test/run.sh --help                 this list
#
# The tests of the checker, the model, the scripts and the rules of test/tidy run only if these have
# changed since the tests last passed: test/judged.txt. A run records there what has passed; commit
# it with the tested changes, or CI runs the same tests again.
#
# --compiler and --sanitize can be combined. Where the system has hiredis 0.14, --sanitize builds
# 1.x (test/hiredis1.sh), or uses the system's if that fails. Arguments after -- go to "meson test":
# names of tests, or --suite unit. Missing packages are installed first (cluster/setup.sh says which
# and why). Each leg is built in build/test/LEG, and has its logs there.
#
# The last line is "N passed, N failed": single cases, not programs. The exit status is 0 if none
# failed. A program that fails is run once more, alone, and still counts as failed, unless the
# machine stalled while it ran (as a virtual machine does that is moved): such a run proves nothing.
# Processes that a test leaves behind are ended here, and count as a failure.
set -u
exec </dev/null

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 2

usage() { sed -n '/^#   sh test\/run.sh/s/^#   //p' "$0"; }

compiler='' sanitize=no tsan=no quick=no long=''
while [ $# -gt 0 ]; do
    case $1 in
    --compiler)
        case ${2-} in
        gcc | clang) compiler=$2 ;;
        *)
            usage >&2
            exit 2
            ;;
        esac
        shift 2
        ;;
    --quick) quick=yes; shift ;;
    --sanitize) sanitize=yes; shift ;;
    --tsan) tsan=yes; shift ;;
    --long)
        long=3600
        shift
        case ${1-} in '' | 0* | *[!0-9]*) ;; *) long=$1; shift ;; esac
        ;;
    --) shift; break ;;
    -h | --help)
        usage
        exit
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
done

case "$quick,$long,$compiler$sanitize$tsan" in
no,,* | yes,,nono | no,*,nono) ;;
*)
    echo 'test/run.sh: --quick and --long go with no other option' >&2
    exit 2
    ;;
esac

passed=0 failed=0 skipped=0
again_max=10 # failed programs that run again; if more fail, not the machine is too slow
child=''
clock=''
summary=''
tmp=''

# -- processes -----------------------------------------------------------------------------------

# Processes that our tests start inherit REDLOCK_TEST_RUN, or work in a folder below our TMPDIR (a
# redis-server hides its environment). Only these two marks identify them.
ours() {
    for proc in /proc/[0-9]*; do
        ours_pid=${proc#/proc/}
        [ "$ours_pid" != $$ ] || continue
        case $(readlink "$proc/cwd" 2>/dev/null) in
        "$tmp" | "$tmp"/*) echo "$ours_pid" ;;
        *)
            tr '\0' '\n' 2>/dev/null <"$proc/environ" | grep -qx "REDLOCK_TEST_RUN=$tmp" &&
                echo "$ours_pid"
            ;;
        esac
    done 2>/dev/null
}

# sweep SECONDS: ends the processes that are left then, names them, and returns 1 if there were any.
# The list includes this shell's own helpers while they run, so only processes that are in it twice
# count.
sweep() {
    ours >"$tmp/first"
    for _ in $(seq "$1"); do
        ours | grep -qxF -f "$tmp/first" || break
        run sleep 1
    done
    ours >"$tmp/first"
    swept=''
    for pid in $(ours); do
        grep -qx "$pid" "$tmp/first" || continue
        swept="$swept $pid ($(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null))"
        kill -s CONT "$pid" 2>/dev/null
        kill -s KILL "$pid" 2>/dev/null
    done
    [ -z "$swept" ]
}

clean_up() {
    trap '' HUP INT TERM PIPE
    if [ -n "$child" ]; then
        # meson ends its tests when it is told to end.
        kill "$child" 2>/dev/null
        wait "$child" 2>/dev/null
    fi
    [ -z "$clock" ] || kill "$clock"
    if [ -n "$tmp" ]; then
        sweep 0
        rm -rf "$tmp"
    fi
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 141' PIPE

# run COMMAND...: in the background, since a waiting shell can be interrupted. Only the command that
# takes the lock (9) inherits it: processes that a test leaves behind must not hold it.
run() {
    if [ "$1" = flock ]; then
        "$@" &
    else
        "$@" 9>&- &
    fi
    child=$!
    wait "$child"
    run_status=$?
    child=''
    return "$run_status"
}

# -- the tests in judged.txt ----------------------------------------------------------------------

judged=test/judged.txt # lines: SUITE DIGEST PATTERN...

# The lines of $judged with the current digests: of the names and contents of all files below the
# patterns
digests() {
    while read -r digests_suite digests_is digests_paths; do
        # shellcheck disable=SC2086
        [ "$digests_suite" = '#' ] ||
            digests_is=$(find $digests_paths -type f ! -path '*/__pycache__/*' | LC_ALL=C sort |
                xargs sha256sum | sha256sum | cut -c 1-20)
        echo "$digests_suite ${digests_is:-none} $digests_paths"
    done <"$judged"
}

# Options for meson that leave out the suites whose files are unchanged since they last passed
unchanged() {
    digests | grep -vx -e '# .*' -e '[^ ]* none .*' | grep -xF -f "$judged" >"$tmp/unchanged"
    sed 's/ .*//; s/^/--no-suite /' "$tmp/unchanged" | tr '\n' ' '
}

# record TESTLOG BEFORE: records the digests of suites that passed without a skipped case, and whose
# files have not changed since the build began
record() {
    digests >"$tmp/digests"
    while read -r record_line; do
        record_suite=${record_line%% *}
        record_now=$(grep "^$record_suite " "$tmp/digests" | grep -xF -f "$2")
        [ "$record_suite" != '#' ] && [ -n "$record_now" ] &&
            awk -v suite="[:+]$record_suite([+][^ ]*)? / " '
                match($0, /"name": "[^"]*"/) && substr($0, RSTART, RLENGTH) ~ suite {
                    seen = 1
                    if ($0 !~ /"result": "OK"/ || /# SKIP/) bad = 1
                }
                END { exit !seen || bad }' "$1" && record_line=$record_now
        echo "$record_line"
    done <"$judged" >"$tmp/judged"
    cmp -s "$tmp/judged" "$judged" || cp "$tmp/judged" "$judged"
}

# -- one leg -------------------------------------------------------------------------------------

fail() {
    failed=$((failed + 1))
    summary="$summary  failed: $*
"
}

skip() {
    skipped=$((skipped + 1))
    summary="$summary  skipped: $*
"
}

# count LEG: adds up meson's results, shows the output of failed tests, and runs these again, unless
# they are many
count() {
    awk -v leg="$1" -v logs="$tmp/logs" -v still="$tmp/still" -f test/count.awk \
        "$tmp/still" "build/test/$1/meson-logs/testlog.json" >"$tmp/count"
    [ ! -e "$tmp/logs" ] || cat "$tmp/logs"
    rm -f "$tmp/logs"
    count_again=0
    count_alone=''
    while read -r count_key count_text; do
        case $count_key in
        again)
            count_again=$((count_again + 1))
            [ "$count_again" -le "$again_max" ] || continue
            count_cases=${count_text%% *}
            count_text=${count_text#* }
            count_ms=${count_text%% *}
            count_alone=', failed alone as well'
            # shellcheck disable=SC2086
            run meson test -C "build/test/$1" --no-rebuild --logbase again $leg_test "${count_text#* }" \
                >/dev/null 2>&1 || continue
            count_alone=', passed alone'
            [ "$count_ms" -gt 0 ] || continue
            count_alone=", passed alone: the machine had stood still for $count_ms ms"
            passed=$((passed + count_cases))
            failed=$((failed - count_cases))
            ;;
        what)
            summary="$summary  $count_text$count_alone
"
            count_alone=''
            ;;
        sum)
            # shellcheck disable=SC2086
            set -- $count_text
            passed=$((passed + $1))
            failed=$((failed + $2))
            skipped=$((skipped + $3))
            ;;
        esac
    done <"$tmp/count"
}

# build NAME COMPILER SETUP_OPTIONS TEST_OPTIONS: sets up a leg's build, build/test/NAME (again if
# its options changed), and builds what its tests need; everything if tests are named, since they
# may be any. It installs into lib, as docs/start.md says: a minimal Debian's meson would choose
# lib64, where CMake does not look.
build() {
    build_dir=build/test/$1
    build_log=$tmp/build.$1
    build_set_up="-Dtests=enabled -Dlibdir=lib${3:+ $3}"
    case $2 in clang) build_cxx=clang++ ;; *) build_cxx=g++ ;; esac
    if [ "$(cat "$build_dir/.redlock-setup" 2>/dev/null)" != "$2 $build_set_up" ] ||
        [ ! -e "$build_dir/build.ninja" ]; then
        rm -rf "$build_dir"
        # shellcheck disable=SC2086
        CC=$2 CXX=$build_cxx run meson setup "$build_dir" -Dwerror=true $build_set_up >"$build_log" 2>&1 ||
            return 1
        echo "$2 $build_set_up" >"$build_dir/.redlock-setup"
    fi
    # Newer mesons leave out of "all" what only tests need.
    build_what='all meson-test-prereq'
    if [ "$named" -eq 0 ]; then
        run ninja -C "$build_dir" build.ninja >"$build_log" 2>&1 # makes what needs.py reads
        # shellcheck disable=SC2086
        build_what=$(python3 test/needs.py "$build_dir" $4 2>>"$build_log") || return 1
    fi
    # shellcheck disable=SC2086
    run ninja -C "$build_dir" $build_what >"$build_log" 2>&1
}

# build_ahead, as build: builds the next leg while tests wait, with idle processors only. A failure
# is reported by that leg, which builds again.
ahead=''
build_ahead() {
    build "$@" 9>&- &
    ahead=$!
    chrt --idle --pid 0 "$ahead" 2>/dev/null
}

# leg NAME COMPILER SETUP_OPTIONS TEST_OPTIONS [WHAT WAS GIVEN AFTER --]...: builds and tests
leg() {
    leg=$1
    leg_dir=build/test/$1
    leg_test=$4
    leg_began=$(date +%s)
    echo
    echo "== $leg: $2 $3"
    digests >"$tmp/before"
    build "$1" "$2" "$3" "$4" || {
        grep -v '^\[[0-9]*/[0-9]*\]' "$tmp/build.$1"
        fail "$leg: the build"
        return
    }
    shift 4
    leg_built=$(date +%s)
    $leg_next
    rm -f "$leg_dir/meson-logs/testlog.json"
    # shellcheck disable=SC2086
    run meson test -C "$leg_dir" --no-rebuild --num-processes "$at_once" $leg_test "$@"
    [ -z "$ahead" ] || wait "$ahead" # before failed tests run alone, and before the sweep
    ahead=''
    if [ -s "$leg_dir/meson-logs/testlog.json" ]; then
        count "$leg"
        # If tests are named, only part of a suite may have run.
        [ "$leg$#" != gcc0 ] || record "$leg_dir/meson-logs/testlog.json" "$tmp/before"
    else
        fail "$leg: no test ran"
    fi
    # The guard of a killed redlock ends by itself when its lock is over.
    sweep 60 || fail "$leg: processes left behind:$swept"
    leg_ended=$(date +%s)
    summary="$summary  $leg: $((leg_ended - leg_began)) s, $((leg_built - leg_began)) of them for the build
"
}

# Suites in which a sanitizer finds nothing: scripts, packages, other languages, and whole programs
# on real nodes in real time. The sanitized leg leaves them to the first leg, which in CI runs only
# these and the simulator, with more histories than a sanitizer has time for.
plain='tidy valgrind chaos model examples package controls once'
suites() { for suites_name in $2; do printf '%s %s ' "$1" "$suites_name"; done; }

# Most tests mostly wait: for a timeout, a ttl, a process. Running more at once would not be faster,
# and would disturb tests that measure time.
at_once=$(($(nproc) + 3))

# The limits in meson.build, which end tests that hang, are for a quiet machine. Other tests and
# sanitizers make a test slower.
busy='-t 2'
busy_sanitized='-t 5'

# The legs. The first argument of those that can be built ahead is the command: leg or build_ahead.
# A named test runs in any leg.
plain_without=''
plain_leg() {
    plain_cc=$1
    shift
    plain_test=$busy
    [ "$named" -gt 0 ] || plain_test="$plain_without $busy $(unchanged)"
    leg "$plain_cc" "$plain_cc" -Ddefault_library=both "$plain_test" "$@"
}

# For --quick: the suites that take longest.
slow='chaos model valgrind examples fail'

# hiredis 1.x for the sanitized leg: sets $hiredis_setup. The other legs use the system's.
find_hiredis1() {
    run sh test/hiredis1.sh build/hiredis1 >"$tmp/hiredis1" 2>&1
    hiredis1_status=$?
    cat "$tmp/hiredis1"
    hiredis_setup=''
    case $hiredis1_status in
    0) hiredis_setup="-Dhiredis_root=$root/build/hiredis1" ;;
    77) skip "hiredis 1.x in place of the system's: $(tail -n 1 "$tmp/hiredis1")" ;;
    *) fail 'hiredis 1.x: its build' ;;
    esac
}

# With a sanitizer, -O2 and full -g take longer to compile, and the tests run no faster; a report
# needs only line numbers. lld links the many programs in less than half the time.
quick_build='-Doptimization=1 -Dc_args=-g1 -Dcpp_args=-g1'
command -v ld.lld >/dev/null &&
    quick_build="$quick_build -Dc_link_args=-fuse-ld=lld -Dcpp_link_args=-fuse-ld=lld"

# clang leaves the sanitizers' names in a shared library open, hence lundef.
sanitize_leg() {
    sanitize_do=$1
    sanitize_cc=$2
    shift 2
    case $sanitize_cc in clang) sanitize_more='-Db_lundef=false -Dfuzz=true' ;; *) sanitize_more='' ;; esac
    "$sanitize_do" "sanitize-$sanitize_cc" "$sanitize_cc" \
        "-Db_sanitize=address,undefined $quick_build -Ddocs=disabled $sanitize_more $hiredis_setup" \
        "$(suites --no-suite "$plain") $busy_sanitized" "$@"
}

# Only the tests with threads: the rest of the library is single-threaded.
tsan_leg() {
    tsan_do=$1
    shift
    "$tsan_do" tsan clang "-Db_sanitize=thread $quick_build -Db_lundef=false -Ddocs=disabled" \
        "--suite threads $busy_sanitized" "$@"
}

# -- the run -----------------------------------------------------------------------------------

if [ -n "$long" ]; then
    echo "What $judged names, and then the simulator for $long s, on every processor"
elif [ "$quick" = yes ]; then
    echo 'One leg of three, about five minutes on two quiet cores. All of them: sh test/run.sh'
elif [ "$compiler$sanitize$tsan" = nono ]; then
    cat <<'PLAN'
Three legs, one after the other, about 10 minutes on two cores; each builds what it needs:
  gcc             the simulator, chaos, what is no program in C, packages, the source itself
  sanitize-clang  all other tests: ASan, LeakSanitizer and UBSan, with hiredis 1.x and the fuzzers
  tsan            TSan: what has threads
One leg, about five minutes: sh test/run.sh --quick
PLAN
fi
sh cluster/setup.sh test || {
    echo '0 passed, 1 failed'
    exit 1
}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/redlock-test.XXXXXX") || exit 2
export TMPDIR="$tmp" REDLOCK_TEST_RUN="$tmp"
# Any report, including leaks, makes the program fail.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
unset CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS DESTDIR
# If python3 is a version manager's script, which takes longer than many programs that it starts,
# put the real interpreter first in PATH.
python=$(python3 -c 'import sys; print(sys.executable)') &&
    [ "$python" != "$(command -v python3)" ] && PATH=${python%/*}:$PATH

# Records when the machine stalled. (Not a test's process, so the sweep does not end it.)
env -u REDLOCK_TEST_RUN python3 -c '
import time
last = time.time()
while True:
    time.sleep(0.02)
    now = time.time()
    if now - last > 0.5:
        print(now, int((now - last) * 1000), flush=True)
    last = now' >"$tmp/still" &
clock=$!

# Two runs at once would overwrite each other's builds.
mkdir -p build/test
exec 9>build/test/.lock
flock -n 9 || {
    echo 'waiting for another test/run.sh of this tree to end'
    run flock 9
}

named=$#
leg_next=''
if [ -n "$long" ]; then
    export REDLOCK_LONG=1
    leg gcc gcc -Ddefault_library=both "$busy $(sed -n 's/^\([^# ]*\) .*/--suite \1/p' "$judged" | tr '\n' ' ')"
    run sh test/sim/long.sh "$leg_dir/test/sim/redlock-sim" "$long" || fail 'the simulator'
elif [ "$quick" = yes ]; then
    plain_without=$(suites --no-suite "$slow")
    plain_leg gcc "$@"
elif [ "$tsan" = yes ]; then
    tsan_leg leg "$@"
elif [ "$sanitize" = yes ]; then
    find_hiredis1
    sanitize_leg leg "${compiler:-clang}" "$@"
elif [ -n "$compiler" ]; then
    plain_leg "$compiler" "$@"
else
    find_hiredis1
    plain_without=$(suites --suite "$plain sim")
    leg_next='sanitize_leg build_ahead clang'
    plain_leg gcc "$@"
    leg_next='tsan_leg build_ahead'
    sanitize_leg leg clang "$@"
    leg_next=''
    tsan_leg leg "$@"
fi

echo
[ ! -e "$tmp/unchanged" ] || sed 's/ .*//; s/^/  unchanged since it passed: /' "$tmp/unchanged"
printf '%b' "$summary"
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
