/* See check.h. */
#include "client/check.h"

#ifndef NDEBUG

#include <assert.h>

#include "client/env.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/notification.h"
#include "wait/hear.h"
#include "wait/line.h"

/* -- A lock -- */

/* A follower and its primary refer to each other; a primary is never a follower itself. */
static void check_sharing(const redlock_lock *lock) {
    const struct rl_extras *extras = lock->extras;
    assert(!lock->was_lost || lock->depth == 0);
    assert(!lock->joining || rl_lock_is_holding(&rl_hold_primary(lock)->core));
    assert(!rl_hold_lingers(lock) || (!rl_hold_has_users(lock) && rl_hear_has_any(lock->client)));
    if (extras == NULL) {
        return;
    }
    assert(extras->lock == lock);
    assert(rl_link_is_in(&extras->link) == (extras->primary != NULL));
    if (extras->primary != NULL) {
        assert(extras->primary != lock);
        assert(extras->primary->client == lock->client);
        assert(extras->primary->extras->primary == NULL);
        assert(extras->primary->references > 0);
        assert(extras->followers.first == NULL);
        assert(extras->owner == extras->primary->extras->owner);
        assert(!rl_lock_is_holding(&lock->core));
        assert(extras->for_extend == NULL);
        assert(extras->for_release == NULL);
    }
    if (extras->for_extend != NULL) {
        assert(extras->for_extend->extras->primary == lock);
        assert(lock->core.state == RL_EXTENDING);
    }
    if (extras->for_release != NULL) {
        assert(extras->for_release->extras->primary == lock);
        assert(lock->core.state == RL_RELEASING);
    }
}

static void check_waiting(const redlock_lock *lock) {
    const bool waits = lock->core.state == RL_WAITING;
    const uint8_t stage = lock->waiting.stage;
    const bool is_due = rl_line_is_due(lock);
    assert(!is_due || waits);
    assert(!is_due || rl_queued_is_in(&lock->ready));
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        const struct rl_ticket *ticket = &lock->tickets[i];
        bool is_active = ticket->list->active == ticket;
        struct rl_ticket *active = ticket->list->active;
        const redlock_lock *next = active != NULL ? rl_ticket_lock(active) : NULL;
        assert(ticket->is_taken == rl_lock_is_in_line(&lock->core));
        assert(rl_lock_resource(lock, i)->kind == rl_lock_resource(lock, 0)->kind);
        if (lock->mode->side_by_side) {
            assert(!is_active || rl_lock_is_acquiring(&lock->core));
            assert(!waits || is_active || is_due || i > 0 ||
                   !rl_tickets_may_ask(lock->tickets)); /* behind a waiter */
            continue;
        }
        const bool may_be = ticket->is_taken && (!waits || stage != RL_STAGE_NONE);
        const bool must_be =
            may_be && (lock->resource_count == 1 || (waits && i == lock->waiting.line));
        assert(is_active ? may_be : !must_be);
        /* A lock that was given the turn will be stepped, or all locks behind it would wait for
         * ever. */
        assert(next == NULL || next->core.state != RL_WAITING || rl_queued_is_in(&next->ready) ||
               rl_line_is_queued(next));
    }
}

/* A queued lock has a pending event: see the argument in line.h. */
static void check_queueing(const redlock_lock *lock) {
    const bool is_queued = rl_line_is_queued(lock);
    const struct rl_resource *resource = rl_line_of(lock);
    const struct rl_place *place = rl_resource_place(resource);
    uint8_t state = lock->core.state;
    assert(!is_queued || state == RL_WAITING || state == RL_TRYING || state == RL_FENCING ||
           state == RL_READY);
    assert(!is_queued || state != RL_WAITING || place->state != RL_PLACE_TAKING);
    assert(lock->waiting.stage != RL_STAGE_QUEUED || state != RL_WAITING ||
           resource->wait->due.slot != RL_DEADLINE_UNSET);
}

