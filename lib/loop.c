/* One turn: deadlines, callbacks, turns in line, flush, timer. It runs after each poll and, for
 * what was submitted since, before each poll. The order is explained in client.h.
 *
 * Can a success be told before a loss that is due? No: before every callback the deadlines that
 * have passed are stepped and on_lost callbacks run first. A callback that blocks the loop
 * therefore delays what follows, but cannot put a success before a loss.
 *
 * Can a node be given up whose answer is there? What is due, losses excepted, is due by heard_ns:
 * the moment before the last poll that left nothing unread. What had arrived by then has been read,
 * however long the program works in its callbacks, before the poll, after it or between two that it
 * calls. And what is sent is waited for from the flush on, not from when it was submitted, if much
 * time lies between the two (rl_client_put_off()); validity runs from the submission all the same.
 *
 * Can the loop block while something is due? What becomes due in a poll callback is seen by the
 * turn right after the poll. What the user submits from elsewhere (a prepare callback that runs
 * after ours, another client's callback) starts the idle handle, and so does a queue that is not
 * empty at the end of a turn: the loop does not block while it is active. Otherwise the timer is
 * armed for the first deadline.
 */
#include <assert.h>

#include "client.h"
#include "election.h"
#include "line.h"
#include "mark.h"
#include "query.h"
#include "voters.h"

#define NAP_NS (UINT64_C(1000) * 1000000)
#define POLLS_UNREAD_MAX 32 /* enough for the answers to all requests that may be out */

/* -- The queues: a lock is in each at most once -- */

void rl_loop_queue_done(redlock_lock *lock) {
    struct rl_queue *queue = &lock->client->done;
    if (lock->is_queued) {
        return;
    }
    rl_lock_ref(lock);
    lock->is_queued = true;
    lock->next_done = NULL;
    if (queue->tail != NULL) {
        queue->tail->next_done = lock;
    } else {
        queue->head = lock;
    }
    queue->tail = lock;
}

void rl_loop_queue_lost(redlock_lock *lock) {
    struct rl_queue *queue = &lock->client->lost;
    if (lock->is_lost_queue) {
        return;
    }
    rl_lock_ref(lock);
    lock->is_lost_queue = true;
    lock->next_lost = NULL;
    if (queue->tail != NULL) {
        queue->tail->next_lost = lock;
    } else {
        queue->head = lock;
    }
    queue->tail = lock;
}

static redlock_lock *take_done(redlock_client *client) {
    redlock_lock *lock = client->done.head;
    if (lock != NULL) {
        assert(lock->is_queued);
        client->done.head = lock->next_done;
        if (client->done.head == NULL) {
            client->done.tail = NULL;
        }
        lock->is_queued = false;
    }
    return lock;
}

static redlock_lock *take_lost(redlock_client *client) {
    redlock_lock *lock = client->lost.head;
    if (lock != NULL) {
        assert(lock->is_lost_queue);
        client->lost.head = lock->next_lost;
        if (client->lost.head == NULL) {
            client->lost.tail = NULL;
        }
        lock->is_lost_queue = false;
    }
    return lock;
}

void rl_loop_queue_turn(redlock_lock *lock) {
    struct rl_queue *queue = &lock->client->turns;
    assert(!lock->is_turn_queue);
    rl_lock_ref(lock);
    lock->is_turn_queue = true;
    lock->next_turn = NULL;
    if (queue->tail != NULL) {
        queue->tail->next_turn = lock;
    } else {
        queue->head = lock;
    }
    queue->tail = lock;
}

redlock_lock *rl_loop_take_turn(redlock_client *client) {
    redlock_lock *lock = client->turns.head;
    if (lock != NULL) {
        assert(lock->is_turn_queue);
        lock->is_turn_queue = false;
        client->turns.head = lock->next_turn;
        if (client->turns.head == NULL) {
            client->turns.tail = NULL;
        }
    }
    return lock;
}

/* -- The parts of a turn -- */

static void tick_item(redlock_client *client, struct rl_deadline *item, uint64_t now_ns) {
    struct rl_client_node *node;
    switch ((enum rl_tag)item->tag) {
        case RL_TAG_LOCK:
            rl_votes_simple(RL_CONTAINER(item, redlock_lock, deadline), RL_EV_TICK);
            break;
        case RL_TAG_NODE:
            node = RL_CONTAINER(item, struct rl_client_node, deadline);
            rl_node_tick(&node->node, now_ns);
            if (now_ns >= node->owed.retry_ns) {
                rl_votes_repay(node);
            }
            rl_voters_tick(node, now_ns);
            rl_client_node_deadline(node);
            break;
        case RL_TAG_CLIENT:
            rl_client_tick(client, now_ns);
            break;
        case RL_TAG_QUERY:
            rl_query_tick(item);
            break;
        case RL_TAG_NOTICE:
            rl_notice_tick(client, now_ns);
            break;
        case RL_TAG_ELECTION:
            rl_observe_tick(RL_CONTAINER(item, redlock_election, deadline), now_ns);
            break;
    }
}

