/* Passwords are changed under load, nodes or the client first, on real servers with real ACLs.
 * (fake/credentials has other orders, and odd answers.) In each test locks with watchdogs are held
 * throughout, others come and go, none is lost, and renewals go on after each step.
 *
 * Whether a hold would be lost shows in its renewals long before its ttl is over: after a step,
 * each lock has to be renewed again, by nodes that accept the client. */

#include "live/live.h"
#include "marks.h"
#include "messages.h"

#define HELD 20
#define TTL_MS 30000
#define RENEW_MS 30
#define N 5

struct held {
    redlock_lock *lock;
    struct live_done lost;
    unsigned renewed;
};

struct rotation {
    struct live *live;
    redlock_client *client;
    struct held held[HELD];
    redlock_lock *cycled; /* acquired and released again and again */
    unsigned cycles, failed_cycles;
    bool is_stopping;
    unsigned accepted[N], refused[N];
    char urls[N][80];
};

/* -- The load -- */

static void on_renew(redlock_lock *lock, int status, void *data) {
    struct held *held = data;
    assert_ptr_equal(held->lock, lock);
    held->renewed += status == 0;
    live_wake();
}

static void cycle(struct rotation *r);

static void on_released(redlock_lock *lock, int status, void *data) {
    struct rotation *r = data;
    r->cycles++;
    r->failed_cycles += status != 0;
    live_wake();
    if (!r->is_stopping) {
        cycle(r);
    }
}

static void on_acquired(redlock_lock *lock, int status, void *data) {
    struct rotation *r = data;
    if (status == 0) {
        assert_int_equal(redlock_release(lock, on_released, r), 0);
    } else {
        on_released(lock, status, r);
    }
}

static void cycle(struct rotation *r) {
    assert_int_equal(redlock_acquire(r->cycled, NULL, on_acquired, r), 0);
}

static void on_event(const redlock_event *event, void *data) {
    struct rotation *r = data;
    for (size_t i = 0; i < N; i++) {
        if (event->node != NULL && strstr(r->urls[i], event->node) != NULL) {
            r->accepted[i] += event->type == REDLOCK_EVENT_CREDENTIALS_ACCEPTED;
            r->refused[i] += event->type == REDLOCK_EVENT_CREDENTIALS_REFUSED;
        }
    }
}

/* -- The frame -- */

static void tell_all(struct rotation *r, const char *command) {
    live_tell_all(r->live, command);
}

/* Whether all held locks have been renewed again, and others have come and gone. */
static bool goes_on(const struct rotation *r, unsigned cycles) {
    for (size_t i = 0; i < HELD; i++) {
        if (r->held[i].renewed < 2) {
            return false;
        }
    }
    return r->cycles >= cycles;
}

static void check_goes_on(struct rotation *r) {
    unsigned cycles = r->cycles + 3;
    for (size_t i = 0; i < HELD; i++) {
        r->held[i].renewed = 0;
    }
    LIVE_UNTIL(r->live, goes_on(r, cycles));
    for (size_t i = 0; i < HELD; i++) {
        assert_int_equal(r->held[i].lost.count, 0);
        assert_true(redlock_lock_is_valid(r->held[i].lock));
    }
    assert_int_equal(r->failed_cycles, 0);
    assert_int_equal(live_stats(r->client).lost, 0);
}

static void hold(struct rotation *r) {
    redlock_acquire_options options = live_once(TTL_MS);
    options.auto_extend = 1;
    options.renew_ms = RENEW_MS;
    options.on_lost = live_lock_cb;
    options.on_renew = on_renew;
    for (size_t i = 0; i < HELD; i++) {
        char name[16];
        struct held *held = &r->held[i];
        snprintf(name, sizeof name, "held-%zu", i);
        held->lock = live_lock(r->client, name);
        options.lost_data = &held->lost;
        options.renew_data = held;
        LIVE_STATUS(live_acquire(r->live, held->lock, &options), 0);
    }
    r->cycled = live_lock(r->client, "cycled");
    cycle(r);
}

