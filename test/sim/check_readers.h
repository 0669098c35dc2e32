/* Readers, as nodes have them: a key that says "redlock:shared", and beside it a lease for each
 * reader with an end of its own.
 *
 * What is looked at:
 *   - Two holds of a resource *conflict* unless both read: violation "overlap" (check.h). A hold
 *     that was acquired exclusively reads from the call of redlock_downgrade() on; a reader writes
 *     from the time at which an upgrade is reported as won.
 *   - "validity": a reader relies on a quorum of leases, each beside a key that lives as long; or
 *     on the key itself, on a node that was not reached since it was the writer's. A writer relies
 *     on the key alone.
 *   - "orphan", "leftover": a lease must be released like a key.
 *   - "state": a key with "redlock:shared" expires with the last lease. Later it would keep writers
 *     out, earlier it would let them in. An intent, and an upgrade's note, expires by itself,
 *     within seconds.
 *
 * If nodes evict, the leases may be gone without the key, or the key without the leases: then this
 * is not checked. */
#ifndef SIM_CHECK_READERS_H
#define SIM_CHECK_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"

struct sim_world;
struct sim_hold;

#define SIM_LEASES_MAX 160 /* of one resource at one node */

struct sim_lease {
    uint64_t ran_ns;  /* true time at which it was seen first */
    uint64_t ends_ms; /* by the node's clock */
    uint64_t ends_ns; /* the same in true time */
    uint32_t token;
    uint32_t conn; /* the connection that brought it, 0: not known */
    bool is_stale; /* a replica brought it back */
    bool is_seen;  /* by the look that is taken just now */
};

struct sim_leases {
    struct sim_lease items[SIM_LEASES_MAX];
    uint32_t count;
};

/* A node has run a command that came by this connection; or, with 0, has other keys than before. */
void sim_check_readers_look(struct sim_world *world, uint32_t node, uint32_t conn, bool is_stale);

/* A node's clock was changed. */
void sim_check_readers_clock(struct sim_world *world, uint32_t node);

/* Until when the node keeps others out for the token: 0 if it does not. */
uint64_t sim_check_readers_until(const struct sim_world *world, uint32_t node, uint32_t resource,
                                 uint32_t token);

/* The owners of a node's leases. */
void sim_check_readers_print(const struct sim_world *world, uint32_t node, uint32_t resource);

void sim_check_readers_step(struct sim_world *world);
void sim_check_readers_over(struct sim_world *world);

#endif
