/* What was typed: single keys, and the sequences that arrows and their like send. Pure.
 *
 * Failure mode: a sequence that is not known is one RL_TYPED_NOTHING, all of it. */
#ifndef RL_CLI_TOP_KEYS_H
#define RL_CLI_TOP_KEYS_H

#include <stddef.h>

enum rl_typed {
    RL_TYPED_NOTHING = 256, /* below: the byte itself */
    RL_TYPED_UP,
    RL_TYPED_DOWN,
    RL_TYPED_PAGE_UP,
    RL_TYPED_PAGE_DOWN,
    RL_TYPED_HOME,
    RL_TYPED_END
};

/* The key that bytes (at least one) begin with; *used of them belong to it. */
int rl_typed_read(const char *bytes, size_t length, size_t *used);

#endif