static void check_ops(const redlock_lock *lock) {
    for (uint32_t i = 0; i < 2; i++) {
        const struct rl_op *op = &lock->ops[i];
        assert(!op->is_active || (op->kind == RL_OP_EXTEND) == (i == 1));
        assert(op->is_active || !op->is_done);
        assert(op->is_done || op->status == 0);
        assert(op->status <= 0);
    }
    assert(!lock->is_freed || lock->loss.callback == NULL);
    assert(!lock->is_freed || lock->extras == NULL || lock->extras->renewal.callback == NULL);
    assert(!rl_queued_is_in(&lock->loss.queued) || lock->last.loss < 0);
    assert(lock->last.status <= 0);
    assert(lock->last.attempt <= 0);
}

void rl_check_lock(const redlock_lock *lock) {
    uint8_t state = lock->core.state;
    assert(lock->references > 0);
    assert(rl_link_is_in(&lock->link));
    assert(lock->resource_count == lock->target.n);
    assert((state == RL_READY) ==
           (rl_permit_of(lock) != NULL && rl_permit_of(lock)->asks)); /* it waits for a slot */
    assert(lock->deadline.at_ns == rl_hold_wake_ns(lock));
    assert(lock->end.at_ns == rl_lock_lost_ns(&lock->core));
    assert(lock->end.at_ns >= lock->deadline.at_ns); /* so one timer serves both */
    check_ops(lock);
    check_sharing(lock);
    check_waiting(lock);
    check_queueing(lock);
}

/* -- A client -- */

static void check_nodes(const redlock_client *client) {
    uint64_t pending = 0;
    assert((client->up & ~rl_bits_below(client->n_nodes)) == 0);
    assert((client->voters & ~client->up) == 0);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_client_node *member = client->nodes[i];
        bool is_up = client->up >> i & 1, votes = client->voters >> i & 1;
        pending += member->pending_releases.count;
        assert(member->client == client);
        assert(member->index == i);
        assert(is_up == rl_node_is_up(&member->node));
        assert(!is_up || member->is_settled);
        assert(votes == (client->reasons[i] == 0));
        assert((client->duplicates[i] >> i & 1) == 0);
        for (uint32_t j = 0; j < i; j++) {
            assert((client->duplicates[i] >> j & 1) == (client->duplicates[j] >> i & 1));
        }
    }
    assert(pending == client->pending_releases);
}

static void check_room(const redlock_client *client) {
    const struct rl_notifications *notifications = &client->notifications;
    assert(client->lock_count <= client->user_count);
    assert(client->deadlines.capacity >= client->user_count + client->resources.wait_count +
                                             client->n_nodes + RL_CLIENT_DEADLINES);
    assert(client->ends.capacity >= client->lock_count);
    assert(client->ends.count <= client->lock_count);
    assert(client->calls.outstanding + client->pending_releases <= client->calls.count);
    assert(notifications->count <= RL_SUBSCRIPTIONS_MAX);
    assert(notifications->ending <= notifications->count);
    assert(client->listening.everywhere == (notifications->count > notifications->ending));
}

void rl_check_client(const redlock_client *client) {
    assert(client->phase == RL_CLIENT_OPEN || client->phase == RL_CLIENT_CLOSING);
    assert(!client->opening.is_active || client->phase == RL_CLIENT_OPEN);
    assert(client->flushing.nodes == 0);
    assert(client->listening.dirty == 0);
    assert(client->random != 0);
    check_nodes(client);
    check_room(client);
}

/* All counts are zero and all lists are empty: neither the world nor a node refers to the
 * client. */
void rl_check_gone(const redlock_client *client) {
    const struct rl_lock_call *call = client->calls.free;
    uint32_t calls = 0;
    for (; call != NULL; call = call->next_free) {
        calls++;
        assert(call->lock == NULL);
    }
    assert(calls == client->calls.count); /* no call was lost */
    assert(client->calls.outstanding == 0 && client->pending_releases == 0);
    assert(client->lines.outstanding == 0 && client->lines.waiting.first == NULL);
    assert(client->user_count == 0 && client->lock_count == 0);
    assert(client->locks.first == NULL && client->recipes.first == NULL);
    assert(client->queries.first == NULL && client->answered.first == NULL);
    assert(client->done.first == NULL && client->lost.first == NULL);
    assert(client->ready.first == NULL);
    assert(client->ends.count == 0);
    assert(client->resources.count == client->resources.kept_count);
    assert(client->notifications.count == 0 && client->notifications.ending == 0);
    assert(!client->listening.has_listeners && client->listening.wanted == 0);
    assert(client->up == 0 && client->voters == 0);
}

#endif
