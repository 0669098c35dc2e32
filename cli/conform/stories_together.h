/* Stories of several keys and clients; what is optional;
 * stories.h has what is done in each. */
#ifndef RL_CLI_CONFORM_STORIES_TOGETHER_H
#define RL_CLI_CONFORM_STORIES_TOGETHER_H

#include "conform/stage.h"

void rl_play_two_keys(struct rl_stage *s);
void rl_play_two_clients(struct rl_stage *s);
void rl_play_contend(struct rl_stage *s);
void rl_play_readers(struct rl_stage *s);
void rl_play_reserved(struct rl_stage *s);
void rl_play_guard(struct rl_stage *s);
void rl_play_fence(struct rl_stage *s);
void rl_play_line(struct rl_stage *s);

#endif
