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

# A tree that keeps all rules: turn calls step, both know the data; a recipe uses the interface.
sample() {
    rm -rf "$scratch/tree"
    put include/redlock/redlock.h 'int redlock_acquire(void);\n'
    put lib/base/list.h '#define LIST 1\n/* no function: f(void) */\n'
    put lib/core/lock.h '#include <stdint.h>\n#include "base/list.h"\nint rl_lock(void);\n'
    put lib/core/lock.c '#include "core/lock.h"\nint rl_lock(void) {\n    return LIST;\n}\n'
    put lib/client/state.h '#pragma once\nstruct rl_state {\n    int (*callback)(void);\n};\n'
    put lib/client/step.h '#include "client/state.h"\nint rl_step(void);\n'
    put lib/client/step.c \
        '#include "client/step.h"\n#include "core/lock.h"\nint rl_step(void) {\n    return rl_lock();\n}\n'
    put lib/client/turn.h '#include "client/state.h"\nint rl_turn(const struct rl_state *state);\n'
    put lib/client/turn.c \
        '#include "client/turn.h"\n#include "client/step.h"\nint rl_turn(const struct rl_state *state) {\n    return rl_step() + state->callback();\n}\n'
    put lib/client/lock.h 'int redlock_lock_unused(void);\n'
    put lib/client/lock.c \
        '#include "client/lock.h"\n#include "redlock/redlock.h"\nint redlock_lock_unused(void) {\n    return 1;\n}\nint redlock_acquire(void) {\n    return 0;\n}\n'
    put lib/client/client.h 'int rl_open(void);\n'
    put lib/client/client.c '#include "client/client.h"\nint rl_open(void) {\n    return 0;\n}\n'
    put lib/election/election.h '#include "redlock/redlock.h"\nint rl_lead(void);\n'
    put lib/election/election.c \
        '#include "election/election.h"\nint rl_lead(void) {\n    return redlock_acquire();\n}\n'
}

report_sample() { archive lib -I include -I lib && report "$scratch/tree" "$scratch/lib.a"; }

