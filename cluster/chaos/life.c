/* See life.h.
 *
 * Failure modes: a client that opens without a quorum goes on, as the library lets it, and is
 * refused until the nodes come; a refused acquire is noted and retried after a pause; after a loss
 * the client waits for another lock. A call that the library refuses at once is a defect of this
 * program and ends it. */
#include "life.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blind.h"
#include "permits.h"
#include "work.h"

#define RETRY_DELAY_MS 10
#define RETRY_JITTER_MS 30
#define KINDS 5                   /* rwlock: one in this many waits is a writer's */
#define HOLDS_PER_CLIENT 1000000u /* sequences of two clients of one run do not overlap */

static void worker_wait(struct chaos_worker *worker);

/* A call failed that cannot fail here. */
static void must(const struct chaos_worker *worker, int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "redlock-chaos-client: %s: %s: %s\n", worker->name, what,
                redlock_strerror(status));
        exit(CHAOS_UNUSABLE);
    }
}

/* -- Close -- */

static void timer_closed_cb(uv_handle_t *handle) {
    struct chaos_worker *worker = handle->data;
    struct chaos_process *process = worker->process;
    assert(process->open > 0);
    if (--process->open == 0) {
        process->on_all_closed(process);
    }
}

static void closed_cb(redlock_client *client, int status, void *data) {
    struct chaos_worker *worker = data;
    (void)client;
    worker->client = NULL;
    chaos_journal_status(&worker->process->journal, worker->name, "close", NULL,
                         redlock_err_name(status));
    uv_close((uv_handle_t *)&worker->timer, timer_closed_cb);
}

static void worker_close(struct chaos_worker *worker) {
    assert(!worker->is_closing && !worker->is_working && worker->lock == NULL);
    worker->is_closing = 1;
    uv_timer_stop(&worker->timer);
    chaos_life_count(worker);
    must(worker, redlock_client_close(worker->client, closed_cb, worker), "close");
}

/* -- Release -- */

static void worker_pause(struct chaos_worker *worker) {
    const uint64_t work_ms = (uint64_t)worker->process->settings.work_ms;
    assert(worker->lock == NULL);
    if (worker->process->is_stopping) {
        worker_close(worker);
    } else {
        chaos_worker_after(worker, 1 + chaos_worker_draw(worker, work_ms + 1), worker_wait);
    }
}

static void worker_next(struct chaos_worker *worker) {
    assert(!worker->is_working);
    redlock_lock_free(worker->lock);
    worker->lock = NULL;
    if (worker->permits > 0) {
        chaos_permits_change(worker, worker_pause);
    } else {
        worker_pause(worker);
    }
}

static void tell_release(struct chaos_worker *worker, const char *status) {
    chaos_journal_status(&worker->process->journal, worker->name, "release", worker->resource,
                         status);
}

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    (void)lock;
    assert(lock == worker->lock);
    tell_release(worker, redlock_err_name(status));
    worker_next(worker);
}

static void blind_deleted(void *data, int deleted) {
    struct chaos_worker *worker = data;
    (void)deleted;
    tell_release(worker, "BLIND");
    worker_next(worker);
}

static void delete_blindly(struct chaos_worker *worker) {
    const struct chaos_settings *settings = &worker->process->settings;
    must(worker,
         chaos_blind_delete(&worker->process->loop, settings->nodes.items, settings->nodes.n,
                            worker->resource, blind_deleted, worker),
         "delete");
}

static void worked(struct chaos_worker *worker) {
    const struct chaos_settings *settings = &worker->process->settings;
    assert(!worker->is_working && worker->lock != NULL);
    if (settings->control == CHAOS_BLIND_RELEASE) {
        /* The wrong way, as it is often written: a client deletes the key when it is done, even if
         * its lock has expired meanwhile and it has cleaned up first. */
        uint64_t ms = worker->is_lost ? 1 + (uint64_t)settings->work_ms : 0;
        chaos_worker_after(worker, ms, delete_blindly);
    } else if (worker->is_lost || redlock_release(worker->lock, released_cb, worker) != 0) {
        tell_release(worker, "ERR_NOT_HELD");
        worker_next(worker);
    }
}

/* -- Acquire -- */

static void lost_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    (void)lock;
    assert(lock == worker->lock && !worker->is_lost);
    worker->is_lost = 1;
    chaos_work_lost(worker, status);
}

static void renewed_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    (void)lock;
    assert(lock == worker->lock && !worker->is_lost);
    chaos_work_renewed(worker, status);
}

