#!/bin/sh
# The floors of the programs: cli/, bench/ and cluster/chaos/ know the public headers and tool/, and
# no more; tool/ knows no program. No circle of files in any of them. Each rule is one TAP case.
#
#   programs.sh FOLDER ARCHIVE [FOLDER ARCHIVE...]   check the tree, with the archives of its objects
#   programs.sh --self-test                          check that every rule reports what it should
#
#   arrow       a header or a function that is not a program's to know. The rooms of cli/ that ask the
#               nodes themselves know some headers of lib/ (cli/doctor/doctor.c, cli/wire/wire.c).
#               tool/server, the server in memory, knows the library's scripts and SHA-1; its files are one piece
#   circle      no file needs itself, by whatever way
#   own-header  what a .c gives to others is declared in the header with its name, or in one of a whole room
#
# It is floors.sh for those who use the library; the rules are in programs.awk.
set -u

# shellcheck source=test/tidy/rules.sh
. "$(dirname "$0")/rules.sh"

# facts ROOT FOLDER ARCHIVE...: the lines that programs.awk reads
facts() {
    tree=$1
    shift
    while [ $# -gt 1 ]; do
        (cd "$tree" && find "$1" -name '*.[ch]' | LC_ALL=C sort) >"$scratch/sources"
        sed 's/^/file /' "$scratch/sources"
        # No file name of this tree has a space in it.
        # shellcheck disable=SC2046
        (cd "$tree" && grep -Hno '^#include "[^"]*"' $(cat "$scratch/sources")) |
            sed 's/^\([^:]*\):\([0-9]*\):#include "\(.*\)"$/include \1 \3 \2/'
        # shellcheck disable=SC2046
        (cd "$tree" && grep -ow '[a-z_0-9]*' $(grep '\.h$' "$scratch/sources") /dev/null) |
            sort -u | sed -n 's/^\([^:]*\):\(.*_.*\)$/declares \1 \2/p'
        symbols "$scratch/sources" "$1/" "$2"
        shift 2
    done
}

# report ROOT FOLDER ARCHIVE...
report() {
    facts "$@" >"$scratch/facts"
    grep -q '^defines ' "$scratch/facts" ||
        for rule in arrow circle own-header; do
            echo "$rule SKIP $(no_symbols)"
        done
    LC_ALL=C "$awk" -f "$here/programs.awk" "$scratch/facts" | LC_ALL=C sort
}

check() {
    report "$root" "$@" >"$scratch/report"
    judge arrow circle own-header
}

# -- the self-test -------------------------------------------------------------------------------

report_sample() {
    archive cli -I . -I cli -I include -I lib && archive tool -I . -I lib &&
        report "$scratch/tree" cli "$scratch/cli.a" tool "$scratch/tool.a"
}

self_test() {
    put include/redlock/redlock.h 'int redlock_open(void);\n'
    put lib/redis/url.h 'int rl_url(void);\n'
    put lib/redis/node.h 'int rl_node(void);\n'
    put tool/json.h 'int tool_json(void);\n'
    put tool/json.c '#include "tool/json.h"\nint tool_json(void) {\n    return 0;\n}\n'
    put cli/say.h 'int rl_say(void);\n'
    put cli/say.c '#include "say.h"\n#include "tool/json.h"\nint rl_say(void) {\n    return tool_json();\n}\n'
    put cli/main.c '#include "say.h"\n#include "redlock/redlock.h"\nint main(void) {\n    return rl_say() + redlock_open();\n}\n'
    put cli/doctor/room.h 'int rl_ask(void);\nint rl_hide(void);\n'
    put cli/doctor/ask.c '#include "doctor/room.h"\n#include "redis/url.h"\nint rl_ask(void) {\n    return rl_url();\n}\n'
    expect 'a tree that keeps the rules' </dev/null
    # doctor knows redis/url.h, but not more; and the server in memory the scripts.
    put cli/doctor/room.h '#include "redis/node.h"\nint rl_ask(void);\n'
    put cli/doctor/ask.c '#include "doctor/room.h"\n#include "say.h"\nint rl_ask(void) {\n    return rl_say();\n}\n'
    put cli/doctor/hide.c '#include "doctor/room.h"\n#include "say.h"\nint rl_hide(void) {\n    return 0;\n}\nint rl_other(void) {\n    return 0;\n}\n'
    put cli/say.h '#include "redis/url.h"\nint rl_say(void);\nint rl_other(void);\n'
    put cli/say.c '#include "say.h"\nint rl_ask(void);\nint rl_node(void);\nint rl_say(void) {\n    return rl_ask() + rl_node();\n}\n'
    put tool/json.c '#include "tool/json.h"\n#include "cli/say.h"\nint tool_json(void) {\n    return 0;\n}\n'
    put tool/server/server.h '#include "redis/scripts/scripts.h"\n#include "redis/node.h"\nint serve(void);\n'
    expect 'a tree that breaks each' <<'REPORT'
arrow cli/doctor/room redis/node.h: cli/doctor/room.h
arrow cli/say redis/url.h: cli/say.h
arrow cli/say rl_node
arrow tool/json cli/say.h: tool/json.c
arrow tool/server/server redis/node.h: tool/server/server.h
circle cli
own-header cli/doctor/hide rl_hide
own-header cli/doctor/hide rl_other
REPORT
    finish
}

case ${1-} in
--self-test) self_test ;;
-* | '')
    sed -n '/^#   programs.sh/s/^#   //p' "$0" >&2
    exit 2
    ;;
*) check "$@" ;;
esac
