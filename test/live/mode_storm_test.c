/* Locks of both modes, of one resource or two, of several clients and owners, and every operation
 * at random, while nodes stand still now and then, lose connections and scripts. Two that conflict
 * are never valid together; what was submitted ends in one callback, and in time; nothing is left.
 */
#include <stdlib.h>
#include <string.h>

#include "live/live.h"
#include "redlock/token.h"
#include "seed.h"

#define CLIENTS 3
#define LOCKS 8
#define KINDS 3
#define NODES 5
#define STATUSES 40
#define STEPS 4000

enum kind { ACQUIRE, EXTEND, RELEASE };

struct object;

struct op {
    struct object *object;
    enum kind kind;
    bool is_pending;
    uint64_t at_ns;
};

struct object {
    redlock_lock *lock;
    unsigned shape;
    struct op *ops[KINDS];
};

static struct {
    struct live *live;
    redlock_client *clients[CLIENTS];
    struct object objects[CLIENTS][LOCKS];
    struct op *ops;
    size_t room, submitted, ended;
    size_t by[KINDS][STATUSES];
    size_t granted[2], downs, ups, losses, both;
    uint64_t random;
    int nested;
    bool is_calm;
    bool is_paused[NODES];
    uint64_t resume_ns[NODES];
} storm;

static unsigned below(unsigned n) {
    storm.random ^= storm.random << 13;
    storm.random ^= storm.random >> 7;
    storm.random ^= storm.random << 17;
    return (unsigned)(storm.random >> 11) % n;
}

static bool meet(const struct object *a, const struct object *b) {
    return ((a->shape % 3 + 1) & (b->shape % 3 + 1)) != 0; /* a, b, or both */
}

static void check(void) {
    for (size_t i = 0; i < CLIENTS * LOCKS; i++) {
        const struct object *a = &storm.objects[i / LOCKS][i % LOCKS];
        if (!redlock_lock_is_valid(a->lock)) {
            continue;
        }
        for (size_t j = 0; j < i; j++) {
            const struct object *b = &storm.objects[j / LOCKS][j % LOCKS];
            if (!meet(a, b) || !redlock_lock_is_valid(b->lock) ||
                strcmp(redlock_lock_token(a->lock), redlock_lock_token(b->lock)) == 0) {
                continue;
            }
            const enum redlock_mode x = redlock_lock_mode(a->lock), y = redlock_lock_mode(b->lock);
            storm.both += x == REDLOCK_SHARED && y == REDLOCK_SHARED;
            if (x != REDLOCK_SHARED || y != REDLOCK_SHARED) {
                if (redlock_lock_is_valid(a->lock) && redlock_lock_is_valid(b->lock)) {
                    print_error("conflict: %zu mode %d %s, %zu mode %d %s\n", i, x,
                                redlock_lock_token(a->lock), j, y, redlock_lock_token(b->lock));
                    fail();
                }
            }
        }
    }
}

static void act(void);

static void on_done(redlock_lock *lock, int status, void *data) {
    struct op *op = data;
    struct object *object = op->object;
    assert_true(op->is_pending);
    op->is_pending = false;
    storm.ended++;
    assert_true(status <= 0 && status > -STATUSES);
    storm.by[op->kind][-status]++;
    if (object->lock == lock) {
        assert_ptr_equal(object->ops[op->kind], op);
        object->ops[op->kind] = NULL;
        if (op->kind == ACQUIRE && status == 0) {
            storm.granted[redlock_lock_mode(lock) == REDLOCK_SHARED]++;
        }
    }
    check();
    if (storm.nested == 0 && !storm.is_calm) {
        storm.nested++;
        for (unsigned n = below(3); n > 0; n--) {
            act();
        }
        storm.nested--;
    }
    live_wake();
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct object *object = data;
    assert_ptr_equal(object->lock, lock);
    assert_true(status == REDLOCK_ERR_LOST || status == REDLOCK_ERR_EXPIRED ||
                status == REDLOCK_ERR_MAX_HOLD);
    storm.losses++;
    live_wake();
}

static void submitted(struct object *object, enum kind kind, int status, struct op *op) {
    if (status != 0) {
        return;
    }
    assert_null(object->ops[kind]);
    *op =
        (struct op){.object = object, .kind = kind, .is_pending = true, .at_ns = redlock_now_ns()};
    object->ops[kind] = op;
    storm.submitted++;
    assert_true(storm.submitted < storm.room);
}

