/* See cycle.h. */
#include "cycle.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "bare.h"
#include "cycle_load.h"
#include "figures.h"
#include "threads_load.h"
#include "users.h"

#define ALL_UP_MS 2000

struct pair {
    struct rl_bench *bench;
    struct rl_bench_cycle_load *load;
    struct rl_bench_cycle_load *script;    /* of the user that may release by it; NULL: the same */
    struct rl_bench_bare *bare;            /* NULL without --baseline */
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

/* The library's slice, fenced or not, of whatever kind, or the bare fan-out's. */
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
        return rl_bench_cycle_load_slice(pair->script, slice, slice_ms);
    }
    rl_bench_cycle_load_fence(pair->load, rl_bench_options_has(options->fencing, side));
    rl_bench_cycle_load_choose(pair->load, rl_bench_options_lock(options, side));
    return rl_bench_cycle_load_slice(pair->load, slice, slice_ms);
}

/* Slice number i of one of the two. */
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

/* The library's sentence says which node is down, and why; hiredis would just wait. A client is
 * open when a majority is up: the other nodes may need a moment more. */
static int check_all_up(const struct pair *pair) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct rl_bench_session *session = rl_bench_cycle_load_session(pair->load);
    struct rl_bench *bench = pair->bench;
    if (rl_bench_session_settle(session, ALL_UP_MS) == 0) {
        return 0;
    }
    snprintf(bench->error, sizeof(bench->error), "--baseline needs every node: %s",
             redlock_client_message(session->client, sentence, sizeof sentence));
    return -1;
}

/* As a user that may, or may not, release by a command. */
static int open_as(struct rl_bench_cycle_load **load, struct rl_bench *bench, bool by_script) {
    const char *const *nodes = bench->nodes;
    struct rl_bench_users *users =
        rl_bench_users_make(bench->local, by_script, bench->error, sizeof bench->error);
    int result = -1;
    if (users != NULL) {
        bench->nodes = rl_bench_users_urls(users);
        result = rl_bench_cycle_load_open(load, bench, by_script ? "script" : "our");
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
    return rl_bench_cycle_load_open(&pair->load, bench, "our");
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
    rl_bench_cycle_load_close(pair.script);
    rl_bench_threads_load_close(pair.threads);
    rl_bench_cycle_load_close(pair.load);
    return result;
}
