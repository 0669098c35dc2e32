#!/bin/sh
# The floors of lib/: who may know whom (by #include and by what an object needs of another: a call
# through a header that many include would not show otherwise), and no circle of files anywhere. Each
# rule is one TAP case.
#
#   floors.sh ARCHIVE...              check the tree, with the archives of its objects
#   floors.sh --root DIR ARCHIVE...   ... another one
#   floors.sh --self-test             check that every rule reports what it is there to report
#
# The rules are in floors.awk; what still breaks them, and may, in floors.known: one line is one
# exception, and one that is not needed any more is an error.
#
#   arrow       the pairs of rooms and files that may know each other
#   circle      no file needs itself, by whatever way
#   own-header  each .c has a header with its name, and what it gives to others is declared there
#   data        the headers with the data of clients and locks have no functions
#   outside     uv.h is for lib/uv, hiredis for lib/redis
#   user-code   in the rooms of a client nothing but the turn calls the user
#   field       a room's structs are looked into in that room alone
#   mode        the rooms of a client ask the rules of a mode, and lib/mode alone which mode it is
set -u

# shellcheck source=test/tidy/rules.sh
. "$(dirname "$0")/rules.sh"

# facts ROOT ARCHIVE...: the lines that floors.awk reads
facts() {
    tree=$1
    shift
    [ ! -e "$tree/test/tidy/floors.known" ] ||
        sed -e 's/#.*//' -e '/^ *$/d' -e 's/^/known /' "$tree/test/tidy/floors.known"
    (
        cd "$tree/lib" || exit 2
        find . -name '*.[ch]' | sed 's|^\./||' | LC_ALL=C sort >"$scratch/sources"
        sed 's/^/file /' "$scratch/sources"
        # No file name of this tree has a space in it.
        # shellcheck disable=SC2046
        LC_ALL=C "$awk" -f "$here/floors_text.awk" $(cat "$scratch/sources")
        cd ../include 2>/dev/null || exit 0
        # shellcheck disable=SC2046
        LC_ALL=C "$awk" -f "$here/floors_text.awk" $(find . -name '*.h' | sed 's|^\./||')
    )
    symbols "$scratch/sources" '' "$@"
}

# report ROOT ARCHIVE...
report() {
    facts "$@" >"$scratch/facts"
    grep -q '^defines ' "$scratch/facts" ||
        for rule in arrow circle own-header known; do
            echo "$rule SKIP $(no_symbols)"
        done
    LC_ALL=C "$awk" -f "$here/floors.awk" "$scratch/facts" >"$scratch/broken" ||
        echo 'arrow none: floors.awk has failed'
    LC_ALL=C sort "$scratch/broken"
}

check() {
    report "$@" >"$scratch/report"
    judge arrow circle own-header data outside user-code field mode known
}

# -- the self-test -------------------------------------------------------------------------------

report_sample() { archive lib -I include -I lib && report "$scratch/tree" "$scratch/lib.a"; }

