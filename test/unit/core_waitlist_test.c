/* Lines: which lock may ask and which is next, for any order of joining and leaving; compared with
 * a plain list that is searched each time. */
#include "core/waitlist.h"

#include "base/list.h"
#include "unit/check.h"

#define LOCKS 6u
#define LINES 3u

struct lock {
    struct rl_ticket tickets[LINES];
    uint32_t mask; /* its lines */
    bool is_active;
};

struct queue {
    struct rl_waitlist lists[LINES];
    struct lock locks[LOCKS];
    uint32_t order[LOCKS]; /* the locks in line, in order of arrival */
    uint32_t count;
};

static struct lock *lock_of(struct rl_ticket *ticket) {
    return RL_CONTAINER(rl_tickets_of(ticket), struct lock, tickets);
}

static uint32_t size_of(uint32_t mask) {
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
}

static void queue_init(struct queue *q, const uint32_t masks[LOCKS]) {
    memset(q, 0, sizeof *q);
    for (uint32_t i = 0; i < LOCKS; i++) {
        struct lock *lock = &q->locks[i];
        uint32_t ticket = 0;
        lock->mask = masks[i];
        for (uint32_t line = 0; line < LINES; line++) {
            if (masks[i] >> line & 1) {
                rl_ticket_init(lock->tickets, size_of(masks[i]), ticket++, &q->lists[line]);
            }
        }
    }
}

/* Lines with an active lock. */
static uint32_t busy(const struct queue *q) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < LOCKS; i++) {
        if (q->locks[i].is_active) {
            assert_int_equal(mask & q->locks[i].mask, 0); /* one active lock per line */
            mask |= q->locks[i].mask;
        }
    }
    return mask;
}

/* Every lock that can proceed has proceeded: locks wait only for an active lock. */
static void check(const struct queue *q) {
    for (uint32_t place = 0; place < q->count; place++) {
        const struct lock *lock = &q->locks[q->order[place]];
        assert_int_equal(rl_tickets_may_ask(lock->tickets), (busy(q) & lock->mask) == 0);
        assert_true(lock->is_active || (busy(q) & lock->mask) != 0);
    }
}

static void come(struct queue *q, uint32_t i) {
    struct lock *lock = &q->locks[i];
    rl_tickets_take(lock->tickets);
    q->order[q->count++] = i;
    if (rl_tickets_may_ask(lock->tickets)) {
        rl_tickets_ask(lock->tickets);
        lock->is_active = true;
    }
}

/* The first lock, in order of arrival, that wants this line and whose lines are all free. */
static struct lock *wanted_next(struct queue *q, uint32_t line) {
    for (uint32_t place = 0; place < q->count; place++) {
        struct lock *lock = &q->locks[q->order[place]];
        if ((lock->mask >> line & 1) && (busy(q) & lock->mask) == 0) {
            return lock;
        }
    }
    return NULL;
}

static void leave(struct queue *q, uint32_t place) {
    struct lock *lock = &q->locks[q->order[place]];
    memmove(&q->order[place], &q->order[place + 1], (q->count - place - 1) * sizeof q->order[0]);
    q->count--;
    for (uint32_t s = 0; s < size_of(lock->mask); s++) {
        assert_int_equal(rl_ticket_leave(&lock->tickets[s]), lock->is_active);
    }
    bool was_active = lock->is_active;
    lock->is_active = false;
    for (uint32_t s = 0; s < size_of(lock->mask) && was_active; s++) {
        struct rl_waitlist *list = lock->tickets[s].list;
        bool pause = false;
        if (list->active == NULL) {
            struct lock *wanted = wanted_next(q, (uint32_t)(list - q->lists));
            struct rl_ticket *next = rl_waitlist_next(list, 1, &pause);
            assert_ptr_equal(next != NULL ? lock_of(next) : NULL, wanted);
            if (wanted != NULL) {
                rl_tickets_ask(rl_tickets_of(next));
                wanted->is_active = true;
            }
        }
        assert_false(pause);
    }
}

