/* The stories of `redlock conform`: what is done to a client, and what it must do then. Each is a
 * function in one of the files stories_*.c; its verdict names the rule of docs/protocol.md. */
#ifndef RL_CLI_CONFORM_STORIES_H
#define RL_CLI_CONFORM_STORIES_H

#include <stdbool.h>
#include <stddef.h>

#include "conform/stage.h"

struct rl_story {
    const char *name;
    const char *what; /* is done, in a line */
    void (*play)(struct rl_stage *s);
    bool starts_itself; /* else client 0 has entered when it begins */
};

/* In the order in which they are told: how many, and all. */
extern const struct rl_story rl_stories[];
extern const size_t rl_stories_size;

/* NULL: there is none of this name. */
const struct rl_story *rl_story_find(const char *name);

#endif
