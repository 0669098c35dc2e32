# Functions for the tests of redlock doctor; to be sourced after cli.sh.
# shellcheck shell=sh disable=SC2154

# finds WHAT LEVEL CHECK PATTERN [STATUS [OPTION]...]: one case: a finding is on the screen with a
# remedy under it (unless it is ok), the lines joined
finds() {
    finds_what=$1
    finds_level=$2
    finds_check=$3
    finds_pattern=$4
    finds_status=$5
    shift 5
    timeout 60 "$redlock" doctor --ttl 1s "$@" >"$out" 2>"$err"
    finds_got=$?
    awk '/^(ok|note|warning|error) /{ if (line) print line; line = $0; next }
         { sub(/^ +/, " "); line = line $0 } END { print line }' "$out" >"$out.joined"
    finds_remedy='.*remedy'
    [ "$finds_level" != ok ] || finds_remedy=
    [ "$finds_got" -eq "$finds_status" ] &&
        grep -q -e "^$finds_level  *$finds_check  *.*$finds_pattern$finds_remedy" "$out.joined"
    result "$finds_what: $finds_level, status $finds_status" $? "$out"
}
# remedy WHAT PATTERN: one case: the last screen has it
remedy() {
    holds "$1" grep -q "remedy  *$2" "$out.joined"
}
# reasons WHAT PATTERN OPTION...: one case: status, queue and ls give this reason for a single node
reasons() {
    reasons_what=$1
    reasons_pattern=$2
    shift 2
    : >"$out"
    for reasons_command in 'status k' 'queue k' ls; do
        # shellcheck disable=SC2086
        timeout 60 "$redlock" $reasons_command "$@" >"$out.one" 2>&1
        if [ $? -ne 69 ] || ! grep -q -e "$reasons_pattern" "$out.one"; then
            { echo "$reasons_command:" && cat "$out.one"; } >>"$out"
        fi
    done
    holds "$reasons_what: status, queue and ls say so" [ ! -s "$out" ]
}
# one I: node I as doctor names it
one() { printf '%s' "127.0.0.1:$(port "$1")"; }
