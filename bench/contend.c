/* The workload contend: clients that all want the same lock.
 *
 * Happy path: C clients, each with connections of its own and K lock objects ("contenders"), ask
 * for one resource without a limit. Whoever is granted holds for --hold-ms, releases, and steps
 * aside until another contender has had the lock: otherwise the releaser, who need not poll, would
 * take it again at once, and no hand-over would be measured. At the end of a slice those who wait
 * are cancelled, the holder finishes.
 *
 * With --tie-break both or --fencing both the same clients run slices with the option and without
 * it, in turn, the order alternating from pair to pair. Votes are counted by votes.h.
 *
 * Safety check: at each grant nobody else may be between grant and release with a lock that is
 * still valid. A violation is counted and makes redlock-bench exit with status 3.
 *
 * Failure modes: an acquire that ends in an error is counted as failed and repeated; a lock that is
 * lost while held is counted as failed.
 *
 * What it is for: redlock-bench --workload contend. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "session.h"
#include "votes.h"

enum contender_state {
    OUT,       /* between slices */
    WAITING,   /* acquire under way */
    HOLDING,   /* granted, not yet released */
    RELEASING, /* release under way */
    ASIDE      /* until another one has had the lock */
};

struct contender {
    struct contend *contend;
    redlock_lock *lock;
    uv_timer_t hold; /* closed with the contender */
    enum contender_state state;
    uint64_t asked_ns;
    uint64_t slice_grants;
    uint64_t grants[2]; /* of each side of the report */
    uint64_t turn;      /* of contend, when this one released */
};

struct contend {
    struct rl_bench *bench;
    redlock_acquire_options acquire;
    struct rl_bench_series *series; /* the side that is measured */
    struct rl_bench_votes votes;
    size_t n_sessions;
    struct rl_bench_session *sessions;
    size_t n;
    struct contender *contenders;
    const struct contender *last; /* holder */
    uint64_t released_ns;
    uint64_t turn; /* grants so far */
};

static void fail(struct contend *contend, const char *what, redlock_lock *lock) {
    struct rl_bench *bench = contend->bench;
    snprintf(bench->error, sizeof(bench->error), "%s: %s", what, redlock_lock_message(lock));
    rl_bench_run_fail(&bench->run);
}

/* -- The life of a contender -- */

static void acquire_cb(redlock_lock *lock, int status, void *data);

static void leave(struct contender *contender) {
    contender->state = OUT;
    rl_bench_run_leave(&contender->contend->bench->run);
}

static void ask(struct contender *contender) {
    struct contend *contend = contender->contend;
    uint64_t now_ns = rl_bench_now_ns();
    if (rl_bench_run_is_over(&contend->bench->run, now_ns)) {
        leave(contender);
        return;
    }
    contender->state = WAITING;
    contender->asked_ns = now_ns;
    contend->acquire.lost_data = contender;
    if (redlock_acquire(contender->lock, &contend->acquire, acquire_cb, contender) != 0) {
        fail(contend, "acquire", contender->lock);
    }
}

static void release_cb(redlock_lock *lock, int status, void *data) {
    (void)lock;
    struct contender *contender = data;
    struct contend *contend = contender->contend;
    if (contend->bench->run.slice == NULL) {
        return; /* the slice was given up, and the clients are being closed */
    }
    assert(contender->state == RELEASING);
    contend->bench->run.slice->failed += status != 0;
    bool over = rl_bench_run_is_over(&contend->bench->run, rl_bench_now_ns());
    if (over || contend->n == 1 || contend->turn > contender->turn) {
        ask(contender);
    } else {
        contender->state = ASIDE;
    }
}

static void hold_cb(uv_timer_t *timer) {
    struct contender *contender = timer->data;
    struct contend *contend = contender->contend;
    assert(contender->state == HOLDING);
    contender->state = RELEASING;
    contender->turn = contend->turn;
    contend->released_ns = rl_bench_now_ns();
    if (redlock_release(contender->lock, release_cb, contender) != 0) {
        fail(contend, "release", contender->lock);
    }
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    (void)lock, (void)status;
    struct contender *contender = data;
    struct contend *contend = contender->contend;
    if (contender->state != HOLDING || contend->bench->run.slice == NULL) {
        return;
    }
    uv_timer_stop(&contender->hold);
    contend->bench->run.slice->failed++;
    contend->last = NULL; /* nobody hands over */
    ask(contender);
}

/* Holders besides this one, by the library's own word. */
static size_t count_other_holders(const struct contender *holder) {
    const struct contend *contend = holder->contend;
    size_t count = 0;
    for (size_t i = 0; i < contend->n; i++) {
        const struct contender *other = &contend->contenders[i];
        count += other != holder && other->state == HOLDING && redlock_lock_is_valid(other->lock);
    }
    return count;
}

