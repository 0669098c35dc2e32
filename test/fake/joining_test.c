/* Nodes that join an open client and leave it, as a configuration says. */

#include "client/state.h"
#include "fake/rotating.h"
#include "nodes/listening.h"
#include "redis/config.h"
#include "wait/line_call.h"

struct wanted {
    unsigned epoch;
    uint64_t voting;
};

static bool has_adopted(struct five *f, void *data) {
    const struct wanted *wanted = data;
    return f->client->membership.key.epoch == wanted->epoch &&
           five_stats(f).nodes_voting == wanted->voting;
}

static void until_adopted(struct five *f, unsigned epoch, uint64_t voting) {
    struct wanted wanted = {epoch, voting};
    assert_true(five_run_until(f, has_adopted, &wanted));
}

/* The nodes of the mask know that they are the set, with one more URL if there is one, and the
 * connections of all are cut. */
static void configure(struct five *f, unsigned epoch, unsigned mask, const char *more) {
    char nodes[512] = "", text[1024];
    for (size_t i = 0; i < FIVE; i++) {
        const size_t used = strlen(nodes);
        if (mask >> i & 1) {
            snprintf(nodes + used, sizeof nodes - used, " %s", fake_node_url(f->nodes[i]));
        }
    }
    for (size_t i = 0; i < FIVE; i++) {
        if (mask >> i & 1) {
            snprintf(text, sizeof text,
                     "libredlock-config 1\nid 6f1c02d7a9b34e55\nepoch %u\nchange %08x\n"
                     "max_ttl 30000\nnodes%s%s\nself %s\n",
                     epoch, epoch, nodes, more, fake_node_url(f->nodes[i]));
            fake_node_put(f->nodes[i], RL_CONFIG_KEY, text, 0);
            f->may_keep |= 1u << i; /* the text */
        }
        fake_node_drop(f->nodes[i], false);
    }
}

static void open_three(struct five *f) {
    configure(f, 1, 0x07, "");
    assert_int_equal(five_open_n(f, 3), 0);
    until_adopted(f, 1, 3);
}

/* -- The place of a node that has left -- */

static void want(struct five *f, uint32_t node, bool wanted) {
    rl_listening_want(f->client, node, wanted);
    f->client->io.world->ops->wake(f->client->io.world); /* as any call of a user's does */
}

static bool hears_third(struct five *f, void *data) {
    return rl_listening_confirmed(f->client, 2);
}

static bool third_has_failed(struct five *f, void *data) {
    return f->client->nodes[2]->listener->listener.failures > 0;
}

static bool third_refuses(struct five *f, void *data) {
    return rl_line_refused(f->client) == rl_bit(2);
}

static bool third_is_closed(struct five *f, void *data) {
    return f->client->nodes[2]->node.state == RL_NODE_CLOSED;
}

/* The third node leaves, is closed, and the fifth takes its place. */
static void replace_third(struct five *f) {
    configure(f, 2, 0x0b, "");
    until_adopted(f, 2, 3);
    assert_true(five_run_until(f, third_is_closed, NULL));
    configure(f, 3, 0x13, "");
    until_adopted(f, 3, 3);
    assert_string_equal(f->client->nodes[2]->node.url.name, fake_node_name(f->nodes[4]));
}

/* That node's listener has failed, or was refused; the new one's has not, and may be home. */
FIVE_EACH(inherits_no_failures, 2) {
    f->options.max_ttl_ms = 200; /* how long a node that has left is kept */
    open_three(f);
    if (row == 1) {
        five_rule(f, 2, .command = "SUBSCRIBE", .action = FAKE_INSTEAD, .bytes = "-NOPERM no\r\n");
        want(f, 2, true);
        assert_true(five_run_until(f, third_refuses, NULL));
    } else {
        want(f, 2, true);
        assert_true(five_run_until(f, hears_third, NULL));
        fake_node_drop_listeners(f->nodes[2], false);
        assert_true(five_run_until(f, third_has_failed, NULL));
    }
    want(f, 2, false);
    replace_third(f);
    assert_false(rl_listening_refused(f->client, 2));
    assert_true(rl_line_refused(f->client) == 0);
}

static bool has_no_answer(const struct five *f, uint32_t node) {
    const char *name = f->client->nodes[node]->node.url.name;
    char text[32768], sample[512];
    assert_in_range(
        redlock_metrics_format(f->client, REDLOCK_METRICS_PROMETHEUS, text, sizeof text), 1,
        sizeof text - 1);
    snprintf(sample, sizeof sample,
             "redlock_node_latency_seconds_count{client=\"redlock\",node=\"%s\"} 0\n", name);
    return strstr(text, sample) != NULL;
}

