/* Lines: who is first, who is next, whatever order they come and leave in. Compared with a plain
 * list that is searched each time. */
#include "core/turns.h"

#include "unit/check.h"

#define LOCKS 6u
#define LINES 3u

struct lock {
    struct rl_seat seats[LINES];
    uint32_t n;
};

struct queue {
    struct rl_turns turns[LINES];
    struct lock locks[LOCKS];
    uint32_t order[LOCKS]; /* who is in line, in the order in which they came */
    uint32_t count;
};

static void queue_init(struct queue *q, const uint32_t masks[LOCKS]) {
    memset(q, 0, sizeof *q);
    for (uint32_t i = 0; i < LOCKS; i++) {
        for (uint32_t line = 0; line < LINES; line++) {
            if (masks[i] >> line & 1) {
                rl_seat_init(&q->locks[i].seats[q->locks[i].n++], &q->turns[line], &q->locks[i]);
            }
        }
    }
}

static uint32_t mask_of(const struct queue *q, uint32_t i) {
    uint32_t mask = 0;
    for (uint32_t s = 0; s < q->locks[i].n; s++) {
        mask |= 1u << (q->locks[i].seats[s].turns - q->turns);
    }
    return mask;
}

/* First where nobody who came before wants one of the same. */
static bool is_first(const struct queue *q, uint32_t place) {
    bool first = true;
    for (uint32_t before = 0; before < place; before++) {
        first = first && !(mask_of(q, q->order[before]) & mask_of(q, q->order[place]));
    }
    return first;
}

static void check(const struct queue *q) {
    uint32_t firsts = 0;
    for (uint32_t place = 0; place < q->count; place++) {
        const struct lock *lock = &q->locks[q->order[place]];
        assert_int_equal(rl_seats_are_first(lock->seats, lock->n), is_first(q, place));
        firsts += is_first(q, place);
    }
    assert_true(q->count == 0 || firsts > 0); /* somebody can always go on */
}

static void leave(struct queue *q, uint32_t place) {
    uint32_t i = q->order[place];
    bool before[LOCKS] = {false};
    bool named[LOCKS] = {false};
    for (uint32_t p = 0; p < q->count; p++) {
        before[q->order[p]] = is_first(q, p);
    }
    for (uint32_t s = 0; s < q->locks[i].n; s++) {
        bool pause = false;
        struct rl_seat *next = rl_seat_leave(&q->locks[i].seats[s], 1, &pause);
        if (next != NULL) {
            named[(struct lock *)next->owner - q->locks] = true;
        }
        assert_false(pause);
    }
    memmove(&q->order[place], &q->order[place + 1], (q->count - place - 1) * sizeof q->order[0]);
    q->count--;
    for (uint32_t p = 0; p < q->count; p++) { /* who became first was named */
        assert_true(before[q->order[p]] || !is_first(q, p) || named[q->order[p]]);
    }
}

static void keeps_every_order(void **state) {
    (void)state;
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
                rl_seats_take(q.locks[i].seats, q.locks[i].n);
                q.order[q.count++] = i;
            }
            check(&q);
        }
    }
}

/* Handed on for a second: the next pauses once, and it counts from there anew. An empty line
 * forgets. */
static void lets_others_go_first(void **state) {
    (void)state;
    struct queue q;
    const uint32_t masks[LOCKS] = {1, 1, 1, 1, 1, 1};
    const uint64_t start_ns = 5000000;
    const struct {
        uint64_t at_ns;
        bool pause;
    } steps[] = {
        {start_ns, false},
        {start_ns + RL_TURNS_FAIR_NS - 1, false},
        {start_ns + RL_TURNS_FAIR_NS, true},
        {start_ns + RL_TURNS_FAIR_NS + 1, false},
        {start_ns + 2 * RL_TURNS_FAIR_NS, false},
    };
    queue_init(&q, masks);
    for (uint32_t i = 0; i < LOCKS; i++) {
        rl_seats_take(q.locks[i].seats, 1);
    }
    for (uint32_t i = 0; i < COUNT(steps); i++) {
        bool pause = false;
        struct rl_seat *next = rl_seat_leave(&q.locks[i].seats[0], steps[i].at_ns, &pause);
        assert_ptr_equal(next, &q.locks[i + 1].seats[0]);
        assert_int_equal(pause, steps[i].pause);
    }
    bool pause = false;
    assert_null(rl_seat_leave(&q.locks[5].seats[0], start_ns + 9 * RL_TURNS_FAIR_NS, &pause));
    assert_false(pause);
    assert_int_equal(q.turns[0].since_ns, 0);
}

static void take_twice(void *data) {
    struct queue *q = data;
    rl_seats_take(q->locks[0].seats, 1);
}

static void leave_twice(void *data) {
    struct queue *q = data;
    bool pause;
    rl_seat_leave(&q->locks[1].seats[0], 0, &pause);
}

static void asserts_what_it_is_given(void **state) {
    (void)state;
    struct queue q;
    const uint32_t masks[LOCKS] = {1, 1, 1, 1, 1, 1};
    queue_init(&q, masks);
    rl_seats_take(q.locks[0].seats, 1);
    assert_true(dies(take_twice, &q));
    assert_true(dies(leave_twice, &q));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_order),
        cmocka_unit_test(lets_others_go_first),
        cmocka_unit_test(asserts_what_it_is_given),
    };
    return cmocka_run_group_tests_name("core_turns", tests, NULL, NULL);
}
