/* A chapter of scene.h: a semaphore of two permits.
 *
 * Happy path: P asks home for free slots and takes both; Q finds none and stands in line; queries
 * ask the nodes who holds and who waits. P releases, and Q gets its turn, which names a slot. The
 * number of permits is raised: Q keeps its permit, and all nodes refuse P, which has the old
 * number. Q releases; P takes both with the old number, since no permit is in use.
 *
 * Failure modes: home cannot be asked, or its answer is lost: the client tries random slots. A
 * place cannot be left, or a release is dropped: its keys expire, and Q's deadline may end Q
 * before. The number is not raised, or on a few nodes only: P may be granted what Q does not hold.
 * While P holds both permits, Q never holds one. */

#include <uv.h>

#include "fail/scene_parts.h"
#include "redlock/semaphore.h"

#define NAME "pool"
#define LINE_KEY "libredlock:line:permits:{" NAME "}"
#define PERMITS 2
#define RESERVED_MS 300
#define WAIT_TIMEOUTS 20 /* Q's longest wait in node_timeouts */

/* NULL: no memory. */
static redlock_lock *new_permits(struct scene *s, int32_t take) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    const redlock_bytes name = {NAME, strlen(NAME)};
    redlock_lock *lock = NULL;
    options.resources = &name;
    options.n_resources = 1;
    options.permits = PERMITS;
    options.take = take;
    scene_enter(s);
    const int status = redlock_lock_new_with(s->client, &options, &lock, NULL, 0);
    scene_leave(s);
    assert_int_equal(status, scene_expected(s));
    assert_true((status == 0) == (lock != NULL));
    return lock;
}

static bool stands_or_was_told(const struct scene *s, const void *data) {
    bool stands = scene_was_told(s, data);
    for (size_t i = 0; i < SCENE_NODES; i++) {
        const struct server *server = fake_node_server(s->nodes[i]);
        struct server_member member;
        stands =
            stands || server_line_at(server_keys_find(&server->keys, 0, LINE_KEY, strlen(LINE_KEY)),
                                     0, &member);
    }
    return stands;
}

/* The lock holds slots of the semaphore, none twice. */
static void check_slots(const redlock_lock *lock, size_t take) {
    int32_t seen[PERMITS] = {0};
    for (size_t i = 0; i < take; i++) {
        const int32_t slot = redlock_lock_slot(lock, i);
        assert_in_range(slot, 0, PERMITS - 1);
        assert_int_equal(seen[slot]++, 0);
    }
    assert_int_equal(redlock_lock_slot(lock, take), REDLOCK_NO_SLOT);
}

static void let_go(struct scene *s, redlock_lock *lock, enum scene_op op) {
    if (redlock_lock_is_valid(lock)) {
        scene_release(s, lock, op);
        scene_wait_for(s, op);
    }
}

/* -- Queries -- */

static void on_slots(redlock_query *query, int status, void *data) {
    struct scene *s = data;
    struct scene_told *told = scene_told_of(s, SCENE_QUERY_SLOTS);
    redlock_slot slot = REDLOCK_SLOT_INIT;
    told->calls++;
    told->status = status;
    while (redlock_query_slot(query, s->result->slots, &slot) == 0) {
        assert_in_range(slot.number, s->result->slots, PERMITS - 1); /* in order */
        s->result->slots++;
    }
}

static void on_waiters(redlock_query *query, int status, void *data) {
    struct scene *s = data;
    struct scene_told *told = scene_told_of(s, SCENE_QUERY_PERMIT);
    told->calls++;
    told->status = status;
    s->result->waiters = redlock_query_waiting(query);
}

