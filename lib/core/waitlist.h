/* Decides which lock of one client may ask the nodes for a resource next.
 *
 * Every lock that asks, holds or waits has a ticket in the waitlist of each of its resources. In
 * each waitlist at most one lock is active (asks or holds); the others wait. When the active lock
 * leaves, the first lock in line that can go on is next. So a thousand waiters of one process cost
 * the nodes as much as one, and are served in order.
 *
 * A lock of several resources goes on when none of its waitlists has an active lock. Until then
 * locks behind it may overtake it: it reserves nothing. Can two locks wait for each other? No:
 * locks wait only for an active lock, and a lock becomes active for all its resources in one step;
 * so a lock that others wait for waits for no lock of this client. While it waits for other
 * clients, in the line of one resource, or pauses, it is active for that resource only: the program
 * that holds it may be waiting for another of the lock's resources, which is free. When its turn
 * comes, the lock becomes active for all of them again; if one is in use, it leaves the line and
 * waits for that one. The price: under constant load a lock of several resources may be overtaken
 * again and again.
 *
 * Readers hold side by side: they all ask at once, and none is active. If some must wait for a
 * writer, the first of these is active, and stands in line for all of them until it is granted
 * (wait/waiting.h).
 *
 * Safety does not need this: if two locks of one client asked at once, the nodes would keep them
 * apart as they do two clients.
 *
 * Fairness towards other clients: the next lock in line asks as soon as the previous one has
 * released, so a long waitlist would leave other clients no gap. After RL_WAITLIST_FAIR_NS without
 * a gap the next lock must pause first.
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
    /* the lock that asks or holds; among readers, the one that waits in line for all; NULL: none */
    struct rl_ticket *active;
    uint64_t since_ns; /* when the present run of locks without a gap began; 0: no run */
};

/* One of the tickets in a lock's array of tickets. */
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

/* Appends each ticket to its waitlist. */
void rl_tickets_take(struct rl_ticket *all);

/* Whether no lock is active in any of the lock's waitlists. */
bool rl_tickets_may_ask(const struct rl_ticket *all);

/* The lock becomes active in all its waitlists. */
void rl_tickets_ask(struct rl_ticket *all);

/* Makes no lock active; the lock keeps its tickets. For locks that hold side by side. */
void rl_tickets_pass(struct rl_ticket *all);

/* Leaves a waitlist, from anywhere in it. Returns whether the waitlist thereby lost its active
 * lock, so that another lock may be next. */
bool rl_ticket_leave(struct rl_ticket *ticket);

/* The first lock in line that may ask, or NULL. The caller must make it active. *pause: locks have
 * followed each other without a gap for too long; a new run begins. */
struct rl_ticket *rl_waitlist_next(struct rl_waitlist *list, uint64_t now_ns, bool *pause);

#endif
