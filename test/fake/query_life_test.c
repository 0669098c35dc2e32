/* The life of a query: its callback comes once, from the loop and not from the call, also when the
 * client closes, and its memory is freed. Bad arguments and failed allocations are reported at
 * once. */

#include "fake/ask.h"

ASK_TEST(ends_with_the_client) {
    struct asked asked[3];
    memset(asked, 0, sizeof(asked));
    for (size_t i = 0; i < FIVE; i++) {
        five_rule(f, i, .command = "EVALSHA", .action = FAKE_IGNORE);
    }
    for (size_t i = 0; i < COUNT(asked); i++) {
        asked[i].f = f;
        assert_int_equal(ask(&asked[i]), 0);
    }
    five_run_ms(f, 20); /* it is on its way; no node answers */
    redlock_client *client = f->client;
    struct spent since = spent_begin();
    assert_int_equal(redlock_client_close(client, five_on_client, &f->closed), 0);
    assert_int_equal(asked[0].calls, 0);
    assert_int_equal(ask(&asked[0]), REDLOCK_ERR_CLOSED);
    assert_int_equal(five_wait(f, &f->closed), 0);
    assert_true(spent_ms(&since) < ASK_PATIENT_MS / 2);
    for (size_t i = 0; i < COUNT(asked); i++) {
        assert_int_equal(asked[i].calls, 1);
        assert_int_equal(asked[i].status, REDLOCK_ERR_CANCELED);
        assert_int_equal(asked[i].node_holders[0].status, REDLOCK_ERR_CANCELED);
    }
    f->client = NULL;
    f->closed.calls = 0; /* five_stop() closes no client */
}

/* The callback closes the client and submits again, with other queries pending. */
ASK_TEST(may_do_anything_in_its_callback) {
    struct asked again, closing, other;
    memset(&again, 0, sizeof(again));
    memset(&closing, 0, sizeof(closing));
    memset(&other, 0, sizeof(other));
    again.f = closing.f = other.f = f;
    again.asks_again = closing.closes = true;
    assert_int_equal(ask(&again), 0);
    assert_true(five_run_until(f, was_told, &again));
    assert_int_equal(ask(&closing), 0);
    assert_int_equal(ask(&other), 0);
    assert_int_equal(five_wait(f, &f->closed), 0);
    assert_int_equal(again.calls, 2);
    assert_int_equal(again.status, 0);
    assert_int_equal(closing.calls, 1);
    assert_int_equal(closing.status, 0);
    assert_int_equal(other.calls, 1);
    f->closed.calls = 0;
}

/* That no node is up is known in the call, but reported from the loop. */
FIVE_TEST(is_told_later_if_nobody_is_asked) {
    struct asked asked;
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_refuse(f->nodes[i]);
    }
    assert_int_equal(five_open(f), REDLOCK_ERR_NO_QUORUM);
    struct spent since = spent_begin();
    assert_int_equal(asked_once(&asked, f), REDLOCK_ERR_NO_QUORUM);
    assert_true(spent_ms(&since) < 200); /* it does not wait */
}

/* Three allocations may fail: the deadline's place, the query, and the write buffer. */
static size_t mallocs, fail_at;

static void *failing_malloc(size_t size, void *data) {
    return ++mallocs == fail_at ? NULL : malloc(size);
}

static void failing_free(void *pointer, void *data) {
    free(pointer);
}

FIVE_TEST(needs_memory) {
    static const redlock_allocator allocator = {failing_malloc, failing_free, NULL};
    struct asked asked;
    char name[REDLOCK_RESOURCE_MAX];
    size_t failures = 0;
    memset(name, 'n', sizeof(name)); /* too long for the buffer that the lock has grown */
    memset(&asked, 0, sizeof(asked));
    asked.f = f;
    fail_at = 0;
    f->options.allocator = &allocator;
    f->options.node_timeout_ms = ASK_PATIENT_MS;
    assert_int_equal(five_open(f), 0);
    int status = REDLOCK_ERR_NOMEM;
    for (size_t i = 1; status != 0; i++) {
        mallocs = 0;
        fail_at = i;
        status = redlock_query_holder(f->client, name, sizeof(name), on_asked, &asked);
        assert_true(status == 0 || status == REDLOCK_ERR_NOMEM);
        failures += status != 0;
    }
    fail_at = 0;
    assert_int_equal(failures, 2); /* the heap of deadlines has room left */
    assert_true(five_run_until(f, was_told, &asked));
    assert_int_equal(asked.calls, 1);
    assert_int_equal(asked.status, 0);
    /* enough queries to make the heap grow */
    int calls = 1;
    for (size_t i = 0; i < 50; i++) {
        fail_at = 1 + i % 2;
        mallocs = 0;
        calls += ask(&asked) == 0;
    }
    fail_at = 0;
    while (asked.calls < calls) {
        five_run_ms(f, 1);
    }
    assert_int_equal(asked.calls, calls);
}

static void check_sizes(redlock_query *query, int status, void *data) {
    struct asked *asked = data;
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    assert_int_equal(redlock_query_node(query, FIVE, &node_holder), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_query_node(query, 0, NULL), REDLOCK_ERR_INVALID);
    node_holder.size = sizeof(node_holder) + 1;
    assert_int_equal(redlock_query_node(query, 0, &node_holder), REDLOCK_ERR_INVALID);
    node_holder.size = sizeof(node_holder) - 1;
    assert_int_equal(redlock_query_node(query, 0, &node_holder), REDLOCK_ERR_INVALID);
    asked->status = status;
    asked->calls++;
}

ASK_TEST(refuses_unknown_sizes) {
    struct asked asked = {.f = f};
    assert_int_equal(redlock_query_holder(f->client, "k", 1, check_sizes, &asked), 0);
    assert_true(five_run_until(f, was_told, &asked));
    assert_int_equal(asked.status, 0);
}