static void count_grant(struct contender *contender) {
    struct contend *contend = contender->contend;
    struct rl_bench_slice *slice = contend->bench->run.slice;
    uint64_t now_ns = rl_bench_now_ns();
    slice->locks++;
    contender->slice_grants++;
    rl_bench_hist_record(&slice->grant, now_ns - contender->asked_ns);
    if (contend->last != NULL && contend->last != contender) {
        slice->hand_overs++;
        rl_bench_hist_record(&slice->hand_over, now_ns - contend->released_ns);
    }
    contend->last = contender;
    contend->turn++;
}

static void call_back_aside(struct contend *contend) {
    for (size_t i = 0; i < contend->n; i++) {
        if (contend->contenders[i].state == ASIDE) {
            ask(&contend->contenders[i]);
        }
    }
}

static void acquire_cb(redlock_lock *lock, int status, void *data) {
    struct contender *contender = data;
    struct contend *contend = contender->contend;
    struct rl_bench *bench = contend->bench;
    if (bench->run.slice == NULL) {
        return;
    }
    assert(contender->state == WAITING);
    if (status != 0) {
        bench->run.slice->failed += status != REDLOCK_ERR_CANCELED;
        ask(contender);
        return;
    }
    if (redlock_lock_is_valid(lock)) {
        bench->report.violations += count_other_holders(contender);
    }
    count_grant(contender);
    contender->state = HOLDING;
    uv_timer_start(&contender->hold, hold_cb, (uint64_t)bench->options.hold_ms, 0);
    call_back_aside(contend);
}

/* -- Slices -- */

static void deadline_cb(void *data) {
    struct contend *contend = data;
    for (size_t i = 0; i < contend->n; i++) {
        struct contender *contender = &contend->contenders[i];
        if (contender->state == WAITING) {
            redlock_cancel(contender->lock);
        } else if (contender->state == ASIDE) {
            leave(contender);
        }
    }
}

static void count(const struct contend *contend, struct rl_bench_counts *counts) {
    memset(counts, 0, sizeof(*counts));
    for (size_t i = 0; i < contend->n_sessions; i++) {
        rl_bench_session_count(&contend->sessions[i], counts);
    }
}

/* With the option that is compared, or without it. */
static void take_side(struct contend *contend, size_t side) {
    const struct rl_bench_options *options = &contend->bench->options;
    contend->series = &contend->bench->report.series[side];
    contend->acquire.tie_break = rl_bench_options_has(options->tie_break, side);
    contend->acquire.fencing = rl_bench_options_has(options->fencing, side);
}

static int run_slice(struct contend *contend, struct rl_bench_slice *slice, double seconds) {
    struct rl_bench *bench = contend->bench;
    struct rl_bench_counts before;
    struct rl_bench_counts after;
    count(contend, &before);
    contend->last = NULL;
    rl_bench_run_begin(&bench->run, slice, seconds, contend->n, deadline_cb, contend);
    for (size_t i = 0; i < contend->n; i++) {
        assert(contend->contenders[i].state == OUT);
        ask(&contend->contenders[i]);
    }
    int result = rl_bench_run_finish(&bench->run);
    count(contend, &after);
    rl_bench_counts_note(slice, &before, &after);
    rl_bench_votes_end(&contend->votes, slice);
    if (bench->error[0] == '\0' && (result != 0 || slice->locks == 0)) {
        snprintf(bench->error, sizeof(bench->error), "%s: %s",
                 result != 0 ? "the locks' callbacks do not come" : "no lock was granted",
                 redlock_client_message(contend->sessions[0].client));
        result = -1;
    }
    return result;
}

static void note_grants(struct contend *contend) {
    struct rl_bench_series *series = contend->series;
    for (size_t i = 0; i < contend->n; i++) {
        struct contender *contender = &contend->contenders[i];
        uint64_t *grants = &contender->grants[series == &contend->bench->report.series[1]];
        *grants += contender->slice_grants;
        contender->slice_grants = 0;
    }
}

static int measure_side(struct contend *contend, size_t side) {
    struct rl_bench *bench = contend->bench;
    take_side(contend, side);
    struct rl_bench_series *series = contend->series;
    struct rl_bench_slice *slice = &series->slices[series->n];
    rl_bench_progress_label(&bench->progress, "slice %zu of %lld, %s", series->n + 1,
                            bench->options.slices, series->name);
    if (run_slice(contend, slice, bench->options.seconds) != 0) {
        return -1;
    }
    note_grants(contend);
    series->n++;
    rl_bench_progress_note(&bench->progress, "slice %zu of %lld, %s: %.1f hand-overs/s", series->n,
                           bench->options.slices, series->name, rl_bench_hand_overs_per_s(slice));
    return 0;
}

