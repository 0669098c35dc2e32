#!/bin/sh
# The manual and the completion: they are well formed, and name what redlock knows. Arguments:
# REDLOCK NODES_SH MANUAL COMPLETION
set -u

# shellcheck source=test/cli/cli.sh
. "$(dirname "$0")/cli.sh"
manual=$3
completion=$4

if man --version >/dev/null 2>&1; then
    man --warnings -E UTF-8 -l -Tutf8 -Z "$manual" >/dev/null 2>"$log" && [ ! -s "$log" ]
    result 'man has no warnings' $? "$log"
else
    skip 'man has no warnings' 'man is not installed'
fi
if mandoc -V >/dev/null 2>&1 || command -v mandoc >/dev/null; then
    mandoc -Tlint -Werror "$manual" >"$log" 2>&1
    result 'mandoc has none either' $? "$log"
fi
if man --version >/dev/null 2>&1; then
    MANWIDTH=80 man -l "$manual" 2>/dev/null | col -b >"$out"
    ! grep -q '.\{81\}' "$out" && [ -s "$out" ]
    result 'it fits into 80 columns' $? "$out"
fi

# Options, settings and exit statuses that the program knows are in the manual.
sed 's/[\\]//g' "$manual" >"$scratch/manual"
for command in run status doctor acquire extend release elect; do
    "$redlock" "$command" --help >"$out"
    sed -n 's/^  \(-., \)\{0,1\} *\(--[a-z-]*\).*/\2/p' "$out" | while read -r option; do
        grep -q -e "$option" "$scratch/manual" || echo "$command $option"
    done
done >"$log"
[ ! -s "$log" ]
result 'the manual names every option' $? "$log"
printf 'no-such = 1\n' >"$scratch/conf"
"$redlock" status -c "$scratch/conf" k 2>&1 | sed 's/.*There are: //' | tr ' ' '\n' |
    while read -r name; do grep -q -e "$name" "$scratch/manual" || echo "$name"; done >"$log"
[ ! -s "$log" ]
result '... and every setting' $? "$log"

if ! command -v bash >/dev/null; then
    skip 'completion' 'bash is not installed'
    finish
    exit
fi
# complete_words WORD...: what is offered for the last word
cat >"$scratch/complete.sh" <<'BASH'
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_redlock
printf '%s\n' "${COMPREPLY[@]}"
BASH
complete_words() { bash --norc --noprofile "$scratch/complete.sh" "$completion" "$redlock" "$@" >"$out" 2>&1; }
complete_words re
[ "$(cat "$out")" = release ]
result 'completion of a command' $? "$out"
complete_words ''
[ "$(wc -l <"$out")" -eq 9 ]
result '... of all' $? "$out"
complete_words run --on
[ "$(cat "$out")" = --on-lost ]
result '... of an option' $? "$out"
complete_words run --on-lost = k
[ "$(cat "$out")" = kill ]
result '... of its value' $? "$out"
complete_words status --grace
[ -z "$(cat "$out")" ]
result '... not of one of another command' $? "$out"
complete_words run k -- tes
grep -qx 'test' "$out"
result '... of the command behind --' $? "$out"

finish
