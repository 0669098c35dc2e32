/* Watches the leader: see leader_watch.c. */
#ifndef RL_ELECTION_LEADER_WATCH_H
#define RL_ELECTION_LEADER_WATCH_H

#include "election/state.h"

void rl_leader_watch_init(redlock_election *election);

/* The state of the election has changed, or it was freed: starts or stops watching. */
void rl_leader_watch_update(redlock_election *election);

/* This candidate is the leader. Calls the user, who may free the election. */
void rl_leader_watch_elected(redlock_election *election);

#endif
