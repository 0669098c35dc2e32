/* Whom redlock kick is about to take a lock from: tokens that the nodes have at that moment.
 *
 * Happy path: by default the holder by a quorum's word, or every reader; where nobody has a quorum,
 * what is left on single nodes. --slot: who has that slot. --token: the one of these that has it.
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

#define RL_KICK_TARGETS_MAX (RL_READERS_MAX + REDLOCK_NODES_MAX)
#define RL_KICK_WHOM_MAX 160

struct rl_kick_target {
    struct rl_token token;
    size_t votes;       /* of how many nodes, as seen */
    int32_t slot;       /* -1: it is no permit */
    redlock_lock *lock; /* see release.h */
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

#endif