/* P holds, and Q waits. */
static void query(struct scene *s) {
    struct scene_told *slots = scene_told_of(s, SCENE_QUERY_SLOTS),
                      *waiters = scene_told_of(s, SCENE_QUERY_PERMIT);
    scene_enter(s);
    slots->returned = redlock_query_slots(s->client, NAME, strlen(NAME), PERMITS, on_slots, s);
    scene_leave(s);
    assert_int_equal(slots->returned, scene_expected(s));
    scene_enter(s);
    waiters->returned =
        redlock_query_permit_waiters(s->client, NAME, strlen(NAME), 8, on_waiters, s);
    scene_leave(s);
    assert_int_equal(waiters->returned, scene_expected(s));
    assert_int_equal(slots->calls + waiters->calls, 0);
    scene_wait_for(s, SCENE_QUERY_SLOTS);
    scene_wait_for(s, SCENE_QUERY_PERMIT);
}

static void on_set(redlock_query *query, int status, void *data) {
    struct scene_told *told = data;
    told->calls++;
    told->status = status;
}

static void raise_number(struct scene *s) {
    struct scene_told *told = scene_told_of(s, SCENE_SET_PERMITS);
    scene_enter(s);
    told->returned = redlock_set_permits(s->client, NAME, strlen(NAME), PERMITS + 1, on_set, told);
    scene_leave(s);
    assert_int_equal(told->returned, scene_expected(s));
    assert_int_equal(told->calls, 0);
    scene_wait_for(s, SCENE_SET_PERMITS);
}

/* -- The chapter -- */

static bool are_all_up(const struct scene *s, const void *data) {
    return scene_stats(s).nodes_up == SCENE_NODES;
}

/* All nodes must be up, so that home knows P's slots: a home that was down would name them to Q
 * again and again. */
static void has_its_turn(struct scene *s, redlock_lock *p, redlock_lock *q, uint64_t patience_ns) {
    scene_run_until(s, are_all_up, NULL, patience_ns);
    scene_acquire(s, p, SCENE_PERMITS_P, 0);
    scene_wait_for(s, SCENE_PERMITS_P);
    scene_run_until(s, scene_nothing_owed, NULL, patience_ns);
    if (scene_succeeded(s, SCENE_PERMITS_P)) {
        check_slots(p, PERMITS);
    }
    scene_acquire(s, q, SCENE_PERMIT_Q, WAIT_TIMEOUTS * s->options->node_timeout_ms);
    scene_run_until(s, stands_or_was_told, scene_told_of(s, SCENE_PERMIT_Q), patience_ns);
    assert_false(scene_succeeded(s, SCENE_PERMIT_Q) && redlock_lock_is_valid(p));
    query(s);
    let_go(s, p, SCENE_RELEASE_P);
    scene_wait_for(s, SCENE_PERMIT_Q);
    if (scene_succeeded(s, SCENE_PERMIT_Q)) {
        check_slots(q, 1);
    }
}

void scene_hold_permits(struct scene *s) {
    const uint64_t patience_ns = 4000000 * (uint64_t)s->options->node_timeout_ms;
    redlock_lock *p = new_permits(s, PERMITS), *q = new_permits(s, 1);
    if (p != NULL && q != NULL) {
        has_its_turn(s, p, q, patience_ns);
        raise_number(s);
        scene_acquire(s, p, SCENE_OLD_NUMBER, 0);
        scene_wait_for(s, SCENE_OLD_NUMBER);
        assert_false(redlock_lock_is_valid(p) && redlock_lock_is_valid(q));
        let_go(s, q, SCENE_RELEASE_Q);
        scene_run_until(s, scene_nothing_owed, NULL, patience_ns);
        for (size_t i = 0; i < SCENE_NODES; i++) { /* reservations expire */
            fake_node_step_clock(s->nodes[i], RESERVED_MS);
        }
        if (!redlock_lock_is_valid(p)) {
            scene_acquire(s, p, SCENE_TAKEN_OVER, 0);
            scene_wait_for(s, SCENE_TAKEN_OVER);
        }
        let_go(s, p, SCENE_RELEASE_ALL);
    }
    scene_enter(s);
    redlock_lock_free(p);
    redlock_lock_free(q);
    scene_leave(s);
}
