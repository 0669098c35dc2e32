/* See waitlist.h. */
#include "core/waitlist.h"

#include <assert.h>
#include <stddef.h>

void rl_ticket_init(struct rl_ticket *all, uint32_t n, uint32_t i, struct rl_waitlist *turns) {
    assert(i < n && n <= UINT8_MAX);
    assert(turns != NULL);
    all[i] = (struct rl_ticket){.turns = turns, .i = (uint8_t)i, .n = (uint8_t)n};
}

void rl_tickets_take(struct rl_ticket *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct rl_waitlist *turns = all[i].turns;
        assert(!all[i].is_taken);
        assert(all[i].next == NULL);
        assert((turns->first == NULL) == (turns->last == NULL));
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

bool rl_tickets_may_ask(const struct rl_ticket *all) {
    bool free = true;
    for (uint32_t i = 0; i < all->n; i++) {
        assert(all[i].is_taken);
        free = free && all[i].turns->active == NULL;
    }
    return free;
}

void rl_tickets_ask(struct rl_ticket *all) {
    assert(rl_tickets_may_ask(all));
    for (uint32_t i = 0; i < all->n; i++) {
        all[i].turns->active = &all[i];
    }
}

void rl_tickets_pass(struct rl_ticket *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        assert(all[i].is_taken);
        assert(all[i].turns->active == &all[i]);
        all[i].turns->active = NULL;
    }
}

bool rl_ticket_leave(struct rl_ticket *ticket) {
    struct rl_waitlist *turns = ticket->turns;
    bool was_active = turns->active == ticket;
    assert(ticket->is_taken);
    assert((turns->first == ticket) == (ticket->previous == NULL));
    assert((turns->last == ticket) == (ticket->next == NULL));
    if (ticket->previous != NULL) {
        ticket->previous->next = ticket->next;
    } else {
        turns->first = ticket->next;
    }
    if (ticket->next != NULL) {
        ticket->next->previous = ticket->previous;
    } else {
        turns->last = ticket->previous;
    }
    ticket->is_taken = false;
    ticket->next = ticket->previous = NULL;
    if (was_active) {
        turns->active = NULL;
    }
    if (turns->first == NULL) {
        turns->since_ns = 0;
    }
    assert(turns->first != NULL || (turns->last == NULL && turns->active == NULL));
    return was_active;
}

/* The waitlist is handed on: whether that has gone on for too long. */
static bool turns_are_unfair(struct rl_waitlist *turns, uint64_t now_ns) {
    if (turns->since_ns == 0) {
        turns->since_ns = now_ns;
    }
    assert(now_ns >= turns->since_ns);
    if (now_ns < turns->since_ns + RL_WAITLIST_FAIR_NS) {
        return false;
    }
    turns->since_ns = 0;
    return true;
}

struct rl_ticket *rl_waitlist_next(struct rl_waitlist *turns, uint64_t now_ns, bool *pause) {
    assert(turns->active == NULL);
    struct rl_ticket *ticket = turns->first;
    while (ticket != NULL && !rl_tickets_may_ask(rl_tickets_of(ticket))) {
        ticket = ticket->next;
    }
    *pause = ticket != NULL && turns_are_unfair(turns, now_ns);
    return ticket;
}
