/* See turns.h. */
#include "core/turns.h"

#include <assert.h>
#include <stddef.h>

void rl_seat_init(struct rl_seat *seat, struct rl_turns *turns, void *owner) {
    assert(turns != NULL);
    assert(owner != NULL);
    *seat = (struct rl_seat){.turns = turns, .owner = owner};
}

void rl_seats_take(struct rl_seat *seats, uint32_t n) {
    assert(n >= 1);
    for (uint32_t i = 0; i < n; i++) {
        struct rl_turns *turns = seats[i].turns;
        assert(!seats[i].is_taken);
        seats[i].is_taken = true;
        seats[i].next = NULL;
        seats[i].previous = turns->last;
        if (turns->last != NULL) {
            turns->last->next = &seats[i];
        } else {
            turns->first = &seats[i];
        }
        turns->last = &seats[i];
    }
}

bool rl_seats_are_first(const struct rl_seat *seats, uint32_t n) {
    bool first = true;
    for (uint32_t i = 0; i < n; i++) {
        assert(seats[i].is_taken);
        first = first && seats[i].turns->first == &seats[i];
    }
    return first;
}

/* The line goes on to the next: for how long already? */
static bool turns_are_unfair(struct rl_turns *turns, uint64_t now_ns) {
    if (turns->since_ns == 0) {
        turns->since_ns = now_ns;
    }
    if (now_ns < turns->since_ns + RL_TURNS_FAIR_NS) {
        return false;
    }
    turns->since_ns = 0;
    return true;
}

struct rl_seat *rl_seat_leave(struct rl_seat *seat, uint64_t now_ns, bool *pause) {
    struct rl_turns *turns = seat->turns;
    bool was_first = turns->first == seat;
    assert(seat->is_taken);
    assert(was_first == (seat->previous == NULL));
    if (was_first) {
        turns->first = seat->next;
    } else {
        seat->previous->next = seat->next;
    }
    if (seat->next != NULL) {
        seat->next->previous = seat->previous;
    } else {
        turns->last = seat->previous;
    }
    seat->is_taken = false;
    seat->next = seat->previous = NULL;
    if (turns->first == NULL) {
        turns->since_ns = 0;
        return NULL;
    }
    if (!was_first) {
        return NULL;
    }
    if (turns_are_unfair(turns, now_ns)) {
        *pause = true;
    }
    return turns->first;
}
