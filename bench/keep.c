/* The workload keep: many locks that renew themselves, and what happens to them when every node
 * stops answering.
 *
 * Happy path: acquire L locks with auto_extend, a bounded number at a time; let them run for S
 * seconds and count renewals, CPU time and losses; then, with nodes of our own, stop all of them
 * (SIGSTOP) and record for each lock when on_lost ran, relative to the end of its validity;
 * continue the nodes, and close.
 *
 * Failure modes: a lock that is not granted ends the workload with the library's sentence. A lock
 * that is lost while the nodes answer is counted, and shown.
 *
 * Used by redlock-bench --workload keep. */
#include "bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

#define SETTLE_MS 20000

struct kept {
    struct keep_load *load;
    redlock_lock *lock;
    uint64_t valid_until_ns; /* as of the last renewal */
};

struct keep_load {
    struct rl_bench *bench;
    struct rl_bench_session session;
    redlock_acquire_options acquire;
    struct kept *kept;
    size_t n;
    size_t next;      /* the first that was not acquired yet */
    size_t under_way; /* acquires */
    size_t lost;
    bool is_stopped; /* the nodes */
    bool is_failed;
    uv_timer_t timer;
    bool is_over; /* the timer has fired */
};

static struct rl_bench_keep_figures *figures_of(struct keep_load *load) {
    return &load->bench->report.keep;
}

/* -- Callbacks -- */

static void renewed(redlock_lock *lock, int status, void *data) {
    struct kept *kept = data;
    (void)status;
    kept->valid_until_ns = redlock_lock_valid_until_ns(lock);
}

static void lost(redlock_lock *lock, int status, void *data) {
    struct kept *kept = data;
    struct rl_bench_keep_figures *figures = figures_of(kept->load);
    uint64_t now_ns = redlock_now_ns();
    (void)lock;
    (void)status;
    kept->load->lost++;
    if (!kept->load->is_stopped) {
        figures->lost++;
    } else if (now_ns <= kept->valid_until_ns) {
        rl_bench_hist_record(&figures->told_before, kept->valid_until_ns - now_ns);
    } else {
        rl_bench_hist_record(&figures->told_after, now_ns - kept->valid_until_ns);
    }
    if (kept->load->lost == kept->load->n) {
        uv_stop(&kept->load->bench->loop);
    }
}

static void acquire_next(struct keep_load *load);

static void acquired(redlock_lock *lock, int status, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct kept *kept = data;
    struct keep_load *load = kept->load;
    assert(load->under_way > 0);
    load->under_way--;
    kept->valid_until_ns = redlock_lock_valid_until_ns(lock);
    if (status != 0 && !load->is_failed) {
        load->is_failed = true;
        snprintf(load->bench->error, sizeof(load->bench->error), "acquire: %s",
                 redlock_lock_message(lock, sentence, sizeof sentence));
    }
    acquire_next(load);
    if (load->under_way == 0) {
        uv_stop(&load->bench->loop);
    }
}

static void acquire_next(struct keep_load *load) {
    char sentence[REDLOCK_MESSAGE_MAX];
    if (load->next == load->n || load->is_failed) {
        return;
    }
    struct kept *kept = &load->kept[load->next++];
    load->acquire.lost_data = load->acquire.renew_data = kept;
    if (redlock_acquire(kept->lock, &load->acquire, acquired, kept) != 0) {
        load->is_failed = true;
        snprintf(load->bench->error, sizeof(load->bench->error), "acquire: %s",
                 redlock_lock_message(kept->lock, sentence, sizeof sentence));
        return;
    }
    load->under_way++;
}

/* -- Steps -- */

static int make_locks(struct keep_load *load) {
    struct rl_bench *bench = load->bench;
    for (; load->n < (size_t)bench->options.locks; load->n++) {
        char key[80];
        int length = snprintf(key, sizeof(key), "%s:%08zu", bench->key_prefix, load->n);
        struct kept *kept = &load->kept[load->n];
        kept->load = load;
        int status = redlock_lock_new(load->session.client, key, (size_t)length, &kept->lock);
        if (status != 0) {
            snprintf(bench->error, sizeof(bench->error), "lock: %s", redlock_strerror(status));
            return -1;
        }
    }
    return 0;
}

static int acquire_all(struct keep_load *load) {
    rl_bench_progress_label(&load->bench->progress, "acquiring %zu locks", load->n);
    for (int64_t i = 0; i < load->bench->options.in_flight; i++) {
        acquire_next(load);
    }
    while (load->under_way > 0) {
        uv_run(&load->bench->loop, UV_RUN_DEFAULT);
    }
    return load->is_failed ? -1 : 0;
}

