/* See worker.h. */
#include "worker.h"

#include <assert.h>

#include "tool/server/splitmix.h"

uint64_t chaos_worker_draw(struct chaos_worker *worker, uint64_t below) {
    assert(below > 0);
    return next_random(&worker->random) % below;
}

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
