/* How long the memory of an election lives. */
#ifndef RL_ELECTION_LIFE_H
#define RL_ELECTION_LIFE_H

#include "election/state.h"

/* One reference for each callback that will come, and for callers further up. */
void rl_election_ref(redlock_election *election);
/* The election may be freed by this. */
void rl_election_unref(redlock_election *election);

/* The client's end, see recipe.h; no callback of the election is pending. */
void rl_election_end(struct rl_recipe *recipe);

#endif
