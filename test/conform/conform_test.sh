#!/bin/sh
# redlock conform: a client that keeps the rules passes, and for each story there is one that does
# not. Arguments: REDLOCK CONFORM_CLIENT, for the library; or REDLOCK BROKEN_PY CLIENT_PY, for Python.
set -u

# shellcheck source=test/tap.sh
. "$(dirname "$0")/../tap.sh"
redlock=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-conform.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
log=$scratch/log
export PYTHONDONTWRITEBYTECODE=1

# verdicts OPTION... -- COMMAND...: lines "STORY VERDICT RULE TEXT"
verdicts() {
    "$redlock" conform --json "$@" 2>"$log" |
        sed 's/^{"story": "\([^"]*\)".* "verdict": "\([^"]*\)", "rule": "*\([A-Za-z0-9]*\)"*, "text": \(.*\), "ms".*/\1 \2 \3 \4/'
}

# unwanted OTHERS NOTES: the lines with another verdict than OTHERS (NOTE for the stories of NOTES),
# and failures before a story has begun
unwanted() {
    awk -v others="$1" -v notes=" $2 " '{
        wanted = index(notes, " " $1 " ") ? "NOTE" : others
        if ($2 != wanted || $3 == "P1" || index($0, "before the story began")) print
    }'
}

# client WHAT OTHERS NOTES COMMAND...: one case. Unwanted stories run once more, alone: a machine
# that stalls for a moment makes any client late. Such a machine may also hide wrong timing, such as
# equal pauses: so up to three runs.
client() {
    client_what=$1
    client_others=$2
    client_notes=$3
    shift 3
    verdicts --jobs 4 -- "$@" >"$scratch/all"
    unwanted "$client_others" "$client_notes" <"$scratch/all" >"$scratch/odd"
    client_tries=1
    [ "$client_others" = PASS ] || client_tries=3
    for again in $(seq "$client_tries"); do
        [ -s "$scratch/odd" ] || break
        sed "s/^/# before try $again alone: /" "$scratch/odd"
        client_story="--story $(cut -d ' ' -f 1 "$scratch/odd" | paste -sd, -)"
        [ "$(wc -l <"$scratch/odd")" -le 31 ] || client_story='' # --story takes no more
        # shellcheck disable=SC2086
        verdicts --jobs 1 $client_story -- "$@" |
            unwanted "$client_others" "$client_notes" >"$scratch/odd.again"
        mv "$scratch/odd.again" "$scratch/odd"
    done
    cat "$log" >>"$scratch/odd"
    [ "$(wc -l <"$scratch/all")" -eq "$number" ] && [ ! -s "$scratch/odd" ]
    result "$client_what" $? "$scratch/odd"
}

if ! "$redlock" conform --list >"$scratch/stories" 2>"$log"; then
    "$redlock" conform --help >"$scratch/help" && grep -q 'built without Lua' "$scratch/help" && grep -q -e -Dconform=enabled "$scratch/help"
    result 'without Lua --help says how to get it' $? "$scratch/help"
    skip 'redlock conform' "$(paste -sd ' ' "$log")"
    finish
    exit
fi
number=$(wc -l <"$scratch/stories")