/* Starts nodes that know app:old, and a client that uses it. */
static void start(struct rotation *r, struct live *live) {
    redlock_client_options options;
    const char *urls[N];
    memset(r, 0, sizeof *r);
    r->live = live;
    live_start(live, N, NULL);
    tell_all(r, "ACL SETUSER app reset on >old ~* &* +@all");
    for (size_t i = 0; i < N; i++) {
        snprintf(r->urls[i], sizeof r->urls[i], "redis://app:old@127.0.0.1:%d", live_port(live, i));
        urls[i] = r->urls[i];
    }
    options = live_options(live);
    options.nodes = urls;
    options.n_nodes = N;
    options.reconnect_min_ms = 1;
    options.trace = on_event;
    options.trace_data = r;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    r->client = live->client;
    LIVE_UNTIL(live, live_up(r->client) == N);
    hold(r);
    check_goes_on(r);
}

static void end(struct rotation *r) {
    check_goes_on(r);
    r->is_stopping = true;
    unsigned cycles = r->cycles;
    LIVE_UNTIL(r->live, r->cycles > cycles);
    for (size_t i = 0; i < HELD; i++) {
        LIVE_STATUS(live_release(r->live, r->held[i].lock), 0);
    }
    live_end(r->live);
}

static void set(struct rotation *r, size_t node, const char *user, const char *password) {
    assert_int_equal(redlock_client_set_credentials(r->client, node, user, password), 0);
}

static uint64_t pending(const struct rotation *r) {
    return live_stats(r->client).credentials_pending;
}

static bool all_refuse(const struct rotation *r) {
    for (size_t i = 0; i < N; i++) {
        if (live_node(r->client, i).credentials != REDLOCK_ERR_NODE_AUTH || r->refused[i] == 0) {
            return false;
        }
    }
    return true;
}

static bool have_reconnected(const struct rotation *r, uint64_t connects) {
    for (size_t i = 0; i < N; i++) {
        redlock_node_info info = live_node(r->client, i);
        if (!info.up || info.connects < connects) {
            return false;
        }
    }
    return true;
}

/* Cuts each node's connections in turn, like a bad network: the client has to reconnect with the
 * passwords that it knows. */
static void reconnect_all(struct rotation *r, const char *user) {
    char command[64];
    snprintf(command, sizeof command, "CLIENT KILL USER %s", user);
    for (size_t i = 0; i < N; i++) {
        uint64_t before = live_node(r->client, i).connects;
        redisReply *reply = live_ask(r->live, i, command);
        assert_true(reply->type == REDIS_REPLY_INTEGER && reply->integer > 0);
        freeReplyObject(reply);
        LIVE_UNTIL(r->live, live_node(r->client, i).connects > before);
    }
    check_goes_on(r);
}

/* -- Nodes first (both passwords good for a while: blocking-cpp) -- */

