/* See scene.h. Happy path: each step submits and waits. Failure modes: a call is refused (its
 * callback must not come, and the steps that need it are skipped), an operation ends otherwise
 * (likewise), or does not end (patience ends, and the assertion names the place). */
#include "fail/scene.h"

#include <dirent.h>
#include <poll.h>

#include "fail/scene_parts.h"
#include "messages.h"
#include "redlock/election.h"

#define RESERVED_MS 300

/* As long as allowed, so that hiredis's buffer has to grow for a command. */
static char resource[REDLOCK_RESOURCE_MAX];

static uint64_t failures_of_last(const struct scene *s) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    assert_int_equal(redlock_client_node(s->client, SCENE_NODES - 1, &info), 0);
    return info.failures;
}

/* Whether connecting to the last node has failed; data: its number of failures before. */
static bool was_refused(const struct scene *s, const void *data) {
    const uint64_t *before = data;
    return failures_of_last(s) >= *before + 2; /* the connection, then an attempt */
}

static bool has_quorum(const struct scene *s, const void *data) {
    return scene_stats(s).nodes_up >= SCENE_QUORUM;
}

/* -- Operations -- */

static void on_client(redlock_client *client, int status, void *data) {
    struct scene_told *told = data;
    told->calls++;
    told->status = status;
}

static void on_close(redlock_client *client, int status, void *data) {
    struct scene *s = data;
    on_client(client, status, &s->result->told[SCENE_CLOSE]);
    s->result->stats = (redlock_stats)REDLOCK_STATS_INIT;
    redlock_client_stats(client, &s->result->stats);
    assert_true(redlock_metrics_format(client, REDLOCK_METRICS_PROMETHEUS, NULL, 0) > 0);
}

static void on_trace(const redlock_event *event, void *data) {
    struct scene *s = data;
    bool down = event->type == REDLOCK_EVENT_NODE_DOWN;
    s->result->stalled += down && event->status == REDLOCK_ERR_NODE_TIMEOUT;
}

/* -- The story -- */

static void prepare(struct scene *s) {
    assert_int_equal(uv_loop_init(&s->loop), 0);
    assert_int_equal(uv_loop_init(&s->nodes_loop), 0);
    for (size_t i = 0; i < SCENE_NODES; i++) {
        s->nodes[i] = fake_node_start(&s->nodes_loop);
        server_add_user(fake_node_server(s->nodes[i]), "app", "password");
        const char *port = strrchr(fake_node_url(s->nodes[i]), ':') + 1;
        bool by_name = s->options->by_name && i >= 2;
        snprintf(s->urls[i], sizeof(s->urls[i]), "redis://%s:%s",
                 by_name ? "localhost" : "127.0.0.1", port);
    }
    for (size_t i = 0; i < SCENE_OPS; i++) {
        s->result->told[i].returned = SCENE_NOT_SUBMITTED;
    }
}

static const char *label(const void *name, size_t length, void *data) {
    return length % 2 == 0 ? "even" : "odd";
}

/* If memory for a connection fails, that node has failed, and the client still opens. */
static bool has_failed_node(const struct scene *s) {
    bool has = false;
    for (size_t i = 0; s->client != NULL && i < SCENE_NODES; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        assert_int_equal(redlock_client_node(s->client, i, &info), 0);
        has = has || info.failures > 0;
    }
    return has;
}

