/* See waitlist.h. */
#include "core/waitlist.h"

#include <assert.h>
#include <stddef.h>

void rl_ticket_init(struct rl_ticket *all, uint32_t n, uint32_t i, struct rl_waitlist *list) {
    assert(i < n && n <= UINT8_MAX);
    assert(list != NULL);
    all[i] = (struct rl_ticket){.list = list, .i = (uint8_t)i, .n = (uint8_t)n};
}

void rl_tickets_take(struct rl_ticket *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct rl_waitlist *list = all[i].list;
        assert(!all[i].is_taken);
        assert(all[i].next == NULL);
        assert((list->first == NULL) == (list->last == NULL));
        all[i].is_taken = true;
        all[i].previous = list->last;
        if (list->last != NULL) {
            list->last->next = &all[i];
        } else {
            list->first = &all[i];
        }
        list->last = &all[i];
    }
}

bool rl_tickets_may_ask(const struct rl_ticket *all) {
    bool free = true;
    for (uint32_t i = 0; i < all->n; i++) {
        assert(all[i].is_taken);
        free = free && all[i].list->active == NULL;
    }
    return free;
}

void rl_tickets_ask(struct rl_ticket *all) {
    assert(rl_tickets_may_ask(all));
    for (uint32_t i = 0; i < all->n; i++) {
        all[i].list->active = &all[i];
    }
}

void rl_tickets_pass(struct rl_ticket *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        assert(all[i].is_taken);
        assert(all[i].list->active == &all[i]);
        all[i].list->active = NULL;
    }
}

bool rl_ticket_leave(struct rl_ticket *ticket) {
    struct rl_waitlist *list = ticket->list;
    bool was_active = list->active == ticket;
    assert(ticket->is_taken);
    assert((list->first == ticket) == (ticket->previous == NULL));
    assert((list->last == ticket) == (ticket->next == NULL));
    if (ticket->previous != NULL) {
        ticket->previous->next = ticket->next;
    } else {
        list->first = ticket->next;
    }
    if (ticket->next != NULL) {
        ticket->next->previous = ticket->previous;
    } else {
        list->last = ticket->previous;
    }
    ticket->is_taken = false;
    ticket->next = ticket->previous = NULL;
    if (was_active) {
        list->active = NULL;
    }
    if (list->first == NULL) {
        list->since_ns = 0;
    }
    assert(list->first != NULL || (list->last == NULL && list->active == NULL));
    return was_active;
}

/* The next lock follows without a gap: whether that has gone on for too long. */
static bool is_unfair(struct rl_waitlist *list, uint64_t now_ns) {
    if (list->since_ns == 0) {
        list->since_ns = now_ns;
    }
    assert(now_ns >= list->since_ns);
    if (now_ns < list->since_ns + RL_WAITLIST_FAIR_NS) {
        return false;
    }
    list->since_ns = 0;
    return true;
}

struct rl_ticket *rl_waitlist_next(struct rl_waitlist *list, uint64_t now_ns, bool *pause) {
    assert(list->active == NULL);
    struct rl_ticket *ticket = list->first;
    while (ticket != NULL && !rl_tickets_may_ask(rl_tickets_of(ticket))) {
        ticket = ticket->next;
    }
    *pause = ticket != NULL && is_unfair(list, now_ns);
    return ticket;
}
