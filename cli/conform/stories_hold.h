/* Stories of slow nodes, and how long a grant is good; of extend and release. */
#ifndef RL_CLI_CONFORM_STORIES_HOLD_H
#define RL_CLI_CONFORM_STORIES_HOLD_H

#include "conform/stage.h"

extern const struct rl_story rl_stories_hold[];

#endif
