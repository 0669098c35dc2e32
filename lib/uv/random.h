/* Random bytes, a page of them at a time: one call of the system for some two hundred tokens.
 *
 * Can two processes get the same bytes? No: they are kept on the page that the kernel gives to a
 * child as zeros (base/fork.h), and a child, which finds its first byte 0, does not use it. Without
 * such a page no bytes are kept. Can a token be read after it was used? No: bytes that were handed
 * out are zeroed. */
#ifndef RL_UV_RANDOM_H
#define RL_UV_RANDOM_H

#include "uv/state.h"

/* Returns false if no random bytes are available. */
bool rl_uv_random(struct rl_uv_world *w, void *bytes, size_t length);

#endif
