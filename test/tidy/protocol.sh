#!/bin/sh
# docs/protocol.md says what there is: each script with its hash, each rule that redlock conform names
# in a verdict, each of its stories, each key and channel that the library makes.
#
#   protocol.sh               check the tree
#   protocol.sh --self-test   check that what is wrong is found
set -u

# shellcheck source=test/tidy/rules.sh
. "$(dirname "$0")/rules.sh"

# report ROOT: lines "RULE WHAT: why"
report() {
    page=$1/docs/protocol.md
    sed -n 's/^#define \([A-Z_]*\)_SHA "\([0-9a-f]*\)"$/\1 \2/p' "$1/test/unit/script_shas.h" |
        tr '[:upper:]' '[:lower:]' >"$scratch/shas"
    while read -r name sha; do
        grep -qF "| \`$name\` | \`$sha\` |" "$page" || echo "hashes $name: no row with $sha"
    done <"$scratch/shas"
    find "$1/lib/redis/scripts" -name '*.lua' ! -name 'part_*' | sed 's/.*\///; s/\.lua$//' |
        while read -r name; do
            grep -qF "| \`$name\` | " "$page" || echo "hashes $name: the script has no row"
        done
    cat "$1"/cli/conform/*.c | tr '\n' ' ' | grep -oE '"(A|E|R|W|M|O|P)[0-9]+"' | tr -d '"' | sort -u |
        while read -r rule; do
            grep -qE "\*\*$rule\*\*" "$page" || echo "rules $rule: redlock conform names it"
        done
    sed -n 's/^    {"\([a-z-]*\)", .*/\1/p' "$1"/cli/conform/stories_*.c |
        while read -r story; do
            grep -qF "\`$story\`" "$page" || echo "stories $story: redlock conform plays it"
        done
    grep -ohE '"(libredlock|redlock):[a-z:]*' "$1"/lib/redis/*.h "$1"/lib/redis/*.c | tr -d '"' |
        sort -u | grep -v '^libredlock:$' | while read -r name; do
        grep -qF "$name" "$page" || echo "names $name: the library makes it"
    done
}

self_test() {
    for file in docs/protocol.md test/unit/script_shas.h cli/conform/stories_hold.c lib/redis/command.h; do
        mkdir -p "$scratch/tree/$(dirname "$file")"
        cp "$root/$file" "$scratch/tree/$file"
    done
    mkdir -p "$scratch/tree/lib/redis/scripts"
    echo 'static const int nothing;' >"$scratch/tree/lib/redis/none.c"
    : >"$scratch/tree/lib/redis/scripts/extend.lua"
    found() {
        report "$scratch/tree" >"$scratch/report"
        [ "$(grep -c '' "$scratch/report")" -eq "$2" ] && { [ -z "$3" ] || grep -q "^$3" "$scratch/report"; }
        result "$1" $? "$scratch/report"
    }
    found 'what is right' 0 ''
    sed -i '/^| .extend. /s/[0-9a-f]\{40\}/X/' "$scratch/tree/docs/protocol.md"
    found 'another hash' 1 'hashes extend: no row'
    : >"$scratch/tree/lib/redis/scripts/shrink.lua"
    found 'a script without a row' 2 'hashes shrink: the script'
    echo 'rule("A77")' >>"$scratch/tree/cli/conform/stories_hold.c"
    found 'a rule that is not there' 3 'rules A77'
    echo '    {"drought", "no rain", .play = play},' >>"$scratch/tree/cli/conform/stories_hold.c"
    found 'a story that is not there' 4 'stories drought'
    echo '#define X "libredlock:ghost:"' >>"$scratch/tree/lib/redis/command.h"
    found 'a key that is not there' 5 'names libredlock:ghost:'
    finish
}

case ${1-} in
--self-test) self_test ;;
'')
    report "$root" >"$scratch/report"
    judge hashes rules stories names
    ;;
*)
    sed -n '/^#   protocol.sh/s/^#   //p' "$0" >&2
    exit 2
    ;;
esac
