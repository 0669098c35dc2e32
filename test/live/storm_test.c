/* A storm: clients, lock objects of one resource or several, owners, watchdogs, cancelled and freed
 * at random, from inside and outside of callbacks. Whatever is called in whatever order:
 *   - all lock objects that are valid at one moment and have a resource in common have one token,
 *     one client and one owner;
 *   - every operation that was submitted ends in one callback;
 *   - at the end nothing is held, owed, waiting or left on a node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/live.h"
#include "redlock/token.h"
#include "seed.h"

#define CLIENTS 3
#define LOCKS 30
#define RESOURCES 3
#define STEPS 6000
#define TTL_MS 400

struct place {
    redlock_lock *lock;
    size_t client;
    unsigned resources; /* as a mask */
    uint64_t owner;     /* of the hold */
};

struct storm {
    struct live *live;
    redlock_client *clients[CLIENTS];
    struct place places[LOCKS];
    uint64_t random;
    uint64_t submitted;
    uint64_t ended;
    uint64_t grants;
    uint64_t losses;
    int depth; /* of calls inside callbacks */
};

static struct storm *storm;

static unsigned below(unsigned n) {
    storm->random ^= storm->random << 13;
    storm->random ^= storm->random >> 7;
    storm->random ^= storm->random << 17;
    return (unsigned)(storm->random >> 11) % n;
}

static struct place *place_of(const redlock_lock *lock) {
    for (size_t i = 0; i < LOCKS; i++) {
        if (storm->places[i].lock == lock) {
            return &storm->places[i];
        }
    }
    return NULL; /* freed since */
}

/* Who is valid now, and may he be? */
static void check_holders(void) {
    for (size_t i = 0; i < LOCKS; i++) {
        const struct place *a = &storm->places[i];
        for (size_t j = 0; redlock_lock_is_valid(a->lock) && j < i; j++) {
            const struct place *b = &storm->places[j];
            if ((a->resources & b->resources) && redlock_lock_is_valid(b->lock)) {
                assert_string_equal(redlock_lock_token(a->lock), redlock_lock_token(b->lock));
                assert_int_equal(a->client, b->client);
                assert_int_equal(a->owner, b->owner);
                assert_int_equal(a->resources, b->resources);
            }
        }
    }
}

static void act(struct place *place);

static void ended(redlock_lock *lock, int status, void *data) {
    struct place *place = place_of(lock);
    (void)data;
    (void)status;
    storm->ended++;
    check_holders();
    if (place != NULL && storm->depth < 3 && below(2)) {
        storm->depth++;
        act(place);
        storm->depth--;
    }
    live_wake();
}

static void acquired(redlock_lock *lock, int status, void *data) {
    storm->grants += status == 0;
    if (status == 0) {
        assert_true(place_of(lock) != NULL);
    }
    ended(lock, status, data);
}

static void was_lost(redlock_lock *lock, int status, void *data) {
    (void)status;
    (void)data;
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    storm->losses++;
}

static void make(struct place *place) {
    static const char *const names[RESOURCES] = {"a", "b", "c"};
    redlock_bytes bytes[RESOURCES];
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    place->client = below(CLIENTS);
    place->resources = below(3) ? 1u << below(RESOURCES) : 1 + below((1u << RESOURCES) - 1);
    options.resources = bytes;
    for (unsigned i = 0; i < RESOURCES; i++) {
        if (place->resources >> i & 1) {
            bytes[options.n_resources++] = (redlock_bytes){names[i], 1};
        }
    }
    options.holder = below(2) ? "storm" : NULL;
    LIVE_STATUS(
        redlock_lock_new_with(storm->clients[place->client], &options, &place->lock, NULL, 0), 0);
}

