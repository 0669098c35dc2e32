/* One turn: deadlines, callbacks, turns in line, flush, timer. The world calls it (base/world.h)
 * after each batch of events and, if something was submitted since, before it waits. rl_turn_run()
 * has the order. Nothing else in lib/client runs user code, and nothing in it calls the turn, which
 * finds its work in queues (lock/life.h).
 *
 * Can a success be reported before a loss that is due? No: before every callback, the turn steps
 * the deadlines that have passed and runs on_lost callbacks. So a callback that blocks the loop
 * delays what follows, but cannot put a success before a loss.
 *
 * Can a node be given up although its answer has arrived? No. Deadlines, except losses, are judged
 * by the world's heard_ns: everything that had arrived by then has been read, however long the
 * program works in its callbacks. And if much time lies between submission and flush, the wait for
 * an answer starts at the flush (put_off()); validity still runs from the submission.
 *
 * Can the world wait while something is due? No. The turn after an event sees what became due in
 * it. A submission from elsewhere (the user's own callback, another client's callback) requests a
 * turn, and so does a queue that is not empty at the end of a turn. Otherwise the timer is armed
 * for the first deadline.
 */
#include "client/turn.h"

#include <assert.h>

#include "base/bits.h"
#include "base/mark.h"
#include "client/adopt.h"
#include "client/check.h"
#include "client/env.h"
#include "lock/calls.h"
#include "lock/delivery.h"
#include "lock/life.h"
#include "lock/step.h"
#include "nodes/eligibility.h"
#include "nodes/listening.h"
#include "nodes/notification.h"
#include "nodes/sets.h"
#include "query/query.h"
#include "query/query_result.h"
#include "wait/line_call.h"
#include "wait/line_event.h"

#define JOIN_NS (50 * RL_NS_PER_MS) /* how long on_open waits for more than a quorum */

/* -- What is due -- */

static void deliver_loss(redlock_lock *lock) {
    struct rl_delivery loss = rl_delivery_take_loss(lock);
    if (loss.callback != NULL) {
        loss.callback(lock, loss.status, loss.data);
    }
    rl_lock_unref(lock);
}

/* Steps what is due: losses by the clock, the rest by until_ns. Losses go first, even if they
 * become due meanwhile: otherwise the retries of a hundred thousand locks would delay them. Returns
 * whether an on_lost ran; the next call handles what became due during it. A callback sets its item
 * to a later time, unsets it or frees it; otherwise this loop would never end. */
static bool run_due(redlock_client *client, uint64_t until_ns) {
    uint64_t now_ns = rl_client_now_ns(client);
    bool told = false;
    for (;;) {
        redlock_lock *lock = rl_ready_take_lost(client);
        struct rl_deadline *end = rl_deadlines_first(&client->ends);
        struct rl_deadline *item = rl_deadlines_first(&client->deadlines);
        if (lock != NULL) {
            told = true;
            deliver_loss(lock);
        } else if (end != NULL && end->at_ns <= now_ns) {
            client->due[end->who](end, now_ns);
            assert(rl_deadlines_first(&client->ends) != end || end->at_ns > now_ns);
        } else if (item != NULL && item->at_ns <= until_ns) {
            client->due[item->who](item, until_ns);
            assert(rl_deadlines_first(&client->deadlines) != item || item->at_ns > until_ns);
        } else {
            return told;
        }
        now_ns = rl_client_now_ns(client);
    }
}

/* Call this before a callback that may report a success. */
static void deliver_losses(redlock_client *client) {
    while (run_due(client, client->heard_ns)) {
    }
}

/* -- Callbacks -- */

static void deliver(redlock_lock *lock) {
    bool has_called = false;
    for (enum rl_delivery_kind kind = RL_DELIVERY_ACQUIRE; kind < RL_DELIVERY_KINDS; kind++) {
        if (has_called && rl_delivery_is_due(lock, kind)) {
            deliver_losses(lock->client); /* the callback may have delayed them */
        }
        if (!rl_delivery_is_due(lock, kind)) { /* or no longer: on_lost may acquire again */
            continue;
        }
        struct rl_delivery delivery = rl_delivery_take(lock, kind);
        has_called = true;
        if (delivery.callback != NULL) {
            delivery.callback(lock, delivery.status, delivery.data);
        }
    }
}

/* Runs the callbacks of the locks that are queued now. What these queue waits for the next turn, so
 * that a callback whose submissions fail at once cannot starve the loop. */
static bool run_done(redlock_client *client) {
    const bool any = client->done.first != NULL;
    const struct rl_queued *last = client->done.last;
    for (bool more = any; more;) {
        redlock_lock *lock = RL_CONTAINER(client->done.first, redlock_lock, done);
        more = &lock->done != last;
        deliver_losses(client);
        rl_delivery_grant(lock);
        rl_queue_take(&client->done);
        deliver(lock);
        rl_lock_unref(lock);
    }
    return any;
}

