/* Releases the lock of a redlock that was killed: the guard process does so once it has ended the
 * command, so that the next holder need not wait for the ttl.
 *
 * Happy path: a new client on a new loop, since a client from before the fork() cannot be used; a
 * release by the token; one sentence.
 *
 * Failure modes: the nodes do not answer: the lock ends with its ttl, and the sentence says so. The
 * guard ends in any case after RL_GUARD_LAST_S.
 *
 * Can it take the lock from another client? No: the nodes delete only keys with this token, and the
 * token belongs to this grant alone. */
#ifndef RL_CLI_ORPHAN_H
#define RL_CLI_ORPHAN_H

#include <stdbool.h>

#include "args.h"
#include "guard.h"
#include "token.h"

/* Copied texts: argv is overwritten by the time they are needed. */
struct rl_orphan {
    const struct rl_args *args;
    char *keys; /* "KEY,KEY", or the name of an election; freed by rl_orphan_free() */
    bool is_name;
    char holder[REDLOCK_HOLDER_MAX + 1]; /* "": none */
};

void rl_orphan_init(struct rl_orphan *orphan, const struct rl_args *args, bool is_name);
void rl_orphan_free(struct rl_orphan *orphan);

/* holder: what is stored behind the token. */
void rl_orphan_set(struct rl_orphan *orphan, const char *holder);

/* In the guard: see rl_guard_plan. data: the struct rl_orphan. */
void rl_orphan_release(const struct rl_guard_word *word, void *data);

#endif
