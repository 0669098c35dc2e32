/* What there is of one key at one moment, as a list: its holder, or its readers, the slots of a
 * semaphore that are held, and who waits for any of it.
 *
 * Happy path: rl_snapshot_take() of what was found; rl_snapshot_free() in the end.
 *
 * Failure modes: what a node alone knows, and did not answer, is taken
 * over from the snapshot before: a client does not leave a line because its node is slow. A lock
 * that is just changing hands is unsettled: nobody has a quorum, and keys are reserved, or those of
 * several, or somebody waited for it. */
#ifndef RL_CLI_WATCH_SNAPSHOT_H
#define RL_CLI_WATCH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "found.h"

enum rl_item_kind {
    RL_ITEM_LOCK, /* who holds it alone */
    RL_ITEM_READER,
    RL_ITEM_SLOT,
    RL_ITEM_WAITS,         /* to hold it alone */
    RL_ITEM_WAITS_TO_READ, /* these two: not in a snapshot's order of any kind */
    RL_ITEM_WAITS_FOR_PERMITS
};

#define RL_ITEM_TEXT_MAX RL_LOOK_NAME_MAX

struct rl_item {
    enum rl_item_kind kind;
    /* Whose it is: the token's digits, a client's number, or what another library has put there. */
    char id[RL_ITEM_TEXT_MAX];
    char who[RL_ITEM_TEXT_MAX];    /* a name, fit for a terminal */
    char token[RL_TOKEN_TEXT_MAX]; /* of a holder of this library; else "" */
    uint32_t number;               /* a slot's number; how many permits are wanted */
    uint32_t votes;                /* of a holder */
    int64_t left_ms;               /* of a holder: until it ends unless it is renewed; -1: never */
    int64_t waited_ms;             /* of one that waits */
};

struct rl_snapshot {
    struct rl_item *items;
    size_t n, room;
    bool is_unsettled;
    size_t left_over; /* nodes with keys that nobody holds */
};

/* old: the one before, or empty. */
void rl_snapshot_take(struct rl_snapshot *snapshot, const struct rl_found *found,
                      const struct rl_snapshot *old);
void rl_snapshot_free(struct rl_snapshot *snapshot);

/* Whether one of a list is missing that was there before. One that renews, or moves up, while it is
 * asked for may be missing once. */
bool rl_snapshot_lacks(const struct rl_snapshot *snapshot, const struct rl_snapshot *old);

/* The one of the same kind, whose it is and (of a slot) number; or NULL. */
const struct rl_item *rl_snapshot_find(const struct rl_snapshot *snapshot,
                                       const struct rl_item *item);

#endif
