/* One node of five whose TLS hangs, drips, is cut, or is none: it costs that node, and the others
 * and their locks nothing. */

#include "live/live.h"
#include "live/relay.h"
#include "live/secure.h"
#include "messages.h"

#define BAD 2           /* the node behind the relay */
#define CONNECT_MS 1000 /* longer than a node that runs takes on a busy machine */

struct bad {
    struct live *live;
    struct relay relay;
    char url[64];
    bool is_patient; /* the others cannot fail by a timeout */
};

/* Five nodes with TLS, one of them behind the relay. */
static void begin(struct bad *bad, struct live *live) {
    bad->live = live;
    bad->is_patient = true;
    live_start(live, 5, NULL);
    secure_all(live);
    relay_begin(live, &bad->relay, live->node[BAD].tls_port);
    snprintf(bad->url, sizeof bad->url, "rediss://127.0.0.1:%d", bad->relay.port);
    live->urls[BAD] = bad->url;
}

static void open_with(struct bad *bad, enum relay_mode mode, size_t after) {
    redlock_client_options options = live_options(bad->live);
    bad->is_patient = mode != RELAY_STOPS;
    if (!bad->is_patient) {
        options.connect_timeout_ms = CONNECT_MS;
    }
    bad->relay.mode = mode;
    bad->relay.after = after;
    LIVE_STATUS(live_open(bad->live, &options, &bad->live->client), 0);
}

static void check_others(struct bad *bad) {
    struct live *live = bad->live;
    LIVE_UNTIL(live, live_up(live->client) >= 4);
    for (int i = 0; i < 3; i++) {
        live_cycle(live, live->client);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_true(i == BAD || !bad->is_patient || live_node(live->client, i).failures == 0);
    }
}

static void end(struct bad *bad) {
    live_close(bad->live, bad->live->client);
    bad->live->client = NULL;
}

/* How much a server says until it is up, over this relay. */
static size_t whole_handshake(struct bad *bad) {
    open_with(bad, RELAY_WHOLE, 0);
    LIVE_UNTIL(bad->live, live_up(bad->live->client) == 5);
    size_t bytes = bad->relay.from_server;
    check_others(bad);
    end(bad);
    assert_true(bytes > 1000);
    return bytes;
}

LIVE_TEST(drips) {
    struct bad bad;
    begin(&bad, live);
    bad.relay.mode = RELAY_DRIPS;
    live_open_all(live, NULL);
    check_others(&bad);
    assert_int_equal(live_node(live->client, BAD).failures, 0);
    end(&bad);
    relay_end(live, &bad.relay);
}

/* At the very start, in the middle of the handshake, and shortly before the node is up: how much it
 * says until then varies by some bytes, with signatures and with what INFO counts. */
LIVE_TEST(hangs) {
    struct bad bad;
    begin(&bad, live);
    const size_t whole = whole_handshake(&bad);
    const size_t stops[] = {0, 3, whole / 4, whole / 2, whole - whole / 10};
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        open_with(&bad, RELAY_STOPS, stops[i]);
        check_others(&bad);
        LIVE_UNTIL(live, live_node(live->client, BAD).reason == REDLOCK_ERR_NODE_TIMEOUT);
        if (stops[i] < 100) {
            assert_string_equal(live_node(live->client, BAD).detail,
                                "no TLS handshake in time; is it a TLS port?");
        }
        end(&bad);
    }
    relay_end(live, &bad.relay);
}

LIVE_TEST(is_cut) {
    struct bad bad;
    begin(&bad, live);
    const size_t whole = whole_handshake(&bad);
    for (size_t after = 0; after < whole; after += 1 + whole / 12) {
        open_with(&bad, RELAY_CUTS, after);
        check_others(&bad);
        LIVE_UNTIL(live, live_node(live->client, BAD).failures > 0);
        /* Cut late it may have been up, and be so again before the next cut. */
        int reason = live_node(live->client, BAD).reason;
        assert_true(reason == REDLOCK_ERR_NODE_TLS || reason == REDLOCK_ERR_NODE_DISCONNECTED ||
                    reason == REDLOCK_ERR_NODE_CONNECT || reason == 0);
        end(&bad);
    }
    relay_end(live, &bad.relay);
}

/* In the middle of a record of a connection that is up. */
LIVE_TEST(is_cut_later) {
    struct bad bad;
    begin(&bad, live);
    bad.relay.mode = RELAY_WHOLE;
    live_open_all(live, NULL);
    live_cycle(live, live->client);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    bad.relay.after = bad.relay.from_server + 11;
    bad.relay.mode = RELAY_CUTS;
    live_cycle(live, live->client);
    LIVE_UNTIL(live, live_node(live->client, BAD).failures > 0);
    bad.relay.mode = RELAY_WHOLE;
    LIVE_UNTIL(live, live_up(live->client) == 5);
    live_cycle(live, live->client);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live)); /* what it was not asked for in time, it was asked for again */
    end(&bad);
    relay_end(live, &bad.relay);
}

/* TLS to the plain port, and the reverse. */
LIVE_TEST(the_wrong_port) {
    char plain[64], secure[64];
    live_start(live, 5, NULL);
    secure_all(live);
    snprintf(plain, sizeof plain, "redis://127.0.0.1:%d", live->node[0].tls_port);
    snprintf(secure, sizeof secure, "rediss://127.0.0.1:%d", live_port(live, 1));
    live->urls[0] = plain;
    live->urls[1] = secure;
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = CONNECT_MS;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    LIVE_UNTIL(live, live_up(live->client) == 3 && live_node(live->client, 0).failures > 0 &&
                         live_node(live->client, 1).failures > 0);
    live_cycle(live, live->client);
    int reason = live_node(live->client, 1).reason; /* an answer, if there is a line end in it */
    assert_true(reason == REDLOCK_ERR_NODE_TIMEOUT || reason == REDLOCK_ERR_NODE_TLS);
    assert_contains(CLIENT_MESSAGE(live->client), "TLS");
}

int main(void) {
    if (!secure_is_possible()) {
        puts("1..0 # SKIP the server has no TLS, or there is no openssl");
        return 0;
    }
    return test_run(0);
}
