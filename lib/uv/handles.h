/* Keeps a loop from blocking while a turn is due, and a world's memory while libuv refers to a part
 * of it. Only after the world has started (world.c). */
#ifndef RL_UV_HANDLES_H
#define RL_UV_HANDLES_H

#include "uv/state.h"

/* Requests one more turn before the loop blocks. */
void rl_uv_wake(struct rl_uv_world *w);

/* The loop does not block while a turn is due. */
void rl_uv_update_idle(struct rl_uv_world *w);

/* libuv will call back for this many more handles and requests. */
void rl_uv_opened(struct rl_uv_world *w, uint32_t count);

/* libuv has called back for one of them. The last call in a callback: it may free the world. */
void rl_uv_closed(struct rl_uv_world *w);

void rl_uv_free(struct rl_uv_world *w);

#endif