self_test() {
    # A tree that keeps all rules: turn calls step, both know the data; a recipe uses the interface.
    put include/redlock/redlock.h 'int redlock_acquire(void);\n'
    put include/uv.h '#define NULL 0\n'
    put include/hiredis/hiredis.h ''
    put lib/base/list.h '#define LIST 1\n/* no function: f(void) */\n'
    put lib/core/lock.h '#include <stdint.h>\n#include "base/list.h"\nint rl_lock(void);\n'
    put lib/core/lock.c '#include "core/lock.h"\nint rl_lock(void) {\n    return LIST;\n}\n'
    put lib/redis/node.h '#include <hiredis/hiredis.h>\n'
    put lib/client/state.h 'struct rl_state {\n    int (*callback)(void);\n};\n'
    put lib/client/step.h '#include "client/state.h"\nint rl_step(void);\n'
    put lib/client/step.c '#include "client/step.h"\n#include "core/lock.h"\nint rl_step(void) {\n    return rl_lock();\n}\n'
    put lib/client/turn.h '#include "client/step.h"\nint rl_turn(const struct rl_state *state);\n'
    put lib/client/turn.c '#include "client/turn.h"\nint rl_turn(const struct rl_state *state) {\n    return rl_step() + state->callback();\n}\n'
    put lib/client/lock.h 'int redlock_lock_unused(void);\n'
    put lib/client/lock.c '#include "redlock/redlock.h"\n#include "client/lock.h"\nint redlock_lock_unused(void) {\n    return 1;\n}\nint redlock_acquire(void) {\n    return 0;\n}\n'
    put lib/client/client.h 'int rl_open(void);\n'
    put lib/client/client.c '#include "client/client.h"\nint rl_open(void) {\n    return 0;\n}\n'
    put lib/client/recipe.h 'int rl_recipe(void);\n'
    put lib/client/recipe.c '#include "client/recipe.h"\nint rl_recipe(void) {\n    return 0;\n}\n'
    put lib/election/election.h '#include "client/recipe.h"\nint rl_lead(void);\n'
    put lib/election/election.c \
        '#include "election/election.h"\n#include "redlock/redlock.h"\nint rl_lead(void) {\n    return rl_recipe() + redlock_acquire();\n}\n'
    expect 'a tree that keeps the rules' </dev/null

    put test/tidy/floors.known '# why\narrow core/lock client/state # for now\narrow core/lock base/list\n'
    put lib/core/lock.h '#include "client/state.h"\n#include <hiredis/hiredis.h>\n#define LIST 1\nint rl_lock(void);\n'
    put lib/core/lock.c '#include "core/lock.h"\nint rl_open(void);\nint rl_lock(void) {\n    return rl_open();\n}\n'
    put lib/client/state.h \
        '#include <uv.h>\nstruct rl_state {\n    int (*callback)(void);\n};\nint rl_hidden(void);\n'
    put lib/client/step.h '#include "client/state.h"\nint rl_step(const struct rl_state *state);\n'
    put lib/client/step.c \
        '#include "client/step.h"\nint rl_turn(const struct rl_state *state);\nint rl_step(const struct rl_state *state) {\n    struct { struct { int n; } waiting; } lock = {{0}}; /* not RL_PERMIT */\n    enum { RL_SHARED = 1, RL_SHARED_VALUE };\n    return lock.waiting.n + state->callback() + rl_turn(0);\n}\n'
    put lib/client/turn.c '#include "client/turn.h"\nint rl_turn(const struct rl_state *state) {\n    int *permit = NULL;\n    return permit == NULL && rl_step(state);\n}\n'
    put lib/client/lock.c \
        '#include "client/lock.h"\n#include "election/election.h"\nint redlock_lock_unused(void) {\n    return rl_lead();\n}\nint redlock_acquire(void) {\n    return 0;\n}\n'
    put lib/client/recipe.h 'int other(void);\n'
    put lib/election/election.c \
        '#include "election/election.h"\n#include "client/turn.h"\nint rl_lead(void) {\n    return rl_turn(0);\n}\n'
    put lib/election/alone.c 'int rl_alone(void);\nint rl_alone(void) {\n    return 0;\n}\n'
    put lib/base/list.h '#pragma once\n#include "base/node.h"\n'
    put lib/base/node.h '#include "base/third.h"\n'
    put lib/base/third.h '#include "base/list.h"\n'
    expect 'a tree that breaks each' <<'REPORT'
arrow client/lock election/election: lib/client/lock.c
arrow core/lock client/client
arrow election/election client/turn: lib/election/election.c
circle base/list: lib/base/list.h
circle base/node: lib/base/node.h
circle base/third: lib/base/third.h
circle client/step
circle client/turn: lib/client/turn.h
data client/state rl_hidden: lib/client/state.h:5 has a function
field client/step waiting: lib/client/step.c
known arrow core/lock base/list: not needed any more
mode client/step: lib/client/step.c
mode client/turn: lib/client/turn.c
outside client/state <uv.h>: lib/client/state.h
outside core/lock <hiredis/hiredis.h>: lib/core/lock.h
own-header client/recipe rl_recipe
own-header election/alone
user-code client/step: lib/client/step.c:6 calls the user
REPORT
    finish
}

case ${1-} in
--self-test) self_test ;;
--root)
    tree=$(cd "$2" && pwd)
    shift 2
    check "$tree" "$@"
    ;;
-* | '')
    sed -n '/^#   floors.sh/s/^#   //p' "$0" >&2
    exit 2
    ;;
*) check "$root" "$@" ;;
esac
