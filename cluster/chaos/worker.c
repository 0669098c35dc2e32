/* See worker.h. */
#include "worker.h"

#include <assert.h>

uint64_t chaos_worker_draw(struct chaos_worker *worker, uint64_t below) {
    /* splitmix64 */
    uint64_t z = (worker->random += 0x9e3779b97f4a7c15u);
    assert(below > 0);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
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
