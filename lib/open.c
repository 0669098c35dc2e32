/* The one place where a client meets libuv: a world on the caller's loop, and the client on that.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/client.h"
#include "client/options.h"
#include "uv/world.h"

uint64_t redlock_now_ns(void) {
    return rl_clock_ns();
}

int redlock_client_open(redlock_client **out, struct uv_loop_s *loop,
                        const redlock_client_options *options, redlock_client_cb on_open,
                        void *data) {
    redlock_client_options o;
    if (out == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    *out = NULL;
    int status = rl_options_client(&o, options);
    if (status != 0) {
        return status;
    }
    if (loop == NULL) {
        return rl_error_invalid(&o, "loop is NULL");
    }
    struct rl_world *world = rl_uv_world_new(loop, o.allocator);
    if (world == NULL) {
        return rl_error_set(o.error, o.error_size, REDLOCK_ERR_NOMEM, "out of memory");
    }
    if (o.background) {
        rl_uv_world_unref(world);
    }
    status = rl_client_open(out, world, &o, on_open, data);
    assert((status == 0) == (*out != NULL)); /* the client owns the world, or it is freed */
    if (status != 0) {
        rl_uv_world_discard(world);
    }
    return status;
}