static void time_is_up(uv_timer_t *timer) {
    struct keep_load *load = timer->data;
    load->is_over = true;
    uv_stop(timer->loop);
}

/* Runs the loop for a time, or until every lock is lost. */
static void run_for(struct keep_load *load, int64_t slice_ms) {
    load->is_over = false;
    uv_timer_start(&load->timer, time_is_up, (uint64_t)slice_ms, 0);
    while (!load->is_over && load->lost < load->n) {
        uv_run(&load->bench->loop, UV_RUN_DEFAULT);
    }
    uv_timer_stop(&load->timer);
}

static redlock_stats stats_of(const struct keep_load *load) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_client_stats(load->session.client, &stats);
    return stats;
}

static void keep_for(struct keep_load *load, int64_t slice_ms) {
    struct rl_bench_keep_figures *figures = figures_of(load);
    rl_bench_progress_label(&load->bench->progress, "keeping %zu locks", load->n);
    redlock_stats before = stats_of(load);
    uint64_t start_ns = rl_bench_now_ns();
    double cpu_us = rl_bench_cpu_us();
    run_for(load, slice_ms);
    double us = (double)(rl_bench_now_ns() - start_ns) / 1e3;
    redlock_stats after = stats_of(load);
    figures->seconds = us / 1e6;
    figures->cpu_share = (rl_bench_cpu_us() - cpu_us) / us;
    figures->renewals_per_s = (double)(after.renewed - before.renewed) / figures->seconds;
    figures->unknown = after.extend_failed - before.extend_failed;
}

static int pause_nodes(struct rl_bench *bench, bool stop) {
    for (size_t i = 0; i < bench->n_nodes; i++) {
        if ((stop ? rl_local_nodes_pause(bench->local, i)
                  : rl_local_nodes_resume(bench->local, i)) != 0) {
            snprintf(bench->error, sizeof(bench->error), "node %zu has ended by itself", i);
            return -1;
        }
    }
    return 0;
}

/* All nodes hang: each loss must be reported before its validity ends. */
static int lose_all(struct keep_load *load) {
    struct rl_bench *bench = load->bench;
    if (bench->local == NULL) {
        return 0;
    }
    load->lost = (size_t)figures_of(load)->lost;
    load->is_stopped = true;
    rl_bench_progress_label(&bench->progress, "all nodes stopped: losing %zu locks", load->n);
    if (pause_nodes(bench, true) != 0) {
        return -1;
    }
    run_for(load, bench->options.ttl_ms + 10000);
    if (pause_nodes(bench, false) != 0) {
        return -1;
    }
    if (load->lost < load->n) {
        snprintf(bench->error, sizeof(bench->error), "%zu of %zu losses were not reported",
                 load->n - load->lost, load->n);
        return -1;
    }
    return rl_bench_session_settle(&load->session, SETTLE_MS);
}

static int measure(struct keep_load *load) {
    struct rl_bench *bench = load->bench;
    struct rl_bench_keep_figures *figures = figures_of(load);
    size_t before = load->session.heap.bytes;
    if (make_locks(load) != 0 || acquire_all(load) != 0) {
        return -1;
    }
    figures->locks = load->n;
    keep_for(load, bench->options.slice_ms);
    figures->bytes_per_lock = (double)(load->session.heap.bytes - before) / (double)load->n;
    return lose_all(load);
}

static void closed_cb(uv_handle_t *handle) {
    (void)handle;
}

int rl_bench_keep(struct rl_bench *bench) {
    struct keep_load load;
    memset(&load, 0, sizeof(load));
    load.bench = bench;
    load.acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    load.acquire.ttl_ms = bench->options.ttl_ms;
    load.acquire.auto_extend = 1;
    load.acquire.on_lost = lost;
    load.acquire.on_renew = renewed;
    load.kept = calloc((size_t)bench->options.locks, sizeof(*load.kept));
    if (load.kept == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    uv_timer_init(&bench->loop, &load.timer);
    load.timer.data = &load;
    int result = rl_bench_session_open(&load.session, bench);
    result = result == 0 ? measure(&load) : result;
    rl_bench_session_close(&load.session);
    uv_close((uv_handle_t *)&load.timer, closed_cb);
    uv_run(&bench->loop, UV_RUN_NOWAIT);
    free(load.kept);
    return result;
}