/* An attempt that the end of the wait cut short says less than the last complete one. */
static int is_cut_short(const struct chaos_worker *worker) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    for (size_t i = 0; redlock_lock_outcome(worker->lock, i, &outcome) == 0; i++) {
        if (outcome.vote == REDLOCK_VOTE_PENDING) {
            return 1;
        }
    }
    return 0;
}

static void tell_denied(struct chaos_worker *worker, int status, uint64_t wait_us) {
    char why[REDLOCK_MESSAGE_MAX];
    struct chaos_journal *journal = &worker->process->journal;
    struct tool_json *json = chaos_journal_begin(journal, worker->name, "denied");
    redlock_lock_message(worker->lock, why, sizeof(why));
    tool_json_put(
        json, JSON_TEXT("resource", worker->resource),
        JSON_TEXT("status", redlock_err_name(status)), JSON_INT("wait_us", wait_us),
        JSON_TEXT("why", worker->paused[0] != '\0' && is_cut_short(worker) ? worker->paused : why));
    chaos_journal_end(journal);
}

static void acquired_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    const uint64_t wait_us = (redlock_now_ns() - worker->wait_ns) / 1000;
    assert(lock == worker->lock && !worker->is_working);
    if (status != 0) {
        tell_denied(worker, status, wait_us);
        chaos_permits_denied(worker, status);
        worker_next(worker);
        return;
    }
    worker->is_lost = 0;
    worker->sequence++;
    worker->valid_until_ns = chaos_work_valid_until_ns(worker);
    snprintf(worker->token, sizeof(worker->token), "%s", redlock_lock_token(lock));
    if (worker->permits > 0) {
        chaos_permits_granted(worker);
    }
    chaos_work_begin(worker, worked);
}

static void new_lock(struct chaos_worker *worker) {
    const struct chaos_settings *settings = &worker->process->settings;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes bytes = {worker->resource, 0};
    worker->index = (int)chaos_worker_draw(worker, (uint64_t)settings->resources);
    snprintf(worker->resource, sizeof(worker->resource), "chaos-%d", worker->index + 1);
    bytes.length = strlen(worker->resource);
    worker->reads = settings->workload == CHAOS_RWLOCK && chaos_worker_draw(worker, KINDS) != 0;
    options.resources = &bytes;
    options.n_resources = 1;
    options.mode = worker->reads ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    if (settings->workload == CHAOS_PERMITS) {
        chaos_permits_choose(worker);
        options.permits = worker->permits;
        options.take = worker->take;
    }
    must(worker, redlock_lock_new_with(worker->client, &options, &worker->lock, NULL, 0), "lock");
}

static void tell_wait(struct chaos_worker *worker) {
    struct chaos_journal *journal = &worker->process->journal;
    struct tool_json *json = chaos_journal_begin(journal, worker->name, "wait");
    tool_json_put(json, JSON_TEXT("resource", worker->resource),
                  JSON_IF(worker->reads, JSON_BOOL("reads", true)),
                  JSON_IF(worker->permits > 0, JSON_INT("permits", worker->permits)),
                  JSON_IF(worker->permits > 0, JSON_INT("take", worker->take)));
    chaos_journal_end(journal);
}

static void worker_wait(struct chaos_worker *worker) {
    struct chaos_process *process = worker->process;
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    assert(worker->lock == NULL && !worker->is_working);
    if (process->is_stopping) {
        worker_close(worker);
        return;
    }
    new_lock(worker);
    options.ttl_ms = process->settings.ttl_ms;
    options.wait_ms = process->settings.wait_ms;
    options.delay_ms = RETRY_DELAY_MS;
    options.jitter_ms = RETRY_JITTER_MS;
    options.on_lost = lost_cb;
    options.lost_data = worker;
    options.on_renew = renewed_cb;
    options.renew_data = worker;
    if (process->settings.max_hold_ms > 0) {
        options.max_hold_ms = process->settings.max_hold_ms;
    }
    worker->paused[0] = '\0';
    worker->wait_ns = redlock_now_ns();
    tell_wait(worker);
    must(worker, redlock_acquire(worker->lock, &options, acquired_cb, worker), "acquire");
}

/* -- Open -- */

static void opened_cb(redlock_client *client, int status, void *data) {
    struct chaos_worker *worker = data;
    struct chaos_journal *journal = &worker->process->journal;
    char why[REDLOCK_MESSAGE_MAX];
    if (worker->is_closing) {
        return;
    }
    assert(client == worker->client);
    struct tool_json *json = chaos_journal_begin(journal, worker->name, "open");
    redlock_client_message(client, why, sizeof(why));
    tool_json_put(json, JSON_TEXT("status", redlock_err_name(status)),
                  JSON_IF(status != 0, JSON_TEXT("why", why)));
    chaos_journal_end(journal);
    worker_wait(worker);
}

