/* Stories of errors and connections; of several keys and clients; of what is optional. */
#ifndef RL_CLI_CONFORM_STORIES_TOGETHER_H
#define RL_CLI_CONFORM_STORIES_TOGETHER_H

#include "conform/stage.h"

extern const struct rl_story rl_stories_together[];

#endif
