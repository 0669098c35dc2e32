/* One listener against a fake node: its life, and its reaction to every answer. */

#include "redis/listener.h"
#include "fake/five.h"
#include "testing.h"
#include "uv/world.h"

#define PATIENCE_NS UINT64_C(10000000000)
#define CHANNEL "redlock:a"

struct world {
    uv_loop_t loop;
    uv_timer_t tick;
    struct fake_node *node;
    struct rl_listener listener;
    struct rl_url url;
    struct rl_address address;
    struct rl_node_options options;
    struct rl_io io;
    redlock_allocator memory;
    bool closed;
    bool is_dirty;
    int up, down, refused, unauthorized, subscribed, unsubscribed, messages;
    char payload[RL_PAYLOAD_MAX]; /* of the last message */
    size_t payload_length;
    bool ask; /* subscribe to CHANNEL whenever it is up */
};

static struct world *world_of(struct rl_listener *listener) {
    return (struct world *)(void *)((char *)listener - offsetof(struct world, listener));
}

/* -- The owner's part -- */

static void on_up(struct rl_listener *listener) {
    struct world *w = world_of(listener);
    w->up++;
    if (w->ask) {
        assert_true(rl_listener_ask(listener, CHANNEL, strlen(CHANNEL), true));
    }
}

static void on_down(struct rl_listener *listener) {
    struct world *w = world_of(listener);
    assert_true(w->url.name[0] != '\0' && !rl_listener_is_up(listener));
    w->down++;
    w->refused += listener->state == RL_LISTENER_REFUSED;
}

static bool is_ours(const char *channel, size_t length) {
    return length == strlen(CHANNEL) && memcmp(channel, CHANNEL, length) == 0;
}

static bool on_confirmed(struct rl_listener *listener, const char *channel, size_t length,
                         bool subscribed) {
    struct world *w = world_of(listener);
    w->subscribed += subscribed;
    w->unsubscribed += !subscribed;
    return is_ours(channel, length);
}

static bool on_message(struct rl_listener *listener, const char *channel, size_t length,
                       const char *payload, size_t payload_length) {
    struct world *w = world_of(listener);
    w->messages++;
    assert_true(payload_length <= sizeof w->payload);
    memcpy(w->payload, payload, payload_length);
    w->payload_length = payload_length;
    return is_ours(channel, length);
}

static void on_deadline(struct rl_listener *listener) {
    (void)listener; /* looked at in every turn */
}

static void on_dirty(struct rl_listener *listener) {
    world_of(listener)->is_dirty = true;
}

static void on_unauthorized(struct rl_listener *listener) {
    struct world *w = world_of(listener);
    assert_int_equal(listener->reason, REDLOCK_ERR_NODE_AUTH);
    w->unauthorized++;
}

static bool on_config(struct rl_listener *listener, const struct rl_config *config) {
    (void)listener;
    assert_null(config);
    return true;
}

static const struct rl_listener_events events = {
    .config = on_config,
    .up = on_up,
    .down = on_down,
    .unauthorized = on_unauthorized,
    .confirmed = on_confirmed,
    .message = on_message,
    .deadline = on_deadline,
    .dirty = on_dirty,
};

/* -- The frame -- */

static void tick_cb(uv_timer_t *timer) {
    (void)timer; /* lets a turn of the loop end */
}

static bool on_turn(void *owner) {
    (void)owner; /* turn() is made by hand */
    return false;
}

static void on_closed(void *owner) {
    struct world *w = owner;
    w->closed = true;
}

static const struct rl_world_events world_events = {.turn = on_turn,
                                                    .before_wait = on_turn,
                                                    .closed = on_closed};

static void turn(struct world *w) {
    while (w->is_dirty) {
        w->is_dirty = false;
        rl_listener_flush(&w->listener);
    }
    if (redlock_now_ns() >= w->listener.deadline_ns) {
        rl_listener_tick(&w->listener, redlock_now_ns());
    }
    uv_run(&w->loop, UV_RUN_ONCE);
}

