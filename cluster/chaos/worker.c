/* The life of one client, see worker.h; the work under the lock is in work.c.
 *
 * Failure modes: a client that opens without a quorum goes on, as the library lets it, and is
 * refused until the nodes come; a refused acquire is noted and tried again after a pause; a lost
 * lock is given up and another is waited for. A call that the library refuses at once is a mistake
 * of this program and ends it.
 */
#include "worker.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blind.h"

#define RETRY_DELAY_MS 10
#define RETRY_JITTER_MS 30
#define HOLDS_PER_CLIENT 1000000u /* sequences of two clients of one run do not meet */

static void worker_wait(struct chaos_worker *worker);

/* A call that cannot fail here did. */
static void must(const struct chaos_worker *worker, int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "redlock-chaos-client: %s: %s: %s\n", worker->name, what,
                redlock_strerror(status));
        exit(CHAOS_UNUSABLE);
    }
}

uint64_t chaos_worker_draw(struct chaos_worker *worker, uint64_t below) {
    /* splitmix64 */
    uint64_t z = (worker->random += 0x9e3779b97f4a7c15u);
    assert(below > 0);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

/* -- Timer -- */

static void timer_cb(uv_timer_t *timer) {
    struct chaos_worker *worker = timer->data;
    assert(worker->then != NULL);
    worker->then(worker);
}

void chaos_worker_after(struct chaos_worker *worker, uint64_t ms,
                        void (*then)(struct chaos_worker *worker)) {
    assert(!worker->is_closing && then != NULL);
    worker->then = then;
    /* The loop's time may be old after a long callback. */
    uv_update_time(&worker->process->loop);
    uv_timer_start(&worker->timer, timer_cb, ms, 0);
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
    chaos_journal_story(&worker->process->journal, worker->name,
                        "\"what\":\"close\",\"status\":\"%s\"", redlock_err_name(status));
    uv_close((uv_handle_t *)&worker->timer, timer_closed_cb);
}

static void worker_close(struct chaos_worker *worker) {
    assert(!worker->is_closing && !worker->is_working && worker->lock == NULL);
    worker->is_closing = 1;
    uv_timer_stop(&worker->timer);
    chaos_worker_count(worker);
    must(worker, redlock_client_close(worker->client, closed_cb, worker), "close");
}

/* -- Release -- */

static void worker_next(struct chaos_worker *worker) {
    const uint64_t work_ms = (uint64_t)worker->process->settings.work_ms;
    assert(!worker->is_working);
    redlock_lock_free(worker->lock);
    worker->lock = NULL;
    if (worker->process->is_stopping) {
        worker_close(worker);
    } else {
        chaos_worker_after(worker, 1 + chaos_worker_draw(worker, work_ms + 1), worker_wait);
    }
}

static void tell_release(struct chaos_worker *worker, const char *status) {
    chaos_journal_story(&worker->process->journal, worker->name,
                        "\"what\":\"release\",\"resource\":\"%s\",\"status\":\"%s\"",
                        worker->resource, status);
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
         chaos_blind_delete(&worker->process->loop, settings->nodes, settings->n_nodes,
                            worker->resource, blind_deleted, worker),
         "delete");
}

