/* "KEY[,KEY...]" taken apart. In a key \, is a comma and \\ a backslash. */
#ifndef RL_CLI_KEYS_H
#define RL_CLI_KEYS_H

#include <stddef.h>

#include "redlock/redlock.h"

struct rl_keys {
    char *text; /* what items point into */
    redlock_bytes items[REDLOCK_RESOURCES_MAX];
    size_t count;
};

/* Returns NULL, or why not: a clause. rl_keys_free() in any case. */
const char *rl_keys_parse(struct rl_keys *keys, const char *text);
void rl_keys_free(struct rl_keys *keys);

#endif