#define UNTIL(w, condition)                               \
    do {                                                  \
        uint64_t end_ns = redlock_now_ns() + PATIENCE_NS; \
        while (!(condition)) {                            \
            assert_true(redlock_now_ns() < end_ns);       \
            turn(w);                                      \
        }                                                 \
    } while (0)

static void run_ms(struct world *w, uint64_t ms) {
    uint64_t end_ns = redlock_now_ns() + ms * 1000000;
    while (redlock_now_ns() < end_ns) {
        turn(w);
    }
}

static void start(struct world *w) {
    memset(w, 0, sizeof *w);
    rl_memory_init(&w->memory, NULL);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    uv_timer_init(&w->loop, &w->tick);
    uv_timer_start(&w->tick, tick_cb, 1, 1);
    w->node = fake_node_start(&w->loop);
    assert_int_equal(rl_url_parse(fake_node_url(w->node), &w->url, NULL, 0), 0);
    assert_true(rl_address_of(&w->url, &w->address));
    w->options = (struct rl_node_options){.handshake = {.client_name = "me"},
                                          .connect_timeout_ns = 300000000,
                                          .stall_ns = 1000000000,
                                          .backoff_min_ns = 1000000,
                                          .backoff_max_ns = 8000000};
    w->io = (struct rl_io){.world = rl_uv_world_new(&w->loop, NULL), .memory = &w->memory};
    assert_non_null(w->io.world);
    w->io.world->events = &world_events;
    w->io.world->owner = w;
    rl_listener_init(&w->listener, &w->io, &w->url, &w->options, &events, 7);
    w->ask = true;
}

static void open_up(struct world *w) {
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->subscribed == 1);
    assert_int_equal(w->up, 1);
    assert_true(rl_listener_is_up(&w->listener));
}

static void end(struct world *w) {
    rl_listener_close(&w->listener);
    assert_int_equal(w->listener.state, RL_LISTENER_OFF);
    fake_node_close(w->node);
    w->io.world->ops->close(w->io.world); /* which asserts that no stream is open */
    uv_close((uv_handle_t *)&w->tick, NULL);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    assert_true(w->closed);
}

#define WORLD_TEST(name) TEST_ON(name, struct world, w, start, end)
#define WORLD_EACH(name, times) TEST_ON_EACH(name, times, struct world, w, start, end)

/* -- Happy paths -- */

WORLD_TEST(hears_messages) {
    open_up(w);
    assert_string_equal(fake_node_log(w->node, 0), "CLIENT SETNAME me");
    assert_string_equal(fake_node_log(w->node, 1), "GET libredlock:config");
    assert_string_equal(fake_node_log(w->node, 2), "PING");
    assert_string_equal(fake_node_log(w->node, 3), "SUBSCRIBE " CHANNEL);
    for (int i = 1; i <= 100; i++) {
        assert_int_equal(fake_node_publish(w->node, CHANNEL, "x"), 1);
    }
    assert_int_equal(fake_node_publish(w->node, "another", "x"), 0);
    UNTIL(w, w->messages == 100);
    assert_true(rl_listener_ask(&w->listener, CHANNEL, strlen(CHANNEL), false));
    UNTIL(w, w->unsubscribed == 1);
    assert_int_equal(fake_node_publish(w->node, CHANNEL, "x"), 0);
    assert_true(rl_listener_ask(&w->listener, CHANNEL, strlen(CHANNEL), true));
    UNTIL(w, w->subscribed == 2);
    assert_int_equal(fake_node_publish(w->node, CHANNEL, ""), 1);
    UNTIL(w, w->messages == 101);
    assert_int_equal(w->payload_length, 0);
    assert_int_equal(fake_node_publish(w->node, CHANNEL, "turn 0123456789abcdef"), 1);
    UNTIL(w, w->messages == 102);
    assert_int_equal(w->payload_length, 21);
    assert_memory_equal(w->payload, "turn 0123456789abcdef", 21);
    assert_int_equal(w->down, 0);
}