void chaos_worker_worked(struct chaos_worker *worker) {
    const struct chaos_settings *settings = &worker->process->settings;
    assert(!worker->is_working && worker->lock != NULL);
    if (settings->control == CHAOS_BLIND_RELEASE) {
        /* The wrong way, as it is often written: whoever is done deletes the key, also one whose
         * lock has run out in the meantime and who has tidied up first. */
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

static void acquired_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    const uint64_t wait_us = (redlock_now_ns() - worker->wait_ns) / 1000;
    assert(lock == worker->lock && !worker->is_working);
    if (status != 0) {
        chaos_journal_story(&worker->process->journal, worker->name,
                            "\"what\":\"denied\",\"resource\":\"%s\",\"status\":\"%s\","
                            "\"wait_us\":%" PRIu64,
                            worker->resource, redlock_err_name(status), wait_us);
        worker_next(worker);
        return;
    }
    worker->is_lost = 0;
    worker->sequence++;
    worker->valid_until_ns = redlock_lock_valid_until_ns(lock);
    snprintf(worker->token, sizeof(worker->token), "%s", redlock_lock_token(lock));
    chaos_work_begin(worker);
}

static void worker_wait(struct chaos_worker *worker) {
    struct chaos_process *process = worker->process;
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    assert(worker->lock == NULL && !worker->is_working);
    if (process->is_stopping) {
        worker_close(worker);
        return;
    }
    uint64_t index = chaos_worker_draw(worker, (uint64_t)process->settings.resources);
    snprintf(worker->resource, sizeof(worker->resource), "chaos-%" PRIu64, index + 1);
    must(
        worker,
        redlock_lock_new(worker->client, worker->resource, strlen(worker->resource), &worker->lock),
        "lock");
    options.ttl_ms = process->settings.ttl_ms;
    options.wait_ms = process->settings.wait_ms;
    options.delay_ms = RETRY_DELAY_MS;
    options.jitter_ms = RETRY_JITTER_MS;
    options.on_lost = lost_cb;
    options.lost_data = worker;
    worker->wait_ns = redlock_now_ns();
    chaos_journal_story(&process->journal, worker->name, "\"what\":\"wait\",\"resource\":\"%s\"",
                        worker->resource);
    must(worker, redlock_acquire(worker->lock, &options, acquired_cb, worker), "acquire");
}

/* -- Open -- */

static void opened_cb(redlock_client *client, int status, void *data) {
    struct chaos_worker *worker = data;
    (void)client;
    if (worker->is_closing) {
        return;
    }
    assert(client == worker->client);
    chaos_journal_story(&worker->process->journal, worker->name,
                        "\"what\":\"open\",\"status\":\"%s\"", redlock_err_name(status));
    worker_wait(worker);
}

static void name_nodes(const struct chaos_worker *worker, redlock_client_options *options) {
    const struct chaos_settings *settings = &worker->process->settings;
    options->nodes = settings->nodes;
    options->n_nodes = settings->n_nodes;
    if (settings->control == CHAOS_QUORUM1) {
        size_t first = (size_t)(settings->process + worker->number);
        options->nodes += first % settings->n_nodes;
        options->n_nodes = 1;
    }
}

void chaos_worker_open(struct chaos_worker *worker, struct chaos_process *process, int number) {
    char error[REDLOCK_MESSAGE_MAX];
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    memset(worker, 0, sizeof(*worker));
    worker->process = process;
    worker->number = number;
    worker->random = process->settings.seed * 1000003u + (uint64_t)number;
    worker->sequence =
        ((uint64_t)process->settings.process * 1000u + (uint64_t)number) * HOLDS_PER_CLIENT;
    snprintf(worker->name, sizeof(worker->name), "c%d.%d", process->settings.process, number);
    must(worker, uv_timer_init(&process->loop, &worker->timer) == 0 ? 0 : REDLOCK_ERR_SYSTEM,
         "timer");
    worker->timer.data = worker;
    name_nodes(worker, &options);
    options.client_name = worker->name;
    options.guard = process->settings.guard;
    options.max_ttl_ms = process->settings.ttl_ms;
    options.error = error;
    options.error_size = sizeof(error);
    if (redlock_client_open(&worker->client, &process->loop, &options, opened_cb, worker) != 0) {
        fprintf(stderr, "redlock-chaos-client: --nodes: %s\n", error);
        exit(2);
    }
    process->open++;
}

void chaos_worker_stop(struct chaos_worker *worker) {
    assert(worker->process->is_stopping);
    if (worker->is_closing || worker->is_working) {
        return; /* the next step of the work is its last */
    }
    if (worker->lock == NULL) {
        worker_close(worker); /* opening, or pausing between two acquires */
    } else {
        /* Ends with CANCELED, or a release is under way and ends by itself. */
        (void)redlock_cancel(worker->lock);
    }
}

void chaos_worker_count(const struct chaos_worker *worker) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    if (worker->client == NULL || redlock_client_stats(worker->client, &stats) != 0) {
        return;
    }
    chaos_journal_story(&worker->process->journal, worker->name,
                        "\"what\":\"count\",\"attempts\":%" PRIu64 ",\"acquires\":%" PRIu64
                        ",\"granted\":%" PRIu64 ",\"renewed\":%" PRIu64 ",\"lost\":%" PRIu64
                        ",\"repaired\":%" PRIu64 ",\"owed\":%" PRIu64 ",\"nodes_up\":%" PRIu64,
                        stats.attempts, stats.acquires, stats.granted, stats.renewed, stats.lost,
                        stats.repaired, stats.owed, stats.nodes_up);
}