static void open_client(struct scene *s) {
    const char *urls[SCENE_NODES];
    redlock_client_options o = REDLOCK_CLIENT_OPTIONS_INIT;
    for (size_t i = 0; i < SCENE_NODES; i++) {
        urls[i] = s->urls[i];
    }
    o.nodes = urls;
    o.n_nodes = SCENE_NODES;
    o.connect_timeout_ms = 4 * s->options->node_timeout_ms;
    o.node_timeout_ms = s->options->node_timeout_ms;
    o.reconnect_min_ms = 4;
    o.reconnect_max_ms = 64;
    o.allocator = s->options->allocator;
    o.guard = REDLOCK_GUARD_OFF; /* guard_info_test.c in test/fake says what INFO can do */
    o.trace = on_trace;
    o.trace_data = s;
    o.metrics = 1;
    o.metrics_label = label;
    o.error = s->result->error;
    o.error_size = sizeof(s->result->error);
    struct scene_told *told = scene_told_of(s, SCENE_OPEN);
    scene_enter(s);
    told->returned = redlock_client_open(&s->client, &s->loop, &o, on_client, told);
    scene_leave(s);
    assert_int_equal(told->calls, 0);
    assert_true((told->returned == 0) == (s->client != NULL));
    assert_true(told->returned != REDLOCK_ERR_NOMEM || s->failed > 0);
    assert_true(told->returned == REDLOCK_ERR_NOMEM || s->failed == 0 || has_failed_node(s));
    assert_true((told->returned == 0) == (s->result->error[0] == '\0'));
    scene_wait_for(s, SCENE_OPEN);
    if (s->client != NULL) {
        snprintf(s->result->message, sizeof(s->result->message), "%s", CLIENT_MESSAGE(s->client));
    }
}

static void contend(struct scene *s) {
    memset(resource, 'r', sizeof(resource));
    s->a = scene_new_lock(s, resource, sizeof(resource));
    s->b = scene_new_lock(s, resource, sizeof(resource));
    scene_acquire(s, s->a, SCENE_ACQUIRE_A, 0);
    scene_wait_for(s, SCENE_ACQUIRE_A);
    scene_acquire(s, s->b, SCENE_ACQUIRE_B, 0);
    scene_wait_for(s, SCENE_ACQUIRE_B);
    assert_false(scene_succeeded(s, SCENE_ACQUIRE_A) && scene_succeeded(s, SCENE_ACQUIRE_B));
    if (scene_succeeded(s, SCENE_ACQUIRE_B)) { /* A failed, so B must not stay in the way */
        scene_release(s, s->b, SCENE_RELEASE_B);
        scene_wait_for(s, SCENE_RELEASE_B);
    }
}

static void extend_a(struct scene *s) {
    struct scene_told *told = scene_told_of(s, SCENE_EXTEND_A);
    if (scene_succeeded(s, SCENE_ACQUIRE_A)) {
        scene_enter(s);
        told->returned = redlock_extend(s->a, 20000, scene_on_lock, told);
        scene_leave(s);
        assert_int_equal(told->returned, 0);
        scene_wait_for(s, SCENE_EXTEND_A);
    }
}

/* Another user, while A holds; if memory for it fails, the next connection uses it. */
static void rotate(struct scene *s) {
    scene_enter(s);
    int status = redlock_client_set_credentials(s->client, REDLOCK_ALL_NODES, "app", "password");
    scene_leave(s);
    assert_int_equal(status, scene_expected(s));
    scene_turn(s);
}

/* B waits for A and is cancelled, and once more and is freed. */
static void give_b_up(struct scene *s) {
    if (s->b == NULL) {
        return;
    }
    scene_acquire(s, s->b, SCENE_WAIT_B, 5000);
    scene_turn(s);
    scene_cancel(s, s->b, SCENE_WAIT_B);
    assert_false(scene_succeeded(s, SCENE_WAIT_B) && scene_succeeded(s, SCENE_ACQUIRE_A));
    if (!scene_succeeded(s, SCENE_WAIT_B)) {
        scene_acquire(s, s->b, SCENE_FREE_B, 5000);
        scene_turn(s);
    }
    scene_enter(s);
    redlock_lock_free(s->b);
    scene_leave(s);
    scene_wait_for(s, SCENE_FREE_B);
}

/* A releases while one node has forgotten the script and another is away. */
static void release_a(struct scene *s) {
    uint64_t patience_ns = 4000000 * (uint64_t)s->options->node_timeout_ms;
    uint64_t failures = failures_of_last(s);
    server_forget_scripts(fake_node_server(s->nodes[1]));
    fake_node_refuse(s->nodes[4]);
    fake_node_drop(s->nodes[4], true);
    scene_run_until(s, was_refused, &failures, patience_ns);
    if (scene_succeeded(s, SCENE_ACQUIRE_A) && redlock_lock_is_valid(s->a)) {
        scene_release(s, s->a, SCENE_RELEASE_A);
        scene_wait_for(s, SCENE_RELEASE_A);
    }
    fake_node_listen(s->nodes[4]);
    /* times out if connecting keeps failing */
    scene_run_until(s, scene_nothing_owed, NULL, patience_ns);
}

