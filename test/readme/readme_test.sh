#!/bin/sh
# README.md does what it says: its C program and its shell line run on real nodes, and so do the
# programs of docs/start.md. It is short, and no link in it or in docs/ is dead.
#
#   readme_test.sh REDLOCK NODES_SH SOURCE_ROOT README README_NEW_NODES START HOLD BUSY SETTINGS WORKER_ID
#                  README_NEW_NODES: with new_nodes.h; the latter five: "-": not built
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/../cli/cli.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$3
readme_program=$4
readme_new_nodes=$5
start_program=$6
hold=$7
busy=$8
settings=$9
worker_id=${10}
readme=$top/README.md

[ "$(wc -w <"$readme")" -le 900 ]
result 'README.md has at most 900 words' $?

# Links to files of this repository, and to their headings, which GitHub names by their words.
anchors() {
    sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
for file in "$top"/*.md "$top"/docs/*.md; do
    tr '\n' ' ' <"$file" | grep -o '\]([^)]*)' | sed 's/^](//; s/)$//' >"$scratch/links"
    while read -r link; do
        case $link in *:*) continue ;; esac
        target=${link%%#*}
        if [ -n "$target" ]; then target=$(dirname "$file")/$target; else target=$file; fi
        if [ ! -e "$target" ]; then
            echo "$file: there is no $link"
        elif [ "$link" != "${link#*#}" ]; then
            anchors "$target" | grep -qxF -e "${link#*#}" || echo "$file: no heading for $link"
        fi
    done <"$scratch/links"
    tr '\n' ' ' <"$file" | grep -oE '\]\([a-z]+\.md\), +"[A-Z][^"]*"' | sed "s#^#$file: link the section itself: #"
    # A page whose contents link its sections links all of them.
    sed '/^## /,$d' "$file" >"$scratch/contents"
    grep -q '](#' "$scratch/contents" && sed -n '/^## /p' "$file" >"$scratch/sections" &&
        anchors "$scratch/sections" | while read -r section; do
            grep -q "](#$section)" "$scratch/contents" || echo "$file: its contents lack #$section"
        done
done >"$log"
[ ! -s "$log" ]
result 'no dead link in README.md and docs/' $? "$log"

# Files and tests that documents name, as `lib/core/lock.h` and `unit/core_round`.
# shellcheck disable=SC2016
sed 's/`/\n`/g' "$top"/*.md "$top"/docs/*.md |
    sed -n 's#^`\([a-z]*/[A-Za-z0-9_./*-]*\)$#\1#p' | sort -u >"$scratch/paths"
(
    cd "$top" || exit 2
    while read -r path; do
        case $path in
            */'*') ;;
            unit/* | fake/* | fail/* | live/*)
                ls test/"${path%\*}"*_test.* >/dev/null 2>&1 || echo "there is no test $path"
                ;;
            include/* | lib/* | tool/* | cli/* | bench/* | cluster/* | test/* | examples/* | docs/*)
                [ -e "$path" ] || echo "there is no $path"
                ;;
        esac
    done <"$scratch/paths"
) >"$log"
[ ! -s "$log" ] && [ "$(wc -l <"$scratch/paths")" -gt 60 ]
result 'files and tests that documents name are there' $? "$log"

# HACKING.md has lists of places, with the command that prints them.
(
    cd "$top" || exit 2
    sed -n 's/^    \$ //p' HACKING.md | while read -r command; do
        sh -c "$command" | LC_ALL=C sort | sed 's/^/    /' >"$scratch/now"
        awk -v command="    \$ $command" '
            $0 == command { inside = 1; next }
            inside && !/^    / { exit }
            inside { print }' HACKING.md | diff - "$scratch/now" >"$scratch/diff" ||
            { echo "$command"; cat "$scratch/diff"; }
    done
) >"$log"
[ ! -s "$log" ] && grep -q '^    \$ grep' "$top/HACKING.md"
result 'lists of HACKING.md are what grep finds' $? "$log"

sh "$here/snippet.sh" c "$top/docs/start.md" | sed 1d | diff - "$top/examples/hold.c" >"$log"
result 'the program in docs/start.md is examples/hold.c' $? "$log"

# same_functions EXAMPLE NAME...: functions in docs/recipes.md are those of the example
same_functions() {
    same_file=examples/$1.c
    shift
    for name in "$@"; do
        sed -n "/^static [a-z0-9_]* $name(/,/^}/p" "$top/$same_file" >"$out"
        [ -s "$out" ] || echo "there is no $name"
        sed -n "/^static [a-z0-9_]* $name(/,/^}/p" "$top/docs/recipes.md" | diff - "$out"
    done >"$log" 2>&1
    [ ! -s "$log" ]
    result "docs/recipes.md has $* of $same_file" $? "$log"
}
same_functions busy http_status
same_functions settings read_settings write_settings
same_functions worker_id granted next_id

# docs/fencing.md: its statements are those of the worker that examples/fenced-mysql stops, and its script
# for a file server refuses a smaller fence.
grep -o '"[A-Z]* [^"]*?"' "$top/docs/fencing.md" >"$scratch/statements"
while read -r statement; do
    grep -qF -e "$statement" "$top/examples/fenced-mysql/worker.c" || echo "not in worker.c: $statement"
done <"$scratch/statements" >"$log"
[ ! -s "$log" ] && [ "$(wc -l <"$scratch/statements")" -eq 3 ]
result 'the statements of docs/fencing.md are those of examples/fenced-mysql' $? "$log"

# fenced STATUS TEXT ARGUMENT...: the script ends with the status, and the file has the text
fenced() {
    fenced_status=$1 fenced_text=$2
    shift 2
    sh "$scratch/fenced" "$@"
    fenced_got=$?
    [ "$fenced_got" -eq "$fenced_status" ] && [ "$(cat "$scratch/stock")" = "$fenced_text" ] ||
        echo "fenced $*: status $fenced_got, and the file has: $(cat "$scratch/stock")"
}
sh "$here/snippet.sh" sh "$top/docs/fencing.md" >"$scratch/fenced"
for text in first second third; do echo "$text" >"$scratch/stock.$text"; done
echo none >"$scratch/stock"
{
    fenced 0 none 1795249654049744 "$scratch/stock"
    fenced 0 first 1795249654049744 "$scratch/stock" "$scratch/stock.first"
    fenced 0 first 1795249657075526 "$scratch/stock"
    fenced 1 first 1795249654049744 "$scratch/stock" "$scratch/stock.second"
    fenced 0 third 1795249657075526 "$scratch/stock" "$scratch/stock.third"
    fenced 1 third 1795249654049744 "$scratch/stock"
} 2>"$err" >"$log"
[ ! -s "$log" ] && [ "$(grep -cx 'refused: fence 1795249657075526 has been here' "$err")" -eq 2 ]
result 'the script of docs/fencing.md puts a file in place, and refuses a smaller fence' $? "$log"

# shows WHAT STATUS LINE PROGRAM URL...: the program ends with the status and prints a line that begins so
shows() {
    shows_what=$1 shows_status=$2 shows_line=$3
    shift 3
    if [ "$1" = - ]; then
        skip "$shows_what" 'it is not built'
        return
    fi
    "$@" >"$log" 2>&1
    shows_got=$?
    echo "# status $shows_got" >>"$log"
    [ "$shows_got" -eq "$shows_status" ] && grep -q "^$shows_line" "$log"
    result "$shows_what" $? "$log"
}

start_nodes 5
# shellcheck disable=SC2046
set -- $(cat "$nodes/urls")
# This program waits for its deadline; meanwhile the others run.
"$readme_program" "$@" >"$scratch/young" 2>&1 &
young=$!
left="$left $young"
shows 'the program of README.md works under the lock' 0 'step 3$' "$readme_new_nodes" "$@"
shows '... and says what is wrong with a URL' 1 'node URL "redis:": ' "$readme_program" redis:
shows 'the program in C++ of docs/start.md works under the lock' 0 'step 3$' "$start_program" "$@"
shows '... and says what is wrong with a URL' 1 'node URL "redis:": ' "$start_program" redis:
shows 'examples/hold.c holds the lock' 0 'release: success$' "$hold" "$@"
shows '... and says what is wrong with a URL' 2 'hold: node URL "redis:": ' "$hold" redis:
wait "$young"
[ $? -eq 1 ] && grep -q 'quarantine' "$scratch/young"
result 'the program of README.md says that new nodes do not vote yet' $? "$scratch/young"

# The line of the crontab, on two machines at once: one of them runs the report.
line=$(sed -n 's/^    \(redlock run .*\)/\1/p' "$readme")
cat >"$scratch/report" <<REPORT
#!/bin/sh
echo run >>"$scratch/reports"
: >"$scratch/begun"
until [ -e "$scratch/other-ended" ]; do sleep 0.02; done
REPORT
chmod +x "$scratch/report"
mkdir "$scratch/bin"
ln -s "$redlock" "$scratch/bin/redlock"
PATH=$scratch/bin:$PATH
echo "$line" | sed "s#/usr/local/bin/report#$scratch/report#" >"$scratch/line"
sh "$scratch/line" >"$log" 2>&1 &
first=$!
left="$left $first"
await [ -e "$scratch/begun" ]
sh "$scratch/line" >>"$log" 2>&1
second_status=$?
: >"$scratch/other-ended"
wait "$first" && [ "$second_status" -eq 0 ] && [ "$(wc -l <"$scratch/reports")" -eq 1 ]
result 'the line of the crontab runs the report once, and ends with 0 twice' $? "$log"

# answers STATUS BEGINNING WHAT: examples/busy.c ends with the status, and its answer begins so
answers() {
    if [ "$busy" = - ]; then
        skip "$3" 'the examples are not built'
        return
    fi
    # shellcheck disable=SC2046
    "$busy" $(cat "$nodes/urls") >"$log" 2>&1
    busy_status=$?
    [ "$busy_status" -eq "$1" ] && grep -q "^$2" "$log"
    result "$3" $? "$log"
}

answers 0 '200 ' 'examples/busy.c: 200 where the lock is free'
redlock acquire --nodes "$*" --guard off --no-wait --ttl 20s order:4711 >"$out" 2>&1
answers 1 '409 the deadline passed (held by another)' 'examples/busy.c: 409 where another holds it'

# Readers of two files, and one that writes both: never one of the old and one of the new.
if [ "$settings" != - ]; then
    mkdir "$scratch/settings"
    "$settings" "$scratch/settings" none "$@" 2>"$err"
    for reader in 1 2 3; do
        for time in 1 2 3 4 5 6; do
            "$settings" "$scratch/settings" "$@" || echo "reader $reader, time $time"
        done >"$scratch/read.$reader" 2>&1 &
        left="$left $!"
        eval "reader_$reader=\$!"
    done
    for text in one two three; do
        "$settings" "$scratch/settings" "$text" "$@" 2>>"$err" || echo "not written: $text" >>"$err"
    done
    # shellcheck disable=SC2154
    wait "$reader_1" "$reader_2" "$reader_3"
    cat "$scratch"/read.* >"$log"
    [ ! -s "$err" ] && [ "$(wc -l <"$log")" -eq 18 ] &&
        ! grep -qvx 'none none\|one one\|two two\|three three' "$log" &&
        [ "$("$settings" "$scratch/settings" "$@")" = 'three three' ]
    result 'examples/settings.c: no reader sees half of a change' $? "$log"
    "$settings" "$scratch/nowhere" one "$@" >"$log" 2>&1
    written=$?
    "$settings" "$scratch/nowhere" "$@" >>"$log" 2>&1
    [ "$written $?" = '1 1' ] && [ "$(grep -c '/nowhere/.*: No such file' "$log")" -eq 4 ]
    result 'examples/settings.c: files that cannot be written or read' $? "$log"
else
    skip 'examples/settings.c' 'the examples are not built'
fi

# Workers with their own slots: no number is given twice.
if [ "$worker_id" != - ]; then
    for worker in 1 2 3; do
        "$worker_id" 500 "$@" >"$scratch/ids.$worker" 2>>"$log" &
        left="$left $!"
        eval "worker_$worker=\$!"
    done
    # shellcheck disable=SC2154
    wait "$worker_1" && wait "$worker_2" && wait "$worker_3" &&
        [ "$(cat "$scratch"/ids.* | sort -u | wc -l)" -eq 1500 ]
    result 'examples/worker_id.c: no number is given twice' $? "$log"
else
    skip 'examples/worker_id.c' 'the examples are not built'
fi

for i in 1 2 3; do sh "$nodes_sh" kill "$nodes" "$i"; done
if [ "$hold" != - ]; then
    "$hold" "$@" >"$scratch/held" 2>&1 &
    holding=$!
    left="$left $holding"
fi
no_quorum='the deadline passed (no quorum of nodes)'
shows 'without a quorum the program of README.md fails' 1 "$no_quorum" "$readme_program" "$@"
shows '... and so does that in C++' 1 "$no_quorum" "$start_program" "$@"
if [ "$hold" != - ]; then
    wait "$holding"
    [ $? -eq 1 ] && grep -q "^acquire: $no_quorum" "$scratch/held"
    result '... and examples/hold.c' $? "$scratch/held"
fi
answers 2 '503 the deadline passed (no quorum of nodes)' 'examples/busy.c: 503 without a quorum'

finish
