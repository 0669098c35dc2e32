/* See waiter.h. */

#include "fake/waiter.h"
#include "client/state.h"
#include "wait/line_call.h"

#define STRANGER_MS 3600000
#define LINE_KEY "libredlock:line:{" FIVE_RESOURCE "}"

/* -- The line -- */

const struct rl_place *waiter_line(const struct waiter *w) {
    return rl_resource_place(rl_ticket_resource(&w->f.lock->tickets[0]));
}

static bool waiter_is(const struct waiter *w, enum rl_place_state state) {
    return waiter_line(w)->state == state;
}

struct at {
    const struct waiter *w;
    size_t node;
    bool elsewhere;
};

static bool waits_at(struct five *f, void *data) {
    const struct at *at = data;
    return waiter_is(at->w, RL_PLACE_WAITING) &&
           (waiter_line(at->w)->home == at->node) != at->elsewhere;
}

void waiter_until_at(struct waiter *w, size_t rank) {
    struct at at = {.w = w, .node = w->order[rank]};
    assert_true(five_run_until(&w->f, waits_at, &at));
}

void waiter_until_elsewhere(struct waiter *w) {
    struct at at = {.w = w, .node = w->order[0], .elsewhere = true};
    assert_true(five_run_until(&w->f, waits_at, &at));
}

struct fake_node *waiter_node(struct waiter *w, size_t rank) {
    return w->f.nodes[w->order[rank]];
}

size_t waiter_count(struct waiter *w, size_t rank, const char *command) {
    return fake_node_count(waiter_node(w, rank), command);
}

size_t waiter_count_all(struct waiter *w, const char *command) {
    size_t count = 0;
    for (size_t i = 0; i < FIVE; i++) {
        count += fake_node_count(w->f.nodes[i], command);
    }
    return count;
}

/* -- The stranger -- */

static void waiter_hold(struct waiter *w) {
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(w->f.nodes[i], FIVE_RESOURCE, WAITER_STRANGER, STRANGER_MS);
    }
}

static void let_go_of(struct waiter *w, size_t i) {
    const char *value = fake_node_get(w->f.nodes[i], FIVE_RESOURCE);
    if (value != NULL && strcmp(value, WAITER_STRANGER) == 0) {
        server_remove(fake_node_server(w->f.nodes[i]), 0, FIVE_RESOURCE, strlen(FIVE_RESOURCE));
    }
}

void waiter_let_go(struct waiter *w) {
    for (size_t i = 0; i < FIVE; i++) {
        let_go_of(w, i);
    }
}

const char *waiter_token(const struct waiter *w, uint64_t place) {
    static char token[RL_TOKEN_LEN + 1];
    rl_line_place(w->f.client, place, token);
    return token;
}

void waiter_tell(struct waiter *w, size_t rank, const char *word, uint64_t place) {
    char payload[64];
    snprintf(payload, sizeof payload, "%s %s", word, waiter_token(w, place));
    fake_node_publish(waiter_node(w, rank), w->channel, payload);
}

/* Does what home does on a release. */
static void serve(struct waiter *w) {
    const struct rl_place *place = waiter_line(w);
    struct fake_node *home = w->f.nodes[place->home];
    char payload[64];
    assert_true(place->id != 0 && place->home < FIVE);
    snprintf(payload, sizeof payload, "turn %s", waiter_token(w, place->id));
    server_remove(fake_node_server(home), 0, LINE_KEY, strlen(LINE_KEY));
    if (fake_node_get(home, FIVE_RESOURCE) == NULL) {
        fake_node_put(home, FIVE_RESOURCE, waiter_token(w, place->id), RL_LINE_GRACE_MS);
    }
    w->served = place->id;
    fake_node_publish(home, w->channel, payload);
}

static void waiter_turn(struct waiter *w) {
    waiter_let_go(w);
    serve(w);
}

