/* See state.h. */
#include "uv/state.h"

#include <assert.h>

#include "base/memory.h"
#include "base/require.h"

void rl_uv_refer(const struct rl_uv_world *w, uv_handle_t *handle) {
    if (w->is_unreferenced) {
        uv_unref(handle);
    }
}

static void idle_cb(uv_idle_t *idle) {
    (void)idle; /* it only has to be active */
}

void rl_uv_update_idle(struct rl_uv_world *w) {
    assert(w->is_started && !w->is_closing); /* it would start a closing handle */
    if (w->is_woken || w->is_due) {
        uv_idle_start(&w->idle, idle_cb);
    } else {
        uv_idle_stop(&w->idle);
    }
}

/* After a turn the idle handle is updated anyway. */
void rl_uv_wake(struct rl_uv_world *w) {
    assert(w->is_started);
    w->is_woken = true;
    if (!w->in_turn && !w->is_closing) {
        rl_uv_update_idle(w);
    }
}

void rl_uv_free(struct rl_uv_world *w) {
    redlock_allocator memory = w->memory;
    RL_REQUIRE(w->open == 0); /* else libuv would call back into freed memory */
    assert(w->streams == NULL);
    rl_fork_end(&w->fork);
    rl_free(&memory, w);
}

void rl_uv_opened(struct rl_uv_world *w, uint32_t count) {
    assert(w->is_started && !w->is_closing);
    assert(count <= UINT32_MAX - w->open);
    w->open += count;
}

void rl_uv_closed(struct rl_uv_world *w) {
    RL_REQUIRE(w->open > 0); /* each is closed once */
    if (--w->open == 0 && w->is_closing && !rl_fork_is_child(&w->fork)) {
        w->base.events->closed(w->base.owner);
        rl_uv_free(w);
    }
}
