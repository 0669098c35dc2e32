/* See scene_parts.h. Failure mode: an operation does not end; patience ends, and the assertion
 * names it. */

#include <poll.h>
#include <uv.h>

#include "fail/clock_hook.h"
#include "fail/scene_parts.h"

#define SKIP_MS_MAX 50

/* -- What may fail -- */

static void now_in(const struct scene *s, enum scene_where where) {
    if (s->options->now_in != NULL) {
        s->options->now_in(s->shielded ? SCENE_SAFE : where);
    }
}

static size_t count_failed(const struct scene *s) {
    return s->options->failed != NULL ? s->options->failed() : 0;
}

void scene_enter(struct scene *s) {
    s->failed = count_failed(s);
    now_in(s, SCENE_LIBRARY);
}

void scene_leave(struct scene *s) {
    now_in(s, SCENE_TEST);
    s->failed = count_failed(s) - s->failed;
}

int scene_expected(const struct scene *s) {
    return s->failed > 0 ? REDLOCK_ERR_NOMEM : 0;
}

/* -- Turning the loops -- */

/* Turns the loops until they would wait, even if bytes come one by one. */
void scene_turn(struct scene *s) {
    for (int i = 0; i < 16; i++) {
        scene_enter(s);
        uv_run(&s->loop, UV_RUN_NOWAIT);
        scene_leave(s);
        uv_run(&s->nodes_loop, UV_RUN_NOWAIT);
    }
}

/* How long the loops would wait if nothing came. */
static uint64_t idle_ms(const struct scene *s, uint64_t end_ns) {
    const int timeouts[] = {SKIP_MS_MAX, uv_backend_timeout(&s->loop),
                            uv_backend_timeout(&s->nodes_loop)};
    uint64_t now_ns = uv_hrtime();
    uint64_t ms = now_ns < end_ns ? (end_ns - now_ns) / 1000000 + 1 : 0;
    for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        ms = timeouts[i] >= 0 && (uint64_t)timeouts[i] < ms ? (uint64_t)timeouts[i] : ms;
    }
    return ms;
}

/* If nothing comes for a moment, only time can help, and is skipped: in steps, since the kernel may
 * need longer, and not while a thread looks up a name. */
bool scene_run_until(struct scene *s, scene_condition *holds, const void *data,
                     uint64_t patience_ns) {
    struct pollfd fds[2] = {{.fd = uv_backend_fd(&s->loop), .events = POLLIN},
                            {.fd = uv_backend_fd(&s->nodes_loop), .events = POLLIN}};
    uint64_t end_ns = uv_hrtime() + patience_ns;
    while (!holds(s, data) && uv_hrtime() < end_ns) {
        scene_turn(s);
        uint64_t ms = idle_ms(s, end_ns);
        if (!holds(s, data) && ms > 0 && poll(fds, 2, 1) == 0 && s->loop.active_reqs.count == 0) {
            clock_hook_skip_ms(ms);
        }
    }
    return holds(s, data);
}

bool scene_was_told(const struct scene *s, const void *data) {
    (void)s;
    return ((const struct scene_told *)data)->calls > 0;
}

redlock_stats scene_stats(const struct scene *s) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    assert_int_equal(redlock_client_stats(s->client, &stats), 0);
    return stats;
}

bool scene_nothing_owed(const struct scene *s, const void *data) {
    uint64_t outstanding = 0;
    for (size_t i = 0; i < SCENE_NODES; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        assert_int_equal(redlock_client_node(s->client, i, &info), 0);
        outstanding += info.outstanding;
    }
    return scene_stats(s).pending_releases == 0 && outstanding == 0;
}

void scene_on_lock(redlock_lock *lock, int status, void *data) {
    struct scene_told *told = data;
    told->calls++;
    told->status = status;
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    ++*(int *)data;
}

static void on_renew(redlock_lock *lock, int status, void *data) {
}

struct scene_told *scene_told_of(struct scene *s, enum scene_op op) {
    return &s->result->told[op];
}

void scene_wait_for(struct scene *s, enum scene_op op) {
    struct scene_told *told = scene_told_of(s, op);
    if (told->returned == 0 && !scene_run_until(s, scene_was_told, told, SCENE_PATIENCE_NS)) {
        fail_msg("operation %d does not end", op);
    }
}

bool scene_succeeded(struct scene *s, enum scene_op op) {
    struct scene_told *told = scene_told_of(s, op);
    return told->returned == 0 && told->calls == 1 && told->status == 0;
}

redlock_lock *scene_new_lock(struct scene *s, const void *name, size_t length) {
    redlock_lock *lock = NULL;
    scene_enter(s);
    int status = redlock_lock_new(s->client, name, length, &lock);
    scene_leave(s);
    assert_int_equal(status, scene_expected(s));
    assert_true((status == 0) == (lock != NULL));
    return lock;
}

void scene_acquire(struct scene *s, redlock_lock *lock, enum scene_op op, int64_t wait_ms) {
    redlock_acquire_options o = REDLOCK_ACQUIRE_OPTIONS_INIT;
    o.ttl_ms = 30000;
    o.wait_ms = wait_ms;
    o.delay_ms = 1;
    o.jitter_ms = 2;
    o.on_lost = on_lost;
    o.lost_data = &s->result->lost;
    const bool needs_more = op == SCENE_ACQUIRE_A;
    if (needs_more) {
        o.owner = 7;
        o.on_renew = on_renew;
    }
    if (lock != NULL) {
        scene_enter(s);
        scene_told_of(s, op)->returned =
            redlock_acquire(lock, &o, scene_on_lock, scene_told_of(s, op));
        scene_leave(s);
        if (scene_told_of(s, op)->returned != REDLOCK_ERR_NOMEM || !needs_more || s->failed == 0) {
            assert_int_equal(scene_told_of(s, op)->returned, 0);
        }
        assert_int_equal(scene_told_of(s, op)->calls, 0);
    }
}

void scene_release(struct scene *s, redlock_lock *lock, enum scene_op op) {
    scene_enter(s);
    scene_told_of(s, op)->returned = redlock_release(lock, scene_on_lock, scene_told_of(s, op));
    scene_leave(s);
    assert_int_equal(scene_told_of(s, op)->returned, 0);
}

void scene_cancel(struct scene *s, redlock_lock *lock, enum scene_op op) {
    const bool has_ended = scene_told_of(s, op)->calls > 0;
    scene_enter(s);
    const int status = redlock_cancel(lock);
    scene_leave(s);
    assert_int_equal(status, has_ended ? REDLOCK_ERR_IDLE : 0);
    scene_wait_for(s, op);
}