TEST(keeps_every_order) {
    uint64_t random = random_seed();
    for (uint32_t run = 0; run < 3000; run++) {
        struct queue q;
        uint32_t masks[LOCKS];
        for (uint32_t i = 0; i < LOCKS; i++) {
            masks[i] = 1 + random_below(&random, (1u << LINES) - 1);
        }
        queue_init(&q, masks);
        for (uint32_t step = 0; step < 60; step++) {
            uint32_t i = random_below(&random, LOCKS);
            uint32_t place = 0;
            while (place < q.count && q.order[place] != i) {
                place++;
            }
            if (place < q.count) {
                leave(&q, place);
            } else {
                come(&q, i);
            }
            check(&q);
        }
    }
}

/* After a second of hand-overs, the next lock pauses once, and the count starts again. An empty
 * line forgets. */
TEST(lets_others_go_first) {
    struct queue q;
    const uint32_t masks[LOCKS] = {1, 1, 1, 1, 1, 1};
    const uint64_t start_ns = 5000000;
    const struct {
        uint64_t at_ns;
        bool pause;
    } steps[] = {
        {start_ns, false},
        {start_ns + RL_WAITLIST_FAIR_NS - 1, false},
        {start_ns + RL_WAITLIST_FAIR_NS, true},
        {start_ns + RL_WAITLIST_FAIR_NS + 1, false},
        {start_ns + 2 * RL_WAITLIST_FAIR_NS, false},
    };
    queue_init(&q, masks);
    for (uint32_t i = 0; i < LOCKS; i++) {
        come(&q, i);
    }
    for (uint32_t i = 0; i < COUNT(steps); i++) {
        bool pause = false;
        assert_true(rl_ticket_leave(&q.locks[i].tickets[0]));
        struct rl_ticket *next = rl_waitlist_next(&q.lists[0], steps[i].at_ns, &pause);
        assert_ptr_equal(next, &q.locks[i + 1].tickets[0]);
        assert_int_equal(pause, steps[i].pause);
        rl_tickets_ask(next);
    }
    bool pause = false;
    assert_true(rl_ticket_leave(&q.locks[5].tickets[0]));
    assert_null(rl_waitlist_next(&q.lists[0], start_ns + 9 * RL_WAITLIST_FAIR_NS, &pause));
    assert_false(pause);
    assert_int_equal(q.lists[0].since_ns, 0);
}

/* Readers hold side by side: one of them waits for all; when it is granted, none is active, but it
 * keeps its tickets. */
TEST(passes_the_turn) {
    struct queue q;
    const uint32_t masks[LOCKS] = {5, 5, 1, 4, 2, 2}; /* a and c, twice; a; c; b, twice */
    queue_init(&q, masks);
    for (uint32_t i = 0; i < LOCKS; i++) {
        come(&q, i);
        assert_int_equal(q.locks[i].is_active, i == 0 || i == 4);
    }
    rl_tickets_pass(q.locks[0].tickets);
    assert_null(q.lists[0].active);
    assert_null(q.lists[2].active);
    assert_ptr_equal(q.lists[1].active, &q.locks[4].tickets[0]); /* another's line */
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(rl_tickets_may_ask(q.locks[i].tickets));
    }
    assert_ptr_equal(q.lists[0].first, &q.locks[0].tickets[0]); /* its place is unchanged */
    rl_tickets_ask(q.locks[2].tickets);                         /* the next one, which must wait */
    assert_false(rl_tickets_may_ask(q.locks[1].tickets));
    assert_false(rl_ticket_leave(&q.locks[0].tickets[0])); /* it no longer blocks others */
    assert_false(rl_ticket_leave(&q.locks[0].tickets[1]));
    assert_ptr_equal(q.lists[0].active, &q.locks[2].tickets[0]);
    assert_true(rl_ticket_leave(&q.locks[2].tickets[0]));
    bool pause;
    struct rl_ticket *next = rl_waitlist_next(&q.lists[0], 1, &pause);
    assert_ptr_equal(next, &q.locks[1].tickets[0]);
}
