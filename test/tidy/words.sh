#!/bin/sh
# What users read is free of the phrases below: the headers, the documents, the manual, and the strings
# of programs and library. Beside each stands what we say instead. One TAP case for each group of files.
#
#   words.sh [--self-test]
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
cd "$here/../.." || exit 2
export LC_ALL=C # grep is slow in UTF-8

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-words.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# Extended regular expressions, matched as whole words whatever their case; then what to say.
cat >"$scratch/phrases" <<'PHRASES'
somebody|anybody|whoever|strangers?	another client; unrelated processes; any party that knows the token
(loss|losses) (is|are) told|told (as|that|of)|nothing is told	notified of, reported as
(is|are|was|were) owed|owed (to|by)|an owed|debts?|repaid|forgiven	pending releases; retried; dropped
under way	pending
started lately|until lately	recently
mended	fixed
(is|are|was|were|be) had	is available, is granted
on the spot	synchronously
at this very moment	now
by the word of|quorum's word	as reported by
comes second	the second one
of above	the ... above
(each|the) advice	recommendation
stands? still	is stopped, hangs
order of coming|in which (they|it) came|order they came	first come, first served
(those|everybody) who (waits?|wants?|watch(es)?|uses?|comes?)	waiting clients, observers, clients
who (must|only|no longer|has just|wants several|is late)	a client that
(by|than|to|for|overtakes?|passes|lets) who (waits?|wants|has|comes|reads|writes|is)	clients that
all the same	still
belongs? into	belongs in
(is|are|was|were|nodes) away	down
(given|read|asked|seen) no more	no longer
far (nodes|clients)	distant
all who	all clients that
PHRASES
cut -f 1 "$scratch/phrases" | paste -sd '|' >"$scratch/pattern"

# text FILE: in one line, so that a phrase may be broken; of C source the strings alone. One that ends in
# a space goes on in the next.
text() {
    case $1 in
        *.c) grep -v '^#include' "$1" | grep -o '"[^"]*"' | sed 's/\\n/ /g; s/ "$/ /; s/"$/ | /; s/"//' | tr -d '\n' ;;
        *) sed 's/^ *\(\*\|\/\/\) \{0,1\}//; s/^ *//' "$1" | tr '\n' ' ' ;;
    esac
}

# offends FILE...: lists each phrase with the words around it
offends() {
    offends_phrase="(^|[^A-Za-z_])($(cat "$scratch/pattern"))([^A-Za-z_]|\$)"
    for file in "$@"; do
        text "$file" >"$scratch/text"
        # Matching the words around a phrase is slow, and there is rarely anything to show.
        grep -qiE "$offends_phrase" "$scratch/text" || continue
        grep -oiE ".{0,40}$offends_phrase.{0,40}" "$scratch/text" | sed "s|^|$file: |"
    done
}

# group WHAT FILE...
group() {
    group_what=$1
    shift
    offends "$@" >"$scratch/log"
    [ ! -s "$scratch/log" ]
    result "$group_what" $? "$scratch/log"
}

if [ "${1-}" = --self-test ]; then
    cut -f 1 "$scratch/phrases" | tr '|' '\n' | sed 's/[()?]//g' | head -4 | while read -r phrase; do
        printf '/* It is %s,\n * here. */\n' "$phrase" >"$scratch/a.h"
        [ -n "$(offends "$scratch/a.h")" ] || echo "not seen: $phrase"
    done >"$scratch/log"
    printf '/* Can it be repaid at this very\n * moment? */\n' >"$scratch/b.h"
    [ "$(offends "$scratch/b.h" | wc -l)" -eq 1 ] || echo 'not seen: a phrase over two lines' >>"$scratch/log"
    printf 'say("held by, as is told " "of it", "owed", "to"); /* somebody */\n' >"$scratch/c.c"
    [ "$(offends "$scratch/c.c" | wc -l)" -eq 1 ] || echo 'not seen: a string in two parts' >>"$scratch/log"
    printf 'say("held by another"); /* whoever reads this */ int owed; f("x", owed_to);\n' >"$scratch/d.c"
    [ -z "$(offends "$scratch/d.c")" ] || echo 'a comment or a name was taken for a text' >>"$scratch/log"
    [ ! -s "$scratch/log" ]
    result 'phrases are seen, and nothing else is' $? "$scratch/log"
    finish
    exit
fi

group 'headers' include/redlock/*
group 'documents' ./*.md docs/*.md
group 'the manual and the completion' man/* cli/completion/*
group 'messages of the library' lib/*/*.c
group 'messages of the programs' cli/*.c cli/*/*.c tool/*.c bench/*.c cluster/chaos/*.c
group 'examples' examples/*.c examples/*/*.c
finish
