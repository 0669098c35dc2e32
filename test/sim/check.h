/* The checker: true time, the nodes' tables and what clients announced, and nothing else of the
 * code under test. It runs after every step.
 *
 *     overlap     two clients are inside an unexpired validity window of one resource
 *     validity    a window is longer than the life of a quorum of its keys
 *     once        an operation ended twice, or never
 *     orphan      a key outlives the giving up of its token although its node could be told
 *     lost late   on_lost came after the end of validity, and the loop was not blocked
 *     revived     a command that sets or prolongs was sent for a token that had been given up, or a
 *                 window that was over was opened again
 *     success     a success was told while a loss was due, or with less validity than was asked for
 *     stuck       after healing, a client that waits does not acquire in time
 *     leftover    a key or a debt is left when everything is over
 *     fence       fences are not in order (check_fence.c)
 *
 * A window is open from the moment the user is told of the grant until the validity that the lock
 * states then is over (by the client's clock, seen from true time), or the user calls release or is
 * told of the loss. A token is given up when its lock is neither trying, granted nor held with it.
 *
 * A loss may be told up to a timer's lag late if, when validity was set, little of it was left: the
 * margin is then half of that, and can be shorter than libuv's millisecond.
 *
 * The orphan rule has two exceptions. One Redlock cannot close: a SET that arrives on an older
 * connection after the release that was to undo it. The other is the bound on what is owed: the
 * oldest release beyond it is given up. In both the key ends by its ttl.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lock.h"
#include "sim/client.h"
#include "sim/options.h"

struct sim_world;

enum sim_violation {
    SIM_FINE,
    SIM_OVERLAP,
    SIM_VALIDITY,
    SIM_ONCE,
    SIM_ORPHAN,
    SIM_LOST_LATE,
    SIM_REVIVED,
    SIM_SUCCESS,
    SIM_STUCK,
    SIM_LEFTOVER,
    SIM_FENCE,
    SIM_VIOLATIONS
};

/* A token that was drawn. */
struct sim_token {
    uint64_t drawn_ns;                /* its SETs are sent then, and not before */
    uint64_t given_up_ns;             /* UINT64_MAX while it is in use */
    uint32_t released[SIM_NODES_MAX]; /* the last connection that brought each node its release */
    uint32_t dropped;                 /* nodes that were owed too much to keep its release */
    uint8_t client;
    uint8_t lock;
};

/* What a client announces of one lock. */
struct sim_hold {
    uint64_t until_local_ns;
    uint64_t until_ns; /* the same in true time */
    uint64_t late_ns;  /* so late may the loss be told: 0, or a timer's lag if little was left */
    uint64_t fence;    /* told with the grant */
    uint32_t token;
    uint32_t min_validity_ms; /* asked for by the acquire */
    bool fences;              /* the same */
    bool is_open;
};

/* A grant that was told, with a fence. */
struct sim_grant {
    uint64_t told_ns;
    uint64_t fence;
    uint64_t kept_ns; /* when the last command was sent by which a quorum set or kept counters */
};

struct sim_grants {
    struct sim_grant *items; /* in the order of telling */
    uint32_t count;
    uint32_t capacity;
};

struct sim_check {
    struct sim_token *tokens; /* by number, from 1 */
    uint32_t token_count;
    uint32_t token_capacity;
    struct sim_hold holds[SIM_CLIENTS_MAX][SIM_LOCKS_MAX];
    struct sim_grants grants[SIM_RESOURCES_MAX];
    bool overlaps[SIM_RESOURCES_MAX]; /* at the last step, where that is excused */
    bool active[SIM_CLIENTS_MAX][SIM_LOCKS_MAX][RL_OPS];
    uint64_t busy_until_ns[SIM_CLIENTS_MAX];             /* when the loop was last blocked */
    uint64_t trouble_ns[SIM_CLIENTS_MAX][SIM_NODES_MAX]; /* nothing gets through for sure before */
    enum sim_violation found;
    enum sim_violation only; /* if not SIM_FINE: no other violation counts */
    char message[200];
};

/* -- Announcements -- */

uint32_t sim_check_token(struct sim_world *world, const struct sim_lock *lock);
void sim_check_begin(const struct sim_lock *lock, enum rl_op_kind op);
void sim_check_wanted(const struct sim_lock *lock, const struct rl_acquire *acquire);
void sim_check_end(const struct sim_lock *lock, enum rl_op_kind op, enum rl_result result);
void sim_check_hold(const struct sim_lock *lock);
void sim_check_let_go(const struct sim_lock *lock);
void sim_check_lost(const struct sim_lock *lock);
/* After every step of a lock. */
void sim_check_lock(const struct sim_lock *lock);
void sim_check_busy(const struct sim_client *client, uint64_t until_ns);
void sim_check_trouble(struct sim_world *world, uint32_t client, uint32_t node, uint64_t until_ns);
/* A client's clock was changed. */
void sim_check_clock(const struct sim_client *client);
/* A node ran a release. */
void sim_check_released(struct sim_world *world, uint32_t node, uint32_t token, uint32_t conn);
/* A release is given up because the node is owed too much. */
void sim_check_dropped(struct sim_world *world, uint32_t node, uint32_t token);
/* A command that sets or prolongs was asked for. */
void sim_check_asked(const struct sim_call *call);

/* -- Fences: check_fence.c -- */

/* A grant is told. */
void sim_check_fence(const struct sim_lock *lock, const struct sim_hold *hold);
/* A lock was extended. */
void sim_check_fence_kept(const struct sim_lock *lock);
/* After a step of a lock that is held. */
void sim_check_fence_stays(const struct sim_lock *lock, const struct sim_hold *hold);
void sim_check_fences_free(struct sim_world *world);

/* -- Checks -- */

void sim_check_step(struct sim_world *world);
void sim_check_over(struct sim_world *world);
void sim_check_fail(struct sim_world *world, enum sim_violation what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *sim_violation_name(enum sim_violation what);

#endif