if [ $# -eq 2 ]; then
    # -- The library --

    client 'libredlock keeps the rules' PASS 'fence' "$2"
    client '... with fences as well' PASS '' "$2" --fence

    # -- Options --

    "$redlock" conform >"$log" 2>&1
    [ $? -eq 64 ] && grep -q 'no command' "$log"
    result 'no command' $? "$log"
    "$redlock" conform --story nonsense -- true >"$log" 2>&1
    [ $? -eq 64 ] && grep -q 'no story "nonsense"' "$log"
    result 'no such story' $? "$log"
    "$redlock" conform -- "$scratch/none" >"$log" 2>&1
    [ $? -eq 127 ] && grep -q 'cannot be started' "$log"
    result 'no such program' $? "$log"
    "$redlock" conform -- true >"$log" 2>&1
    [ $? -eq 71 ] && [ "$(cat "$log")" = 'redlock: conform: the client ended before it wrote "ready"' ]
    result 'a program that says nothing' $? "$log"
    "$redlock" conform -- python3 -c 'import no_such_module' >"$scratch/verdicts" 2>"$log"
    [ $? -eq 71 ] && [ ! -s "$scratch/verdicts" ] && [ "$(grep -c Traceback "$log")" -eq 1 ] &&
        [ "$(grep -c "No module named 'no_such_module'" "$log")" -eq 1 ]
    result 'a client that cannot start: once, with its stderr' $? "$log"
    # The first client starts; a later failure is a finding.
    # shellcheck disable=SC2016
    "$redlock" conform --jobs 1 --story grant,release -- sh -c '[ "$REDLOCK_CONFORM_STORY" = grant ] || exit 1
        echo ready; while read -r what _; do echo refused; done' >"$log" 2>&1
    [ $? -eq 1 ] && tr -s '\n ' ' ' <"$log" | grep -q 'FAIL release .* ended before it wrote "ready"'
    result 'one that cannot start later' $? "$log"
    "$redlock" conform --story grant -- sh -c 'echo ready; read -r _; echo yes; cat' >"$log" 2>&1
    [ $? -eq 1 ] && tr -s '\n ' ' ' <"$log" | grep -q 'wrote "yes", which is no answer to "acquire'
    result 'a line that is no answer' $? "$log"
    # shellcheck disable=SC2016
    "$redlock" conform --story grant --time-scale 100 -- sh -c 'echo $$ >"$0"; echo ready; exec sleep 1000' "$scratch/pid" >"$log" 2>&1 &
    for _ in $(seq 300); do
        if [ -s "$scratch/pid" ]; then # then until the client has gone
            kill "$!" 2>"$log"
            kill -0 "$(cat "$scratch/pid")" 2>"$log" || break
        fi
        sleep 0.1
    done
    ! kill "$(cat "$scratch/pid")" 2>"$log"
    result 'a signal ends a client that does not notice the end of its input' $?
    finish
    exit
fi

# -- Python --

for python in python3 /usr/bin/python3 ''; do
    [ -n "$python" ] && "$python" -c 'import redis' 2>"$log" && break
done
if [ -z "$python" ]; then
    skip 'examples/client.py' 'redis-py is not there (python3-redis)'
    finish
    exit
fi

client 'examples/client.py keeps the rules' PASS 'guard fence line' "$python" "$3"
"$redlock" conform --story grant,fence -- "$python" "$3" >"$log" 2>&1 &&
    grep -q '^NOTE *fence' "$log"
result 'a note is no failure' $? "$log"

# Every story must find its broken client for the right reason, and not because it does not work at
# all.
client "each of the $number stories finds what is broken" FAIL 'at-once guard fence line' \
    "$python" "$2"
# others STORY=VERDICT... NAME: one case: the verdicts on another client
others() {
    others_want='' others_stories=''
    while [ $# -gt 1 ]; do
        others_want="$others_want$1
" others_stories="$others_stories${others_stories:+,}${1%=*}"
        shift
    done
    verdicts --story "$others_stories" -- "$python" "$broken" "$1" >"$scratch/all"
    [ "$(awk '{ print $1 "=" $2 }' "$scratch/all")" = "${others_want%?}" ]
    result "$1" $? "$scratch/all"
}
broken=$2
others ttl=FAIL atomic=PASS seconds-by-script
others ttl=FAIL atomic=PASS for-ever-by-script
others extend-atomic=PASS read-twice
others stopped-client=PASS extend-shorter=PASS two-keys=PASS until-needed
"$redlock" conform --story drift -- "$python" "$2" >"$log" 2>&1
[ $? -eq 1 ] && grep -q '^ *A7: ' "$log"
result 'a failure is the exit status' $? "$log"
finish
