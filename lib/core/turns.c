/* See turns.h. */
#include "core/turns.h"

#include <assert.h>
#include <stddef.h>

void rl_seat_init(struct rl_seat *all, uint32_t n, uint32_t i, struct rl_turns *turns,
                  void *owner) {
    assert(i < n);
    assert(turns != NULL);
    assert(owner != NULL);
    all[i] = (struct rl_seat){.turns = turns, .all = all, .n = n, .owner = owner};
}

void rl_seats_take(struct rl_seat *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct rl_turns *turns = all[i].turns;
        assert(!all[i].is_taken);
        assert(all[i].next == NULL);
        all[i].is_taken = true;
        all[i].previous = turns->last;
        if (turns->last != NULL) {
            turns->last->next = &all[i];
        } else {
            turns->first = &all[i];
        }
        turns->last = &all[i];
    }
}

bool rl_seats_may_ask(const struct rl_seat *all) {
    bool free = true;
    for (uint32_t i = 0; i < all->n; i++) {
        assert(all[i].is_taken);
        free = free && all[i].turns->active == NULL;
    }
    return free;
}

void rl_seats_ask(struct rl_seat *all) {
    assert(rl_seats_may_ask(all));
    for (uint32_t i = 0; i < all->n; i++) {
        all[i].turns->active = &all[i];
    }
}

bool rl_seat_leave(struct rl_seat *seat) {
    struct rl_turns *turns = seat->turns;
    bool was_active = turns->active == seat;
    assert(seat->is_taken);
    assert((turns->first == seat) == (seat->previous == NULL));
    if (seat->previous != NULL) {
        seat->previous->next = seat->next;
    } else {
        turns->first = seat->next;
    }
    if (seat->next != NULL) {
        seat->next->previous = seat->previous;
    } else {
        turns->last = seat->previous;
    }
    seat->is_taken = false;
    seat->next = seat->previous = NULL;
    if (was_active) {
        turns->active = NULL;
    }
    if (turns->first == NULL) {
        turns->since_ns = 0;
    }
    return was_active;
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

struct rl_seat *rl_turns_next(struct rl_turns *turns, uint64_t now_ns, bool *pause) {
    assert(turns->active == NULL);
    struct rl_seat *seat = turns->first;
    while (seat != NULL && !rl_seats_may_ask(seat->all)) {
        seat = seat->next;
    }
    *pause = seat != NULL && turns_are_unfair(turns, now_ns);
    return seat;
}
