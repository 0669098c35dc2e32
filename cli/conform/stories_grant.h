/* Stories of votes and what becomes of them; of tokens, and the next attempt. */
#ifndef RL_CLI_CONFORM_STORIES_GRANT_H
#define RL_CLI_CONFORM_STORIES_GRANT_H

#include "conform/stage.h"

extern const struct rl_story rl_stories_grant[];

#endif
