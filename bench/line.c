/* The workload line: W locks of one client that want one resource.
 *
 * Happy path: all acquire; who is granted releases at once, and asks again when the release is
 * done, so that the line never ends. Counted for S seconds: how often the lock was handed on, and
 * how many commands one node saw for it.
 *
 * Failure modes: two holders at one time end the run as a violation. An acquire that fails ends the
 * workload with the library's sentence.
 *
 * What it is for: redlock-bench --workload line. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "session.h"

struct line_load {
    struct rl_bench *bench;
    struct rl_bench_session session;
    redlock_acquire_options acquire;
    redlock_lock **locks;
    size_t n;
    size_t holders;
    uint64_t grants;
    bool is_over;
    bool is_failed;
    uv_timer_t timer;
};

static void fail(struct line_load *load, redlock_lock *lock) {
    if (!load->is_failed) {
        snprintf(load->bench->error, sizeof(load->bench->error), "line: %s",
                 redlock_lock_message(lock));
    }
    load->is_failed = load->is_over = true;
    uv_stop(&load->bench->loop);
}

static void granted(redlock_lock *lock, int status, void *data);

static void released(redlock_lock *lock, int status, void *data) {
    struct line_load *load = data;
    if (load->is_over) {
        return;
    }
    if (status != 0 || redlock_acquire(lock, &load->acquire, granted, load) != 0) {
        fail(load, lock);
    }
}

static void granted(redlock_lock *lock, int status, void *data) {
    struct line_load *load = data;
    if (load->is_over) {
        return;
    }
    if (status != 0) {
        fail(load, lock);
        return;
    }
    load->bench->report.violations += load->holders > 0;
    load->holders++;
    load->grants++;
    if (redlock_release(lock, released, load) != 0) {
        fail(load, lock);
    }
    load->holders--; /* given up; the next may be told before the release is */
}

static void time_is_up(uv_timer_t *timer) {
    struct line_load *load = timer->data;
    load->is_over = true;
    uv_stop(timer->loop);
}

static int join(struct line_load *load) {
    struct rl_bench *bench = load->bench;
    for (; load->n < (size_t)bench->options.locks; load->n++) {
        redlock_lock **lock = &load->locks[load->n];
        const char *key = bench->key_prefix;
        int status = redlock_lock_new(load->session.client, key, strlen(key), lock);
        if (status != 0) {
            snprintf(bench->error, sizeof(bench->error), "lock: %s", redlock_strerror(status));
            return -1;
        }
        if (redlock_acquire(*lock, &load->acquire, granted, load) != 0) {
            fail(load, *lock);
            return -1;
        }
    }
    return 0;
}

static uint64_t commands_of_first_node(const struct line_load *load) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    redlock_client_node(load->session.client, 0, &info);
    return info.requests;
}

static int measure(struct line_load *load) {
    struct rl_bench *bench = load->bench;
    struct rl_bench_line_figures *figures = &bench->report.line;
    uint64_t commands = commands_of_first_node(load);
    uint64_t start_ns = rl_bench_now_ns();
    double cpu_us = rl_bench_cpu_us();
    rl_bench_progress_label(&bench->progress, "handing on among %lld", bench->options.locks);
    if (join(load) != 0) {
        return -1;
    }
    uv_timer_start(&load->timer, time_is_up, (uint64_t)(bench->options.seconds * 1e3), 0);
    while (!load->is_over) {
        uv_run(&bench->loop, UV_RUN_DEFAULT);
    }
    if (load->is_failed || load->grants < 2) {
        return -1;
    }
    double hand_overs = (double)(load->grants - 1);
    double seconds = (double)(rl_bench_now_ns() - start_ns) / 1e9;
    figures->waiters = load->n;
    figures->hand_overs_per_s = hand_overs / seconds;
    figures->commands_per_hand_over =
        (double)(commands_of_first_node(load) - commands) / hand_overs;
    figures->cpu_us_per_hand_over = (rl_bench_cpu_us() - cpu_us) / hand_overs;
    return 0;
}

static void closed_cb(uv_handle_t *handle) {
    (void)handle;
}

int rl_bench_line(struct rl_bench *bench) {
    struct line_load load;
    memset(&load, 0, sizeof(load));
    load.bench = bench;
    load.acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    load.acquire.ttl_ms = bench->options.ttl_ms;
    load.acquire.wait_ms = REDLOCK_NO_LIMIT;
    load.locks = calloc((size_t)bench->options.locks, sizeof(redlock_lock *));
    if (load.locks == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    uv_timer_init(&bench->loop, &load.timer);
    load.timer.data = &load;
    int result = rl_bench_session_open(&load.session, bench);
    result = result == 0 ? measure(&load) : result;
    load.is_over = true;
    rl_bench_session_close(&load.session);
    uv_close((uv_handle_t *)&load.timer, closed_cb);
    uv_run(&bench->loop, UV_RUN_NOWAIT);
    free(load.locks);
    return result;
}
