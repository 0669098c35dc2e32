/* Stories of errors and connections;
 * stories.h has what is done in each. */
#ifndef RL_CLI_CONFORM_STORIES_WIRE_H
#define RL_CLI_CONFORM_STORIES_WIRE_H

#include "conform/stage.h"

void rl_play_loading(struct rl_stage *s);
void rl_play_readonly(struct rl_stage *s);
void rl_play_oom(struct rl_stage *s);
void rl_play_noauth(struct rl_stage *s);
void rl_play_noperm(struct rl_stage *s);
void rl_play_misconf(struct rl_stage *s);
void rl_play_fragments(struct rl_stage *s);
void rl_play_cut(struct rl_stage *s);
void rl_play_reconnect(struct rl_stage *s);

#endif