FIVE_TEST(inherits_no_latency) {
    f->options.max_ttl_ms = 200;
    f->options.metrics = 1;
    open_three(f);
    five_cycle(f);
    five_wait_repaid(f);
    assert_false(has_no_answer(f, 2));
    replace_third(f);
    assert_true(has_no_answer(f, 2));
}

/* What that node last said of an error is not said of the new one. */
FIVE_TEST(inherits_no_words) {
    f->options.max_ttl_ms = 200;
    open_three(f);
    five_rule(f, 2, .command = "SET", .action = FAKE_INSTEAD, .bytes = "-OOM of the third\r\n");
    five_cycle(f);
    five_wait_repaid(f);
    assert_int_equal(f->client->nodes[2]->error, REDLOCK_ERR_NODE_OOM);
    replace_third(f);
    assert_int_equal(f->client->nodes[2]->error, 0);
    assert_string_equal(f->client->nodes[2]->words, "");
}

/* -- Credentials -- */

static bool are_pending(struct five *f, void *data) {
    return five_stats(f).credentials_pending == *(const uint64_t *)data;
}

/* The first node does not know the new password yet, and the one that joins no other. */
FIVE_TEST(is_offered_what_the_first_was) {
    uint64_t one = 1;
    rotating_prepare(f, "old");
    open_three(f);
    for (size_t i = 1; i < 4; i++) {
        rotating_know(f, i, "new");
    }
    rotating_set(f, REDLOCK_ALL_NODES, "new");
    assert_true(five_run_until(f, are_pending, &one));
    configure(f, 2, 0x0f, "");
    until_adopted(f, 2, 4);
    assert_true(five_run_until(f, are_pending, &one));
}

/* The first node has left: its number is another node's, which is sent the password. */
FIVE_TEST(has_the_number_that_shows_its_name) {
    rotating_prepare(f, "old");
    open_three(f);
    configure(f, 2, 0x0e, "");
    until_adopted(f, 2, 3);
    assert_string_equal(five_info(f, 0).node, fake_node_name(f->nodes[1]));
    rotating_know(f, 1, "new");
    rotating_set(f, 0, "new");
    assert_int_equal(five_stats(f).credentials_pending, 1);
    rotating_wait(f, 0, 0, 1);
}

/* -- Memory -- */

struct heap {
    size_t live, refused;
    size_t refuses; /* requests of this size, once; 0: none */
};

static void *heap_malloc(size_t size, void *data) {
    struct heap *heap = data;
    if (size == heap->refuses) {
        heap->refuses = 0;
        heap->refused++;
        return NULL;
    }
    heap->live++;
    return malloc(size);
}

static void heap_free(void *pointer, void *data) {
    struct heap *heap = data;
    heap->live -= pointer != NULL;
    free(pointer);
}

/* It runs out when all of a node with TLS is there but its listener, and is there the next time. */
FIVE_TEST(leaves_no_memory_behind) {
    struct heap heap = {0};
    const redlock_allocator allocator = {heap_malloc, heap_free, &heap};
    const bool has_tls = redlock_has_tls() != 0;
    f->options.allocator = &allocator;
    f->options.tls_insecure_skip_verify = has_tls;
    f->urls[2] = has_tls ? "rediss://127.0.0.1:1" : "redis://127.0.0.1:1";
    configure(f, 1, 0x03, has_tls ? " rediss://127.0.0.1:1" : " redis://127.0.0.1:1");
    assert_int_equal(five_open_n(f, 3), 0);
    until_adopted(f, 1, 2);
    want(f, 0, true);
    heap.refuses = sizeof(struct rl_client_listener);
    configure(f, 2, 0x03,
              has_tls ? " rediss://127.0.0.1:1 rediss://127.0.0.1:2"
                      : " redis://127.0.0.1:1 redis://127.0.0.1:2");
    until_adopted(f, 2, 2);
    assert_int_equal(heap.refused, 1);
    assert_int_equal(redlock_client_close(f->client, five_on_client, &f->closed), 0);
    assert_int_equal(five_wait(f, &f->closed), 0);
    f->client = NULL;
    f->closed = (struct five_done){0};
    five_run_ms(f, 1);
    assert_int_equal(heap.live, 0);
}