static int measure(struct contend *contend) {
    struct rl_bench *bench = contend->bench;
    bool pairs = rl_bench_options_compare(&bench->options);
    rl_bench_progress_label(&bench->progress, "warming up");
    take_side(contend, 0);
    if (bench->options.warmup > 0 &&
        run_slice(contend, &contend->series->slices[0], bench->options.warmup) != 0) {
        return -1;
    }
    for (size_t i = 0; i < contend->n; i++) {
        contend->contenders[i].slice_grants = 0;
    }
    for (size_t i = 0; i < (size_t)bench->options.slices; i++) {
        size_t first = pairs ? i % 2 : 0;
        if (measure_side(contend, first) != 0 || (pairs && measure_side(contend, 1 - first) != 0)) {
            return -1;
        }
    }
    return 0;
}

static void find_extremes(const struct contend *contend, size_t side) {
    struct rl_bench_series *series = &contend->bench->report.series[side];
    series->least_grants = UINT64_MAX;
    for (size_t i = 0; i < contend->n; i++) {
        uint64_t grants = contend->contenders[i].grants[side];
        series->least_grants = grants < series->least_grants ? grants : series->least_grants;
        series->most_grants = grants > series->most_grants ? grants : series->most_grants;
    }
}

/* -- Opening and closing -- */

static size_t count_contenders(const struct rl_bench *bench) {
    return (size_t)bench->options.clients * (size_t)bench->options.in_flight;
}

static int open_contenders(struct contend *contend, struct rl_bench_session *session) {
    struct rl_bench *bench = contend->bench;
    char key[80];
    int length = snprintf(key, sizeof(key), "%s:contended", bench->key_prefix);
    for (long long i = 0; i < bench->options.in_flight; i++) {
        struct contender *contender = &contend->contenders[contend->n];
        int status = redlock_lock_new(session->client, key, (size_t)length, &contender->lock);
        if (status != 0) {
            snprintf(bench->error, sizeof(bench->error), "lock: %s", redlock_strerror(status));
            return -1;
        }
        contender->contend = contend;
        rl_bench_votes_add(&contend->votes, contender->lock);
        uv_timer_init(&bench->loop, &contender->hold);
        contender->hold.data = contender;
        contend->n++;
    }
    return 0;
}

static int open_sessions(struct contend *contend) {
    struct rl_bench *bench = contend->bench;
    size_t n = (size_t)bench->options.clients;
    contend->sessions = calloc(n, sizeof(*contend->sessions));
    contend->contenders = calloc(count_contenders(bench), sizeof(*contend->contenders));
    if (contend->sessions == NULL || contend->contenders == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        struct rl_bench_session *session = &contend->sessions[i];
        int result =
            rl_bench_session_open_traced(session, bench, rl_bench_votes_trace, &contend->votes);
        contend->n_sessions++;
        if (result != 0 || open_contenders(contend, session) != 0) {
            return -1;
        }
    }
    return 0;
}

static void closed_cb(uv_handle_t *handle) {
    size_t *open = handle->loop->data;
    --*open;
}

static void close_all(struct contend *contend) {
    uv_loop_t *loop = &contend->bench->loop;
    size_t open = contend->n;
    loop->data = &open;
    for (size_t i = 0; i < contend->n; i++) {
        uv_close((uv_handle_t *)&contend->contenders[i].hold, closed_cb);
    }
    for (size_t i = 0; i < contend->n_sessions; i++) {
        rl_bench_session_close(&contend->sessions[i]);
    }
    while (open > 0) {
        uv_run(loop, UV_RUN_ONCE);
    }
    free(contend->contenders);
    free(contend->sessions);
}

static void set_names(struct rl_bench *bench) {
    bool fences = bench->options.fencing == RL_BENCH_BOTH;
    bool pairs = rl_bench_options_compare(&bench->options);
    struct rl_bench_series *series = bench->report.series;
    series[0].name = !pairs ? "libredlock" : fences ? "fenced" : "tie-break";
    series[1].name = fences ? "plain" : "no tie-break";
    series[0].is_library = series[1].is_library = true;
}

int rl_bench_contend(struct rl_bench *bench) {
    struct contend contend;
    memset(&contend, 0, sizeof(contend));
    contend.bench = bench;
    contend.acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    contend.acquire.ttl_ms = bench->options.ttl_ms;
    contend.acquire.wait_ms = REDLOCK_NO_LIMIT;
    contend.acquire.delay_ms = bench->options.delay_ms;
    contend.acquire.jitter_ms = bench->options.jitter_ms;
    contend.acquire.on_lost = lost_cb;
    set_names(bench);
    int result = rl_bench_votes_open(&contend.votes, count_contenders(bench));
    if (result != 0) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
    }
    result = result == 0 ? open_sessions(&contend) : result;
    result = result == 0 ? measure(&contend) : result;
    find_extremes(&contend, 0);
    find_extremes(&contend, 1);
    close_all(&contend);
    rl_bench_votes_close(&contend.votes);
    return result;
}
