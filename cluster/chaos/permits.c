/* See permits.h. */
#include "permits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redlock/semaphore.h"

#define LOWERED_BY 2
#define CHANGES 100 /* one in this many holds is followed by a change */

static int32_t permits_of(const struct chaos_worker *worker, bool is_low) {
    return (int32_t)worker->process->settings.permits - (is_low ? LOWERED_BY : 0);
}

void chaos_permits_choose(struct chaos_worker *worker) {
    assert(worker->index < (int)(sizeof(worker->process->is_low)));
    worker->permits = permits_of(worker, worker->process->is_low[worker->index]);
    worker->take = 1 + (int32_t)chaos_worker_draw(worker, CHAOS_TAKE_MAX);
    assert(worker->take <= worker->permits);
}

/* "0,3/5" */
static void write_slots(const struct chaos_worker *worker, char *text) {
    size_t length = 0;
    for (int32_t i = 0; i < worker->take; i++) {
        length += (size_t)snprintf(text + length, CHAOS_SLOTS_SIZE - length, "%s%" PRId32,
                                   i > 0 ? "," : "", redlock_lock_slot(worker->lock, (size_t)i));
        assert(length < CHAOS_SLOTS_SIZE);
    }
    snprintf(text + length, CHAOS_SLOTS_SIZE - length, "/%" PRId32, worker->permits);
}

void chaos_permits_granted(struct chaos_worker *worker) {
    char *kept = worker->kept[worker->take - 1];
    write_slots(worker, worker->slots);
    if (worker->process->settings.control == CHAOS_KEPT_SLOT) {
        if (kept[0] == '\0') {
            memcpy(kept, worker->slots, CHAOS_SLOTS_SIZE);
        }
        memcpy(worker->slots, kept, CHAOS_SLOTS_SIZE);
    }
}

void chaos_permits_denied(struct chaos_worker *worker, int status) {
    if (status == REDLOCK_ERR_PERMITS && worker->index > 0) {
        /* Not the opposite of the current number: another client of this process may have been
         * notified before. */
        worker->process->is_low[worker->index] = worker->permits == permits_of(worker, false);
    }
}

static void changed_cb(redlock_query *query, int status, void *data) {
    struct chaos_worker *worker = data;
    (void)query;
    chaos_journal_status(&worker->process->journal, worker->name, "set-permits", worker->resource,
                         redlock_err_name(status));
    worker->is_changing = 0;
    worker->then_changed(worker);
}

void chaos_permits_change(struct chaos_worker *worker, void (*then)(struct chaos_worker *worker)) {
    bool *is_low = &worker->process->is_low[worker->index];
    int32_t permits = permits_of(worker, !*is_low);
    if (worker->index == 0 || worker->process->is_stopping ||
        chaos_worker_draw(worker, CHANGES) != 0 ||
        redlock_set_permits(worker->client, worker->resource, strlen(worker->resource), permits,
                            changed_cb, worker) != 0) {
        then(worker);
        return;
    }
    worker->is_changing = 1;
    worker->then_changed = then;
    *is_low = !*is_low;
}
