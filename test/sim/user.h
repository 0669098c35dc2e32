/* The users: one for each slot of a process, doing with its lock, or its election, what the public
 * interface allows, at random.
 *
 * Happy path: think, acquire, hold, extend now and then, release, think. Also: cancel, let a hold
 * run out, free the object, extend by another ttl, acquire as an owner that shares its hold, hand
 * the token to another process, query the holder, act inside a callback, block the loop in one.
 * Candidates campaign, lead, resign; observers are notified of the leader.
 *
 * In the liveness phase each process's first slot becomes a probe instead (in the preset "lines"
 * all of them do): it acquires without a limit, releases at once, and is done. If there are
 * elections, the first one campaigns, and all observers must be notified.
 *
 * Every callback has its own record, kept until the history ends, so that a callback that runs
 * twice, never, or too late is detected. */
#ifndef SIM_USER_H
#define SIM_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/election.h"
#include "redlock/redlock.h"
#include "sim/check.h"

struct sim_client;
struct sim_user;
struct sim_world;
struct sim_event;

/* A submitted operation, kept until the history ends. */
struct sim_submitted {
    struct sim_submitted *next;
    struct sim_user *user;
    redlock_lock *lock;
    uint64_t ends_ns;    /* by then, its process's clock, it must be told; UINT64_MAX: any time */
    uint64_t until_ns;   /* so long, by the same clock, a successful extension makes it valid */
    uint32_t generation; /* of the client's life */
    uint8_t op;
    bool is_told;
    bool lost_told; /* of an acquire */
    bool upgrades;  /* of an extension */
    bool is_freed;  /* the user has freed its object: it ends as cancelled */
};

/* A disowned token that any user may take. */
struct sim_handover {
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint32_t number;
    uint64_t since_ns;  /* true time: its owner may be ahead of the world */
    uint32_t resources; /* or slots */
    bool is_there;
};

struct sim_user {
    struct sim_client *client;
    redlock_lock *lock; /* of a lock's user */
    redlock_election *election;
    redlock_acquire_options last;       /* acquire of its lock; size 0: none yet */
    struct sim_submitted *object;       /* the election's callbacks are of that */
    struct sim_submitted *ops[SIM_OPS]; /* that are pending */
    uint64_t owner;                     /* of the last acquire */
    uint64_t asked_ns;                  /* when it was submitted, true time */
    uint64_t attempt_ns;                /* when it asked for votes last, true time */
    uint64_t sign_ns;                   /* of life, the last in this hold, by its clock; 0: none */
    uint64_t until_ns;                  /* the end of validity that the checker knows */
    uint64_t most_ns;                   /* ... at most, since the last sign of life */
    uint32_t generation;                /* voids the user's planned action */
    uint32_t resources;                 /* of the lock, as a mask; slots of its last grant */
    uint32_t token;                     /* of the last attempt */
    uint32_t min_validity_ms;           /* that the last acquire asked for */
    uint32_t max_hold_ms;               /* the same; 0: it set no limit */
    uint32_t linger_ms;                 /* the same */
    uint32_t silence_ms;                /* the same, max_silence_ms; 0: it needs no signs of life */
    uint32_t ttl_ms;                    /* the same */
    int64_t tries;                      /* that the pending acquire has left */
    uint32_t depth;                     /* acquires of this object that are not released */
    uint32_t probe_left;
    uint8_t index;
    uint8_t take;    /* permits of its lock; 0: it is no holder of permits */
    uint8_t permits; /* ... of so many */
    bool fences;
    bool watches;    /* its watchdog has time for more than one try */
    bool made_reads; /* its lock is acquired to be read */
    bool reads;      /* ... and is held so, or was last */
    bool adopts;     /* the pending acquire is an adoption */
    bool may_lose;   /* it was released when its loss was due, which is still reported */
    bool is_lost;    /* the last hold was, and was not released since */
    bool renewed;    /* ... since its grant; the first time, a lease is prolonged, heard or not */
    bool downgraded; /* the hold, and no upgrade was tried since */
    bool upgrades;   /* votes are requested for that */
    uint8_t owes;    /* nodes whose connection broke while an extension was to make it a reader's */
    uint8_t late;    /* nodes that have answered another request since the last extension */
    uint8_t leader;  /* the reported leader, + 1; 0: none */
};

