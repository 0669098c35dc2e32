/* The negative control "blind-release": a plain DEL of a key on every node, by connections of its
 * own and without checking the owner of the key. It runs on a thread of libuv's pool, so that a
 * node that does not answer does not block the loop, and with it the other clients.
 *
 * Failure modes: a node that cannot be reached in time is skipped. done runs once in any case. */
#ifndef CHAOS_BLIND_H
#define CHAOS_BLIND_H

#include <stddef.h>
#include <uv.h>

/* nodes: redis://host:port, valid until done has run. deleted: how many nodes had the key.
 * Returns 0, or REDLOCK_ERR_NOMEM, _SYSTEM. */
int chaos_blind_delete(uv_loop_t *loop, const char *const *nodes, size_t n_nodes, const char *key,
                       void (*done)(void *data, int deleted), void *data);

#endif /* CHAOS_BLIND_H */
