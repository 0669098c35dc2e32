/* Stories of tokens, and the next attempt;
 * stories.h has what is done in each. */
#ifndef RL_CLI_CONFORM_STORIES_ATTEMPT_H
#define RL_CLI_CONFORM_STORIES_ATTEMPT_H

#include "conform/stage.h"

void rl_play_token(struct rl_stage *s);
void rl_play_fresh_token(struct rl_stage *s);
void rl_play_between_tries(struct rl_stage *s);
void rl_play_pauses(struct rl_stage *s);
void rl_play_tries(struct rl_stage *s);

#endif