/* The default user's password, as CONFIG SET requirepass has it. */
LIVE_TEST(requirepass) {
    static const char *const args[] = {"--requirepass", "old", NULL};
    redlock_client *client;
    char url[64];
    const char *urls[] = {url};
    live->password = "old";
    live_start(live, 1, args);
    redlock_client_options options = live_options(live);
    snprintf(url, sizeof url, "redis://:old@127.0.0.1:%d", live_port(live, 0));
    options.nodes = urls;
    options.n_nodes = 1;
    LIVE_STATUS(live_open(live, &options, &client), 0);
    redlock_lock *lock = live_lock(client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    live_tell(live, 0, "CONFIG SET requirepass new");
    live->password = "new";
    assert_int_equal(redlock_client_set_credentials(client, 0, NULL, "new"), 0);
    LIVE_UNTIL(live, live_stats(client).credentials_pending == 0);
    live_tell(live, 0, "CLIENT KILL TYPE normal");
    LIVE_UNTIL(live, live_node(client, 0).connects == 2);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    live_close(live, client);
}

/* -- The client first -- */

LIVE_TEST(the_client_is_told_first) {
    struct rotation r;
    start(&r, live);
    set(&r, REDLOCK_ALL_NODES, "app", "new-one");
    LIVE_UNTIL(r.live, all_refuse(&r));
    assert_int_equal(pending(&r), N);
    assert_contains(CLIENT_MESSAGE(r.client), "5 of 5 nodes up");
    assert_contains(CLIENT_MESSAGE(r.client), "new credentials refused");
    assert_contains(live_node(r.client, 0).credentials_detail, "WRONGPASS");
    assert_null(strstr(CLIENT_MESSAGE(r.client), "new-"));
    check_goes_on(&r);
    assert_true(have_reconnected(&r, 1) && live_node(r.client, 0).connects == 1);
    reconnect_all(&r, "app"); /* reconnections use the old one */
    assert_int_equal(pending(&r), N);
    for (size_t i = 0; i < N; i++) {
        live_tell(r.live, i, "ACL SETUSER app resetpass >new-one");
        check_goes_on(&r);
    }
    assert_int_equal(pending(&r), N); /* the new one was not tried again */
    reconnect_all(&r, "app");         /* these use the new one */
    assert_int_equal(pending(&r), 0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(r.accepted[i], 1);
        assert_int_equal(r.refused[i], 1); /* reported once, not at each connect */
    }
    end(&r);
}

/* -- Another user, and a waiting client -- */

struct waits {
    redlock_client *other;
    redlock_lock *first, *waiter;
    struct live_done served;
};

static void wait_behind_another(struct waits *w, struct rotation *r) {
    *w = (struct waits){.other = live_another(r->live)};
    w->first = live_lock(w->other, "waited-for");
    w->waiter = live_lock(r->client, "waited-for");
    live_hold(r->live, w->first, NULL);
    assert_int_equal(redlock_acquire(w->waiter, NULL, live_lock_cb, &w->served), 0);
    LIVE_UNTIL(r->live, live_stats(r->client).joins > 0);
}

static void be_served(struct waits *w, struct rotation *r) {
    LIVE_STATUS(live_release(r->live, w->first), 0);
    LIVE_UNTIL(r->live, w->served.count == 1);
    LIVE_STATUS(w->served.status, 0);
    LIVE_STATUS(live_release(r->live, w->waiter), 0);
    live_close(r->live, w->other);
}

/* Deleting the old user ends a waiter's connections, including the subscribed one. It is still
 * served. */
LIVE_TEST(a_new_user) {
    struct rotation r;
    struct waits w;
    start(&r, live);
    wait_behind_another(&w, &r);
    tell_all(&r, "ACL SETUSER app2 reset on >two ~* &* +@all");
    set(&r, REDLOCK_ALL_NODES, "app2", "two");
    LIVE_UNTIL(r.live, pending(&r) == 0);
    tell_all(&r, "ACL DELUSER app");
    check_goes_on(&r);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(live_node(r.client, i).connects, 1);
    }
    be_served(&w, &r);
    reconnect_all(&r, "app2");
    end(&r);
}

/* The client changed first; by now the nodes know only the new password, which its open connections
 * have not noticed. The one on which it listens breaks, and reveals it for all. */
LIVE_TEST(a_listener_finds_out) {
    struct rotation r;
    struct waits w;
    start(&r, live);
    wait_behind_another(&w, &r);
    set(&r, REDLOCK_ALL_NODES, "app", "new");
    LIVE_UNTIL(r.live, all_refuse(&r));
    tell_all(&r, "ACL SETUSER app resetpass >new");
    MARK_FROM(CREDENTIALS_AGAIN);
    for (size_t i = 0; i < N; i++) {
        freeReplyObject(live_ask(r.live, i, "CLIENT KILL TYPE pubsub"));
    }
    LIVE_UNTIL(r.live, pending(&r) < N);
    MARK_TO(CREDENTIALS_AGAIN);
    be_served(&w, &r);
    end(&r);
}
