/* The holders that redlock kick takes a lock from: the tokens that the nodes have now.
 *
 * Happy path: by default the targets are the holder on a quorum, or every reader; without a quorum,
 * the tokens left on single nodes. --slot: the holder of that slot. --token: of these, the one with
 * this token.
 *
 * Failure modes: no client holds it (RL_EXIT_HELD, as in status); it is a semaphore, and no slot is
 * given (RL_EXIT_USAGE); the value is another library's, which is shown cut, so that its owner
 * cannot be identified (RL_EXIT_USAGE); no client has --token (RL_EXIT_LOST). A sentence reports
 * each. */
#ifndef RL_CLI_KICK_TARGETS_H
#define RL_CLI_KICK_TARGETS_H

#include "args.h"
#include "kick/room.h"
#include "session/room.h"

#define RL_KICK_TARGETS_MAX (RL_READERS_MAX + REDLOCK_NODES_MAX)

struct rl_kick_target {
    struct rl_token token;
    size_t votes;       /* number of nodes that had it, as seen */
    int32_t slot;       /* -1: not a permit */
    redlock_lock *lock; /* used for the release */
    bool is_done;
};

struct rl_kick_targets {
    struct rl_kick_target items[RL_KICK_TARGETS_MAX];
    size_t n, unlisted;          /* unlisted: further readers */
    char what[RL_KICK_WHAT_MAX]; /* of the note */
    int64_t left_ms; /* until the last of them expires unless renewed, as far as is known */
};

/* Returns 0, or an exit status after reporting why. */
int rl_kick_targets_choose(struct rl_kick_targets *targets, const struct rl_found *found,
                           const struct rl_args *args);

/* "vm:860", "vm:860 (slot 3)", "3 readers", "what is left of 2 holders". Valid as long as an
 * rl_text(). */
const char *rl_kick_targets_say(const struct rl_kick_targets *targets);

/* Releases the targets' locks on all nodes, by their token, as `redlock release KEY TOKEN` does. So
 * waiting clients are granted the locks in turn.
 *
 * Happy path: one lock object for each target, all released at once; then the answers of the nodes
 * beyond the quorum are awaited.
 *
 * Failure modes: a node does not answer within --node-timeout: its key stays until its ttl ends, or
 * the holder renews it.
 *
 * Can it take the lock from a client that acquired it meanwhile? No: a node compares the token
 * before it deletes, and a token belongs to one grant. Can the holder get it back? If fewer nodes
 * than a quorum still have its token, its next renewal finds too many without it; the holder loses
 * the lock, and its release clears the rest. If a quorum has the token (nodes that did not answer
 * redlock, but answer the holder), the holder renews, and repairs the others: then the kick has
 * failed, which is reported. */
enum rl_kick_verdict {
    RL_KICK_GONE,     /* no node that answered had it, and the others are too few */
    RL_KICK_DONE,     /* some node had it, and no quorum of nodes can still have it */
    RL_KICK_NOT_KNOWN /* too many nodes did not answer: its holder may still have a quorum */
};

/* key: a single key, as typed. Returns 0 or an exit status. */
int rl_kick_release(struct rl_session *session, const char *key, struct rl_kick_targets *targets);

enum rl_kick_verdict rl_kick_verdict(const struct rl_kick_targets *targets,
                                     const struct rl_look *look);

/* The result for all targets on one node: deleted (any of them), not there (none of them), or an
 * error. */
redlock_node_outcome rl_kick_outcome(const struct rl_kick_targets *targets, const char *node);

#endif