static void make(size_t client, struct object *object) {
    static const redlock_bytes both[] = {{"a", 1}, {"b", 1}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    *object = (struct object){.shape = below(6)};
    options.resources = &both[object->shape % 3 == 1];
    options.n_resources = object->shape % 3 == 2 ? 2 : 1;
    options.mode = object->shape >= 3 ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    LIVE_STATUS(redlock_lock_new_with(storm.clients[client], &options, &object->lock, NULL, 0), 0);
}

static void try_acquire(struct object *object) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    struct op *op = &storm.ops[storm.submitted];
    options.ttl_ms = 300 + (int64_t)below(2500);
    options.wait_ms = (int64_t)below(3) * (int64_t)below(3000);
    options.tries = below(3) == 0 ? 1 + (int64_t)below(4) : REDLOCK_NO_LIMIT;
    options.delay_ms = 1 + below(30);
    options.jitter_ms = 1 + below(30);
    options.fencing = below(4) == 0;
    options.auto_extend = below(2) == 0;
    options.owner = below(3) == 0 ? 1 + below(2) : 0;
    options.on_lost = on_lost;
    options.lost_data = object;
    if (below(10) == 0) {
        options.max_hold_ms = options.ttl_ms + 200;
    }
    submitted(object, ACQUIRE, redlock_acquire(object->lock, &options, on_done, op), op);
}

static void change_mode(struct object *object, bool up) {
    struct op *op = &storm.ops[storm.submitted];
    const int status = up ? redlock_try_upgrade(object->lock, on_done, op)
                          : redlock_downgrade(object->lock, on_done, op);
    storm.ups += up && status == 0;
    storm.downs += !up && status == 0;
    submitted(object, EXTEND, status, op);
}

static void hand_over(struct object *object) {
    struct op *op = &storm.ops[storm.submitted];
    char token[REDLOCK_TOKEN_LENGTH + 1];
    memcpy(token, redlock_lock_token(object->lock), sizeof token);
    if (redlock_lock_is_valid(object->lock) && redlock_disown(object->lock) == 0) {
        submitted(object, RELEASE, redlock_release_token(object->lock, token, on_done, op), op);
    }
}

static void extend(struct object *object) {
    struct op *op = &storm.ops[storm.submitted];
    const int64_t ttl_ms = below(2) * (300 + (int64_t)below(3000));
    submitted(object, EXTEND, redlock_extend(object->lock, ttl_ms, on_done, op), op);
}

static void release(struct object *object) {
    struct op *op = &storm.ops[storm.submitted];
    submitted(object, RELEASE, redlock_release(object->lock, on_done, op), op);
}

static void act(void) {
    const size_t client = below(CLIENTS);
    struct object *object = &storm.objects[client][below(LOCKS)];
    const unsigned what = below(80);
    if (what < 24) {
        try_acquire(object);
    } else if (what < 32) {
        extend(object);
    } else if (what < 48) {
        release(object);
    } else if (what < 54) {
        (void)redlock_cancel(object->lock);
    } else if (what < 76) {
        change_mode(object, what < 67);
    } else if (what < 79) {
        hand_over(object);
    } else {
        redlock_lock_free(object->lock);
        make(client, object);
    }
    check();
}

static void trouble(void) {
    const size_t i = below(NODES);
    redisReply *reply;
    for (size_t j = 0; j < NODES; j++) {
        if (storm.is_paused[j] && redlock_now_ns() > storm.resume_ns[j]) {
            live_resume(storm.live, j);
            storm.is_paused[j] = false;
        }
    }
    if (storm.is_paused[i]) {
        return;
    }
    switch (below(40)) {
        case 0:
            live_pause(storm.live, i);
            storm.is_paused[i] = true;
            storm.resume_ns[i] = redlock_now_ns() + (50 + below(1500)) * LIVE_MS;
            break;
        case 1:
            reply = live_ask(storm.live, i, "SCRIPT FLUSH");
            freeReplyObject(reply);
            break;
        case 2:
            reply =
                live_ask(storm.live, i, "CLIENT KILL TYPE %s", below(2) == 0 ? "normal" : "pubsub");
            freeReplyObject(reply);
            break;
        default:
            break;
    }
}