static bool run_queries(redlock_client *client) {
    const bool any = client->answered.first != NULL;
    const struct rl_queued *last = client->answered.last;
    for (bool more = any; more;) {
        more = client->answered.first != last;
        deliver_losses(client);
        redlock_query *query = rl_query_take(client);
        query->callback(query, query->status, query->data);
        rl_query_told(query);
    }
    return any;
}

/* -- Opening and closing -- */

/* A client is open when each node has connected or failed, or time is up. A set without a majority
 * fails only its own locks. True: on_open must run with this status. */
static bool opening_is_over(redlock_client *client, uint64_t now_ns, int *status) {
    if (!client->opening.is_active) {
        return false;
    }
    if (client->phase == RL_CLIENT_CLOSING) {
        *status = REDLOCK_ERR_CANCELED;
        return true;
    }
    const rl_mask servers = rl_eligibility_servers(client);
    bool quorum = rl_sets_are_quorum(client, servers, RL_SETS_EACH);
    bool settled = true;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        settled = settled && client->nodes[i]->is_settled;
    }
    if (quorum && client->opening.quorum_ns == RL_NEVER) {
        client->opening.quorum_ns = now_ns;
        if (now_ns + JOIN_NS < client->opening.until_ns) {
            client->opening.until_ns = now_ns + JOIN_NS;
            rl_deadlines_set(&client->deadlines, &client->deadline, client->opening.until_ns);
        }
    }
    if (!settled && client->heard_ns < client->opening.until_ns) {
        return false;
    }
    rl_deadlines_set(&client->deadlines, &client->deadline, RL_NEVER);
    bool is_twice = rl_sets_are_quorum(client, client->voters, RL_SETS_SOME);
    int missing = is_twice ? REDLOCK_ERR_DUPLICATE : REDLOCK_ERR_NO_QUORUM;
    *status = rl_sets_are_quorum(client, servers, RL_SETS_SOME) ? 0 : missing;
    return true;
}

static bool run_opening(redlock_client *client) {
    int status;
    if (!client->opening.is_active || !opening_is_over(client, rl_client_now_ns(client), &status)) {
        return false;
    }
    redlock_client_cb callback = client->opening.callback;
    client->opening.is_active = false;
    client->opening.callback = NULL;
    if (callback != NULL) {
        callback(client, status, client->opening.data);
    }
    return true;
}

void rl_turn_closed(redlock_client *client) {
    assert(client->phase == RL_CLIENT_GONE);
    if (client->closing.callback != NULL) {
        client->closing.callback(client, 0, client->closing.data);
    }
}

/* A client is closed when its locks' releases are done, or time is up, and all callbacks have run.
 * Then the nodes close, and then the world. */
static void close_when_done(redlock_client *client) {
    if (client->phase != RL_CLIENT_CLOSING) {
        return;
    }
    assert(client->in_turn);
    assert(!client->opening.is_active); /* on_open has run */
    bool answered = !rl_calls_await_answers(client) && !rl_line_awaits_answers(client) &&
                    client->pending_releases == 0;
    if (rl_ready_has_callbacks(client) ||
        (!answered && client->heard_ns < client->closing.until_ns)) {
        return;
    }
    assert(client->ready.first == NULL); /* a lock that must be stepped has a callback */
    client->phase = RL_CLIENT_TEARDOWN;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_close(&client->nodes[i]->node);
        rl_calls_drop(client->nodes[i]);
    }
    rl_left_drop(client);
    rl_line_calls_drop(client, rl_bits_below(client->n_nodes));
    client->up = client->voters = 0;
    assert(!rl_calls_await_answers(client)); /* the end of each connection has settled them */
    assert(client->pending_releases == 0);
    assert(!rl_ready_has_callbacks(client)); /* what ended late had no user */
    rl_notification_close(client);
    rl_listening_close(client);
    client->io.world->ops->close(client->io.world);
}

/* -- Locks to step -- */

static void step_notified(redlock_lock *lock) {
    lock->is_notified = false;
    if (lock->core.state == RL_BACKOFF) {
        rl_trace(lock->client, REDLOCK_EVENT_RELEASE_NOTIFIED, lock, NULL, 0, 0);
        rl_step_simple(lock, RL_EV_NOTICE);
    }
}

/* The next lock's SET follows the previous lock's release in one write. */
static void run_ready(redlock_client *client) {
    struct rl_queued *item;
    while ((item = rl_queue_take(&client->ready)) != NULL) {
        redlock_lock *lock = RL_CONTAINER(item, redlock_lock, ready);
        rl_line_run(lock);
        if (lock->is_notified && client->phase == RL_CLIENT_OPEN) {
            step_notified(lock);
        }
        lock->is_notified = false;
        rl_lock_unref(lock);
    }
}

/* -- The end of a turn -- */

/* An eighth of the timeout of a vote, or of a connection if that is shorter. */
static uint64_t considerable_ns(const redlock_client *client) {
    const uint64_t node_ns = client->rules.node_timeout_ns;
    const uint64_t connect_ns = client->node_options.connect_timeout_ns;
    return (node_ns < connect_ns ? node_ns : connect_ns) / 8;
}

