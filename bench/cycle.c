/* The workload cycle: uncontested locks as fast as they go, beside a bare fan-out if wanted.
 *
 * Happy path: open the library's client and, with --baseline, the bare connections; warm both up;
 * then slices of one and the other in turn, the order alternating from pair to pair, so that a
 * drift of the machine favours neither. With --fencing both, the other one is the library, too.
 *
 * Failure modes: nodes that are not up end it with the library's or hiredis's sentence. The bare
 * fan-out needs every node, the library a quorum.
 *
 * Used by redlock-bench --workload cycle. */
#include "bench.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "figures.h"
#include "session.h"
#include "threads_load.h"
#include "users.h"

/* The load of uncontested cycles: K workers of one client acquire and release, each its own lock.
 *
 * Happy path: open, any number of slices, close. A worker acquires its lock, releases it at once,
 * and acquires again when the release is done; there is always just one pending operation for each
 * worker. Acquire options are the library's defaults, except the ttl.
 *
 * Failure modes: an acquire or release that does not succeed is counted as failed, and the worker
 * goes on. A call that the library refuses fails the slice, with the reason in error. */

struct cycle_worker {
    struct cycle_load *load;
    redlock_lock *locks[RL_BENCH_LOCKS]; /* by enum rl_bench_lock; NULL: not requested */
    uint64_t sent_ns;
};

