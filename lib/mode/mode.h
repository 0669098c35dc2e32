/* The modes of locks: each mode's rules, which the rest of the library asks without knowing the
 * mode; and how a hold changes its mode.
 *
 * All modes share the core: rounds, validity, the watchdog, a loss. They differ in their commands
 * (redis/command.h), and in which locks may be held side by side.
 *
 * Downgrade: from the call on, the hold counts as a reader's. The next extensions convert the
 * writer's key on each node to the reader's. Until then a node keeps the writer's key, which keeps
 * other readers out unnecessarily.
 *
 * Upgrade: one round (core/lock.h, 8). When it is won, the hold counts as a writer's. If it fails,
 * an extension converts the nodes back: the one that ends the upgrade, or the next one on a node
 * that ran the upgrade late. Until then such a node keeps the writer's key.
 *
 * Can a conversion run late and let readers in beside a writer? A command may run after one that
 * was sent later: it was queued on a connection that has ended, or the node lacked its script and
 * the client sent the whole script again. So the client is unsure of each node to which it sent a
 * conversion to the reader's mode that has no answer. The node's yes does not count for an upgrade,
 * nor, once that is won, for any extension (a repair may have put the token there, where the
 * conversion would find it). The client sends the node no second conversion before it has answered,
 * even with an error, or the connection has ended. If the connection ended, the client may send
 * one, since a writer's key that was not converted would keep readers out while the hold lasts; but
 * then the node's votes do not count while the hold lasts. Other late commands do no harm: a
 * conversion to the writer's mode needs a live lease, and keeps more clients out, not fewer; an
 * extension that does not convert leaves a key's mode as it is; and a released token is never used
 * again.
 *
 * A client that adopts a token does not know which commands were sent for it before. So an adopted
 * hold cannot be upgraded, and a hold that was upgraded while the client was unsure of a node
 * cannot be disowned.
 */
#ifndef RL_MODE_MODE_H
#define RL_MODE_MODE_H

#include "client/state.h"

#define RL_MODE_INTENT_MS 5000u /* how long a refused writer keeps new readers off */
#define RL_MODE_SHUT_MS 2000u   /* and readers whose turn came first */

struct rl_line_request;

/* A semaphore lock has this behind its names, see lock_new.c; NULL: not a semaphore's. */
static inline struct rl_permit *rl_permit_of(const redlock_lock *lock) {
    const struct rl_target *target = &lock->target;
    return target->take > 0 ? (struct rl_permit *)(uintptr_t)(target->resources + target->n) : NULL;
}

/* The differences between the modes. */
struct rl_mode_rules {
    uint8_t mode;                      /* enum rl_mode, for commands */
    uint8_t release;                   /* enum rl_command_kind, for more than a single key */
    const struct rl_mode_rules *other; /* the mode to which a hold can change; NULL: none */
    const char *no_downgrade;          /* why a hold cannot change; NULL: it can */
    const char *no_upgrade;
    bool side_by_side;  /* locks of one client hold, and ask, side by side; one that must wait for
                           other clients waits for all of ours */
    bool shares_turn;   /* one lock's turn in line is the turn of all of ours */
    bool has_one_key;   /* one resource is one key: SET sets it, a native command deletes it */
    bool is_passed_on;  /* a release passes its keys to the next client in line */
    uint32_t intent_ms; /* how long it keeps new readers out after it was refused; 0: not at all */
    uint64_t probe;     /* the place of a probe (core/place.h) */

    /* -- Slots of a semaphore: see permit.h. For other locks these do nothing -- */

    /* Determines the slots and place of an attempt before it begins. Returns false if it must ask
     * home first: RL_EV_READY, RL_EV_NONE or RL_EV_PERMITS follows. */
    bool (*find)(redlock_lock *lock, uint64_t *place);

    /* Called after every step of a lock. */
    void (*follow)(redlock_lock *lock);

    /* Writes the lock's slots into a command. */
    void (*fill)(const redlock_lock *lock, struct rl_request *request);

    /* Learns from the answer to any command of the lock, or that there is none. Called before the
     * vote is counted. */
    void (*learn)(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                  const struct rl_answer *answer);

