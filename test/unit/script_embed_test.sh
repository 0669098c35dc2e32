#!/bin/sh
# lib/redis/scripts/embed.py: what goes on the wire of a script, and what it refuses to guess at.
#
#   script_embed_test.sh PYTHON EMBED_PY
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/tap.sh
. "$here/../tap.sh"
python=$1
embed=$2

scratch=$(mktemp -d "${TMPDIR:-/tmp}/redlock-embed.XXXXXX") || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

# embed TEXT: the script TEXT (with echo's escapes) becomes $scratch/out.h
embed() {
    rm -f "$scratch/out.h"
    printf "%b" "$1" >"$scratch/a_script.lua"
    "$python" "$embed" "$scratch/out.h" "$scratch/a_script.lua" 2>"$scratch/why"
}

embed '-- What it does.\n\n-- More.\nif "a" then\r\n    return 1 \nend'
sha=$(printf 'if "a" then\nreturn 1\nend' | sha1sum | cut -d ' ' -f 1)
cat >"$scratch/wanted.h" <<END
/* Made by embed.py out of lib/redis/scripts/. */

#define RL_SCRIPT_A_SCRIPT_TEXT \\
    "if \\"a\\" then\\n" \\
    "return 1\\n" \\
    "end"
#define RL_SCRIPT_A_SCRIPT_SHA1 "$sha"

#define RL_SCRIPT_LENGTH_MAX 24

#define RL_SCRIPTS(X) \\
    X("a_script", RL_SCRIPT_A_SCRIPT_SHA1, RL_SCRIPT_A_SCRIPT_TEXT)
END
diff "$scratch/wanted.h" "$scratch/out.h" >"$scratch/log" 2>&1
result 'comments, indentation and the way that lines end are left out' $? "$scratch/log"

printf -- '-- A part.\nlocal function f() end\n' >"$scratch/part_f.lua"
embed '-- Two.\n-- include: part_f.lua\nreturn f()' && grep -q '"local function f() end.n"' "$scratch/out.h"
result 'a part stands where it is included' $? "$scratch/out.h"

# refuses WHAT TEXT WHY
refuses() {
    ! embed "$2" && [ ! -e "$scratch/out.h" ] && grep -q "$3" "$scratch/why"
    result "refused: $1" $? "$scratch/why"
}

refuses 'a comment behind code' '-- What it does.\n\nreturn 1 -- one\n' 'a_script.lua:3: a comment'
refuses 'a block of comments' '--[[ What\nit does. ]]\nreturn 1\n' 'a_script.lua:1: a comment'
refuses 'a long string' 'return [[1]]\n' 'a_script.lua:1: a string'
refuses 'a backslash' "return '\\\\n'\n" 'a_script.lua:1: no backslashes'
refuses 'a file of comments' '-- Nothing.\n' 'no script'
refuses 'what is not ASCII' "return '\\303\\251'\n" 'ascii'

refuses 'a part that is not there' '-- include: part_g.lua\nreturn 1\n' 'part_g.lua'

finish
