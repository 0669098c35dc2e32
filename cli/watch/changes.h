/* What has changed between two snapshots of one key, as events in an order that reads well: who let
 * go, who has it now, who waits.
 *
 * Can a change be missed? Yes: what began and ended between two looks is in neither snapshot, and a
 * holder that released and acquired anew is shown as handed over to itself. What is said is what
 * stood there when it was looked. */
#ifndef RL_CLI_WATCH_CHANGES_H
#define RL_CLI_WATCH_CHANGES_H

#include "watch/snapshot.h"

enum rl_change_type {
    RL_CHANGE_RELEASED, /* before its time: by its holder, or another that knows the token */
    RL_CHANGE_ENDED,    /* its time was over: it was not renewed, or released just then */
    RL_CHANGE_HANDED_OVER,
    RL_CHANGE_HELD,
    RL_CHANGE_WAITS,
    RL_CHANGE_LEFT /* it waits no longer, and has not got it */
};

struct rl_change {
    enum rl_change_type type;
    const struct rl_item *item; /* of HANDED_OVER who has it now */
    const struct rl_item *from; /* HANDED_OVER: who had it */
};

typedef void (*rl_change_cb)(const struct rl_change *change, void *data);

/* between_ms: from one to the other. */
void rl_changes(const struct rl_snapshot *old, const struct rl_snapshot *now, int64_t between_ms,
                rl_change_cb on_change, void *data);

#endif