/* When its process starts. */
void sim_user_start(struct sim_user *user);

/* SIM_EV_USER */
bool sim_user_event(struct sim_world *world, const struct sim_event *event);

/* The process closes or has closed: everything of its users is gone. */
void sim_user_gone(struct sim_user *user);

/* The safety phase is over: everything is given up, and the probes begin. */
void sim_user_probe(struct sim_client *client);

/* -- Calls of the library; false if it refuses -- */

bool sim_user_acquire(struct sim_user *user, const redlock_acquire_options *options);
bool sim_user_extend(struct sim_user *user, int64_t ttl_ms);
bool sim_user_release(struct sim_user *user);
/* A writer reads from now on; a reader tries to write. */
bool sim_user_change_mode(struct sim_user *user);
bool sim_user_cancel(struct sim_user *user);

/* -- Signs of life -- */

/* There was one, now or before. */
void sim_life_note(struct sim_user *user);
/* The watchdog has renewed the lock: it stops when it hears nothing. */
void sim_life_check(struct sim_user *user);

/* -- check_calls.c -- */

/* It ends: not after wait_ms or a cancel, unless the loop was blocked. */
void sim_calls_told(const struct sim_submitted *submitted);
/* It has ended its lock's extension: by as much as was asked for. */
void sim_calls_extended(const struct sim_submitted *submitted);
/* Its lock asks for votes: at most `tries` times. */
void sim_calls_attempt(struct sim_user *user);
/* Its hold is lost: not before max_silence_ms without a sign of life, nor while a watchdog can
 * reach a quorum. */
void sim_calls_lost(struct sim_user *user, int status);

/* -- elect.c: candidates and observers -- */

void sim_elect_start(struct sim_user *user);
void sim_elect_acts(struct sim_user *user);
void sim_elect_probe(struct sim_user *user);
/* There is no leader any more. */
void sim_elect_end(struct sim_user *user);
/* When the leadership ends, by the process's clock. */
uint64_t sim_elect_until_ns(const struct sim_user *user);

/* -- locks.c: holders of permits -- */

/* The slots that its lock holds, as a mask. */
uint32_t sim_permits_slots(const struct sim_user *user);
/* Checks them against the reported ones. */
void sim_permits_look(struct sim_user *user);
/* Changes the number of permits; to a random number, or this one. */
void sim_permits_resize(struct sim_user *user, uint32_t permits);
/* Its lock has another number of permits than there are. */
bool sim_permits_is_odd(const struct sim_user *user);
/* A token that was disowned, of as many slots as its lock is of, none above it; NULL: there is
 * none. */
struct sim_handover *sim_permits_handover(const struct sim_user *user);
/* Tells its lock the slots of the token. */
void sim_permits_name(struct sim_user *user, uint32_t slots);

/* -- Shared by user.c, act.c and elect.c -- */

void sim_user_make_lock(struct sim_user *user);
/* redlock_lock_free(), and another object in its place. */
void sim_user_renew_lock(struct sim_user *user);
bool sim_user_holds(const struct sim_user *user);
/* A token that was disowned, of just these resources; 0: a free place for one. NULL: none. */
struct sim_handover *sim_user_handover(struct sim_world *world, uint32_t resources);
bool sim_user_disown(struct sim_user *user);
/* Takes over what another user has disowned, or releases it by its token. */
bool sim_user_take_over(struct sim_user *user, struct sim_handover *handover,
                        const redlock_acquire_options *wanted);
/* Who holds one of the resources? */
void sim_user_look(struct sim_user *user);
/* After a callback: what next. */
void sim_act_after(struct sim_user *user, enum sim_op op, int status);

bool sim_user_is_free(const struct sim_user *user);
void sim_user_act_in(struct sim_user *user, uint64_t after_ns);
uint64_t sim_user_think_ns(struct sim_user *user);
void sim_user_maybe_block(struct sim_user *user);
struct sim_submitted *sim_user_submit(struct sim_user *user, enum sim_op op);
void sim_user_unsubmit(struct sim_submitted *submitted);
/* What a callback is of; NULL: it may not come. */
bool sim_user_told(struct sim_submitted *submitted, int status);
void sim_user_tell(struct sim_user *user, struct sim_fact fact);

#endif
