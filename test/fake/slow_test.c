/* A node that reads more slowly than it is sent to, or answers only now and then and too late: its
 * unsent data is bounded, locks do not wait for it, and in the end it is dropped. */

#include "fake/five.h"
#include "marks.h"
#include "redis/node.h"
#include "redlock/token.h"

#define MS UINT64_C(1000000)
#define SLOW 3 /* the slow node */

#define NAMES 8 /* the fake node accepts at most 16 arguments */

/* A lock whose commands have 8 KiB. */
static redlock_lock *large_lock(struct five *f) {
    static char names[NAMES][REDLOCK_RESOURCE_MAX];
    redlock_bytes resources[NAMES];
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_lock *lock = NULL;
    for (size_t i = 0; i < NAMES; i++) {
        memset(names[i], 'a' + (int)(i % 26), sizeof(names[i]));
        names[i][0] = (char)('0' + i);
        resources[i] = (redlock_bytes){names[i], sizeof(names[i])};
    }
    options.resources = resources;
    options.n_resources = NAMES;
    assert_int_equal(redlock_lock_new_with(f->client, &options, &lock, NULL, 0), 0);
    return lock;
}

/* With a long timeout the node counts as silent not by time but by its unsent data. */
FIVE_TEST(what_waits_for_it_is_bounded) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    f->options.node_timeout_ms = 60000;
    f->memory_cap = RL_NODE_UNSENT_MAX + (4u << 20);
    assert_int_equal(five_open(f), 0);
    redlock_lock *lock = large_lock(f);
    fake_node_set_deaf(f->nodes[SLOW], true);
    for (int i = 0; i < 1500; i++) { /* 24 MB for each node, releases included */
        assert_int_equal(five_acquire(f, lock), 0);
        assert_int_equal(five_release(f, lock), 0);
    }
    assert_int_equal(five_acquire(f, lock), 0);
    assert_int_equal(redlock_lock_outcome(lock, SLOW, &outcome), 0);
    assert_int_equal(outcome.reason, REDLOCK_ERR_NODE_TIMEOUT);
    uint64_t requests = five_info(f, SLOW).requests;
    assert_int_equal(five_release(f, lock), 0);
    assert_int_equal(five_info(f, SLOW).requests, requests); /* it cannot have the key */
    assert_int_equal(five_info(f, SLOW).pending_releases, 0);
    fake_node_set_deaf(f->nodes[SLOW], false);
    five_wait_repaid(f);
    assert_int_equal(five_info(f, SLOW).connects, 1);
    assert_int_equal(five_acquire(f, lock), 0);
    five_wait_repaid(f);
    assert_int_equal(redlock_lock_outcome(lock, SLOW, &outcome), 0);
    assert_int_equal(outcome.vote, REDLOCK_VOTE_GRANTED);
    assert_int_equal(five_release(f, lock), 0);
}

