/* No SIGPIPE, whatever a peer does: it is caught and counted here; a user's process would end.
 *
 * The hard case: a node sends an answer and closes its socket with bytes of ours unread. Then poll
 * reports an error, the answer can still be read, and what it leads to (a script that the node has
 * forgotten is sent whole) must not be written. The node's loop and the client's are two, so that
 * each step happens before the next one begins. */

#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include "redlock/redlock.h"
#include "server/fake_node.h"
#include "testing.h"

#define PATIENCE_NS UINT64_C(10000000000)
#define ANSWER_MS 20

struct pair {
    uv_loop_t loop;       /* the client's */
    uv_loop_t nodes_loop; /* the node's */
    struct fake_node *node;
    char folder[64], path[80];
    redlock_client *client;
    redlock_lock *a, *b;
};

struct told {
    int calls, status;
};

static volatile sig_atomic_t pipes;

static void on_pipe(int signal) {
    pipes = pipes + 1;
}

static void turn_node(struct pair *p) {
    uv_run(&p->nodes_loop, UV_RUN_NOWAIT);
}

static void turn_client(struct pair *p) {
    uv_run(&p->loop, UV_RUN_NOWAIT);
}

static void on_client(redlock_client *client, int status, void *data) {
    struct told *told = data;
    told->calls++;
    told->status = status;
}

static void on_lock(redlock_lock *lock, int status, void *data) {
    struct told *told = data;
    told->calls++;
    told->status = status;
}

static int wait_for(struct pair *p, const struct told *told) {
    uint64_t end_ns = uv_hrtime() + PATIENCE_NS;
    while (told->calls == 0 && uv_hrtime() < end_ns) {
        turn_client(p);
        turn_node(p);
    }
    assert_int_equal(told->calls, 1);
    return told->status;
}

static redlock_lock *acquire(struct pair *p, const char *name) {
    struct told told = {0, 0};
    redlock_lock *lock = NULL;
    assert_int_equal(redlock_lock_new(p->client, name, strlen(name), &lock), 0);
    assert_int_equal(redlock_acquire(lock, NULL, on_lock, &told), 0);
    assert_int_equal(wait_for(p, &told), 0);
    return lock;
}

static void release(struct pair *p, redlock_lock *lock) {
    struct told told = {0, 0};
    assert_int_equal(redlock_release(lock, on_lock, &told), 0);
    assert_int_equal(wait_for(p, &told), 0);
}

static void start(struct pair *p) {
    const char *folder = getenv("TMPDIR");
    struct told told = {0, 0};
    char url[128];
    const char *urls[] = {url};
    memset(p, 0, sizeof(*p));
    snprintf(p->folder, sizeof(p->folder), "%.40s/sigpipe.XXXXXX", folder ? folder : "/tmp");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof(p->path), "%s/node", p->folder);
    assert_int_equal(uv_loop_init(&p->loop), 0);
    assert_int_equal(uv_loop_init(&p->nodes_loop), 0);
    p->node = fake_node_start_unix(&p->nodes_loop, p->path);
    snprintf(url, sizeof(url), "%s", fake_node_url(p->node));
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = urls;
    options.n_nodes = 1;
    options.reconnect_min_ms = 1;
    options.guard = REDLOCK_GUARD_OFF; /* it is about writing, not about what INFO says */
    assert_int_equal(redlock_client_open(&p->client, &p->loop, &options, on_client, &told), 0);
    assert_int_equal(wait_for(p, &told), 0);
    release(p, acquire(p, "known")); /* whose script goes out by its hash from now on */
    p->a = acquire(p, "a");
    p->b = acquire(p, "b");
}

/* Closes when everything that is owed has been repaid. */
static void stop(struct pair *p) {
    struct told told = {0, 0};
    redlock_stats stats = REDLOCK_STATS_INIT;
    uint64_t end_ns = uv_hrtime() + PATIENCE_NS;
    while (fake_node_keys(p->node) > 0 && uv_hrtime() < end_ns) {
        turn_client(p);
        turn_node(p);
    }
    assert_int_equal(fake_node_keys(p->node), 0);
    assert_int_equal(redlock_client_stats(p->client, &stats), 0);
    assert_int_equal(stats.releases_dropped, 0);
    assert_int_equal(redlock_client_close(p->client, on_client, &told), 0);
    assert_int_equal(wait_for(p, &told), 0);
    fake_node_close(p->node);
    assert_int_equal(uv_run(&p->nodes_loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&p->nodes_loop), 0);
    assert_int_equal(uv_loop_close(&p->loop), 0);
    rmdir(p->folder);
}

/* Sends the release and lets the node have it before anything else. */
static void release_a(struct pair *p, struct told *told) {
    assert_int_equal(redlock_release(p->a, on_lock, told), 0);
    turn_client(p);
    while (fake_node_count(p->node, "EVALSHA") == 0) {
        turn_node(p);
    }
    fake_node_set_deaf(p->node, true);
}

static void answers_and_closes(enum fake_action action, const char *bytes) {
    struct pair p;
    struct told a = {0, 0}, b = {0, 0};
    pipes = 0;
    start(&p);
    fake_node_rule(p.node, (struct fake_rule){.command = "EVALSHA",
                                              .times = 1,
                                              .action = action,
                                              .bytes = bytes,
                                              .delay_ms = ANSWER_MS});
    release_a(&p, &a);
    uint64_t before = fake_node_bytes_out(p.node);
    assert_int_equal(redlock_release(p.b, on_lock, &b), 0);
    turn_client(&p); /* what is never read makes the close a reset */
    while (fake_node_bytes_out(p.node) == before) {
        turn_node(&p);
    }
    fake_node_drop(p.node, false);
    fake_node_set_deaf(p.node, false);
    for (int i = 0; i < 10; i++) {
        turn_client(&p);
    }
    assert_int_equal(pipes, 0);
    wait_for(&p, &a);
    wait_for(&p, &b);
    stop(&p);
}

TEST(survives_an_answer_before_a_reset) {
    answers_and_closes(FAKE_ANSWER, "");
    answers_and_closes(FAKE_INSTEAD, "+what\r\n");
}

TEST(survives_an_answer_that_asks_for_more) {
    answers_and_closes(FAKE_INSTEAD, "-NOSCRIPT No matching script.\r\n");
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_pipe;
    sigaction(SIGPIPE, &action, NULL);
    return test_run(0);
}