/* Records when a request is sent, for the validity; why an attempt failed; and where a client waits
 * and when it has its turn, for the order of service. */
static void traced(const redlock_event *event, void *data) {
    struct chaos_worker *worker = data;
    struct chaos_journal *journal = &worker->process->journal;
    const char *what = event->type == REDLOCK_EVENT_JOIN    ? "join"
                       : event->type == REDLOCK_EVENT_LEAVE ? "leave"
                       : event->type == REDLOCK_EVENT_TURN  ? "turn"
                                                            : NULL;
    if (event->type == REDLOCK_EVENT_ATTEMPT || event->type == REDLOCK_EVENT_TAKE ||
        event->type == REDLOCK_EVENT_EXTEND || event->type == REDLOCK_EVENT_UPGRADE) {
        worker->asked_ns = event->now_ns;
    }
    if (event->type == REDLOCK_EVENT_PAUSE) {
        redlock_lock_message(event->lock, worker->paused, sizeof(worker->paused));
    }
    if (what == NULL) {
        return;
    }
    if (event->type == REDLOCK_EVENT_TURN && worker->process->dies_at_turn) {
        raise(SIGKILL);
    }
    struct tool_json *json = chaos_journal_begin(journal, worker->name, what);
    tool_json_put(json, JSON_TEXT("node", event->node));
    chaos_journal_end(journal);
}

static void name_nodes(const struct chaos_worker *worker, redlock_client_options *options) {
    const struct chaos_settings *settings = &worker->process->settings;
    options->nodes = settings->nodes.items;
    options->n_nodes = settings->nodes.n;
    if (settings->control == CHAOS_QUORUM1) {
        size_t first = (size_t)(settings->process + worker->number);
        options->nodes += first % settings->nodes.n;
        options->n_nodes = 1;
    }
}

void chaos_life_open(struct chaos_worker *worker, struct chaos_process *process, int number) {
    char error[REDLOCK_MESSAGE_MAX];
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    memset(worker, 0, sizeof(*worker));
    worker->process = process;
    worker->number = number;
    worker->random = (uint64_t)process->settings.seed * 1000003u + (uint64_t)number;
    worker->sequence =
        ((uint64_t)process->settings.process * 1000u + (uint64_t)number) * HOLDS_PER_CLIENT;
    snprintf(worker->name, sizeof(worker->name), "c%" PRId64 ".%d", process->settings.process,
             number);
    must(worker, uv_timer_init(&process->loop, &worker->timer) == 0 ? 0 : REDLOCK_ERR_SYSTEM,
         "timer");
    worker->timer.data = worker;
    name_nodes(worker, &options);
    options.client_name = worker->name;
    options.guard = (enum redlock_guard)process->settings.guard;
    options.max_ttl_ms = process->settings.ttl_ms;
    if (process->settings.workload == CHAOS_EDGE) {
        options.lost_margin_ms = 0;
    }
    options.trace = traced;
    options.trace_data = worker;
    options.error = error;
    options.error_size = sizeof(error);
    if (redlock_client_open(&worker->client, &process->loop, &options, opened_cb, worker) != 0) {
        fprintf(stderr, "redlock-chaos-client: --nodes: %s\n", error);
        exit(2);
    }
    process->open++;
}

void chaos_life_stop(struct chaos_worker *worker) {
    assert(worker->process->is_stopping);
    if (worker->is_closing || worker->is_working || worker->is_changing) {
        return; /* the next step of the work is its last, and the callback of a change checks */
    }
    if (worker->lock == NULL) {
        worker_close(worker); /* opening, or pausing between two acquires */
    } else {
        /* Ends with CANCELED, or a release is pending and ends by itself. */
        (void)redlock_cancel(worker->lock);
    }
}

void chaos_life_count(const struct chaos_worker *worker) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    if (worker->client == NULL || redlock_client_stats(worker->client, &stats) != 0) {
        return;
    }
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        {"attempts", stats.attempts},
        {"turns", stats.turns},
        {"turns_missed", stats.turns_missed},
        {"acquires", stats.acquires},
        {"granted", stats.granted},
        {"renewed", stats.renewed},
        {"lost", stats.lost},
        {"repaired", stats.repaired},
        {"owed", stats.pending_releases},
        {"nodes_up", stats.nodes_up},
    };
    struct chaos_journal *journal = &worker->process->journal;
    struct tool_json *json = chaos_journal_begin(journal, worker->name, "count");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        tool_json_put(json, JSON_INT(counts[i].name, counts[i].count));
    }
    chaos_journal_end(journal);
}