/* The first item of a heap has been stepped. If it is still the first, it is of a later time now,
 * or this would spin; if not, it may be gone, and its lock with it. */
static void check_progress(const struct rl_deadlines *heap, const struct rl_deadline *stepped,
                           uint64_t until_ns) {
    assert(rl_deadlines_first(heap) != stepped || stepped->at_ns > until_ns);
    (void)heap; /* without assertions */
    (void)stepped;
    (void)until_ns;
}

/* What is due: losses by now, the rest by until_ns. Losses go first, also those that become due
 * meanwhile: if they waited for what else is due, then the retries of a hundred thousand locks
 * would put them off, each for the others. Returns whether an on_lost ran; what has become due in
 * it is for the next call. */
static bool run_due(redlock_client *client, uint64_t until_ns) {
    uint64_t now_ns = redlock_now_ns();
    bool told = false;
    for (;;) {
        redlock_lock *lock = take_lost(client);
        struct rl_deadline *end = rl_deadlines_first(&client->ends);
        struct rl_deadline *item = rl_deadlines_first(&client->deadlines);
        if (lock != NULL) {
            told = true;
            rl_lock_tell_lost(lock);
            rl_lock_unref(lock);
        } else if (end != NULL && end->at_ns <= now_ns) {
            rl_votes_simple(RL_CONTAINER(end, redlock_lock, end), RL_EV_TICK);
            check_progress(&client->ends, end, now_ns);
        } else if (item != NULL && item->at_ns <= until_ns) {
            tick_item(client, item, until_ns);
            check_progress(&client->deadlines, item, until_ns);
        } else {
            return told;
        }
        now_ns = redlock_now_ns();
    }
}

void rl_loop_tell_losses(redlock_client *client) {
    while (run_due(client, client->heard_ns)) {
    }
}

/* Those that are queued now; what they queue is for the next turn, so that a callback that submits
 * what fails at once cannot starve the loop. */
static bool run_done(redlock_client *client) {
    const redlock_lock *last = client->done.tail;
    const bool any = last != NULL;
    for (bool more = any; more;) {
        redlock_lock *lock = take_done(client);
        more = lock != last;
        rl_loop_tell_losses(client);
        rl_lock_tell(lock);
        rl_lock_unref(lock);
    }
    return any;
}

static bool run_queries(redlock_client *client) {
    const redlock_query *last = client->asked.tail;
    const bool any = last != NULL;
    for (bool more = any; more;) {
        redlock_query *query = rl_query_take(client);
        more = query != last;
        rl_loop_tell_losses(client);
        rl_query_tell(query);
    }
    return any;
}

static bool has_callbacks(const redlock_client *client) {
    return client->lost.head != NULL || client->done.head != NULL || client->asked.head != NULL;
}

/* A turn that took a considerable part of what a vote is waited for, or work of the program's after
 * it had submitted something, is not the nodes' fault. */
static void flush(redlock_client *client) {
    if (client->dirty != 0) {
        uint64_t now_ns = redlock_now_ns();
        if (now_ns - client->dirty_ns > client->rules.node_timeout_ns / 8) {
            RL_MARK(PUT_OFF);
            rl_client_put_off(client, now_ns);
        }
        client->flushed_ns = now_ns + 1; /* not what is put off to now, once more */
    }
    while (client->dirty != 0) {
        uint32_t dirty = client->dirty;
        client->dirty = 0;
        for (uint32_t i = 0; i < client->n_nodes; i++) {
            if (dirty & UINT32_C(1) << i) {
                rl_node_flush(&client->nodes[i].node);
            }
        }
    }
    rl_notice_flush(client);
}

static void idle_cb(uv_idle_t *idle) {
    (void)idle; /* being active is its work */
}

void rl_loop_wake(redlock_client *client) {
    if (!client->in_turn) {
        client->is_woken = true;
        uv_idle_start(&client->idle, idle_cb); /* the turn stops it */
    }
}

/* The turn that follows looks at the clock and arms the timer again. uv_run() may return before it
 * (UV_RUN_ONCE does, and since libuv 1.45 UV_RUN_NOWAIT, too), and whoever waits in a loop of his
 * own asks uv_backend_timeout() next: it has to be 0. */
static void timer_cb(uv_timer_t *timer) {
    redlock_client *client = timer->data;
    client->armed_ns = RL_NEVER;
    rl_loop_wake(client);
}

/* Rounded up to the timer's milliseconds: at most one late, which the margin of on_lost allows for.
 * At most NAP_NS ahead: libuv's timers stand still while the machine is suspended, and our clock
 * does not, so this bounds how late a loss is told after waking. */
