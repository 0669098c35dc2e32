/* The state of a key, and reports of its changes. */
#ifndef RL_CLI_WATCH_ROOM_H
#define RL_CLI_WATCH_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "kick/room.h"
#include "session/room.h"

/* -- snapshot.c -- */

struct rl_snapshot {
    struct rl_item *items;
    size_t n, room;
    bool is_unsettled;
    size_t left_over; /* nodes with keys that no client holds */
};

/* old: the previous snapshot, or an empty one. */
void rl_snapshot_take(struct rl_snapshot *snapshot, const struct rl_found *found,
                      const struct rl_snapshot *old);
void rl_snapshot_free(struct rl_snapshot *snapshot);

/* Whether an entry of a list has disappeared. An entry that renews, or moves up, during the query
 * may be missing once. */
bool rl_snapshot_lacks(const struct rl_snapshot *snapshot, const struct rl_snapshot *old);

struct rl_watch_report {
    const struct rl_args *args;
    redlock_bytes key; /* of events about a key */
    size_t n, needed;  /* number of nodes that decide about it, and of a quorum */
};

/* Reports what has changed between two snapshots of one key, between_ms apart, as events in a
 * readable order: former holders, new holders, waiting clients. Returns whether a holder has gone
 * before its ttl ended.
 *
 * Can a change be missed? Yes: a hold that began and ended between two queries is in neither
 * snapshot; a holder that released and acquired again appears as a hand-over to itself. */
bool rl_watch_report_changes(const struct rl_watch_report *report, const struct rl_snapshot *old,
                             const struct rl_snapshot *now, int64_t between_ms);

/* Reports that no client holds it: at the beginning, and after an unknown state. */
void rl_watch_report_free(const struct rl_watch_report *report, size_t left_over);
/* Reports that fewer nodes answer than a quorum. */
void rl_watch_report_unknown(const struct rl_watch_report *report, size_t answered);
void rl_watch_report_kicked(const struct rl_watch_report *report, const struct rl_kick_note *note);
/* Reports a node's change. n, needed and voting (how many can vote now) are of the first key. */
void rl_watch_report_node(const struct rl_watch_report *report, const redlock_node_info *info,
                          uint64_t voting);

#endif
