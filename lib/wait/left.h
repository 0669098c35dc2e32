/* Places that were given up: their tokens may still be passed a key, by a release that was on its
 * way. The client keeps the last of them (RL_LINES_LEFT), and gives such a key back.
 *
 * Can a key be given back that is in use? The token of a place that was given up is never used
 * again. Can one be left? One that was passed to a place before the last RL_LINES_LEFT, or of which
 * nothing was heard, ends with its lease, which is a second at most.
 */
#ifndef RL_WAIT_LEFT_H
#define RL_WAIT_LEFT_H

#include "client/state.h"

/* The lock will not use the token of its place any more. gone: nodes that no release of it is sent
 * to; passed: that have said that they had passed it a key. */
void rl_left_add(redlock_lock *lock, uint64_t place, uint32_t gone, uint32_t passed);

/* The node says that it has passed this place a key, or that the release of it found none. */
void rl_left_passed(redlock_client *client, uint32_t node, uint64_t place);
void rl_left_gone(redlock_client *client, uint32_t node, uint64_t place);

/* A key that is to be given back. */
struct rl_left_key {
    redlock_lock *lock;
    uint64_t place;
    uint32_t node;
};

/* The next one, of both. False: there is none. */
bool rl_left_take(redlock_client *client, struct rl_left_key *key);

/* The client closes: nothing is given back any more. */
void rl_left_drop(redlock_client *client);

#endif
