/* Three lock objects of one owner on one resource, and every operation of each at random, from
 * inside and outside of callbacks, so also while another's is pending, or is over and its callback
 * has not run. A model that knows nothing of sharing says what must come of it:
 *   - every operation that was submitted ends in one callback;
 *   - it succeeds, unless its own object was cancelled, released or freed, or the hold was lost;
 *   - cancel answers 0 if, and only if, an operation of its own object ends as cancelled by it;
 *   - an object is valid as long as it is held by its own count, whatever the others do;
 *   - whoever holds is notified of a loss once;
 *   - with the last user the key goes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/live.h"
#include "messages.h"
#include "seed.h"

#define OBJECTS 3
#define STEPS 20000
#define TTL_MS 30000
#define OWNER 7
#define KINDS 3

enum kind { ACQUIRE, EXTEND, RELEASE };

/* One operation, from submission to its callback. */
struct op {
    struct object *object;
    enum kind kind;
    bool is_pending;
    bool is_canceled; /* redlock_cancel() said that it ends so */
    bool may_be;      /* its object was released or freed: it may have been too late for it */
    bool may_be_lost; /* the keys were deleted while it was pending */
};

struct object {
    redlock_lock *lock;
    unsigned depth;
    bool owes_lost;        /* notified, and not released since */
    struct op *ops[KINDS]; /* pending, or NULL */
};

static struct {
    struct live *live;
    struct object objects[OBJECTS];
    struct op ops[4 * STEPS];
    size_t submitted, ended, canceled, losses;
    uint64_t random;
    bool is_stolen; /* nobody has the keys, and it may not be known yet */
    bool is_calm;   /* callbacks do nothing */
    int acts;
    int nested;
} storm;

static unsigned below(unsigned n) {
    storm.random ^= storm.random << 13;
    storm.random ^= storm.random >> 7;
    storm.random ^= storm.random << 17;
    return (unsigned)(storm.random >> 11) % n;
}

static bool is_pending(enum kind kind) {
    for (size_t i = 0; i < OBJECTS; i++) {
        if (storm.objects[i].ops[kind] != NULL) {
            return true;
        }
    }
    return false;
}

static void check_validity(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        const struct object *object = &storm.objects[i];
        if (!storm.is_stolen) {
            assert_int_equal(redlock_lock_is_valid(object->lock), object->depth > 0);
        } else if (object->depth == 0) {
            assert_int_equal(redlock_lock_is_valid(object->lock), 0);
        }
    }
}

static void act(void);

static void check_status(const struct op *op, int status) {
    if (op->is_canceled) {
        LIVE_STATUS(status, REDLOCK_ERR_CANCELED);
    } else if (status == REDLOCK_ERR_CANCELED) {
        assert_true(op->may_be);
        storm.canceled++;
    } else if (status == REDLOCK_ERR_LOST) {
        assert_true(op->may_be_lost);
    } else {
        LIVE_STATUS(status, 0);
    }
}

static void on_done(redlock_lock *lock, int status, void *data) {
    struct op *op = data;
    struct object *object = op->object;
    assert_true(op->is_pending);
    op->is_pending = false;
    storm.ended++;
    check_status(op, status);
    if (object->lock == lock) { /* or it was freed, and there is another in its place */
        assert_ptr_equal(object->ops[op->kind], op);
        object->ops[op->kind] = NULL;
        object->depth += op->kind == ACQUIRE && status == 0;
    }
    const char *message = LOCK_MESSAGE(lock);
    assert_true(op->kind == ACQUIRE || strstr(message, "nothing has been") == NULL);
    bool extends = op->kind == EXTEND && object->ops[ACQUIRE] == NULL;
    assert_true(!extends || strstr(message, " of 5 ") != NULL);
    check_validity();
    if (storm.nested == 0 && !storm.is_calm) {
        storm.nested++;
        for (unsigned n = below(4); n > 0; n--) {
            act();
        }
        storm.nested--;
    }
    live_wake();
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct object *object = data;
    LIVE_STATUS(status, REDLOCK_ERR_LOST);
    assert_true(storm.is_stolen);
    assert_ptr_equal(object->lock, lock);
    assert_false(object->owes_lost);
    assert_true(object->depth > 0 || object->ops[RELEASE] != NULL);
    assert_non_null(strstr(LOCK_MESSAGE(lock), "the token is gone"));
    object->owes_lost = object->depth > 0;
    object->depth = 0;
    storm.losses++;
    live_wake();
}

/* -- What can be done -- */

static struct op *new_op(struct object *object, enum kind kind) {
    struct op *op = &storm.ops[storm.submitted];
    *op = (struct op){.object = object, .kind = kind, .may_be_lost = storm.is_stolen};
    return op;
}

static void submitted(struct op *op) {
    assert_true(storm.submitted < sizeof storm.ops / sizeof storm.ops[0] - 1);
    op->is_pending = true;
    op->object->ops[op->kind] = op;
    storm.submitted++;
}

static void try_acquire(struct object *object) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    struct op *op = new_op(object, ACQUIRE);
    options.ttl_ms = TTL_MS;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = options.jitter_ms = 1;
    options.owner = OWNER;
    options.on_lost = on_lost;
    options.lost_data = object;
    int status = redlock_acquire(object->lock, &options, on_done, op);
    bool busy = object->ops[ACQUIRE] != NULL || object->ops[RELEASE] != NULL;
    if (status == 0) {
        assert_false(busy);
        object->owes_lost = false;
        submitted(op);
        return;
    }
    LIVE_STATUS(status, REDLOCK_ERR_BUSY); /* its own, or it carries what another one releases */
    assert_true(busy || is_pending(RELEASE) || storm.is_stolen);
}

