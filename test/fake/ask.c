/* See ask.h. */

#include "fake/ask.h"

int ask(struct asked *asked) {
    return redlock_query_holder(asked->f->client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), on_asked,
                                asked);
}

static void list_waiters(struct asked *asked, redlock_query *query) {
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    asked->waiting = redlock_query_waiting(query);
    for (asked->n = 0; redlock_query_waiter(query, asked->n, &waiter) == 0; asked->n++) {
        const size_t i = asked->n;
        assert_true(i < ASK_LISTED_MAX);
        snprintf(asked->waiters[i].node, sizeof(asked->waiters[i].node), "%s", waiter.node);
        snprintf(asked->waiters[i].client, sizeof(asked->waiters[i].client), "%s", waiter.client);
        snprintf(asked->waiters[i].holder, sizeof(asked->waiters[i].holder), "%s", waiter.holder);
        asked->waiters[i].waited_ms = waiter.waited_ms;
        asked->waiters[i].mode = waiter.mode;
    }
    assert_true(asked->waiting >= asked->n);
    assert_int_equal(redlock_query_waiter(query, 0, NULL), REDLOCK_ERR_INVALID);
    waiter.size--;
    assert_int_equal(redlock_query_waiter(query, 0, &waiter), REDLOCK_ERR_INVALID);
}

void on_asked(redlock_query *query, int status, void *data) {
    struct asked *asked = data;
    const char *token = "none", *holder = "none";
    asked->calls++;
    asked->status = status;
    for (size_t i = 0; i < FIVE; i++) {
        redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
        assert_int_equal(redlock_query_node(query, i, &node_holder), 0);
        assert_string_equal(node_holder.node, fake_node_name(asked->f->nodes[i]));
        assert_true(node_holder.is_held ||
                    (node_holder.token[0] == '\0' && node_holder.holder[0] == '\0'));
        assert_true(node_holder.is_held || node_holder.is_reserved ||
                    node_holder.remaining_ms == 0);
        assert_true(node_holder.status == 0 || !node_holder.is_held);
        asked->node_holders[i] = node_holder;
    }
    asked->has_quorum = redlock_query_quorum(query, &token, &holder, &asked->remaining_ms);
    assert_int_equal(redlock_query_quorum(query, NULL, NULL, NULL), asked->has_quorum);
    snprintf(asked->token, sizeof(asked->token), "%s", token);
    snprintf(asked->holder, sizeof(asked->holder), "%s", holder);
    list_waiters(asked, query);
    if (asked->asks_again) {
        asked->asks_again = false;
        assert_int_equal(ask(asked), 0);
    }
    if (asked->closes) {
        redlock_client *client = asked->f->client;
        asked->f->client = NULL;
        assert_int_equal(redlock_client_close(client, five_on_client, &asked->f->closed), 0);
    }
}

bool was_told(struct five *f, void *data) {
    const struct asked *asked = data;
    return asked->calls > 0;
}

int asked_once(struct asked *asked, struct five *f) {
    memset(asked, 0, sizeof(*asked));
    asked->f = f;
    assert_int_equal(ask(asked), 0);
    assert_int_equal(asked->calls, 0); /* never inside the call */
    assert_true(five_run_until(f, was_told, asked));
    assert_int_equal(asked->calls, 1);
    return asked->status;
}

void ask_open(struct five *f, int64_t node_timeout_ms) {
    f->options.node_timeout_ms = node_timeout_ms;
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
}

void ask_start(struct five *f) {
    five_start(f);
    ask_open(f, ASK_PATIENT_MS);
}
