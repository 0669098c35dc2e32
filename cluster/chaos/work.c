/* See work.h. */
#include "work.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "set.h"

#define NS_PER_MS UINT64_C(1000000)
#define SHORT_STEPS 3
#define CONVERSIONS 4 /* rwlock: one in this many holds changes its kind */
/* Of 128 works this many are extended, and this many outlast their lock; the others are short. */
#define PLANS 128
#define PLANS_EXTENDED 5
#define PLANS_OUTLAST 3
/* edge: extensions of one hold, and when it begins to act every millisecond. */
#define EDGE_RENEWALS 3
#define EDGE_MS 20
#define EDGE_STEPS 250 /* more steps than any hold can take before its validity ends */

static const char *const plan_names[] = {"short", "extended", "outlast"};

static void step(struct chaos_worker *worker);

static struct chaos_record record_of(const struct chaos_worker *worker, uint64_t t_ns,
                                     const char *what) {
    return (struct chaos_record){t_ns,
                                 worker->name,
                                 what,
                                 worker->resource,
                                 worker->token,
                                 worker->valid_until_ns,
                                 worker->sequence,
                                 worker->slots};
}

static void note(const struct chaos_worker *worker, uint64_t t_ns, const char *what) {
    struct chaos_record record = record_of(worker, t_ns, what);
    assert(worker->valid_until_ns > 0);
    chaos_journal_act(&worker->process->journal, &record);
}

/* May a holder act now? The clock is read before the check, so that an act is never recorded later
 * than its validity. */
static int may_act(const struct chaos_worker *worker, uint64_t *t_ns) {
    const int control = worker->process->settings.control;
    *t_ns = redlock_now_ns();
    return control == CHAOS_IGNORE_VALIDITY ||
           (control == CHAOS_FROM_REPLY && *t_ns < worker->valid_until_ns) ||
           redlock_lock_is_valid(worker->lock);
}

uint64_t chaos_work_valid_until_ns(const struct chaos_worker *worker) {
    const struct chaos_settings *settings = &worker->process->settings;
    const uint64_t until_ns = redlock_lock_valid_until_ns(worker->lock);
    const uint64_t ttl_ms = (uint64_t)settings->ttl_ms;
    if (settings->control == CHAOS_FROM_REPLY && until_ns > 0) {
        return redlock_now_ns() + (ttl_ms - ttl_ms / 100 - 2) * NS_PER_MS;
    }
    return until_ns;
}

/* An act of a holder. Returns 0 if the lock is not valid any more: nothing was written. */
static int act(const struct chaos_worker *worker, const char *what) {
    uint64_t t_ns;
    assert(worker->is_working);
    if (!may_act(worker, &t_ns)) {
        return 0;
    }
    note(worker, t_ns, what);
    return 1;
}

static const char *enter_word(const struct chaos_worker *worker) {
    return worker->reads ? "enter-reader" : "enter";
}

static const char *act_word(const struct chaos_worker *worker) {
    return worker->reads ? "read" : "write";
}

static void work_over(struct chaos_worker *worker) {
    assert(worker->is_working);
    uv_timer_stop(&worker->timer);
    worker->is_working = 0;
    chaos_set_forget(worker);
    worker->on_worked(worker);
}

/* The hold ended before the work did. */
static void work_cut_short(struct chaos_worker *worker) {
    note(worker, redlock_now_ns(), "lost");
    work_over(worker);
}

void chaos_work_lost(struct chaos_worker *worker, int status) {
    struct chaos_journal *journal = &worker->process->journal;
    struct tool_json *json = chaos_journal_begin(journal, worker->name, "lost");
    int64_t left_ns = (int64_t)worker->valid_until_ns - (int64_t)redlock_now_ns();
    tool_json_put(json, JSON_TEXT("resource", worker->resource),
                  JSON_TEXT("status", redlock_err_name(status)),
                  JSON_TEXT("plan", plan_names[worker->plan]), JSON_INT("left_us", left_ns / 1000));
    chaos_journal_end(journal);
    const int control = worker->process->settings.control;
    if (worker->is_working && control != CHAOS_IGNORE_VALIDITY && control != CHAOS_FROM_REPLY) {
        work_cut_short(worker);
    }
}

/* -- Extending -- */

