/* A client of the library: see session.h for purpose, use and failure modes. */
#include "session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "slice.h"

#define POLL_MS 5

static void done_cb(redlock_client *client, int status, void *data) {
    (void)client;
    struct rl_bench_session *session = data;
    assert(!session->is_done);
    session->is_done = true;
    session->status = status;
}

static void wait_done(struct rl_bench_session *session) {
    while (!session->is_done) {
        uv_run(&session->bench->loop, UV_RUN_ONCE);
    }
}

int rl_bench_session_open(struct rl_bench_session *session, struct rl_bench *bench) {
    char sentence[REDLOCK_MESSAGE_MAX];
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_allocator allocator;
    memset(session, 0, sizeof(*session));
    session->bench = bench;
    rl_bench_heap_allocator(&session->heap, &allocator);
    options.nodes = bench->nodes;
    options.n_nodes = bench->n_nodes;
    options.client_name = "redlock-bench";
    options.guard = (enum redlock_guard)bench->options.guard;
    options.max_ttl_ms = bench->options.ttl_ms;
    options.allocator = &allocator;
    options.error = bench->error;
    options.error_size = sizeof(bench->error);
    int status = redlock_client_open(&session->client, &bench->loop, &options, done_cb, session);
    if (status != 0) {
        bench->is_bad_argument = status != REDLOCK_ERR_NOMEM && status != REDLOCK_ERR_SYSTEM;
        return -1;
    }
    wait_done(session);
    if (session->status != 0) {
        snprintf(bench->error, sizeof(bench->error), "%s",
                 redlock_client_message(session->client, sentence, sizeof sentence));
        return -1;
    }
    return 0;
}

static bool is_settled(const struct rl_bench_session *session) {
    for (size_t i = 0; i < session->bench->n_nodes; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        int result = redlock_client_node(session->client, i, &info);
        assert(result == 0);
        if (result != 0 || !info.up || info.outstanding > 0 || info.pending_releases > 0) {
            return false;
        }
    }
    return true;
}

static void nothing_cb(uv_timer_t *timer) {
    (void)timer;
}

static void timer_closed_cb(uv_handle_t *timer) {
    struct rl_bench_session *session = timer->data;
    session->is_done = true;
}

/* Runs the loop, at least every POLL_MS, until all is quiet or the time is over. */
static void run_until_settled(struct rl_bench_session *session, uint64_t timeout_ms) {
    uint64_t end_ns = rl_bench_now_ns() + timeout_ms * 1000000;
    uv_timer_t timer;
    uv_timer_init(&session->bench->loop, &timer);
    uv_timer_start(&timer, nothing_cb, POLL_MS, POLL_MS);
    while (!is_settled(session) && rl_bench_now_ns() < end_ns) {
        uv_run(&session->bench->loop, UV_RUN_ONCE);
    }
    session->is_done = false;
    timer.data = session;
    uv_close((uv_handle_t *)&timer, timer_closed_cb);
    wait_done(session); /* the timer lies on our stack */
}

int rl_bench_session_settle(struct rl_bench_session *session, uint64_t timeout_ms) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct rl_bench *bench = session->bench;
    run_until_settled(session, timeout_ms);
    if (!is_settled(session)) {
        snprintf(bench->error, sizeof(bench->error), "not all nodes are idle after %llu ms: %s",
                 (unsigned long long)timeout_ms,
                 redlock_client_message(session->client, sentence, sizeof sentence));
        return -1;
    }
    return 0;
}

void rl_bench_session_count(const struct rl_bench_session *session, struct rl_bench_counts *sum) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    if (session->client == NULL || redlock_client_stats(session->client, &stats) != 0) {
        return;
    }
    sum->attempts += stats.attempts;
    sum->fenced += stats.fenced;
    sum->raised += stats.raised;
    sum->allocations += session->heap.allocations;
    for (size_t i = 0; i < session->bench->n_nodes; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        if (redlock_client_node(session->client, i, &info) == 0) {
            sum->commands += info.requests;
        }
    }
}

void rl_bench_counts_note(struct rl_bench_slice *slice, const struct rl_bench_counts *before,
                          const struct rl_bench_counts *after) {
    assert(after->commands >= before->commands);
    slice->attempts = after->attempts - before->attempts;
    slice->fenced = after->fenced - before->fenced;
    slice->raised = after->raised - before->raised;
    slice->allocations = after->allocations - before->allocations;
    slice->commands = after->commands - before->commands;
}

void rl_bench_session_close(struct rl_bench_session *session) {
    if (session->client == NULL) {
        return;
    }
    session->is_done = false;
    if (redlock_client_close(session->client, done_cb, session) == 0) {
        wait_done(session);
    }
    session->client = NULL;
}
