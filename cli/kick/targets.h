/* The holders that redlock kick takes a lock from: the tokens that the nodes have now.
 *
 * Happy path: by default the holder on a quorum, or every reader; without a quorum, what is left
 * on single nodes. --slot: the holder of that slot. --token: of these, the one with this token.
 *
 * Failure modes: nobody holds it (RL_EXIT_HELD, as status has it); a semaphore, and no slot given
 * (RL_EXIT_USAGE); a value that is not this library's, whose owner would not be the one that was
 * seen: it is cut, and not ours to judge (RL_EXIT_USAGE); nobody has --token (RL_EXIT_LOST). Each
 * with a sentence. */
#ifndef RL_CLI_KICK_TARGETS_H
#define RL_CLI_KICK_TARGETS_H

#include "args.h"
#include "found.h"
#include "kick/note.h"
#include "session.h"

#define RL_KICK_TARGETS_MAX (RL_READERS_MAX + REDLOCK_NODES_MAX)
#define RL_KICK_WHOM_MAX 160

struct rl_kick_target {
    struct rl_token token;
    size_t votes;       /* of how many nodes, as seen */
    int32_t slot;       /* -1: it is no permit */
    redlock_lock *lock; /* of the release */
    bool is_done;
};

struct rl_kick_targets {
    struct rl_kick_target items[RL_KICK_TARGETS_MAX];
    size_t n, unlisted;          /* readers beyond those */
    char what[RL_KICK_WHAT_MAX]; /* of the note */
    int64_t left_ms; /* until the last of them ends unless it is renewed, as far as is known */
};

/* Returns 0, or an exit status after it said why. */
int rl_kick_targets_choose(struct rl_kick_targets *targets, const struct rl_found *found,
                           const struct rl_args *args);

/* "vm:860", "vm:860 (slot 3)", "3 readers", "what is left of 2 holders". Returns out. */
const char *rl_kick_targets_say(const struct rl_kick_targets *targets, char out[RL_KICK_WHOM_MAX]);

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
enum rl_kick_verdict {
    RL_KICK_GONE,     /* none of the nodes that answered had it, and too few are left */
    RL_KICK_DONE,     /* it was there, and nobody can have a quorum of it any more */
    RL_KICK_NOT_KNOWN /* so many nodes did not answer that its holder may have a quorum */
};

/* key: one, as it was given. Returns 0 or an exit status. */
int rl_kick_release(struct rl_session *session, const char *key, struct rl_kick_targets *targets);

enum rl_kick_verdict rl_kick_verdict(const struct rl_kick_targets *targets, size_t n_nodes);

/* What became of all targets on one node: deleted (of any), not there (of none), or why not. */
redlock_node_outcome rl_kick_outcome(const struct rl_kick_targets *targets, size_t node);

#endif