    /* Learns from the answer to a JOIN whether the node keeps the same number of permits. True: too
     * many nodes differ for a quorum to agree, and the acquire has ended. */
    bool (*learn_join)(redlock_lock *lock, uint32_t node, const struct rl_answer *answer);

    /* Whether the lock can use the slots that home has named. */
    bool (*suits)(const redlock_lock *lock, const struct rl_slots *slots);

    /* Home has given the lock's place its turn, with these slots. Returns true if the lock must use
     * them at once: RL_EV_READY must follow. */
    bool (*take_turn)(redlock_lock *lock, uint32_t home, uint64_t place,
                      const struct rl_slots *slots);

    /* Home has answered a peek, or will not answer. */
    void (*learn_peek)(struct rl_line_request *call, const struct rl_answer *answer);
};

extern const struct rl_mode_rules rl_mode_writer, rl_mode_reader; /* and rl_mode_permit */

/* The rules of a lock that is not a semaphore's; and a mode's name in the public interface. */
const struct rl_mode_rules *rl_mode_of_lock(enum redlock_mode mode);
enum redlock_mode rl_mode_reported(uint8_t mode);

/* The modes in whose lines clients wait for a name: *first and the following ones. Returns how
 * many. */
uint8_t rl_mode_lines(bool of_permits, uint8_t *first);

/* -- The current mode of a lock -- */

/* An acquire begins. */
void rl_mode_begin(redlock_lock *lock);

/* An adoption, or the release of a token, begins. Its holder may have changed the mode, and left
 * keys of either mode on the nodes; a reader's release deletes both. */
void rl_mode_take_over(redlock_lock *lock, bool adopts);
bool rl_mode_is_adopted(const redlock_lock *lock);

/* The rules of the attempt, or of the hold. */
const struct rl_mode_rules *rl_mode_now(const redlock_lock *lock);

/* The rules of a command that is sent for the lock now; and of a command that was sent in this
 * mode. */
const struct rl_mode_rules *rl_mode_of(const redlock_lock *lock, enum rl_call_kind kind);
const struct rl_mode_rules *rl_mode_sent(const redlock_lock *lock, uint8_t mode);

/* Whether an extension must convert the node's key. rl_mode_convert_sent() notes that such an
 * extension was sent. */
bool rl_mode_converts(const redlock_lock *lock, uint32_t node);
void rl_mode_convert_sent(redlock_lock *lock, uint32_t node);

/* The seats of nodes that may still run a conversion. rl_mode_renumber() gives them other numbers,
 * as rl_lock_renumber() does. */
uint32_t rl_mode_nodes(const redlock_lock *lock);
void rl_mode_renumber(redlock_lock *lock, const uint8_t to[RL_SEATS_MAX]);

/* A writer becomes a reader. An extension must follow. */
void rl_mode_downgrade(redlock_lock *lock);

/* A reader asks to be the writer. An upgrade must follow. */
void rl_mode_upgrade(redlock_lock *lock);
bool rl_mode_is_upgrading(const redlock_lock *lock);

/* Whether there are nodes whose yes must not count now, because they may still run a conversion.
 * rl_mode_leave_out() removes them from the event's voters, and sets the reason for each. */
bool rl_mode_is_unsure(const redlock_lock *lock);
void rl_mode_leave_out(const redlock_lock *lock, struct rl_event *event,
                       int16_t reasons[RL_SEATS_MAX]);

/* Whether another client may adopt the hold. */
bool rl_mode_may_disown(const redlock_lock *lock);

/* An extension of the lock's core has ended. Returns the status to report. */
int rl_mode_extended(redlock_lock *lock, int status);

/* -- A semaphore's slots, for messages; for any lock -- */

/* The slots of the last grant that was reported to the user. */
const struct rl_slots *rl_mode_told_slots(const redlock_lock *lock);

/* The number of permits that a node keeps, if it differs from the lock's. */
uint16_t rl_mode_kept_permits(const redlock_lock *lock);

/* Whether no slot was free for the last attempt. */
bool rl_mode_found_none(const redlock_lock *lock);

#endif
