/* Whose turn it is to ask the nodes for a resource, among the locks of one client.
 *
 * Every lock that asks, holds or waits has a ticket in the waitlist of each of its resources. In
 * each waitlist at most one lock is active (asks or holds); the others wait. When the active lock
 * leaves, the first in line that can go on is next. So a thousand waiters of one process cost the
 * nodes as much as one, and they are served first come, first served.
 *
 * A lock of several resources goes on when none of its waitlists has an active lock. Until then
 * locks behind it may overtake it: it reserves nothing. Can two locks wait for each other? No:
 * locks wait only for an active lock, and a lock becomes active for all its resources in one step;
 * so a lock that others wait for does not wait itself. If waiting locks kept others out, a lock
 * that holds b and wants a could wait for one that waits for a and b. The price: a lock of several
 * resources under constant load may be overtaken again and again.
 *
 * Readers hold side by side: they ask all at once, and none of them is active, unless some must
 * wait for a writer: then the first of these is active, and stands in line for all of them until it
 * is granted (wait/waiting.h).
 *
 * This is courtesy, not safety: if two locks of one client asked at once, the nodes would keep them
 * apart as they keep other clients apart.
 *
 * Fairness towards other clients: the next lock in line asks as soon as the previous one has
 * released, so a long waitlist would leave other clients no gap. After RL_WAITLIST_FAIR_NS of
 * handing on without a gap, the next lock must pause first.
 */
#ifndef RL_CORE_WAITLIST_H
#define RL_CORE_WAITLIST_H

#include <stdbool.h>
#include <stdint.h>

#define RL_WAITLIST_FAIR_NS UINT64_C(1000000000)

struct rl_ticket;

/* The waitlist of one resource. All zero: empty. */
struct rl_waitlist {
    struct rl_ticket *first;
    struct rl_ticket *last;
    /* the lock that asks or holds, of readers the one that waits in line for all; NULL: none */
    struct rl_ticket *active;
    uint64_t since_ns; /* since when locks have handed it on without a gap; 0: they have not */
};

/* One of the tickets of a lock, which are an array in the lock. */
struct rl_ticket {
    struct rl_waitlist *list;
    struct rl_ticket *next;
    struct rl_ticket *previous;
    uint8_t i, n; /* ticket i of n */
    bool is_taken;
};

/* Ticket number i of the n tickets at `all`, at most 255. */
void rl_ticket_init(struct rl_ticket *all, uint32_t n, uint32_t i, struct rl_waitlist *list);

/* The array in which the ticket is. */
static inline struct rl_ticket *rl_tickets_of(struct rl_ticket *ticket) {
    return ticket - ticket->i;
}

/* Takes a place at the end of each waitlist. */
void rl_tickets_take(struct rl_ticket *all);

/* Whether no lock is active in any of the lock's waitlists. */
bool rl_tickets_may_ask(const struct rl_ticket *all);

/* The lock becomes active in all its waitlists. */
void rl_tickets_ask(struct rl_ticket *all);

/* Makes no lock active; the lock keeps its tickets. For locks that hold side by side. */
void rl_tickets_pass(struct rl_ticket *all);

/* Leaves a waitlist, from anywhere in it. Returns whether the waitlist thereby lost its active
 * lock: then another lock may be next. */
bool rl_ticket_leave(struct rl_ticket *ticket);

/* The first lock in line that may ask, or NULL. The caller must make it active. *pause: the
 * waitlist has been handed on for too long; the count begins anew. */
struct rl_ticket *rl_waitlist_next(struct rl_waitlist *list, uint64_t now_ns, bool *pause);

#endif
