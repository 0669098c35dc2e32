/* How long the memory of an election lives. */
#ifndef RL_ELECTION_LIFE_H
#define RL_ELECTION_LIFE_H

#include "election/state.h"

/* For each callback that will come, and callers further up. */
void rl_election_ref(redlock_election *election);
/* The election may be gone then. */
void rl_election_unref(redlock_election *election);

/* The client's end, see recipe.h; no callback of the election is out. */
void rl_election_end(struct rl_recipe *recipe);

#endif
