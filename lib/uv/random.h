/* Random bytes, a page of them at a time: one call of the system for some two hundred tokens.
 *
 * Can two processes get the same bytes? No: they wait on the page that the kernel hands to a child
 * as zeros (base/fork.h), and a child, which finds its first byte 0, does not look at it. Where
 * there is no such page, nothing is kept ahead. Can a token be read after it was used? What was
 * handed out is zeroed. */
#ifndef RL_UV_RANDOM_H
#define RL_UV_RANDOM_H

#include "uv/state.h"

/* False: there are none. */
bool rl_uv_random(struct rl_uv_world *w, void *bytes, size_t length);

#endif
