/* Names to addresses, by getaddrinfo() in a thread of libuv's pool.
 *
 * A look-up that has begun cannot be cancelled: a forgotten one ends without an event, and the
 * world's memory stays until then. */
#ifndef RL_UV_NAMES_H
#define RL_UV_NAMES_H

#include "uv/state.h"

/* As resolve() and forget() of the world. */
void *rl_uv_resolve(struct rl_uv_world *w, const char *host, uint16_t port, rl_resolved_cb done,
                    void *owner, const char **error);
void rl_uv_forget(void *resolving);

#endif
