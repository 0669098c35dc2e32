/* The checker. It runs after every step, and knows true time, the servers' keys, and what the
 * public interface and its trace hook say.
 *
 *     overlap     two clients are inside an unexpired validity window of one resource, or lead one
 *                 election
 *     validity    a window is longer than the life of a quorum of its keys, or than max_hold_ms
 *     once        a callback came twice, or never, or when nothing was submitted
 *     orphan      a key outlives the giving up of its token, or the last use by its users, although
 *                 its node could be told
 *     lost_late   on_lost came after the end of validity, and the loop was not blocked
 *     revived     a command that sets or prolongs was sent for a token that had been given up, or a
 *                 window that was over was opened again
 *     success     a success was told while a loss was due, or with less validity than was asked
 *                 for, or of a release although a quorum has the key
 *     stuck       after healing, a client that waits does not acquire in time, or one that closes
 *                 does not end; an operation goes on after wait_ms or a cancel
 *     leftover    a key, a pending release, memory or a stream is left when everything is over, or
 *                 a key that never expires
 *     fence       fences are not in order (check_fence.c)
 *     order       somebody who came later was served first, and nothing paid for it (check_line.h)
 *     stall       no client gets a lock that one waits for and could have (check_line.h), or a lock
 *                 lingers for too long, or is lost although its watchdog could reach a quorum
 *     spin        a user's attempts follow each other without a pause (check_line.h), or are more
 *                 than `tries`
 *     count       more permits are held than there are, or others than were asked for
 *                 (check_permits.h)
 *     seam        the library does not keep its side of base/world.h
 *     state       a getter contradicts what was told
 *
 * A window is open from the notification of the grant until the validity reported by the lock is
 * over (by the client's clock, converted to true time), the lock reports none, or the user calls
 * release or is notified of the loss. A token is in use from the sending of its SETs (trace event
 * ATTEMPT) until its releases go out (RELEASE), the next attempt begins, or the operation is
 * reported as failed; the token of a hold, until the hold ends, whatever the result of an acquire
 * that joined.
 *
 * If little validity is left, the library reports the loss half of that before the end. A timer's
 * lag may be longer, so then the loss may be reported late by that lag.
 *
 * Exceptions to the orphan rule, where the key ends by its ttl: a SET arrives on an older
 * connection after the release that should undo it, which Redlock cannot prevent; too many releases
 * were pending for a node; a closing client has waited for the node timeout in vain; a disowned
 * lock keeps its keys. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/check_line.h"
#include "sim/check_permits.h"
#include "sim/check_readers.h"
#include "sim/options.h"

struct sim_world;
struct sim_client;

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
    SIM_ORDER,
    SIM_STALL,
    SIM_SPIN,
    SIM_COUNT,
    SIM_SEAM,
    SIM_STATE,
    SIM_VIOLATIONS
};

enum sim_op { SIM_OP_ACQUIRE, SIM_OP_EXTEND, SIM_OP_RELEASE, SIM_OPS };

enum sim_fact_kind {
    SIM_FACT_ATTEMPT,  /* token: SETs go out */
    SIM_FACT_SENT,     /* token: what sets or prolongs goes out; arg: 1 for an extension */
    SIM_FACT_GIVEN_UP, /* token; arg: releases go out */
    SIM_FACT_END,      /* op was completed: status; arg: its token is not given up */
    SIM_FACT_HOLD,     /* granted: token, until, fence; status: the least validity in ms */
    SIM_FACT_UNTIL,    /* a hold's validity has changed: until, now */
    SIM_FACT_OVER,     /* a hold reports no validity; its loss is still to be reported */
    SIM_FACT_RENEWED,  /* an extension was reported as done */
    SIM_FACT_MODE,     /* of a hold: arg: 1 if it reads from now on; of an upgrade the fence */
    SIM_FACT_LET_GO,   /* by its user */
    SIM_FACT_DISOWN,   /* the same, but its keys stay */
    SIM_FACT_OWN,      /* token: a disowned lock is to be released */
    SIM_FACT_UNUSED,   /* token: it is being released */
    SIM_FACT_LOST,
    SIM_FACT_UP,      /* node */
    SIM_FACT_DOWN,    /* node */
    SIM_FACT_DROPPED, /* node, token: there were too many pending releases to keep its own */
    SIM_FACT_GONE     /* the client was closed */
};