WORLD_TEST(says_password_and_database) {
    char url[128];
    server_set_password(fake_node_server(w->node), "me", "secret");
    snprintf(url, sizeof url, "redis://me:secret@%s/3", fake_node_name(w->node));
    assert_int_equal(rl_url_parse(url, &w->url, NULL, 0), 0);
    open_up(w);
    assert_string_equal(fake_node_log(w->node, 0), "AUTH me secret");
    assert_string_equal(fake_node_log(w->node, 1), "SELECT 3");
}

/* -- Failures -- */

/* Its password is refused: that is reported, without the password, and another one is tried at
 * once. */
WORLD_TEST(says_that_it_is_not_let_in) {
    const struct fake_rule rule = {.command = "AUTH",
                                   .times = 1,
                                   .action = FAKE_INSTEAD,
                                   .bytes =
                                       "-ERR unknown command 'AUTH', with args beginning "
                                       "with: 'hunter2' \r\n"};
    w->options.backoff_min_ns = w->options.backoff_max_ns = UINT64_C(600000000000);
    w->url.has_password = true;
    memcpy(w->url.password, "hunter2", 8);
    server_set_password(fake_node_server(w->node), NULL, "another");
    fake_node_rule(w->node, rule);
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->unauthorized == 1);
    assert_string_equal(w->listener.detail, "ERR");
    assert_int_equal(w->listener.reason, REDLOCK_ERR_NODE_AUTH);
    run_ms(w, 20);
    assert_int_equal(fake_node_accepted(w->node), 1); /* after the pause */
    memcpy(w->url.password, "another", 8);
    rl_listener_authorized(&w->listener);
    UNTIL(w, w->subscribed == 1);
}

WORLD_TEST(waits_longer_each_time) {
    fake_node_refuse(w->node);
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->listener.failures == 8);
    assert_int_equal(w->listener.pause_ns, w->options.backoff_max_ns);
    assert_int_equal(w->up, 0);
    assert_int_equal(w->down, 0);
    assert_int_equal(w->listener.reason, REDLOCK_ERR_NODE_CONNECT);
    fake_node_listen(w->node);
    UNTIL(w, w->subscribed == 1);
    assert_int_equal(w->listener.pause_ns, 0);
}

static const char *const answers[] = {
    "-NOPERM this user has no permissions to access one of the channels used as arguments\r\n",
    "-NOPERM this user has no permissions to run the 'subscribe' command\r\n",
    "-ERR unknown command 'SUBSCRIBE'\r\n",
};

/* Forbidden: not tried again before long, and no other failure is made of it. */
WORLD_EACH(is_content_with_a_refusal, COUNT(answers)) {
    node_rule(w->node, .command = "SUBSCRIBE", .action = FAKE_INSTEAD, .bytes = answers[row]);
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->refused == 1);
    assert_int_equal(w->up, 1);
    assert_int_equal(w->down, 1);
    assert_int_equal(w->listener.state, RL_LISTENER_REFUSED);
    assert_int_equal(w->listener.reason, REDLOCK_ERR_NODE_PERMISSION);
    assert_true(strncmp(answers[row] + 1, w->listener.detail, 20) == 0);
    run_ms(w, 50);
    assert_int_equal(fake_node_accepted(w->node), 1);
    fake_node_clear_rules(w->node);
    rl_listener_tick(&w->listener, w->listener.deadline_ns); /* as if a minute had passed */
    UNTIL(w, w->subscribed == 1);
}

WORLD_TEST(tries_again_after_another_error) {
    node_rule(w->node, .command = "SUBSCRIBE", .times = 2, .action = FAKE_INSTEAD,
              .bytes = "-BUSY Redis is busy\r\n");
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->subscribed == 1);
    assert_int_equal(w->refused, 0);
    assert_int_equal(w->listener.failures, 2);
}

WORLD_EACH(survives_a_failing_handshake, 9) {
    static const char *const commands[] = {"CLIENT", "GET", "PING"};
    static const enum fake_action actions[] = {FAKE_CLOSE, FAKE_RESET, FAKE_CUT};
    node_rule(w->node, .command = commands[row / 3], .times = 1, .action = actions[row % 3]);
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->subscribed == 1);
    assert_int_equal(w->listener.failures, 1);
    assert_int_equal(w->down, 0);
}