static void arm(redlock_client *client) {
    const struct rl_deadline *first = rl_deadlines_first(&client->deadlines);
    if (first == NULL || first->at_ns >= client->armed_ns) {
        return;
    }
    uint64_t now_ns = redlock_now_ns();
    uint64_t left_ns = first->at_ns > now_ns ? first->at_ns - now_ns : 0;
    if (left_ns > NAP_NS) {
        left_ns = NAP_NS;
    }
    client->armed_ns = now_ns + left_ns;
    uv_update_time(client->io.loop);
    uv_timer_start(&client->timer, timer_cb, (left_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS, 0);
}

static bool is_due(const redlock_client *client) {
    const struct rl_deadline *first = rl_deadlines_first(&client->deadlines);
    return first != NULL && first->at_ns <= redlock_now_ns();
}

/* Returns whether callbacks have run. */
static bool turn(redlock_client *client) {
    if (rl_io_is_forked(&client->io)) {
        uv_prepare_stop(&client->prepare);
        uv_check_stop(&client->check);
        uv_timer_stop(&client->timer);
        uv_idle_stop(&client->idle); /* nobody else would any more */
        return false;
    }
    if (client->in_turn) {
        return false; /* a callback runs the loop inside the loop; the outer turn goes on later */
    }
    client->in_turn = true;
    client->is_woken = false;
    bool was_opening = client->is_opening;
    bool tells = run_due(client, client->heard_ns);
    tells |= run_done(client);
    tells |= run_queries(client);
    rl_line_run(client);
    rl_client_check_open(client, redlock_now_ns());
    rl_client_check_close(client);
    if (client->phase >= RL_CLIENT_TEARDOWN) {
        return false; /* nothing is queued, nothing may be armed */
    }
    flush(client);
    if (has_callbacks(client) || client->turns.head != NULL) {
        client->is_woken = true;
        uv_idle_start(&client->idle, idle_cb);
    } else if (is_due(client)) {
        uv_idle_start(&client->idle, idle_cb); /* as soon as the poll has been there */
    } else {
        uv_idle_stop(&client->idle);
    }
    arm(client);
    client->in_turn = false;
    return tells || was_opening != client->is_opening;
}

/* A poll reads up to 16 KiB of each node. If there was more, then nothing is due before the next
 * poll: but a node that always says more than is read must not stop our clock. */
static void note_heard(redlock_client *client) {
    if (client->io.has_more && client->polls_unread < POLLS_UNREAD_MAX) {
        RL_MARK(MORE_TO_READ);
        client->polls_unread++;
    } else {
        client->polls_unread = 0;
        client->heard_ns = client->poll_ns;
    }
    client->io.has_more = false;
}

/* After the poll: what it brought. */
static void check_cb(uv_check_t *check) {
    note_heard(check->data);
    turn(check->data);
}

/* Losses that are due when the loop has been blocked do not wait for all the answers that have come
 * in meanwhile: since libuv 1.45 the loop polls before it runs timers. Whatever else is due may be
 * settled by these answers, and does wait for them. */
static void tell_losses_before_poll(redlock_client *client) {
    const struct rl_deadline *end = rl_deadlines_first(&client->ends);
    if (end == NULL || client->in_turn || end->at_ns > redlock_now_ns() ||
        rl_io_is_forked(&client->io)) {
        return;
    }
    client->in_turn = true;
    run_due(client, 0);
    client->in_turn = false;
    rl_loop_wake(client); /* the rest of the turn follows the poll, which must not block */
}

/* Before the poll: what the user has submitted, and timers. A callback may have been what the user
 * of UV_RUN_ONCE waits for: the poll must not block then. */
static void prepare_cb(uv_prepare_t *prepare) {
    redlock_client *client = prepare->data;
    rl_own_turn(client);
    if (!client->is_woken) {
        tell_losses_before_poll(client);
    } else if (turn(client)) {
        uv_idle_start(&client->idle, idle_cb);
    }
    client->poll_ns = redlock_now_ns(); /* it is next */
}

/* -- Handles -- */

uint64_t rl_loop_random(redlock_client *client) {
    client->random ^= client->random << 13;
    client->random ^= client->random >> 7;
    client->random ^= client->random << 17;
    return client->random;
}

static void handle_closed(uv_handle_t *handle) {
    redlock_client *client = handle->data;
    rl_io_closed(&client->io);
}

void rl_loop_init(redlock_client *client) {
    uv_loop_t *loop = client->io.loop;
    uv_timer_init(loop, &client->timer); /* these four cannot fail */
    uv_prepare_init(loop, &client->prepare);
    uv_check_init(loop, &client->check);
    uv_idle_init(loop, &client->idle);
    client->timer.data = client->prepare.data = client->check.data = client->idle.data = client;
    client->armed_ns = RL_NEVER;
    client->is_woken = true;
    uv_prepare_start(&client->prepare, prepare_cb);
    uv_check_start(&client->check, check_cb);
    rl_io_opened(&client->io);
    rl_io_opened(&client->io);
    rl_io_opened(&client->io);
    rl_io_opened(&client->io);
}

void rl_loop_close(redlock_client *client) {
    assert(!has_callbacks(client));
    uv_close((uv_handle_t *)&client->timer, handle_closed);
    uv_close((uv_handle_t *)&client->prepare, handle_closed);
    uv_close((uv_handle_t *)&client->check, handle_closed);
    uv_close((uv_handle_t *)&client->idle, handle_closed);
}
