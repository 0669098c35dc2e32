/* Stories of extend and release;
 * stories.h has what is done in each. */
#ifndef RL_CLI_CONFORM_STORIES_HOLD_H
#define RL_CLI_CONFORM_STORIES_HOLD_H

#include "conform/stage.h"

void rl_play_extend(struct rl_stage *s);
void rl_play_extend_late(struct rl_stage *s);
void rl_play_extend_shorter(struct rl_stage *s);
void rl_play_extend_other(struct rl_stage *s);
void rl_play_extend_atomic(struct rl_stage *s);
void rl_play_extend_minority(struct rl_stage *s);
void rl_play_extend_gone(struct rl_stage *s);
void rl_play_release_other(struct rl_stage *s);
void rl_play_release_atomic(struct rl_stage *s);
void rl_play_noscript(struct rl_stage *s);
void rl_play_restart(struct rl_stage *s);

#endif