static void try_extend(struct object *object) {
    struct op *op = new_op(object, EXTEND);
    int status = redlock_extend(object->lock, 0, on_done, op);
    if (status == 0) {
        assert_true(object->depth > 0 && object->ops[EXTEND] == NULL);
        submitted(op);
    } else if (status == REDLOCK_ERR_BUSY) {
        assert_true(is_pending(EXTEND));
    } else {
        LIVE_STATUS(status, REDLOCK_ERR_NOT_HELD);
        assert_true(object->depth == 0 || storm.is_stolen);
    }
}

static void gives_up(struct object *object) {
    if (object->ops[EXTEND] != NULL) {
        object->ops[EXTEND]->may_be = true;
    }
}

static void try_release(struct object *object) {
    struct op *op = new_op(object, RELEASE);
    int status = redlock_release(object->lock, on_done, op);
    bool busy = object->ops[ACQUIRE] != NULL || object->ops[RELEASE] != NULL;
    if (status != 0) {
        LIVE_STATUS(status, busy ? REDLOCK_ERR_BUSY : REDLOCK_ERR_NOT_HELD);
        assert_true(busy || (object->depth == 0 && !object->owes_lost));
        return;
    }
    assert_false(busy);
    assert_true(object->depth > 0 || object->owes_lost);
    op->may_be_lost = op->may_be_lost || object->owes_lost;
    object->owes_lost = false;
    submitted(op);
    object->depth -= object->depth > 0;
    if (object->depth == 0) {
        gives_up(object);
    }
}

static void try_cancel(struct object *object) {
    struct op *acquire = object->ops[ACQUIRE];
    struct op *extend = object->ops[EXTEND];
    int status = redlock_cancel(object->lock);
    if (acquire != NULL && !acquire->is_canceled && (status == 0 || !acquire->may_be_lost)) {
        LIVE_STATUS(status, 0);
        acquire->is_canceled = true;
    } else if (status == 0) {
        assert_non_null(extend);
        assert_false(extend->is_canceled);
        extend->is_canceled = true;
    } else {
        LIVE_STATUS(status, REDLOCK_ERR_IDLE);
    }
}

static void make(struct object *object) {
    *object = (struct object){.lock = live_lock(storm.live->client, "key")};
}

static void renew_object(struct object *object) {
    for (size_t kind = 0; kind < KINDS; kind++) {
        if (object->ops[kind] != NULL) {
            object->ops[kind]->may_be = true;
        }
    }
    redlock_lock_free(object->lock);
    make(object);
}

static bool is_idle(void) {
    return !is_pending(ACQUIRE) && !is_pending(EXTEND) && !is_pending(RELEASE);
}

static void settle(void) {
    storm.is_calm = true;
    LIVE_UNTIL(storm.live, is_idle());
    storm.is_calm = false;
}

/* The keys go on all nodes, and the next extension finds it out. */
static void steal(void) {
    settle();
    LIVE_UNTIL(storm.live, live_is_quiet(storm.live->client, 5));
    live_tell_all(storm.live, "DEL key");
    storm.is_stolen = true;
    storm.acts = 0;
}

static bool is_held(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        if (storm.objects[i].depth > 0) {
            return true;
        }
    }
    return false;
}

static void act(void) {
    struct object *object = &storm.objects[below(OBJECTS)];
    switch (below(12)) {
        case 0:
        case 1:
        case 2:
            if (!storm.is_stolen || storm.acts < 10) { /* a new hold is not stolen */
                try_acquire(object);
            }
            break;
        case 3:
        case 4:
        case 5:
            try_extend(object);
            break;
        case 6:
        case 7:
        case 8:
            try_release(object);
            break;
        case 9:
        case 10:
            try_cancel(object);
            break;
        default:
            renew_object(object);
    }
    storm.acts++;
    check_validity();
}

static bool is_over(void) {
    for (size_t i = 0; i < OBJECTS; i++) {
        struct object *object = &storm.objects[i];
        if (object->depth > 0 || object->owes_lost) {
            try_release(object);
        }
    }
    return storm.ended == storm.submitted;
}

static void run(struct live *live, bool steals) {
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = 10000; /* a busy machine is no reason for another status */
    memset(&storm, 0, sizeof storm);
    storm.live = live;
    storm.random = random_seed() | 1; /* xorshift stays at 0 */
    live_open_all(live, &options);
    for (size_t i = 0; i < OBJECTS; i++) {
        make(&storm.objects[i]);
    }
    live_watch(live, 4 * LIVE_PATIENCE_MS);
    for (int step = 0; step < STEPS; step++) {
        act();
        if (below(3) == 0 && !is_idle()) { /* nothing would end the turn of an idle client */
            live_turn(live, 0, "a turn", __FILE__, __LINE__);
        }
        if (steals && !storm.is_stolen && below(40) == 0) {
            steal();
        } else if (storm.is_stolen && !is_held()) {
            settle();
            storm.is_stolen = is_held();
        }
    }
    LIVE_POLL(live, is_over());
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    assert_int_equal(live_stats(live->client).held, 0);
    print_message("# %zu operations, %zu cancelled by a release, %zu losses\n", storm.submitted,
                  storm.canceled, storm.losses);
    assert_true(storm.submitted > STEPS / 8 && storm.canceled > 10);
    assert_true((storm.losses > 10) == steals);
    live_end(live);
}

static void ends_each_by_its_own(void **state) {
    live_start(*state, 5, NULL);
    run(*state, false);
}

static void tells_a_loss_to_each(void **state) {
    live_start(*state, 5, NULL);
    run(*state, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(ends_each_by_its_own),
        LIVE_TEST(tells_a_loss_to_each),
    };
    return cmocka_run_group_tests_name("share storm", tests, NULL, NULL);
}