self_test() {
    sample
    expect 'a tree that keeps the rules'

    put lib/core/lock.h '#include "client/state.h"\nint rl_lock(void);\n#define LIST 1\n'
    expect 'core includes a header of the client' 'arrow core/lock client/state: lib/core/lock.h:1 '
    put lib/core/lock.c \
        '#include "core/lock.h"\nint rl_open(void);\nint rl_lock(void) {\n    return rl_open();\n}\n'
    expect 'core calls the client, without a header' \
        'arrow core/lock client/client: lib/core/lock.c uses rl_open'
    put lib/election/election.c \
        '#include "election/election.h"\n#include "client/step.h"\nint rl_lead(void) {\n    return rl_step();\n}\n'
    expect 'a recipe calls the inside of the client' 'arrow election/election client/step: '
    put lib/client/recipe.h 'int rl_recipe(void);\n'
    put lib/client/recipe.c '#include "client/recipe.h"\nint rl_recipe(void) {\n    return 0;\n}\n'
    put lib/election/election.c \
        '#include "election/election.h"\n#include "client/recipe.h"\nint rl_lead(void) {\n    return rl_recipe();\n}\n'
    expect 'a recipe calls what is there for recipes'
    put lib/client/lock.c \
        '#include "client/lock.h"\n#include "election/election.h"\nint redlock_lock_unused(void) {\n    return rl_lead();\n}\nint redlock_acquire(void) {\n    return 0;\n}\n'
    expect 'the client calls a recipe' 'arrow client/lock election/election: lib/client/lock.c:2 '
    put lib/client/step.c \
        '#include "client/step.h"\nint rl_open(void);\nint rl_step(void) {\n    return rl_open();\n}\n'
    expect 'somebody calls the file that opens clients' 'arrow client/step client/client: '

    put lib/client/step.c \
        '#include "client/step.h"\nint rl_turn(const struct rl_state *state);\nint rl_step(void) {\n    return rl_turn(0);\n}\n'
    expect 'two files call each other, the includes do not show it' \
        'circle client/step: lib/client/step.c uses rl_turn() (client/turn)' \
        'circle client/turn: '
    put lib/base/list.h '#ifndef LIST\n#define LIST 1\n#include "base/node.h"\n#endif\n'
    put lib/base/node.h '#include "base/third.h"\n'
    put lib/base/third.h '#include "base/list.h"\n'
    expect 'three headers include each other' 'circle base/list: ' 'circle base/node: ' \
        'circle base/third: lib/base/third.h:1 includes it (base/list)'

    rm "$scratch/tree/lib/client/client.h"
    put lib/client/client.c 'int rl_open(void);\nint rl_open(void) {\n    return 0;\n}\n'
    expect 'a file without a header' 'own-header client/client: '
    put lib/client/client.h 'int other(void);\n'
    put lib/client/client.c 'int rl_open(void);\nint rl_open(void) {\n    return 0;\n}\n'
    expect 'a function that its header does not have' 'own-header client/client rl_open: '
    put lib/client/state.h '#pragma once\nstruct rl_state {\n    int (*callback)(void);\n};\nint rl_hidden(void);\n'
    expect 'a function in the data' 'data client/state rl_hidden: lib/client/state.h:5 '

    put lib/client/state.h '#pragma once\n#include <uv.h>\nstruct rl_state {\n    int (*callback)(void);\n};\n'
    put include/uv.h ''
    expect 'the client includes uv.h' 'outside client/state <uv.h>: lib/client/state.h:2 '
    put lib/core/lock.h '#include <hiredis/hiredis.h>\n#include "base/list.h"\nint rl_lock(void);\n'
    put include/hiredis/hiredis.h ''
    expect 'core includes hiredis' 'outside core/lock <hiredis/hiredis.h>: '
    put lib/redis/node.h '#include <hiredis/hiredis.h>\n#define REDIS 1\n'
    put include/hiredis/hiredis.h ''
    expect 'lib/redis includes hiredis'

    put lib/client/step.h '#include "client/state.h"\nint rl_step(const struct rl_state *state);\n'
    put lib/client/step.c \
        '#include "client/step.h"\nint rl_step(const struct rl_state *state) {\n    return state->callback();\n}\n'
    put lib/client/turn.c \
        '#include "client/turn.h"\n#include "client/step.h"\nint rl_turn(const struct rl_state *state) {\n    return rl_step(state);\n}\n'
    expect 'a step runs the code of the user' 'user-code client/step: lib/client/step.c:3 '

    put lib/client/step.c \
        '#include "client/step.h"\nint rl_step(void) {\n    const struct { struct { int n; } waiting; } lock = {{0}};\n    return lock.waiting.n;\n}\n'
    expect 'the client looks into what the line alone knows' \
        'field client/step waiting: lib/client/step.c:4 '

    put lib/client/step.c \
        '#include "client/step.h"\nenum { RL_SHARED = 1 }; /* its RL_SHARED_VALUE */\nint rl_step(void) {\n    return 1 == RL_SHARED;\n}\n'
    expect 'the client asks which mode it is' 'mode client/step: lib/client/step.c:2 '
    put lib/client/step.c \
        '#include <stddef.h>\n#include "client/step.h"\nint rl_step(void) {\n    int *permit = NULL;\n    return permit != NULL; /* not RL_PERMIT */\n}\n'
    expect 'the client asks whether it is a semaphore' 'mode client/step: lib/client/step.c:5 '

    put lib/client/step.c \
        '#include "client/step.h"\nint rl_turn(const struct rl_state *state);\nint rl_step(void) {\n    return rl_turn(0);\n}\n'
    put lib/client/step.c \
        '#include "client/step.h"\nint rl_turn(const struct rl_state *state);\nint rl_step(void) {\n    return rl_turn(0);\n}\n'
    put test/tidy/floors.known '# why\ncircle client/step # for now\ncircle client/turn\n'
    expect 'exceptions that are known'
    put test/tidy/floors.known 'circle client/step\narrow core/lock client/state\n'
    expect 'exceptions that are not needed' 'known circle client/step: not needed' \
        'known arrow core/lock client/state: not needed'

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