/* What a process announces, at its own time. */
struct sim_fact {
    struct sim_fact *next_free;
    uint64_t until_ns; /* its own clock */
    uint64_t now_ns;   /* the same */
    uint64_t fence;
    uint64_t owner;
    uint64_t asked_ns; /* true time */
    uint32_t max_hold_ms;
    uint32_t linger_ms;
    uint32_t token;
    uint32_t resources; /* as a mask */
    int32_t status;
    uint8_t kind;
    uint8_t client;
    uint8_t slot;
    uint8_t node;
    uint8_t op;
    uint8_t arg;
    uint8_t take; /* requested permits, of this many; 0: of no semaphore */
    uint8_t permits;
    bool reads;
    bool was_stopped; /* in this call into the library, maybe when it had decided */
};

/* A token that was generated. */
struct sim_token {
    uint64_t drawn_ns;    /* its votes are from this time on */
    uint64_t passed_ns;   /* when a node first reported a pass of a key to it; 0: never */
    uint64_t given_up_ns; /* UINT64_MAX while it is in use */
    uint64_t extend_ns;   /* when its last extension was sent */
    uint64_t before_ns;   /* ... and the one before that */
    uint64_t told_ns;     /* when its client learned that others wait; 0: never */
    uint64_t let_go_ns;   /* when the last user of its hold released it; 0: not yet */
    uint64_t linger_ns;   /* its first release, and linger_ms; 0: none yet */
    uint32_t linger_ms;
    uint32_t resources;               /* of its last hold, as a mask */
    uint64_t said_ns[SIM_NODES_MAX];  /* when each node last reported a pass of a key to it */
    uint32_t released[SIM_NODES_MAX]; /* the last connection that brought each node its release */
    uint32_t dropped; /* nodes to which there were too many pending releases to keep its own */
    uint64_t place;   /* the number of the place that it is */
    uint8_t client;
    uint8_t told_at; /* ... by this node */
    uint8_t turn_at; /* nodes at which it took a key that was reserved for its client, as a mask */
    uint8_t opened;  /* resources, as a mask: see check_line.c */
    uint8_t found;   /* nodes at which a release of it has found its key, as a mask */
    uint8_t owes;    /* nodes that its client had to have it released at before it closed */
    bool is_disowned;
    bool has_asked;  /* its client has begun an attempt with it */
    bool is_granted; /* a user was notified of a hold with it */
};

/* A hold, as reported to its user. */
struct sim_hold {
    uint64_t until_local_ns;
    uint64_t until_ns; /* the same in true time */
    uint64_t most_ns;  /* the latest end of validity that max_hold_ms allows, by its clock */
    uint64_t late_ns;  /* how late the loss may be reported: 0, or a timer's lag if little was
                          left */
    uint64_t fence;
    uint64_t owner;
    uint32_t token;
    uint32_t resources;
    uint8_t take; /* as in a fact */
    uint8_t permits;
    bool reads; /* check_readers.h */
    bool is_open;
};

/* A reported grant with a fence. */
struct sim_grant {
    uint64_t told_ns;
    uint64_t fence;
    uint64_t kept_ns; /* when the last command was sent by which a quorum set or kept counters */
    bool reads;
};

struct sim_grants {
    struct sim_grant *items; /* in the order of reporting */
    uint32_t count;
    uint32_t capacity;
};

/* A key of ours on a node, as the server has it. */
struct sim_seen {
    uint32_t token;      /* 0: there is no key */
    uint32_t conn;       /* the connection that brought its SET, 0: not known */
    uint64_t ran_ns;     /* true time at which it was seen first */
    uint64_t expires_ms; /* by the node's clock */
    uint64_t expires_ns; /* the same in true time */
    uint64_t place;      /* the number of the place that it is reserved for */
    uint8_t reserved;    /* 0: it is not; or what follows */
    bool is_stale;       /* a replica brought it back */
    bool is_shared;      /* it is of readers: check_readers.h */
    bool is_fresh;       /* the command that runs has set it */
    bool is_passed;      /* a release has, for a lease, and its own client has not extended it */
};

#define SIM_ROUNDING_NS 1000 /* of the mapping from local to true time */

#define SIM_RESERVED_NS (260 * RL_NS_PER_MS) /* at most, for a turn */
#define SIM_RESERVED_FOR_NOBODY 1            /* or for a client that is gone */
#define SIM_RESERVED_FOR 2                   /* and the client's index */

