/* The workload memory: what a client and its held locks take.
 *
 * Happy path: open a client and wait until it is idle (bytes per client); make L lock objects
 * (bytes per lock object); acquire all of them, a bounded number at a time, and wait until it is
 * idle (bytes per held lock); release all; close.
 *
 * Two yardsticks: the bytes that the library asked its allocator for, and those that the whole
 * process has in use by the C library's count, hiredis, libuv and the heap's own overhead
 * included.
 *
 * Failure modes: a lock that is not granted ends the workload with the library's sentence.
 *
 * What it is for: redlock-bench --workload memory. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "session.h"

#define SETTLE_MS 10000

struct memory_load {
    struct rl_bench *bench;
    struct rl_bench_session session;
    redlock_acquire_options acquire;
    redlock_lock **locks;
    size_t n;
    size_t next;      /* the first lock that has not been asked for */
    size_t under_way; /* operations */
    bool is_failed;
};

struct usage {
    double library;
    double heap;
};

static struct usage measure_usage(const struct memory_load *load) {
    return (struct usage){(double)load->session.heap.bytes, (double)rl_bench_heap_bytes()};
}

static void fail(struct memory_load *load, const char *what, redlock_lock *lock) {
    struct rl_bench *bench = load->bench;
    if (!load->is_failed) {
        snprintf(bench->error, sizeof(bench->error), "%s: %s", what, redlock_lock_message(lock));
    }
    load->is_failed = true;
}

static void acquire_cb(redlock_lock *lock, int status, void *data);

static void acquire_next(struct memory_load *load) {
    if (load->next == load->n || load->is_failed) {
        return;
    }
    redlock_lock *lock = load->locks[load->next++];
    if (redlock_acquire(lock, &load->acquire, acquire_cb, load) != 0) {
        fail(load, "acquire", lock);
        return;
    }
    load->under_way++;
}

static void acquire_cb(redlock_lock *lock, int status, void *data) {
    struct memory_load *load = data;
    assert(load->under_way > 0);
    load->under_way--;
    if (status != 0) {
        fail(load, "acquire", lock);
    }
    acquire_next(load);
}

static void release_cb(redlock_lock *lock, int status, void *data) {
    struct memory_load *load = data;
    assert(load->under_way > 0);
    load->under_way--;
    if (status != 0) {
        fail(load, "release", lock);
    }
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    (void)status;
    fail(data, "lost: give a longer --ttl-ms", lock);
}

static int wait_idle(struct memory_load *load) {
    struct rl_bench *bench = load->bench;
    while (load->under_way > 0) {
        uv_run(&bench->loop, UV_RUN_ONCE);
    }
    if (load->is_failed) {
        return -1;
    }
    return rl_bench_session_settle(&load->session, SETTLE_MS);
}

static int make_locks(struct memory_load *load) {
    struct rl_bench *bench = load->bench;
    for (; load->n < (size_t)bench->options.locks; load->n++) {
        char key[80];
        int length = snprintf(key, sizeof(key), "%s:%08zu", bench->key_prefix, load->n);
        int status =
            redlock_lock_new(load->session.client, key, (size_t)length, &load->locks[load->n]);
        bench->report.memory.key_length = (size_t)length;
        if (status != 0) {
            snprintf(bench->error, sizeof(bench->error), "lock: %s", redlock_strerror(status));
            return -1;
        }
    }
    return 0;
}

static int acquire_all(struct memory_load *load) {
    for (long long i = 0; i < load->bench->options.in_flight; i++) {
        acquire_next(load);
    }
    return wait_idle(load);
}

static int release_all(struct memory_load *load) {
    for (size_t i = 0; i < load->n; i++) {
        if (redlock_release(load->locks[i], release_cb, load) != 0) {
            fail(load, "release", load->locks[i]);
            break;
        }
        load->under_way++;
        if (load->under_way >= (size_t)load->bench->options.in_flight) {
            uv_run(&load->bench->loop, UV_RUN_ONCE);
        }
    }
    return wait_idle(load);
}

static int measure(struct memory_load *load) {
    struct rl_bench_memory_figures *figures = &load->bench->report.memory;
    struct usage before = measure_usage(load);
    if (make_locks(load) != 0) {
        return -1;
    }
    double n = (double)load->n;
    figures->locks = load->n;
    figures->lock_bytes = (measure_usage(load).library - before.library) / n;
    rl_bench_progress_label(&load->bench->progress, "acquiring %zu locks", load->n);
    if (acquire_all(load) != 0) {
        return -1;
    }
    struct usage held = measure_usage(load);
    figures->held_bytes = (held.library - before.library) / n;
    figures->held_heap_bytes = (held.heap - before.heap) / n;
    rl_bench_progress_label(&load->bench->progress, "releasing %zu locks", load->n);
    return release_all(load);
}

static int open_client(struct memory_load *load) {
    struct rl_bench *bench = load->bench;
    struct usage before = measure_usage(load);
    if (rl_bench_session_open(&load->session, bench) != 0 || wait_idle(load) != 0) {
        return -1;
    }
    struct usage after = measure_usage(load);
    bench->report.memory.client_bytes = after.library;
    bench->report.memory.client_heap_bytes = after.heap - before.heap;
    return 0;
}

int rl_bench_memory(struct rl_bench *bench) {
    struct memory_load load;
    memset(&load, 0, sizeof(load));
    load.bench = bench;
    load.acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    load.acquire.ttl_ms = bench->options.ttl_ms;
    load.acquire.on_lost = lost_cb;
    load.acquire.lost_data = &load;
    load.locks = calloc((size_t)bench->options.locks, sizeof(*load.locks));
    if (load.locks == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    int result = open_client(&load);
    result = result == 0 ? measure(&load) : result;
    rl_bench_session_close(&load.session);
    free(load.locks);
    return result;
}
