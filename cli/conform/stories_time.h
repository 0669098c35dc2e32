/* Stories of slow nodes, and how long a grant is good;
 * stories.h has what is done in each. */
#ifndef RL_CLI_CONFORM_STORIES_TIME_H
#define RL_CLI_CONFORM_STORIES_TIME_H

#include "conform/stage.h"

void rl_play_drift(struct rl_stage *s);
void rl_play_slow_votes(struct rl_stage *s);
void rl_play_too_late(struct rl_stage *s);
void rl_play_stopped_client(struct rl_stage *s);
void rl_play_silent(struct rl_stage *s);
void rl_play_three_silent(struct rl_stage *s);
void rl_play_late_answers(struct rl_stage *s);
void rl_play_asleep(struct rl_stage *s);
void rl_play_slow_release(struct rl_stage *s);

#endif