static void tell_extended(const struct chaos_worker *worker, const char *what, int status,
                          uint64_t valid_until_ns) {
    struct tool_json *json = chaos_journal_begin(&worker->process->journal, worker->name, what);
    tool_json_put(json, JSON_TEXT("resource", worker->resource),
                  JSON_TEXT("status", redlock_err_name(status)),
                  JSON_IF(valid_until_ns > 0, JSON_INT("asked_ns", worker->asked_ns)),
                  JSON_IF(valid_until_ns > 0, JSON_INT("valid_until_ns", valid_until_ns)));
    chaos_journal_end(&worker->process->journal);
}

/* Returns whether it is valid for longer. */
static int extended(struct chaos_worker *worker, int status) {
    const uint64_t t_ns = redlock_now_ns();
    const uint64_t valid_until_ns = status == 0 ? chaos_work_valid_until_ns(worker) : 0;
    tell_extended(worker, "extend", status, valid_until_ns);
    if (!worker->is_working || valid_until_ns == 0) {
        return 0;
    }
    worker->valid_until_ns = valid_until_ns;
    note(worker, t_ns, "extend");
    return 1;
}

static void extended_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    if (lock != worker->lock) {
        return; /* of a hold that is over */
    }
    worker->is_extending = 0;
    worker->renewals_left -= extended(worker, status);
}

void chaos_work_renewed(struct chaos_worker *worker, int status) {
    extended(worker, status);
}

/* An extension that cannot be sent now is retried at the next step, which also finds locks that
 * cannot be extended at all. */
static void extend_if_due(struct chaos_worker *worker) {
    if (worker->renewals_left > 0 && !worker->is_extending &&
        redlock_lock_remaining_ms(worker->lock) < worker->renew_at_ms &&
        redlock_extend(worker->lock, 0, extended_cb, worker) == 0) {
        worker->is_extending = 1;
    }
}

/* -- Changing between reader and writer -- */

/* It holds the lock alone from here on, if it still does. */
static void upgraded_cb(redlock_lock *lock, int status, void *data) {
    struct chaos_worker *worker = data;
    if (lock != worker->lock) {
        return; /* of a hold that is over */
    }
    worker->is_extending = 0;
    const uint64_t t_ns = redlock_now_ns();
    const uint64_t valid_until_ns = chaos_work_valid_until_ns(worker);
    tell_extended(worker, "upgrade", status, valid_until_ns);
    if (worker->is_working && valid_until_ns > 0) {
        worker->reads = status != 0;
        worker->valid_until_ns = valid_until_ns;
        note(worker, t_ns, status == 0 ? "upgrade" : "extend"); /* the request is withdrawn */
    }
}

/* Becomes a reader before the request is sent: others may enter as soon as a node knows. */
static void convert(struct chaos_worker *worker) {
    if (worker->is_extending || !redlock_lock_is_valid(worker->lock)) {
        return;
    }
    if (worker->reads) {
        worker->is_extending = redlock_try_upgrade(worker->lock, upgraded_cb, worker) == 0;
    } else {
        note(worker, redlock_now_ns(), "downgrade");
        worker->reads = 1;
        worker->is_extending = redlock_downgrade(worker->lock, extended_cb, worker) == 0;
    }
}

/* -- Steps -- */

static void last_step(struct chaos_worker *worker) {
    if (worker->process->settings.workload == CHAOS_LOCK_SET && !chaos_set_add(worker, act)) {
        work_cut_short(worker);
    } else if (act(worker, "exit")) {
        work_over(worker);
    } else {
        work_cut_short(worker);
    }
}

/* The pause until the next step; shorter near the end of validity if it acts until then. */
static uint64_t pause_ms(const struct chaos_worker *worker) {
    const int64_t left_ms = redlock_lock_remaining_ms(worker->lock) - EDGE_MS;
    if (worker->process->settings.workload != CHAOS_EDGE || left_ms > (int64_t)worker->step_ms) {
        return worker->step_ms;
    }
    return left_ms > 1 ? (uint64_t)left_ms : 1;
}

