/* Names to numeric addresses, off the loop's thread.
 *
 * hiredis would call getaddrinfo() itself and block the loop, so only numeric addresses reach it. A
 * look-up that has begun cannot be cancelled: the owner orphans it, and it frees itself when it
 * ends.
 */
#ifndef RL_REDIS_RESOLVE_H
#define RL_REDIS_RESOLVE_H

#include "redis/conn.h"
#include "redis/io.h"
#include "redis/url.h"

#define RL_ADDRESSES_MAX 8 /* of one name so many are tried */

/* count 0: not found, error is a libuv code. addresses: valid during the call. */
typedef void (*rl_resolve_cb)(void *owner, const struct rl_address *addresses, uint32_t count,
                              int error);

struct rl_resolve;

/* True if the URL needs no look-up: a path, or a host that is numeric. *address is filled in then.
 * */
bool rl_resolve_numeric(const struct rl_url *url, struct rl_address *address);

/* Begins a look-up. NULL if it could not be begun, with *error set. */
struct rl_resolve *rl_resolve_start(struct rl_io *io, const struct rl_url *url, rl_resolve_cb done,
                                    void *owner, int *error);

/* done will not be called. */
void rl_resolve_orphan(struct rl_resolve *resolve);

#endif
