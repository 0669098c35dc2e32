/* Places that a lock has given up. A release that is already under way may still pass a key to the
 * token of such a place. The client remembers the last RL_LINES_LEFT of them and releases such
 * keys.
 *
 * Can a key in use be released here? No: the token of a place that was given up is never used
 * again. Can such a key be left behind? Yes, if its place is older than the last RL_LINES_LEFT or
 * the node's message is lost; it then expires with its lease, after at most a second.
 */
#ifndef RL_WAIT_LEFT_H
#define RL_WAIT_LEFT_H

#include "client/state.h"

/* The lock will no longer use the token of its place. gone: nodes that will get no further release
 * of it; passed: nodes that have reported passing it a key. */
void rl_left_add(redlock_lock *lock, uint64_t place, uint32_t gone, uint32_t passed);

/* The node reports that it has passed this place a key; or that the release of the place found no
 * key. */
void rl_left_passed(redlock_client *client, uint32_t node, uint64_t place);
void rl_left_gone(redlock_client *client, uint32_t node, uint64_t place);

/* A key to release. */
struct rl_left_key {
    redlock_lock *lock;
    uint64_t place;
    uint32_t node;
};

/* Takes the next key that is both gone and passed. False: there is none. */
bool rl_left_take(redlock_client *client, struct rl_left_key *key);

/* The client closes: no more keys are released. */
void rl_left_drop(redlock_client *client);

#endif