/* Starts at a varying node: on a fast network the first answer may arrive before the last write,
 * and is read only afterwards. A fixed order would always add that delay to the first node's
 * latency. */
static void flush_nodes(redlock_client *client, rl_mask nodes) {
    const uint32_t n = client->n_nodes;
    const rl_mask before = /* in no regular pattern */
        rl_bit((client->flushing.count++ * UINT32_C(2654435769) >> 16) % n) - 1;
    assert((nodes & ~rl_bits_below(n)) == 0);
    RL_EACH_BIT(i, nodes & ~before) {
        rl_node_flush(&client->nodes[i]->node);
    }
    RL_EACH_BIT(i, nodes & before) {
        rl_node_flush(&client->nodes[i]->node);
    }
}

/* The wait for an answer to a command that is sent late starts when it is sent, so that a program
 * that works for long after a submission does not find its nodes silent. Validity still runs from
 * the submission. */
static void put_off(redlock_client *client, uint64_t now_ns) {
    const uint64_t since_ns = client->flushing.flushed_ns;
    const uint64_t connect_ns = client->node_options.connect_timeout_ns;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_node_put_off(&client->nodes[i]->node, since_ns, now_ns);
    }
    RL_EACH(redlock_lock, lock, &client->locks, link) {
        rl_lock_put_off(&lock->core, since_ns, now_ns);
        rl_deadlines_set(&client->deadlines, &lock->deadline, rl_hold_wake_ns(lock));
    }
    rl_query_put_off(client, since_ns, now_ns);
    if (client->phase == RL_CLIENT_CLOSING &&
        client->closing.until_ns >= since_ns + client->rules.node_timeout_ns) {
        client->closing.until_ns = now_ns + client->rules.node_timeout_ns;
        rl_deadlines_set(&client->deadlines, &client->deadline, client->closing.until_ns);
    } else if (client->opening.is_active && client->opening.quorum_ns == RL_NEVER &&
               client->opening.until_ns >= since_ns + connect_ns) {
        client->opening.until_ns = now_ns + connect_ns;
        rl_deadlines_set(&client->deadlines, &client->deadline, client->opening.until_ns);
    }
}

/* Does not blame the nodes for a turn that took a considerable part of the timeout, or for the
 * program's own work after a submission. */
static void flush(redlock_client *client) {
    struct rl_flushing *flushing = &client->flushing;
    if (flushing->nodes != 0) {
        uint64_t now_ns = rl_client_now_ns(client);
        if (now_ns - flushing->dirty_ns > considerable_ns(client)) {
            RL_MARK(PUT_OFF);
            put_off(client, now_ns);
        }
        flushing->flushed_ns = now_ns + 1; /* later than what was put off to now */
    }
    while (flushing->nodes != 0 || rl_listening_is_dirty(client)) {
        rl_listening_flush(client); /* a connection may break, and cause more to be sent */
        rl_mask nodes = flushing->nodes;
        flushing->nodes = 0;
        flush_nodes(client, nodes);
    }
}

static void arm(redlock_client *client) {
    const struct rl_deadline *first = rl_deadlines_first(&client->deadlines);
    client->io.world->ops->arm(client->io.world, first != NULL ? first->at_ns : RL_NEVER);
}

bool rl_turn_run(void *owner) {
    redlock_client *client = owner;
    struct rl_world *world = client->io.world;
    rl_own_turn(client);
    assert(!client->in_turn);
    client->in_turn = client->opening.has_begun = true;
    client->heard_ns = world->ops->heard_ns(world);
    rl_adopt_turn(client);
    bool tells = run_due(client, client->heard_ns);
    tells |= run_done(client);
    tells |= run_queries(client);
    run_ready(client);
    tells |= run_opening(client);
    close_when_done(client);
    if (client->phase >= RL_CLIENT_TEARDOWN) {
        return tells; /* nothing is queued, and no timer may be armed */
    }
    struct rl_left_key key;
    while (rl_left_take(client, &key)) {
        rl_calls_give_back(key.lock, key.node, key.place);
    }
    flush(client);
    rl_check_client(client);
    client->in_turn = false;
    if (rl_ready_has_callbacks(client) || client->ready.first != NULL) {
        rl_client_wake(client);
    }
    arm(client);
    return tells;
}

/* If the loop was blocked, reports the losses that are due before the answers that have arrived
 * meanwhile are read. Other deadlines wait, since these answers may settle them. */
bool rl_turn_before_wait(void *owner) {
    redlock_client *client = owner;
    const struct rl_deadline *end = rl_deadlines_first(&client->ends);
    rl_own_turn(client);
    if (end == NULL || end->at_ns > rl_client_now_ns(client)) {
        return false;
    }
    assert(!client->in_turn);
    client->in_turn = true;
    bool told = run_due(client, 0);
    client->in_turn = false;
    rl_client_wake(client); /* the rest of the turn */
    return told;
}
