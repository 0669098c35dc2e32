/* Gives up, on all nodes, what the targets have there: the release of the library, by their token,
 * as `redlock release KEY TOKEN` does it. So those who wait get it in turn.
 *
 * Happy path: one lock object for each target, all released at once; then it is waited for what the
 * nodes answer that a quorum was not waited for.
 *
 * Failure modes: a node does not answer within --node-timeout: what it has there stays, until its
 * ttl is over, or its holder renews it.
 *
 * Can it take the lock from who came between? No: a node compares the token before it deletes, and
 * a token is of one grant. Can the holder get it back? Where fewer nodes than a quorum have its
 * token still, its next renewal finds it gone from too many, and is a loss, whose release clears
 * the rest. Where a quorum has it (nodes that did not answer us, and answer the holder), the holder
 * renews, and repairs the others: then nothing was taken, and that is said. */
#ifndef RL_CLI_KICK_RELEASE_H
#define RL_CLI_KICK_RELEASE_H

#include "kick/targets.h"
#include "session.h"

enum rl_kick_verdict {
    RL_KICK_GONE,     /* none of the nodes that answered had it, and too few are left */
    RL_KICK_DONE,     /* it was there, and nobody can have a quorum of it any more */
    RL_KICK_NOT_KNOWN /* so many nodes did not answer that its holder may have a quorum */
};

/* key: one, as it was given. Returns 0 or an exit status. */
int rl_kick_release(struct rl_session *session, const char *key, struct rl_kick_targets *targets);

/* Behind that, of one target, and of all. */
enum rl_kick_verdict rl_kick_verdict_of(const struct rl_kick_target *target, size_t n_nodes);
enum rl_kick_verdict rl_kick_verdict(const struct rl_kick_targets *targets, size_t n_nodes);

/* What became of all targets on one node: deleted (of any), not there (of none), or why not. */
redlock_node_outcome rl_kick_outcome(const struct rl_kick_targets *targets, size_t node);

#endif