struct cycle_load {
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
    struct cycle_load *load = worker->load;
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

static int load_slice(struct cycle_load *load, struct rl_bench_slice *slice, int64_t slice_ms) {
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

/* Each kind has its own resource, so that what a release leaves there for a moment does not block
 * the other kind. */
static int make_lock(struct cycle_load *load, size_t number, enum rl_bench_lock kind) {
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

static int make_locks(struct cycle_load *load) {
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

/* Chooses the kind for the next slices. */
static void load_choose(struct cycle_load *load, enum rl_bench_lock kind, bool fencing) {
    assert(load->bench->run.slice == NULL);
    assert(load->n == 0 || load->workers[0].locks[kind] != NULL);
    load->kind = kind;
    load->acquire.fencing = fencing;
}

static int load_open(struct cycle_load **load, struct rl_bench *bench, const char *name) {
    size_t n = (size_t)bench->options.in_flight;
    struct cycle_load *made = calloc(1, sizeof(*made) + n * sizeof(struct cycle_worker));
    *load = made;
    if (made == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    made->bench = bench;
    made->name = name;
    made->acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    made->acquire.ttl_ms = bench->options.ttl_ms;
    made->acquire.linger_ms = bench->options.linger_ms;
    if (rl_bench_session_open(&made->session, bench) != 0) {
        return -1;
    }
    return make_locks(made);
}

static void load_close(struct cycle_load *load) {
    if (load == NULL) {
        return;
    }
    rl_bench_session_close(&load->session);
    assert(load->session.heap.blocks == 0);
    free(load);
}

#define ALL_UP_MS 2000

struct pair {
    struct rl_bench *bench;
    struct cycle_load *load;
    struct cycle_load *script;  /* a client that releases by script; NULL: the same client */
    struct rl_bench_bare *bare; /* NULL without --baseline */
    struct rl_bench_threads_load *threads; /* NULL without --blocking */
    bool has_two;
};

static int bare_slice(struct pair *pair, struct rl_bench_slice *slice, int64_t slice_ms) {
    struct rl_bench *bench = pair->bench;
    if (rl_bench_bare_slice(pair->bare, slice, slice_ms) != 0) {
        snprintf(bench->error, sizeof(bench->error), "%s", rl_bench_bare_message(pair->bare));
        return -1;
    }
    return 0;
}

/* A slice of the library, fenced or not, of any kind, or of the bare fan-out. */
static int take_slice(struct pair *pair, size_t side, struct rl_bench_slice *slice,
                      int64_t slice_ms) {
    if (side == 1 && pair->bare != NULL) {
        return bare_slice(pair, slice, slice_ms);
    }
    if (side == 0 && pair->threads != NULL) {
        return rl_bench_threads_load_slice(pair->threads, slice, slice_ms);
    }
    const struct rl_bench_options *options = &pair->bench->options;
    if (side == 1 && pair->script != NULL) {
        return load_slice(pair->script, slice, slice_ms);
    }
    load_choose(pair->load, rl_bench_options_lock(options, side),
                rl_bench_options_has(options->fencing, side));
    return load_slice(pair->load, slice, slice_ms);
}

/* Slice number i of one side. */
static int measure(struct pair *pair, size_t side, size_t i) {
    struct rl_bench *bench = pair->bench;
    struct rl_bench_series *series = &bench->report.series[side];
    struct rl_bench_slice *slice = &series->slices[i];
    assert(series->n == i);
    rl_bench_progress_label(&bench->progress, "slice %zu of %" PRId64 ", %s", i + 1,
                            bench->options.slices, series->name);
    if (take_slice(pair, side, slice, bench->options.slice_ms) != 0) {
        return -1;
    }
    series->n++;
    rl_bench_progress_note(&bench->progress, "slice %zu of %" PRId64 ", %s: %.0f locks/s", i + 1,
                           bench->options.slices, series->name, rl_bench_locks_per_s(slice));
    return 0;
}

static int measure_pair(struct pair *pair, size_t i) {
    size_t first = pair->has_two ? i % 2 : 0;
    if (measure(pair, first, i) != 0) {
        return -1;
    }
    return pair->has_two ? measure(pair, 1 - first, i) : 0;
}

static int warm_up(struct pair *pair) {
    struct rl_bench *bench = pair->bench;
    struct rl_bench_slice *scratch = &bench->report.series[0].slices[0];
    int64_t slice_ms = bench->options.warmup_ms;
    rl_bench_progress_label(&bench->progress, "warming up");
    if (slice_ms <= 0) {
        return 0;
    }
    if (take_slice(pair, 0, scratch, slice_ms) != 0) {
        return -1;
    }
    return pair->has_two ? take_slice(pair, 1, scratch, slice_ms) : 0;
}

/* The library's message says which node is down, and why; hiredis would only wait. A client is open
 * when a majority is up: the other nodes may need a moment more. */
static int check_all_up(const struct pair *pair) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct rl_bench_session *session = &pair->load->session;
    struct rl_bench *bench = pair->bench;
    if (rl_bench_session_settle(session, ALL_UP_MS) == 0) {
        return 0;
    }
    snprintf(bench->error, sizeof(bench->error), "--baseline needs every node: %s",
             redlock_client_message(session->client, sentence, sizeof sentence));
    return -1;
}

/* Opens as a user that may, or may not, release by the native command. */
static int open_as(struct cycle_load **load, struct rl_bench *bench, bool by_script) {
    const char *const *nodes = bench->nodes;
    struct rl_bench_users *users =
        rl_bench_users_make(bench->local, by_script, bench->error, sizeof bench->error);
    int result = -1;
    if (users != NULL) {
        bench->nodes = rl_bench_users_urls(users);
        result = load_open(load, bench, by_script ? "script" : "our");
        bench->nodes = nodes;
    }
    rl_bench_users_free(users);
    return result;
}

static int open_loads(struct pair *pair) {
    struct rl_bench *bench = pair->bench;
    switch ((enum rl_bench_release)bench->options.release) {
        case RL_BENCH_RELEASE_SCRIPT:
            return open_as(&pair->load, bench, true);
        case RL_BENCH_RELEASE_BOTH:
            return open_as(&pair->load, bench, false) == 0 ? open_as(&pair->script, bench, true)
                                                           : -1;
        case RL_BENCH_RELEASE_NATIVE:
            break;
    }
    return load_open(&pair->load, bench, "our");
}

static int open_pair(struct pair *pair) {
    struct rl_bench *bench = pair->bench;
    const struct rl_bench_options *options = &bench->options;
    if (open_loads(pair) != 0) {
        return -1;
    }
    if (options->blocking && rl_bench_threads_load_open(&pair->threads, bench) != 0) {
        return -1;
    }
    if (!options->has_baseline) {
        return 0;
    }
    if (check_all_up(pair) != 0) {
        return -1;
    }
    const struct rl_bench_bare_options bare = {
        .nodes = bench->nodes,
        .n_nodes = bench->n_nodes,
        .in_flight = (size_t)options->in_flight,
        .ttl_ms = options->ttl_ms,
        .key_prefix = bench->key_prefix,
        .is_argv = options->baseline == RL_BENCH_BASELINE_ARGV,
    };
    return rl_bench_bare_open(&pair->bare, &bench->run, &bare, bench->error, sizeof(bench->error));
}

static void name_series(struct rl_bench_report *report, bool compares) {
    const struct rl_bench_options *options = report->options;
    const char *first = compares ? "fenced" : "libredlock";
    const char *second = compares ? "plain" : "bare fan-out";
    if (options->release == RL_BENCH_RELEASE_BOTH) {
        first = "native";
        second = "script";
    } else if (options->blocking) {
        first = "blocking";
        second = "asynchronous";
    } else if (compares && options->fencing != RL_BENCH_BOTH) {
        first = options->permits > 0 ? "permits" : "shared";
        second = "exclusive";
    }
    report->series[0].name = first;
    report->series[0].is_library = true;
    report->series[1].name = second;
    report->series[1].is_library = compares;
}

int rl_bench_cycle(struct rl_bench *bench) {
    bool compares = rl_bench_options_compare(&bench->options);
    struct pair pair = {.bench = bench, .has_two = compares};
    pair.has_two |= bench->options.has_baseline;
    name_series(&bench->report, compares);
    int result = open_pair(&pair);
    result = result == 0 ? warm_up(&pair) : result;
    for (size_t i = 0; i < (size_t)bench->options.slices && result == 0; i++) {
        result = measure_pair(&pair, i);
    }
    rl_bench_bare_close(pair.bare);
    load_close(pair.script);
    rl_bench_threads_load_close(pair.threads);
    load_close(pair.load);
    return result;
}
