/* The load of uncontested cycles: see cycle_load.h for purpose, use and failure modes. */
#include "cycle_load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"

struct cycle_worker {
    struct rl_bench_cycle_load *load;
    redlock_lock *locks[RL_BENCH_LOCKS]; /* by enum rl_bench_lock; NULL: not requested */
    uint64_t sent_ns;
};

struct rl_bench_cycle_load {
    struct rl_bench *bench;
    const char *name;
    struct rl_bench_session session;
    redlock_acquire_options acquire;
    enum rl_bench_lock kind;
    size_t n;
    struct cycle_worker workers[];
};

static void fail(struct rl_bench *bench, const char *what, redlock_lock *lock) {
    char sentence[REDLOCK_MESSAGE_MAX];
    snprintf(bench->error, sizeof(bench->error), "%s: %s", what,
             redlock_lock_message(lock, sentence, sizeof sentence));
    rl_bench_run_fail(&bench->run);
}

static void acquire_cb(redlock_lock *lock, int status, void *data);

static void acquire(struct cycle_worker *worker, uint64_t now_ns) {
    struct rl_bench_cycle_load *load = worker->load;
    worker->sent_ns = now_ns;
    redlock_lock *lock = worker->locks[load->kind];
    if (redlock_acquire(lock, &load->acquire, acquire_cb, worker) != 0) {
        fail(load->bench, "acquire", lock);
    }
}

static void acquire_again(struct cycle_worker *worker) {
    struct rl_bench_run *run = &worker->load->bench->run;
    uint64_t now_ns = rl_bench_now_ns();
    if (rl_bench_run_is_over(run, now_ns)) {
        rl_bench_run_leave(run);
    } else {
        acquire(worker, now_ns);
    }
}

static void release_cb(redlock_lock *lock, int status, void *data) {
    (void)lock;
    struct cycle_worker *worker = data;
    struct rl_bench_slice *slice = worker->load->bench->run.slice;
    if (slice == NULL) {
        return; /* the slice was given up, and the client is being closed */
    }
    slice->locks += status == 0;
    slice->failed += status != 0;
    acquire_again(worker);
}

static void acquire_cb(redlock_lock *lock, int status, void *data) {
    struct cycle_worker *worker = data;
    struct rl_bench_slice *slice = worker->load->bench->run.slice;
    if (slice == NULL) {
        return;
    }
    if (status != 0) {
        slice->failed++;
        acquire_again(worker);
        return;
    }
    rl_bench_hist_record(&slice->grant, rl_bench_now_ns() - worker->sent_ns);
    if (redlock_release(lock, release_cb, worker) != 0) {
        fail(worker->load->bench, "release", lock);
    }
}

int rl_bench_cycle_load_slice(struct rl_bench_cycle_load *load, struct rl_bench_slice *slice,
                              int64_t slice_ms) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct rl_bench *bench = load->bench;
    rl_bench_run_begin(&bench->run, slice, slice_ms, load->n, NULL, NULL);
    struct rl_bench_counts before = {.attempts = 0};
    struct rl_bench_counts after = {.attempts = 0};
    rl_bench_session_count(&load->session, &before);
    for (size_t i = 0; i < load->n; i++) {
        acquire(&load->workers[i], rl_bench_now_ns());
    }
    int result = rl_bench_run_finish(&bench->run);
    rl_bench_session_count(&load->session, &after);
    rl_bench_counts_note(slice, &before, &after);
    if (result != 0 && bench->error[0] == '\0') {
        snprintf(bench->error, sizeof(bench->error), "the locks' callbacks do not come: %s",
                 redlock_client_message(load->session.client, sentence, sizeof sentence));
    } else if (result == 0 && slice->locks == 0) {
        snprintf(bench->error, sizeof(bench->error), "no lock was granted: %s",
                 redlock_client_message(load->session.client, sentence, sizeof sentence));
        result = -1;
    }
    return result;
}

/* A separate resource for each kind: what a release leaves there for a moment does not block the
 * other kind. */
static int make_lock(struct rl_bench_cycle_load *load, size_t number, enum rl_bench_lock kind) {
    static const char *const names[RL_BENCH_LOCKS] = {"our", "read", "permit"};
    struct cycle_worker *worker = &load->workers[number];
    if (worker->locks[kind] != NULL) {
        return 0;
    }
    struct rl_bench *bench = load->bench;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    char key[80];
    int length = snprintf(key, sizeof(key), "%s:%s:%zu", bench->key_prefix,
                          kind == RL_BENCH_EXCLUSIVE ? load->name : names[kind], number);
    redlock_bytes bytes = {key, (size_t)length};
    options.resources = &bytes;
    options.n_resources = 1;
    options.mode = kind == RL_BENCH_SHARED ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    if (kind == RL_BENCH_PERMITS) {
        options.permits = (int32_t)bench->options.permits;
        options.take = (int32_t)bench->options.take;
    }
    int status =
        redlock_lock_new_with(load->session.client, &options, &worker->locks[kind], NULL, 0);
    if (status != 0) {
        snprintf(bench->error, sizeof(bench->error), "lock: %s", redlock_strerror(status));
        return -1;
    }
    return 0;
}

static int make_locks(struct rl_bench_cycle_load *load) {
    const struct rl_bench_options *options = &load->bench->options;
    for (; load->n < (size_t)options->in_flight; load->n++) {
        load->workers[load->n].load = load;
        for (size_t side = 0; side < 2; side++) {
            if (make_lock(load, load->n, rl_bench_options_lock(options, side)) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

void rl_bench_cycle_load_fence(struct rl_bench_cycle_load *load, bool fencing) {
    assert(load->bench->run.slice == NULL);
    load->acquire.fencing = fencing;
}

void rl_bench_cycle_load_choose(struct rl_bench_cycle_load *load, enum rl_bench_lock kind) {
    assert(load->bench->run.slice == NULL);
    load->kind = kind;
    assert(load->n == 0 || load->workers[0].locks[kind] != NULL);
}

int rl_bench_cycle_load_open(struct rl_bench_cycle_load **load, struct rl_bench *bench,
                             const char *name) {
    size_t n = (size_t)bench->options.in_flight;
    struct rl_bench_cycle_load *made = calloc(1, sizeof(*made) + n * sizeof(struct cycle_worker));
    *load = made;
    if (made == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    made->bench = bench;
    made->name = name;
    made->acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    made->acquire.ttl_ms = bench->options.ttl_ms;
    if (rl_bench_session_open(&made->session, bench) != 0) {
        return -1;
    }
    return make_locks(made);
}

struct rl_bench_session *rl_bench_cycle_load_session(struct rl_bench_cycle_load *load) {
    return &load->session;
}

void rl_bench_cycle_load_close(struct rl_bench_cycle_load *load) {
    if (load == NULL) {
        return;
    }
    rl_bench_session_close(&load->session);
    assert(load->session.heap.blocks == 0);
    free(load);
}