static const char *const payloads[] = {
    "+OK\r\n",
    ":1\r\n",
    "-ERR no\r\n",
    "$2\r\nOK\r\n",
    "*0\r\n",
    "*3\r\n$7\r\nmessage\r\n$9\r\nredlock:b\r\n$1\r\nx\r\n",
    "*3\r\n$7\r\nmessage\r\n$0\r\n\r\n$1\r\nx\r\n",
    "*3\r\n$9\r\nsubscribe\r\n$9\r\nredlock:a\r\n:1\r\n",
    "*3\r\n$11\r\nunsubscribe\r\n$9\r\nredlock:a\r\n:0\r\n",
    "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$9\r\nredlock:a\r\n$1\r\nx\r\n",
    ">3\r\n$7\r\nmessage\r\n$9\r\nredlock:a\r\n$1\r\nx\r\n",
    "*2147483647\r\n",
    "HTTP/1.1 400 Bad Request\r\n",
    "\x16\x03\x01\x02\x05\x01",
};

/* Each costs the connection once, and it is made anew. Nothing of it is taken for a message. */
WORLD_EACH(drops_what_was_not_asked_for, COUNT(payloads)) {
    open_up(w);
    fake_node_send_listeners(w->node, payloads[row], strlen(payloads[row]));
    fake_node_send_listeners(w->node, "\r\n", 2);
    UNTIL(w, w->down == 1);
    assert_int_equal(w->listener.reason, REDLOCK_ERR_NODE_PROTOCOL);
    UNTIL(w, w->listener.connects == 2 && w->listener.waiting == 0);
    int before = w->messages;
    assert_true(before <= 1); /* of an unrequested channel: detected, and refused */
    fake_node_publish(w->node, CHANNEL, "x");
    UNTIL(w, w->messages == before + 1);
    assert_int_equal(w->down, 1);
}

static const char *const beginnings[] = {
    "*3\r\n$7\r\nmessage\r\n$9\r\nredlock:a\r\n$9000000000\r\n",
    "*3\r\n$9000000000\r\n",
    "+",
    "*",
};

/* A bulk that never ends: dropped when the buffer is full, and the loop never stands still. */
WORLD_EACH(drops_what_does_not_end, COUNT(beginnings)) {
    node_rule(w->node, .command = "SUBSCRIBE", .times = 1, .action = FAKE_ENDLESS,
              .bytes = beginnings[row]);
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->down == 1);
    assert_int_equal(w->listener.reason, REDLOCK_ERR_NODE_PROTOCOL);
    UNTIL(w, w->subscribed == 1);
}

/* Off, from every state, and usable again. */
WORLD_EACH(closes_in_every_state, RL_LISTENER_STATES) {
    const int wanted = (int)row;
    if (wanted == RL_LISTENER_REFUSED) {
        node_rule(w->node, .command = "SUBSCRIBE", .times = 1, .action = FAKE_INSTEAD,
                  .bytes = "-NOPERM no\r\n");
    } else if (wanted == RL_LISTENER_BACKOFF) {
        fake_node_refuse(w->node);
    } else if (wanted == RL_LISTENER_HANDSHAKE) {
        fake_node_pause(w->node);
    }
    if (wanted != RL_LISTENER_OFF) {
        rl_listener_open(&w->listener, &w->address);
        UNTIL(w, w->listener.state == wanted);
    }
    rl_listener_close(&w->listener);
    int down = w->down;
    run_ms(w, 20);
    assert_int_equal(w->down, down);
    assert_int_equal(w->listener.state, RL_LISTENER_OFF);
    if (wanted == RL_LISTENER_BACKOFF) {
        fake_node_listen(w->node);
    }
    fake_node_resume(w->node);
    rl_listener_open(&w->listener, &w->address);
    UNTIL(w, w->subscribed >= 1);
}