/* Releases of failed attempts go only to nodes that got the SET. */
FIVE_TEST(no_release_without_a_set) {
    MARK_FROM(SILENT_NOT_TOLD);
    f->options.node_timeout_ms = 1000; /* its connection is dropped after 4000 */
    assert_int_equal(five_open(f), 0);
    fake_node_pause(f->nodes[SLOW]);
    assert_int_equal(five_acquire(f, f->lock), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    five_run_ms(f, 1010);
    uint64_t requests;
    do { /* if the program stalled, the node may not count as silent yet */
        requests = five_info(f, SLOW).requests;
        five_cycle(f);
    } while (five_info(f, SLOW).requests != requests);
    for (size_t i = 0; i < 3; i++) {
        fake_node_put(f->nodes[i], FIVE_RESOURCE, "a stranger's", 100);
    }
    assert_int_equal(five_acquire(f, f->lock), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < 3; i++) {
        fake_node_step_clock(f->nodes[i], 101); /* just beyond the key's ttl */
    }
    five_cycle(f);
    assert_int_equal(five_info(f, SLOW).requests, requests);
    fake_node_resume(f->nodes[SLOW]);
    five_wait_repaid(f);
    assert_int_equal(fake_node_keys(f->nodes[SLOW]), 0); /* the SET that it got was undone */
    MARK_TO(SILENT_NOT_TOLD);
}

/* An answer comes within each stall time, yet the oldest request keeps aging. Returns how long the
 * node took to be dropped. kept_ns: how long the machine stalled meanwhile, which may have made an
 * answer late and the node stall. */
static uint64_t late_until_dropped_ns(struct five *f, uint64_t *kept_ns) {
    unsigned times = f->downs[SLOW].times;
    for (unsigned i = 1; i < 30; i++) { /* each answer 150 ms after the one before */
        five_rule(f, SLOW, .times = 1, .delay_ms = 150 * i);
    }
    struct spent since = spent_begin();
    while (f->downs[SLOW].times == times) {
        assert_int_equal(five_extend(f, f->lock), 0); /* is sent to silent nodes as well */
        five_run_ms(f, 5);
        assert_true(spent_ms(&since) < 8000);
    }
    uint64_t took_ns = uv_hrtime() - since.at_ns;
    assert_int_equal(f->downs[SLOW].status, REDLOCK_ERR_NODE_TIMEOUT);
    fake_node_clear_rules(f->nodes[SLOW]);
    five_wait_up(f, FIVE);
    five_wait_repaid(f);
    *kept_ns = spent_kept_ns(&since);
    return took_ns;
}

FIVE_TEST(late_for_too_long_is_dropped) {
    uint64_t took_ns = 0;
    MARK_FROM(TOO_LATE);
    f->options.node_timeout_ms = 50; /* a stall is 200 ms, too late are 800 */
    assert_int_equal(five_open(f), 0);
    assert_int_equal(five_acquire(f, f->lock), 0);
    five_wait_repaid(f);
    uint64_t kept_ns = UINT64_MAX;
    for (int tries = 0; kept_ns > 40 * MS && tries < FIVE_TRIES; tries++) {
        took_ns = late_until_dropped_ns(f, &kept_ns);
        kept_ns = took_ns >= 800 * MS && MARK_HIT(TOO_LATE) ? 0 : kept_ns;
    }
    assert_true(took_ns >= 800 * MS);
    MARK_TO(TOO_LATE);
    assert_int_equal(five_release(f, f->lock), 0);
    five_wait_repaid(f);
}

static void asked_cb(redlock_query *query, int status, void *data) {
    struct five_done *asked = data;
    asked->calls++;
    asked->status = status;
}

/* In each turn of the loop the program submits a query and then works for so long that it is sent
 * late. */
static bool is_acquired(struct five *f, void *data) {
    static struct five_done asked;
    const struct five_done *acquired = data;
    uint64_t until_ns = redlock_now_ns() + 20 * MS;
    assert_int_equal(redlock_query_holder(f->client, "else", 4, asked_cb, &asked), 0);
    while (redlock_now_ns() < until_ns) {
    }
    return acquired->calls == 1;
}

/* The timeout of a request that is sent late is extended once: a program that is always late must
 * also find out that its nodes are silent. */
FIVE_TEST(work_hides_no_silence) {
    struct five_done acquired = {0}, asked = {0};
    MARK_FROM(PUT_OFF);
    f->options.node_timeout_ms = 100;
    assert_int_equal(five_open(f), 0);
    assert_int_equal(redlock_query_holder(f->client, "else", 4, asked_cb, &asked), 0);
    five_wait(f, &asked); /* the nodes know the script */
    five_wait_repaid(f);
    for (size_t i = 0; i < 3; i++) {
        fake_node_pause(f->nodes[i]);
    }
    redlock_acquire_options once = five_one_try(f);
    struct spent since = spent_begin();
    assert_int_equal(redlock_acquire(f->lock, &once, five_on_lock, &acquired), 0);
    assert_true(five_run_until(f, is_acquired, &acquired));
    assert_int_equal(acquired.status, REDLOCK_ERR_NO_QUORUM);
    assert_true(spent_ms(&since) < 2000);
    MARK_TO(PUT_OFF);
    for (size_t i = 0; i < 3; i++) {
        fake_node_resume(f->nodes[i]);
    }
}
