/* Whose turn it is to ask the nodes for a resource, among the locks of one client.
 *
 * Every lock that asks, holds or waits has a seat in the line of each of its resources. The first
 * in line asks; the others wait until it has left. So a thousand waiters of one process cost the
 * nodes what one costs, and they are served in the order in which they came.
 *
 * A lock of several resources takes its seats in all lines in one step, and its turn has come when
 * it is first in all of them. Can two such locks wait for each other? Of any two, one took all its
 * seats before the other took any, so it is ahead wherever they meet: "is behind" has no circle.
 *
 * This is courtesy, not safety: if two locks of one client asked at once, the nodes would keep them
 * apart as they keep strangers apart.
 *
 * Fairness towards other clients: the first in line asks at once when the one before it has
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
    uint64_t since_ns; /* the line has been handed on without a gap; 0: it has not */
};

/* The memory is the lock's, as long as it is in line. */
struct rl_seat {
    struct rl_turns *turns;
    struct rl_seat *next;
    struct rl_seat *previous;
    void *owner;
    bool is_taken;
};

void rl_seat_init(struct rl_seat *seat, struct rl_turns *turns, void *owner);

/* At the end of each line. */
void rl_seats_take(struct rl_seat *seats, uint32_t n);

bool rl_seats_are_first(const struct rl_seat *seats, uint32_t n);

/* Out of a line, from anywhere in it. Returns who is first now and was not before, or NULL. If the
 * line has been handed on for too long, *pause is set, and the count begins anew. */
struct rl_seat *rl_seat_leave(struct rl_seat *seat, uint64_t now_ns, bool *pause);

#endif
