#!/bin/sh
# The commands of README.md, HACKING.md and docs/ work: each runs here, on one set of nodes for all
# pages, or in a test that commands.txt names. Commands that no test can run are named there too,
# with the reason.
#
#   commands_test.sh REDLOCK NODES_SH SOURCE_ROOT BUILD_ROOT
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/../cli/cli.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$3
build=$4
by_hand_max=20
list=$here/commands.txt

# A folder that looks like a built clone, with all files that the documents' commands name.
sandbox=$scratch/clone
mkdir -p "$sandbox/build/test"
for name in cluster examples test; do ln -s "$top/$name" "$sandbox/$name"; done
for name in cli examples; do ln -s "$build/$name" "$sandbox/build/$name"; done
for name in dev demo test/gcc; do ln -s "$build" "$sandbox/build/$name"; done
for name in nightly-report deploy.sh deploy serve-one-request upload service; do
    printf '#!/bin/sh\nexit 0\n' >"$sandbox/$name"
    chmod +x "$sandbox/$name"
done
cd "$sandbox" || exit 2
nodes=$sandbox/five # for the trap

(cd "$top" && awk -f "$here/commands.awk" README.md HACKING.md docs/*.md) >"$scratch/commands"
[ "$(wc -l <"$scratch/commands")" -gt 80 ]
result 'commands are found in the documents' $?

# The lines of the list: KIND, DETAIL and COMMAND.
sed -n 's/^\(run\|end\|in\|hand\) *\(.*\):: \(.*\)$/\1\t\2\t\3/p' "$list" >"$scratch/list"
awk -F '\t' '
    NR == FNR { kind[++n] = $1; detail[n] = $2; begins[n] = $3; next }
    {
        for (i = 1; i <= n; i++) if (index($2, begins[i]) == 1) break
        if (i > n) print $1 ": " $2 >"/dev/stderr"
        else { used[i] = 1; print kind[i] "\t" detail[i] "\t" $1 "\t" $2 }
    }
    END { for (i = 1; i <= n; i++) if (!used[i]) print "no document has: " begins[i] >"/dev/stderr" }
' "$scratch/list" "$scratch/commands" >"$scratch/plan" 2>"$log"
[ ! -s "$log" ]
result 'each command has a line in test/readme/commands.txt, and each line a command' $? "$log"

awk -F '\t' '$1 == "hand"' "$scratch/list" >"$log"
[ "$(wc -l <"$log")" -le "$by_hand_max" ] && awk -F '\t' '$2 ~ /^ *$/ { exit 1 }' "$log"
result "at most $by_hand_max are run by hand, each for a reason" $? "$log"

awk -F '\t' '$1 == "in" { print $2 }' "$scratch/list" | while read -r file text; do
    [ -n "$text" ] && grep -qF -e "$text" "$top/$file" || echo "$file has no: $text"
done >"$log"
[ ! -s "$log" ]
result 'the tests that run the others do' $? "$log"

# The command, with names of the reader's machines replaced.
typed() {
    sed -e "s#redis-cli -h [ab]#$cli -p \$(cat five/1/port)#" -e 's#/usr/local/bin/#./#' -e 's#/run/lock/#./#' \
        -e 's#sleep 20#:#' -e "s#{KEY}#{k}#; s# KEY# k#; s# VALUE# v#"
}

# Runs the commands in this shell, in order, so that one can use variables of another.
run_all() {
    while IFS='	' read -r kind wanted place command; do
        [ "$kind" = "$1" ] || continue
        command=$(printf '%s\n' "$command" | typed)
        eval "$command" >"$log" 2>&1 </dev/null
        got=$?
        [ "$kind" = run ] || wanted=0
        # shellcheck disable=SC2254
        case $got in
        ${wanted% }) result "$place: $command" 0 ;;
        *)
            echo "# status $got" >>"$log"
            result "$place: $command" 1 "$log"
            ;;
        esac
    done <"$scratch/plan"
}
# start.md comes first: it starts the nodes.
awk -F '\t' '$3 ~ /start.md/' "$scratch/plan" >"$scratch/ordered"
awk -F '\t' '$3 !~ /start.md/' "$scratch/plan" >>"$scratch/ordered"
mv "$scratch/ordered" "$scratch/plan"
run_all run
run_all end

finish