static void step(struct chaos_worker *worker) {
    assert(worker->is_working && worker->steps_left > 0);
    if (worker->process->is_stopping) {
        worker->steps_left = 1;
    }
    if (--worker->steps_left == 0) {
        last_step(worker);
    } else if (act(worker, act_word(worker))) {
        if (worker->steps_left == worker->convert_at) {
            convert(worker);
        }
        extend_if_due(worker);
        chaos_worker_after(worker, pause_ms(worker), step);
    } else {
        work_cut_short(worker);
    }
}

static void draw_edge(struct chaos_worker *worker) {
    const uint64_t ttl_ms = (uint64_t)worker->process->settings.ttl_ms;
    worker->plan = CHAOS_OUTLAST;
    worker->step_ms = ttl_ms / 20 + 1;
    worker->steps_left = EDGE_STEPS;
    worker->renewals_left = (int)chaos_worker_draw(worker, EDGE_RENEWALS + 1);
    worker->renew_at_ms = (int64_t)chaos_worker_draw(worker, ttl_ms * 2 / 3);
}

/* Draws the length of the work and its number of steps. */
static void draw_plan(struct chaos_worker *worker) {
    const struct chaos_settings *settings = &worker->process->settings;
    const uint64_t ttl_ms = (uint64_t)settings->ttl_ms;
    const uint64_t work_ms = (uint64_t)settings->work_ms;
    if (settings->workload == CHAOS_EDGE) {
        draw_edge(worker);
        return;
    }
    uint64_t lot = chaos_worker_draw(worker, PLANS);
    uint64_t total_ms = work_ms / 2 + chaos_worker_draw(worker, work_ms + 1);

    worker->plan = CHAOS_SHORT;
    worker->renewals_left = 0;
    worker->step_ms = total_ms / SHORT_STEPS;
    worker->steps_left = SHORT_STEPS;
    if (lot < PLANS_EXTENDED + PLANS_OUTLAST) {
        worker->plan = lot < PLANS_EXTENDED ? CHAOS_EXTENDED : CHAOS_OUTLAST;
        worker->renewals_left = lot < PLANS_EXTENDED ? INT_MAX : 0;
        worker->renew_at_ms = settings->ttl_ms - settings->ttl_ms / 3;
        total_ms = ttl_ms * (lot < PLANS_EXTENDED ? 6 : 11) / 10;
        total_ms += chaos_worker_draw(worker, ttl_ms / 2);
        worker->step_ms = ttl_ms / 20 > work_ms / 4 ? ttl_ms / 20 : work_ms / 4;
        worker->step_ms += worker->step_ms == 0;
        worker->steps_left = (int)(total_ms / worker->step_ms) + 1;
    }
    worker->convert_at = 0;
    if (settings->workload == CHAOS_RWLOCK && chaos_worker_draw(worker, CONVERSIONS) == 0) {
        worker->convert_at = worker->steps_left / 2;
    }
    assert(worker->steps_left > 0);
}

static void tell_grant(struct chaos_worker *worker, uint64_t now_ns) {
    struct chaos_journal *journal = &worker->process->journal;
    struct tool_json *json = chaos_journal_begin(journal, worker->name, "grant");
    tool_json_put(
        json, JSON_TEXT("resource", worker->resource), JSON_TEXT("status", "OK"),
        JSON_TEXT("token", worker->token), JSON_INT("wait_us", ((now_ns - worker->wait_ns) / 1000)),
        JSON_INT("asked_ns", worker->asked_ns), JSON_INT("valid_until_ns", worker->valid_until_ns),
        JSON_TEXT("plan", plan_names[worker->plan]),
        JSON_IF(worker->permits > 0, JSON_TEXT("slots", worker->slots)));
    chaos_journal_end(journal);
}

void chaos_work_begin(struct chaos_worker *worker, void (*on_worked)(struct chaos_worker *worker)) {
    uint64_t now_ns = redlock_now_ns();
    assert(!worker->is_working && worker->set == NULL);
    worker->is_working = 1;
    worker->on_worked = on_worked;
    worker->is_extending = 0;
    draw_plan(worker);
    tell_grant(worker, now_ns);
    if (!act(worker, enter_word(worker))) {
        work_cut_short(worker);
        return;
    }
    if (worker->process->settings.workload == CHAOS_LOCK_SET) {
        chaos_set_read(worker);
    }
    chaos_worker_after(worker, pause_ms(worker), step);
}