void waiter_turn_in_vain(struct waiter *w) {
    let_go_of(w, waiter_line(w)->home);
    serve(w);
}

/* A turn is lost if the client leaves its place meanwhile; then it gets another one. A node that is
 * home again, and empty, gives a turn by itself, which is in vain while the stranger has the other
 * nodes. */
static bool is_served(struct five *f, void *data) {
    struct waiter *w = data;
    if (waiter_is(w, RL_PLACE_PAUSING)) {
        waiter_let_go(w);
    }
    if (w->done.calls == 0 && waiter_is(w, RL_PLACE_WAITING) && waiter_line(w)->id != w->served) {
        waiter_turn(w);
    }
    return w->done.calls > 0;
}

void waiter_serve(struct waiter *w) {
    assert_true(five_run_until(&w->f, is_served, w));
    assert_int_equal(waiter_wait(w), 0);
    assert_true(redlock_lock_is_valid(w->f.lock));
}

/* -- Asking -- */

void waiter_ask(struct waiter *w) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = 30000;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.on_lost = five_on_lock;
    options.lost_data = &w->f.lost;
    w->done = (struct five_done){0, 0};
    assert_int_equal(redlock_acquire(w->f.lock, &options, five_on_lock, &w->done), 0);
    assert_int_equal(w->done.calls, 0);
    w->asked++;
}

int waiter_wait(struct waiter *w) {
    return five_wait(&w->f, &w->done);
}

void waiter_cancel(struct waiter *w) {
    assert_int_equal(redlock_cancel(w->f.lock), 0);
    assert_int_equal(waiter_wait(w), REDLOCK_ERR_CANCELED);
}

void waiter_hear(struct waiter *w) {
    waiter_ask(w);
    waiter_until_at(w, 0);
    waiter_cancel(w);
    five_wait_count(&w->f, w->order[0], "leave", 1);
    five_wait_repaid(&w->f);
    assert_int_equal(fake_node_lines(waiter_node(w, 0)), 0);
}

/* -- Life -- */

void waiter_start(struct waiter *w, int64_t node_timeout_ms) {
    memset(w, 0, sizeof(*w));
    five_start(&w->f);
    w->f.options.node_timeout_ms = node_timeout_ms;
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_server(w->f.nodes[i])->broken |=
            SERVER_BREAK_LOADED_SCRIPTS; /* so that counts are exact */
    }
    assert_int_equal(five_open(&w->f), 0);
    five_wait_up(&w->f, FIVE);
    five_homes(&w->f, w->order);
    snprintf(w->channel, sizeof w->channel, "libredlock:client:%s", w->f.client->id);
    waiter_hold(w);
}

void waiter_start_patient(struct waiter *w) {
    waiter_start(w, WAITER_PATIENT_MS);
}

/* Reservations expire soon; all other keys must be gone. */
static bool is_clean(struct five *f, void *data) {
    for (size_t i = 0; i < FIVE; i++) {
        if (fake_node_keys(f->nodes[i]) > 0 && !(f->may_keep >> i & 1)) {
            return false;
        }
    }
    return true;
}

static void print_keys(struct waiter *w) {
    for (size_t i = 0; i < FIVE; i++) {
        const char *value = fake_node_get(w->f.nodes[i], FIVE_RESOURCE);
        print_error("node %zu: %zu lines, key %s\n", i, fake_node_lines(w->f.nodes[i]),
                    value != NULL ? value : "(none)");
    }
}

void waiter_stop(struct waiter *w) {
    waiter_let_go(w);
    if (w->f.client != NULL && w->f.lock != NULL && redlock_lock_is_valid(w->f.lock)) {
        assert_int_equal(five_release(&w->f, w->f.lock), 0);
    }
    if (!five_run_until(&w->f, is_clean, w)) {
        print_keys(w);
    }
    five_stop(&w->f);
    assert_int_equal(w->asked > 0, w->done.calls);
    assert_int_equal(w->f.lost.calls, 0);
}