/* -- The leader -- */

static void on_election(redlock_election *election, int status, void *data) {
    struct scene_told *told = data;
    told->calls++;
    told->status = status;
}

static redlock_election *new_election(struct scene *s) {
    redlock_election *election = NULL;
    redlock_election_options o = REDLOCK_ELECTION_OPTIONS_INIT;
    o.name = "led";
    o.name_length = strlen("led");
    o.ttl_ms = 30000;
    o.poll_ms = 20;
    o.on_elected = on_election;
    o.data = scene_told_of(s, SCENE_ELECT);
    scene_enter(s);
    int status = redlock_election_new(s->client, &o, &election, NULL, 0);
    scene_leave(s);
    assert_int_equal(status, scene_expected(s));
    assert_true((status == 0) == (election != NULL));
    return election;
}

static bool is_listened(const struct scene *s, const void *data) {
    size_t n = 0;
    for (size_t i = 0; i < SCENE_NODES; i++) {
        n += fake_node_listeners(s->nodes[i], "redlock:led");
    }
    return n == SCENE_NODES;
}

/* A stranger leads and lets go, which the nodes publish. Without memory there may be no election at
 * all, so the waits are no longer than it takes. */
static void lead(struct scene *s) {
    uint64_t patience_ns = 1000000 * (uint64_t)s->options->node_timeout_ms;
    for (size_t i = 0; i < SCENE_NODES; i++) {
        fake_node_put(s->nodes[i], "led", "stranger", 3600000);
    }
    redlock_election *election = new_election(s);
    if (election != NULL) {
        scene_enter(s);
        int status = redlock_election_campaign(election);
        scene_leave(s);
        assert_int_equal(status, 0);
        scene_run_until(s, is_listened, NULL, patience_ns);
    }
    for (size_t i = 0; i < SCENE_NODES; i++) {
        server_remove(fake_node_server(s->nodes[i]), 0, "led", strlen("led"));
        fake_node_publish(s->nodes[i], "redlock:led", "");
    }
    if (election == NULL) {
        return;
    }
    struct scene_told *elected = scene_told_of(s, SCENE_ELECT),
                      *resigned = scene_told_of(s, SCENE_RESIGN);
    scene_run_until(s, scene_was_told, elected, 4 * patience_ns);
    /* without random bytes the campaign has ended */
    const bool is_idle = redlock_election_state(election) == REDLOCK_ELECTION_IDLE;
    scene_enter(s);
    int status = redlock_election_resign(election, on_election, resigned);
    scene_leave(s);
    assert_int_equal(status, is_idle ? REDLOCK_ERR_IDLE : 0);
    resigned->returned = status == 0 ? 0 : SCENE_NOT_SUBMITTED;
    scene_wait_for(s, SCENE_RESIGN);
    elected->returned = elected->calls > 0 ? 0 : SCENE_NOT_SUBMITTED;
    scene_enter(s);
    redlock_election_free(election);
    scene_leave(s);
}

/* Nothing fails any more: the client must work again. */
static void last_cycle(struct scene *s) {
    s->shielded = true;
    assert_true(scene_run_until(s, has_quorum, NULL, SCENE_PATIENCE_NS));
    redlock_lock *last = scene_new_lock(s, "last", strlen("last"));
    assert_non_null(last);
    scene_acquire(s, last, SCENE_LAST_ACQUIRE, 10000);
    scene_wait_for(s, SCENE_LAST_ACQUIRE);
    assert_true(scene_succeeded(s, SCENE_LAST_ACQUIRE));
    scene_release(s, last, SCENE_LAST_RELEASE);
    scene_wait_for(s, SCENE_LAST_RELEASE);
    assert_true(scene_run_until(s, scene_nothing_owed, NULL, SCENE_PATIENCE_NS));
    s->shielded = false;
}

