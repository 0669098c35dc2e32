/* The pending releases of a node: in order, bounded, and dropped only when the key must be gone. */
#include "core/pending.h"

#include "core/quorum.h"
#include "marks.h"
#include "unit/check.h"

#define ITEMS (RL_PENDING_MAX + 8)
#define LIFE_MS 900
#define LIFE_NS (1000 * MS)

/* 90 ms and 10 ms of drift for a life of 900 ms */
static const struct rl_rules rules = {.drift_ppm = 100000, .drift_ns = 10 * MS};

static struct rl_pending_release items[ITEMS];

/* A release on a node that is down. */
static struct rl_pending_release *unanswered(struct rl_pending *pending,
                                             struct rl_pending_release *item) {
    return rl_pending_add(pending, item, false, false, 1);
}

static struct rl_pending_release *refused(struct rl_pending *pending,
                                          struct rl_pending_release *item, uint64_t now_ns) {
    return rl_pending_add(pending, item, true, true, now_ns);
}

static void prepare(struct rl_pending *pending) {
    rl_pending_init(pending, RL_PENDING_MAX);
    for (uint32_t i = 0; i < ITEMS; i++) {
        rl_pending_release_init(&items[i], &rules, LIFE_MS);
    }
}

#define PENDING_TEST(name) TEST_BEGUN(name, struct rl_pending, pending, prepare)

static void assert_empty(struct rl_pending *pending) {
    assert_int_equal(pending->count, 0);
    assert_null(pending->head);
    assert_ptr_equal(pending->tail, &pending->head);
    assert_int_equal(pending->retry_ns, RL_NEVER);
    assert_null(rl_pending_take(pending));
}

PENDING_TEST(owes_nothing_at_first) {
    assert_empty(pending);
    assert_int_equal(items[0].until_ns, RL_NEVER);
    assert_int_equal(items[0].life_ns, LIFE_NS);
}

PENDING_TEST(gives_the_oldest_up_beyond_its_bound) {
    MARK_FROM(PENDING_OLDEST);
    for (uint32_t i = 0; i < RL_PENDING_MAX; i++) {
        assert_null(unanswered(pending, &items[i]));
    }
    for (uint32_t i = RL_PENDING_MAX; i < ITEMS; i++) {
        assert_ptr_equal(unanswered(pending, &items[i]), &items[i - RL_PENDING_MAX]);
        assert_int_equal(pending->count, RL_PENDING_MAX);
    }
    for (uint32_t i = ITEMS - RL_PENDING_MAX; i < ITEMS; i++) {
        assert_ptr_equal(rl_pending_take(pending), &items[i]);
    }
    assert_empty(pending);
    MARK_TO(PENDING_OLDEST);
}

PENDING_TEST(gives_the_refused_up_at_the_end_of_its_life) {
    MARK_FROM(PENDING_OUTLIVED);
    for (uint32_t i = 0; i < 2; i++) {
        assert_null(refused(pending, &items[i], 100));
        assert_ptr_equal(rl_pending_take(pending), &items[i]);
    }
    assert_null(refused(pending, &items[0], 100 + LIFE_NS - 1)); /* alive to the last ns */
    assert_ptr_equal(refused(pending, &items[1], 100 + LIFE_NS), &items[1]);
    assert_int_equal(pending->count, 1);
    MARK_TO(PENDING_OUTLIVED);
}

/* The connection may end after an error reply: the key's life is still counted. */
PENDING_TEST(remembers_the_first_refusal) {
    refused(pending, &items[0], 100);
    rl_pending_take(pending);
    unanswered(pending, &items[0]);
    rl_pending_take(pending);
    assert_ptr_equal(refused(pending, &items[0], 100 + LIFE_NS), &items[0]);
}

PENDING_TEST(retries_at_the_earliest) {
    unanswered(pending, &items[0]);
    refused(pending, &items[1], 10 * MS);
    refused(pending, &items[2], 20 * MS);
    assert_int_equal(pending->retry_ns, 10 * MS + RL_PENDING_RETRY_NS);
    rl_pending_take(pending);
    rl_pending_take(pending);
    assert_int_equal(pending->retry_ns, 10 * MS + RL_PENDING_RETRY_NS); /* one is still pending */
    rl_pending_take(pending);
    assert_int_equal(pending->retry_ns, RL_NEVER);
}

PENDING_TEST(bounds_the_refused_too) {
    for (uint32_t i = 0; i < RL_PENDING_MAX; i++) {
        assert_null(refused(pending, &items[i], 5));
    }
    assert_ptr_equal(refused(pending, &items[RL_PENDING_MAX], 5), &items[0]);
    assert_int_equal(pending->count, RL_PENDING_MAX);
}

/* The node is up but too busy: no reconnect will follow, so only time can trigger another try. */
PENDING_TEST(retries_what_was_not_sent) {
    assert_null(rl_pending_add(pending, &items[0], false, true, 3 * MS));
    assert_int_equal(pending->retry_ns, 3 * MS + RL_PENDING_RETRY_NS);
    assert_int_equal(items[0].until_ns, RL_NEVER); /* not dropped: it was not refused */
    assert_null(rl_pending_add(pending, &items[1], false, true, 4 * MS));
    assert_int_equal(pending->retry_ns, 3 * MS + RL_PENDING_RETRY_NS);
}

/* -- Sending again -- */

struct sender {
    uint32_t room; /* number of commands that can be sent */
    uint32_t count;
    struct rl_pending_release *sent[8];
    struct rl_pending_release *not_sent;
};

static bool send_again(struct rl_pending_release *item, void *data) {
    struct sender *sender = data;
    assert_null(sender->not_sent); /* no further try */
    assert_null(item->next);
    if (sender->count == sender->room) {
        sender->not_sent = item;
        return false;
    }
    sender->sent[sender->count++] = item;
    return true;
}

/* For every number of pending releases, and every number that can be sent to the node. */
PENDING_TEST(repays_the_oldest_first) {
    MARK_FROM(PENDING_NOT_SENT);
    for (uint32_t debts = 0; debts <= 8; debts++) {
        for (uint32_t room = 0; room <= debts; room++) {
            struct sender sender = {.room = room};
            prepare(pending);
            for (uint32_t i = 0; i < debts; i++) {
                refused(pending, &items[i], 5 * MS);
            }
            rl_pending_retry(pending, 600 * MS, send_again, &sender);
            assert_int_equal(sender.count, room);
            for (uint32_t i = 0; i < room; i++) {
                assert_ptr_equal(sender.sent[i], &items[i]);
            }
            assert_int_equal(pending->count, debts - room); /* none is lost, or sent twice */
            if (room == debts) {
                assert_empty(pending);
                continue;
            }
            assert_ptr_equal(sender.not_sent, &items[room]);
            assert_int_equal(pending->retry_ns, 600 * MS + RL_PENDING_RETRY_NS);
        }
    }
    MARK_TO(PENDING_NOT_SENT);
}
