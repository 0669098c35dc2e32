/* Stories of votes, and what becomes of them;
 * stories.h has what is done in each. */
#ifndef RL_CLI_CONFORM_STORIES_GRANT_H
#define RL_CLI_CONFORM_STORIES_GRANT_H

#include "conform/stage.h"

void rl_play_grant(struct rl_stage *s);
void rl_play_release(struct rl_stage *s);
void rl_play_key(struct rl_stage *s);
void rl_play_ttl(struct rl_stage *s);
void rl_play_atomic(struct rl_stage *s);
void rl_play_held(struct rl_stage *s);
void rl_play_one_down(struct rl_stage *s);
void rl_play_two_down(struct rl_stage *s);
void rl_play_three_down(struct rl_stage *s);
void rl_play_minority_held(struct rl_stage *s);
void rl_play_majority_held(struct rl_stage *s);
void rl_play_lost_vote(struct rl_stage *s);
void rl_play_lost_vote_held(struct rl_stage *s);
void rl_play_duplicates(struct rl_stage *s);
void rl_play_at_once(struct rl_stage *s);

#endif