static void resume_all(void) {
    for (size_t j = 0; j < NODES; j++) {
        if (storm.is_paused[j]) {
            live_resume(storm.live, j);
            storm.is_paused[j] = false;
        }
    }
}

static bool is_over(void) {
    for (size_t i = 0; i < CLIENTS * LOCKS; i++) {
        release(&storm.objects[i / LOCKS][i % LOCKS]);
    }
    return storm.ended == storm.submitted;
}

static bool are_quiet(void) {
    bool quiet = true;
    for (size_t i = 0; i < CLIENTS; i++) {
        quiet = quiet && live_is_quiet(storm.clients[i], NODES);
    }
    return quiet;
}

/* Longer than any acquire waits, however busy the machine is. */
static void look_for_stuck(void) {
    const uint64_t now_ns = redlock_now_ns();
    for (size_t i = 0; i < CLIENTS * LOCKS; i++) {
        const struct object *object = &storm.objects[i / LOCKS][i % LOCKS];
        for (size_t kind = 0; kind < KINDS; kind++) {
            const struct op *op = object->ops[kind];
            if (op != NULL && now_ns - op->at_ns > 2 * LIVE_PATIENCE_MS * LIVE_MS) {
                print_error("lock %zu of shape %u waits in vain\n", i, object->shape);
                fail();
            }
        }
    }
}

static void say(void) {
    print_message(
        "# %zu operations, %zu writers, %zu readers, %zu times side by side, "
        "%zu down, %zu up, %zu losses\n",
        storm.submitted, storm.granted[0], storm.granted[1], storm.both, storm.downs, storm.ups,
        storm.losses);
    for (size_t kind = 0; kind < KINDS; kind++) {
        for (size_t status = 0; status < STATUSES; status++) {
            if (storm.by[kind][status] != 0) {
                print_message("# operation %zu: %s %zu\n", kind, redlock_err_name(-(int)status),
                              storm.by[kind][status]);
            }
        }
    }
}

static void begin(struct live *live, size_t steps) {
    redlock_client_options options;
    memset(&storm, 0, sizeof storm);
    live->is_hasty = true;
    live_start(live, NODES, NULL);
    options = live_options(live);
    storm.live = live;
    storm.random = random_seed() | 1; /* xorshift stays at 0 */
    storm.room = 8 * steps;           /* callbacks act as well */
    storm.ops = calloc(storm.room, sizeof storm.ops[0]);
    assert_non_null(storm.ops);
    live_open_all(live, &options);
    for (size_t i = 0; i < CLIENTS; i++) {
        storm.clients[i] = live_another(live);
        for (size_t j = 0; j < LOCKS; j++) {
            make(i, &storm.objects[i][j]);
        }
    }
}

static void end(struct live *live) {
    resume_all();
    storm.is_calm = true;
    LIVE_POLL(live, is_over());
    LIVE_POLL(live, are_quiet());
    LIVE_POLL(live, live_no_keys(live));
    for (size_t i = 0; i < CLIENTS; i++) {
        live_close(live, storm.clients[i]);
    }
    free(storm.ops);
    live_end(live);
}

/* MODE_STORM_STEPS: a longer storm, by hand. */
static void never_two_that_conflict(void **state) {
    struct live *live = *state;
    const char *steps = getenv("MODE_STORM_STEPS");
    const size_t count = steps != NULL ? (size_t)strtoull(steps, NULL, 10) : STEPS;
    begin(live, count);
    for (size_t step = 0; step < count; step++) {
        act();
        if (below(2) == 0) {
            live_watch(live, 2 * LIVE_PATIENCE_MS);
            live_turn(live, 1 + below(4), "a turn", __FILE__, __LINE__);
        }
        if (step % 8 == 0) {
            trouble();
            look_for_stuck();
        }
    }
    say();
    assert_true(storm.granted[0] > 0 && storm.granted[1] > 0 && storm.both > 0);
    assert_true(storm.downs > 0 && storm.ups > 0);
    end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {LIVE_TEST(never_two_that_conflict)};
    return cmocka_run_group_tests_name("mode storm", tests, NULL, NULL);
}