static void try_acquire(struct place *place) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS;
    options.wait_ms = (int64_t)below(3) * 100;
    options.tries = below(2) ? REDLOCK_NO_LIMIT : 1 + (int64_t)below(3);
    options.delay_ms = 5;
    options.jitter_ms = 10;
    options.owner = below(3);
    options.auto_extend = (int)below(2);
    options.max_hold_ms = below(4) ? REDLOCK_NO_LIMIT : 300;
    options.on_lost = was_lost;
    uint64_t owner = place->owner;
    place->owner = options.owner;
    if (redlock_acquire(place->lock, &options, acquired, NULL) == 0) {
        storm->submitted++;
    } else {
        place->owner = owner;
    }
}

/* Takes over what another one holds, which lets go of it; at times without its knowledge. */
static void try_adopt(struct place *place) {
    const struct place *other = &storm->places[below(LOCKS)];
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    options.ttl_ms = TTL_MS;
    options.on_lost = was_lost;
    if (other->resources != place->resources || redlock_disown(other->lock) != 0) {
        return;
    }
    memcpy(token, redlock_lock_token(other->lock), sizeof(token));
    if (redlock_adopt(place->lock, token, &options, acquired, NULL) == 0) {
        place->owner = 0;
        storm->submitted++;
    }
}

static void act(struct place *place) {
    int status = 1;
    switch (below(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
            try_acquire(place);
            break;
        case 4:
        case 5:
        case 6:
            status = redlock_release(place->lock, ended, NULL);
            break;
        case 7:
            status = redlock_extend(place->lock, 100 + below(TTL_MS), ended, NULL);
            break;
        case 8:
            redlock_cancel(place->lock);
            break;
        case 9:
            redlock_lock_free(place->lock);
            make(place);
            break;
        case 10:
            try_adopt(place);
            break;
        default:
            if (below(4) == 0) {
                redlock_disown(place->lock);
            }
            break;
    }
    storm->submitted += status == 0;
}

static void begin(struct storm *s, struct live *live) {
    redlock_client_options options = live_options(live);
    memset(s, 0, sizeof(*s));
    storm = s;
    s->live = live;
    s->random = random_seed() | 1; /* xorshift stays at 0 */
    for (size_t i = 0; i < CLIENTS; i++) {
        LIVE_STATUS(live_open(live, &options, &s->clients[i]), 0);
    }
    for (size_t i = 0; i < LOCKS; i++) {
        make(&s->places[i]);
    }
}

static void finish(struct storm *s) {
    for (size_t i = 0; i < LOCKS; i++) {
        redlock_lock_free(s->places[i].lock);
        s->places[i].lock = NULL;
    }
    LIVE_UNTIL(s->live, s->ended == s->submitted);
    for (size_t i = 0; i < CLIENTS; i++) {
        LIVE_UNTIL(s->live, live_is_quiet(s->clients[i], s->live->n));
        redlock_stats stats = live_stats(s->clients[i]);
        assert_int_equal(stats.held + stats.waiting + stats.locks, 0);
        live_close(s->live, s->clients[i]);
    }
    assert_int_equal(s->ended, s->submitted);
    for (size_t i = 0; i < s->live->n; i++) { /* what was disowned ends by its ttl */
        LIVE_POLL(s->live, live_integer(s->live, i, "EXISTS a b c") == 0);
    }
    print_message("# %llu operations, %llu grants, %llu losses\n", (unsigned long long)s->submitted,
                  (unsigned long long)s->grants, (unsigned long long)s->losses);
    assert_true(s->grants > 30);
    live_end(s->live);
}

static void keeps_its_promises(void **state) {
    static struct storm s;
    begin(&s, *state);
    live_watch(s.live, 4 * LIVE_PATIENCE_MS);
    for (int step = 0; step < STEPS; step++) {
        act(&s.places[below(LOCKS)]);
        check_holders();
        if (below(3) == 0) {
            uv_run(&s.live->loop, UV_RUN_NOWAIT);
        }
        if (below(60) == 0) {
            live_run_for(s.live, below(20) ? below(20) : TTL_MS);
        }
    }
    finish(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {LIVE_TEST_FIVE(keeps_its_promises)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