/* A client that closes. */
struct sim_closing {
    uint64_t since_ns;
    uint8_t nodes; /* without a disturbance between them then, as a mask */
};

struct sim_check {
    struct sim_token *tokens; /* by number, from 1 */
    uint32_t token_count;
    uint32_t token_capacity;
    uint32_t *index;  /* numbers by hash */
    uint64_t *hashes; /* by number */
    uint32_t index_size;
    struct sim_seen seen[SIM_NODES_MAX][SIM_RESOURCES_MAX];
    struct sim_leases leases[SIM_NODES_MAX][SIM_RESOURCES_MAX];
    /* Behind the clients are those of other libraries (plain.h). */
    struct sim_hold holds[SIM_CLIENTS_MAX + SIM_PLAIN_MAX][SIM_SLOTS_MAX];
    struct sim_check_line line;
    struct sim_turns turns;
    struct sim_grants grants[SIM_RESOURCES_MAX];
    bool overlaps[SIM_RESOURCES_MAX];        /* at the last step, where that is excused */
    uint64_t busy_until_ns[SIM_CLIENTS_MAX]; /* when the loop was last blocked */
    uint64_t trouble_ns[SIM_CLIENTS_MAX][SIM_NODES_MAX];  /* connections are unreliable until
                                                             then */
    uint64_t up_since_ns[SIM_CLIENTS_MAX][SIM_NODES_MAX]; /* UINT64_MAX: it is not */
    uint64_t unheard_ns[SIM_CLIENTS_MAX][SIM_NODES_MAX];  /* when the client last missed a message
                                                             of it */
    struct sim_closing closing[SIM_CLIENTS_MAX];
    struct sim_fact *free_facts;
    enum sim_violation found;
    enum sim_violation only; /* if not SIM_FINE: no other violation counts */
    char message[200];
};

void sim_check_start(struct sim_world *world);

/* How long before the end of validity a holder is notified, including the timer's lag. */
uint64_t sim_check_margin_ns(const struct sim_options *options);

/* -- Announcements -- */

/* Applies it at the process's own time, now or later. */
void sim_check_tell(struct sim_client *client, const struct sim_fact *fact);
/* SIM_EV_FACT */
void sim_check_fact(struct sim_world *world, struct sim_fact *fact);

/* The last place with `what`; NULL: none. */
const char *sim_check_last(const char *bytes, size_t length, const char *what, size_t size);

/* The number of a token by its text (40 hex digits), a new one if need be; 0 if it is none. */
uint32_t sim_check_token(struct sim_world *world, const char *text);

void sim_check_busy(const struct sim_client *client, uint64_t until_ns);
void sim_check_trouble(struct sim_world *world, uint32_t client, uint32_t node, uint64_t until_ns);
/* Nothing has disturbed what they say to each other since then. */
bool sim_check_is_calm(const struct sim_world *world, uint32_t client, uint32_t node,
                       uint64_t since_ns);
/* It begins to close. */
void sim_check_closes(struct sim_world *world, uint32_t client);
/* When it was given up, or was no longer needed since its users had let it go: whatever the library
 * announces. */
uint64_t sim_check_ended_ns(const struct sim_token *token);
/* The node has its key or lease, and not by a command that came late. */
bool sim_check_has(const struct sim_world *world, uint32_t node, uint32_t token);
/* A client's clock was changed. */
void sim_check_clock(const struct sim_client *client);
/* A node ran a release; found: the token had a key there. */
void sim_check_released(struct sim_world *world, uint32_t node, uint32_t token, uint32_t conn,
                        bool found);

/* -- Fences: check_fence.c -- */

/* A grant is reported. */
void sim_check_fence(struct sim_world *world, uint32_t client, const struct sim_hold *hold);
/* A lock was extended. */
void sim_check_fence_kept(struct sim_world *world, const struct sim_hold *hold);
void sim_check_fences_free(struct sim_world *world);

/* -- Checks -- */

void sim_check_step(struct sim_world *world);
/* The key, or lease, of a token that was given up must be gone. */
void sim_check_key(struct sim_world *world, uint32_t node, const struct sim_seen *key);
void sim_check_over(struct sim_world *world);
void sim_check_free(struct sim_world *world);
void sim_check_fail(struct sim_world *world, enum sim_violation what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *sim_violation_name(enum sim_violation what);

#endif
