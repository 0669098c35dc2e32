/* Whose turn it is to ask the nodes for a resource, among the locks of one client.
 *
 * Every lock that asks, holds or waits has a seat in the line of each of its resources. In a line
 * at most one lock is active (asks or holds); the others wait. When it leaves, the first in line
 * that can go on is next. So a thousand waiters of one process cost the nodes what one costs, and
 * they are served in the order in which they came.
 *
 * A lock of several resources goes on when no line of its has an active lock. Until then those
 * behind it may overtake it: it reserves nothing. Can two wait for each other? Only an active lock
 * is waited for, and becoming active is one step for all resources of a lock; so whoever is waited
 * for does not wait itself. If waiting locks kept others out, one that holds b and wants a could
 * wait for one that waits for a and b. The price: a lock of several resources under constant load
 * may be overtaken again and again.
 *
 * This is courtesy, not safety: if two locks of one client asked at once, the nodes would keep them
 * apart as they keep strangers apart.
 *
 * Fairness towards other clients: the next in line asks at once when the one before it has
 * released, so a long line would leave others no gap. After RL_TURNS_FAIR_NS of being handed on
 * without one, the next is told to pause first.
 */
#ifndef RL_CORE_TURNS_H
#define RL_CORE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#define RL_TURNS_FAIR_NS UINT64_C(1000000000)

struct rl_seat;

/* The line of one resource. All zero: nobody is in it. */
struct rl_turns {
    struct rl_seat *first;
    struct rl_seat *last;
    struct rl_seat *active; /* who asks or holds, or NULL */
    uint64_t since_ns;      /* the line has been handed on without a gap; 0: it has not */
};

/* One of the seats of a lock, which are an array. The memory is the lock's. */
struct rl_seat {
    struct rl_turns *turns;
    struct rl_seat *next;
    struct rl_seat *previous;
    struct rl_seat *all; /* the lock's seats */
    uint32_t n;
    bool is_taken;
    void *owner;
};

/* Seat number i of the n seats at `all`. */
void rl_seat_init(struct rl_seat *all, uint32_t n, uint32_t i, struct rl_turns *turns, void *owner);

/* At the end of each line. */
void rl_seats_take(struct rl_seat *all);

/* Whether nobody is active in any of the lock's lines. */
bool rl_seats_may_ask(const struct rl_seat *all);

/* The lock becomes active in all its lines. */
void rl_seats_ask(struct rl_seat *all);

/* Out of a line, from anywhere in it. Returns whether the line has no active lock any more because
 * of that: then somebody may be next. */
bool rl_seat_leave(struct rl_seat *seat);

/* The first in line that may ask, or NULL. It is to be made active. *pause: the line has been
 * handed on for too long; the count begins anew. */
struct rl_seat *rl_turns_next(struct rl_turns *turns, uint64_t now_ns, bool *pause);

#endif
