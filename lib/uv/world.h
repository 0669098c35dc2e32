/* The world (base/world.h) on libuv: one loop of the program, one client.
 *
 * Happy path: rl_uv_world_new(), the client is opened on it, and from then on it runs as part of
 * the program's loop; close(), and after `closed` its memory is freed.
 *
 * Failure modes: no memory. Nothing else can fail here: the world creates no handle and does not
 * touch the loop before the first call that needs it (arm, wake, dial, resolve). Until then the
 * world may be discarded.
 *
 * Thread rules: the thread that runs the loop; now_ns and is_forked: any. */
#ifndef RL_UV_WORLD_H
#define RL_UV_WORLD_H

#include "base/world.h"
#include "redlock/redlock.h"

/* NULL: no memory. memory is copied. */
struct rl_world *rl_uv_world_new(struct uv_loop_s *loop, const redlock_allocator *memory);

/* For a new world: none of its handles keeps the loop running. */
void rl_uv_world_unref(struct rl_world *world);

/* Frees a world that was not used yet, or NULL. */
void rl_uv_world_discard(struct rl_world *world);

#endif