static void close_client(struct scene *s) {
    scene_enter(s);
    int returned = redlock_client_close(s->client, on_close, s);
    scene_leave(s);
    assert_int_equal(returned, 0);
    scene_told_of(s, SCENE_CLOSE)->returned = returned;
    scene_wait_for(s, SCENE_CLOSE);
}

/* Delivers what the client has sent: its sockets are closed, so each connection ends after its last
 * byte, however long the kernel takes; connections that were not accepted yet are accepted
 * first. */
static void deliver(struct scene *s) {
    struct pollfd fd = {.fd = uv_backend_fd(&s->nodes_loop), .events = POLLIN};
    uint64_t end_ns = uv_hrtime() + SCENE_PATIENCE_NS;
    size_t quiet = 0;
    while (quiet < 3 && uv_hrtime() < end_ns) {
        int ready = poll(&fd, 1, 1);
        uv_run(&s->nodes_loop, UV_RUN_NOWAIT);
        size_t open = 0;
        for (size_t i = 0; i < SCENE_NODES; i++) {
            open += fake_node_connections(s->nodes[i]);
        }
        quiet = ready == 0 && open == 0 ? quiet + 1 : 0;
    }
    assert_int_equal(quiet, 3);
}

/* What must hold whatever failed. */
static void finish(struct scene *s) {
    struct scene_result *r = s->result;
    scene_enter(s);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    scene_leave(s);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    deliver(s);
    for (size_t i = 0; i < SCENE_NODES; i++) {
        fake_node_step_clock(s->nodes[i], RESERVED_MS); /* reservations expire */
        r->keys += fake_node_keys(s->nodes[i]) - fake_node_lines(s->nodes[i]);
        fake_node_close(s->nodes[i]);
    }
    assert_int_equal(uv_run(&s->nodes_loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&s->nodes_loop), 0);
    server_forget_compiled(); /* the next play begins with the same memory */
    for (size_t i = 0; i < SCENE_OPS; i++) {
        assert_int_equal(r->told[i].calls, r->told[i].returned == 0 ? 1 : 0);
    }
    assert_true(r->keys == 0 || r->stats.releases_dropped > 0);
}

void scene_play(const struct scene_options *options, struct scene_result *result) {
    struct scene s = {.options = options, .result = result};
    memset(result, 0, sizeof(*result));
    prepare(&s);
    open_client(&s);
    if (s.client != NULL) {
        contend(&s);
        extend_a(&s);
        rotate(&s);
        give_b_up(&s);
        release_a(&s);
        lead(&s);
        scene_wait_in_line(&s);
        scene_hold_permits(&s);
        last_cycle(&s);
        close_client(&s);
    }
    finish(&s);
}

void scene_assert_clean(const struct scene_result *r) {
    static const int expected[SCENE_OPS] = {
        [SCENE_ACQUIRE_B] = REDLOCK_ERR_HELD,     [SCENE_WAIT_B] = REDLOCK_ERR_CANCELED,
        [SCENE_FREE_B] = REDLOCK_ERR_CANCELED,    [SCENE_LEAVE_C] = REDLOCK_ERR_CANCELED,
        [SCENE_OLD_NUMBER] = REDLOCK_ERR_PERMITS,
    };
    for (size_t i = 0; i < SCENE_OPS; i++) {
        int returned = i == SCENE_RELEASE_B ? SCENE_NOT_SUBMITTED : 0;
        assert_int_equal(r->told[i].returned, returned);
        assert_int_equal(r->told[i].status, expected[i]);
    }
    assert_int_equal(r->slots, 2); /* as P holds them, and Q waits */
    assert_int_equal(r->waiters, 1);
    assert_int_equal(r->keys, 0);
    assert_int_equal(r->lost, 0);
    assert_int_equal(r->stats.releases_dropped, 0);
    assert_int_equal(r->stats.credentials_pending, 0);
    assert_true(r->stats.releases_retried >= 1);
    assert_true(r->stats.turns >= 3); /* two of SCENE_TURN_C, one of SCENE_PERMIT_Q */
}

size_t scene_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}
