/* One of several locks: redlock_acquire_any(). */

#include "live/live.h"
#include "messages.h"

#define N 8
#define TTL_MS 30000

struct result {
    struct live_done done;
    redlock_lock *lock;
};

static void any_cb(redlock_lock *lock, int status, void *data) {
    struct result *result = data;
    result->lock = lock;
    live_lock_cb(lock, status, &result->done);
}

/* "0" to "7". */
static void make(redlock_client *client, redlock_lock **locks) {
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        locks[i] = live_lock(client, name);
    }
}

static void hold_for_strangers(const struct live *live, int first, int end) {
    for (int i = first; i < end; i++) {
        for (size_t node = 0; node < live->n; node++) {
            live_tell(live, node, "SET %d stranger", i);
        }
    }
}

static int acquire_any(struct live *live, redlock_lock *const *locks, size_t n,
                       const redlock_acquire_options *options, redlock_lock **lock) {
    struct result result = {.done = {0}};
    LIVE_STATUS(redlock_acquire_any(locks, n, options, any_cb, &result), 0);
    LIVE_UNTIL(live, result.done.count > 0);
    assert_int_equal(result.done.count, 1);
    *lock = result.lock;
    return result.done.status;
}

static redlock_acquire_options one_round(void) {
    redlock_acquire_options options = live_once(TTL_MS);
    options.wait_ms = 0;
    return options;
}

/* -- What is free -- */

LIVE_TEST_FIVE(the_free_one) {
    redlock_lock *locks[N], *lock;
    size_t length;
    redlock_acquire_options options = one_round();
    make(live->client, locks);
    hold_for_strangers(live, 0, N - 1);
    LIVE_STATUS(acquire_any(live, locks, N, &options, &lock), 0);
    assert_ptr_equal(lock, locks[N - 1]);
    assert_memory_equal(redlock_lock_resource(lock, &length), "7", 1);
    assert_true(redlock_lock_is_valid(lock));
    /* The try skips the lock that this client holds; others hold the rest. */
    redlock_lock *tried;
    LIVE_STATUS(acquire_any(live, locks, N, &options, &tried), REDLOCK_ERR_HELD);
    assert_ptr_not_equal(tried, lock);
    assert_contains(LOCK_MESSAGE(tried), "held by another");
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    for (size_t i = 0; i < live->n; i++) { /* as before */
        assert_int_equal(live_keys(live, i), N - 1);
    }
}

/* Workers with one list: nobody gets what another has, and each begins elsewhere. */
LIVE_TEST_FIVE(each_takes_another) {
    redlock_lock *locks[N][N];
    struct result results[N] = {{.done = {0}}};
    redlock_client *clients[N];
    bool is_taken[N] = {false};
    redlock_acquire_options options = live_patient(TTL_MS);
    size_t done = 0, first = 0;
    for (size_t i = 0; i < N; i++) {
        clients[i] = live_another(live);
        make(clients[i], locks[i]);
        LIVE_STATUS(redlock_acquire_any(locks[i], N, &options, any_cb, &results[i]), 0);
    }
    while (done < N) {
        LIVE_UNTIL(live, results[done].done.count > 0);
        LIVE_STATUS(results[done].done.status, 0);
        for (size_t at = 0; at < N; at++) {
            if (locks[done][at] == results[done].lock) {
                assert_false(is_taken[at]);
                is_taken[at] = true;
                first += at == 0;
            }
        }
        done++;
    }
    assert_int_equal(first, 1);
    for (size_t i = 0; i < N; i++) {
        live_close(live, clients[i]);
    }
    assert_true(live_no_keys(live));
}

/* Each of 8 locks is taken in 64 tries; the chance that one is missing is 1 in 600. */
LIVE_TEST_FIVE(in_no_order) {
    redlock_lock *locks[N], *lock;
    unsigned seen = 0;
    make(live->client, locks);
    for (int take = 0; take < 1000 && seen != (1u << N) - 1; take++) {
        LIVE_STATUS(acquire_any(live, locks, N, NULL, &lock), 0);
        for (unsigned i = 0; i < N; i++) {
            seen |= lock == locks[i] ? 1u << i : 0;
        }
        LIVE_STATUS(live_release(live, lock), 0);
    }
    assert_int_equal(seen, (1u << N) - 1);
}

/* -- When none is free -- */

LIVE_TEST_FIVE(waits) {
    redlock_lock *locks[N];
    struct result result = {.done = {0}};
    redlock_acquire_options options = live_patient(TTL_MS);
    options.delay_ms = 1;
    make(live->client, locks);
    hold_for_strangers(live, 0, N);
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), 0);
    LIVE_UNTIL(live, live_stats(live->client).held_by_another > (uint64_t)3 * N);
    assert_int_equal(result.done.count, 0);
    live_tell_all(live, "DEL 3");
    LIVE_UNTIL(live, result.done.count > 0);
    LIVE_STATUS(result.done.status, 0);
    assert_ptr_equal(result.lock, locks[3]);
}

/* The last lock of a round is tried again at the beginning of the next, with a pause. */
LIVE_TEST_FIVE(so_many_rounds) {
    redlock_lock *locks[N], *lock;
    redlock_acquire_options options = live_patient(TTL_MS);
    options.tries = 3;
    options.delay_ms = 20;
    options.jitter_ms = 0;
    make(live->client, locks);
    hold_for_strangers(live, 0, N);
    const uint64_t began_ns = redlock_now_ns();
    LIVE_STATUS(acquire_any(live, locks, N, &options, &lock), REDLOCK_ERR_HELD);
    assert_true(redlock_now_ns() - began_ns >= 2 * 21 * LIVE_MS);
    assert_int_equal(live_stats(live->client).held_by_another, N + 2 * (N - 1));
    assert_int_equal(live_stats(live->client).deadline, 2); /* in the pauses */
    options.tries = REDLOCK_NO_LIMIT;
    options.wait_ms = 100;
    LIVE_STATUS(acquire_any(live, locks, N, &options, &lock), REDLOCK_ERR_DEADLINE);
}

/* Nodes that are down are not tried a hundred times. */
LIVE_TEST_FIVE(an_outage_ends_the_round) {
    redlock_lock *locks[N], *lock;
    redlock_acquire_options options = one_round();
    struct result result = {.done = {0}};
    make(live->client, locks);
    live_do(live, live_kill, 0, 3);
    LIVE_UNTIL(live, live_up(live->client) == 2);
    LIVE_STATUS(acquire_any(live, locks, N, &options, &lock), REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(live_stats(live->client).no_quorum, 1);
    options = live_patient(TTL_MS);
    options.delay_ms = options.jitter_ms = 1;
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), 0);
    LIVE_UNTIL(live, live_stats(live->client).no_quorum > 20);
    assert_int_equal(result.done.count, 0);
    live_restart(live, 0);
    LIVE_UNTIL(live, result.done.count > 0);
    LIVE_STATUS(result.done.status, 0);
}

/* -- In the middle -- */

static int cancel_each(redlock_lock *const *locks) {
    int canceled = 0;
    for (size_t i = 0; i < N; i++) {
        const int status = redlock_cancel(locks[i]);
        canceled += status == 0;
        LIVE_STATUS(status, status == 0 ? 0 : REDLOCK_ERR_IDLE);
    }
    return canceled;
}

LIVE_TEST_FIVE(is_cancelled) {
    redlock_lock *locks[N];
    struct result result = {.done = {0}};
    redlock_acquire_options options = live_patient(TTL_MS);
    make(live->client, locks);
    hold_for_strangers(live, 0, N);
    for (uint64_t tries = 0; tries < 2 * N; tries++) {
        const uint64_t before = live_stats(live->client).held_by_another;
        result.done.count = 0;
        LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), 0);
        LIVE_UNTIL(live, live_stats(live->client).held_by_another - before >= tries);
        assert_int_equal(cancel_each(locks), 1);
        LIVE_UNTIL(live, result.done.count > 0);
        assert_int_equal(result.done.count, 1);
        LIVE_STATUS(result.done.status, REDLOCK_ERR_CANCELED);
    }
}

struct meddler {
    redlock_lock **locks;
    int canceled;
};

static void cancel_cb(redlock_lock *lock, int status, void *data) {
    struct meddler *meddler = data;
    LIVE_STATUS(status, REDLOCK_ERR_HELD);
    meddler->canceled = cancel_each(meddler->locks);
    live_wake();
}

/* The try has failed, and its callback is about to run: the next one must not begin. */
LIVE_TEST_FIVE(is_cancelled_between_two) {
    redlock_lock *locks[N], *other = live_lock(live->client, "x");
    struct result result = {.done = {0}};
    struct meddler meddler = {locks, -1};
    redlock_acquire_options options = one_round();
    make(live->client, locks);
    hold_for_strangers(live, 0, N);
    live_tell_all(live, "SET x stranger");
    LIVE_STATUS(redlock_acquire(other, &options, cancel_cb, &meddler), 0);
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), 0);
    live_send(live, 0);
    LIVE_UNTIL(live, result.done.count > 0);
    assert_int_equal(meddler.canceled, 1);
    LIVE_STATUS(result.done.status, REDLOCK_ERR_CANCELED);
    assert_int_equal(live_stats(live->client).held_by_another, 1);
}

/* The only callback frees everything. */
LIVE_TEST_FIVE(the_client_is_closed) {
    for (uint64_t tries = 0; tries < N; tries += 3) {
        redlock_client *client = live_another(live);
        redlock_lock *locks[N];
        struct result result = {.done = {0}};
        make(client, locks);
        hold_for_strangers(live, 0, N - 1);
        redlock_acquire_options options = live_patient(TTL_MS);
        LIVE_STATUS(redlock_acquire_any(locks, N - 1, &options, any_cb, &result), 0);
        LIVE_UNTIL(live, live_stats(client).held_by_another >= tries);
        live_close(live, client);
        assert_int_equal(result.done.count, 1);
        LIVE_STATUS(result.done.status, REDLOCK_ERR_CANCELED);
    }
    live_tell_all(live, "FLUSHDB");
}

static void free_cb(redlock_lock *lock, int status, void *data) {
    any_cb(lock, status, data);
    redlock_lock_free(lock);
}

/* A lock that was freed before its turn is skipped; freeing all of them cancels the call. */
LIVE_TEST_FIVE(locks_are_freed) {
    redlock_lock *locks[N];
    struct result result = {.done = {0}};
    redlock_acquire_options options = one_round();
    make(live->client, locks);
    hold_for_strangers(live, 0, N);
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, free_cb, &result), 0);
    for (size_t i = 0; i < N; i++) {
        if (redlock_cancel(locks[i]) == REDLOCK_ERR_IDLE) {
            redlock_lock_free(locks[i]);
        }
    }
    LIVE_UNTIL(live, result.done.count > 0);
    LIVE_STATUS(result.done.status, REDLOCK_ERR_CANCELED);
    make(live->client, locks);
    result.done.count = 0;
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), 0);
    for (size_t i = 0; i < N; i++) {
        redlock_lock_free(locks[i]);
    }
    LIVE_UNTIL(live, result.done.count > 0);
    LIVE_STATUS(result.done.status, REDLOCK_ERR_CANCELED);
}

/* All locks but the first are freed before their turn. */
LIVE_TEST_FIVE(others_are_freed) {
    redlock_lock *locks[N];
    struct result result = {.done = {0}};
    redlock_acquire_options options = one_round();
    make(live->client, locks);
    hold_for_strangers(live, 0, N);
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), 0);
    int freed = 0;
    for (size_t i = 0; i < N; i++) {
        redlock_node_outcome outcome = live_outcome(locks[i], 0);
        if (outcome.vote == REDLOCK_VOTE_NONE) {
            redlock_lock_free(locks[i]);
            freed++;
        }
    }
    assert_int_equal(freed, N - 1);
    LIVE_UNTIL(live, result.done.count > 0);
    LIVE_STATUS(result.done.status, REDLOCK_ERR_HELD);
    assert_int_equal(live_stats(live->client).held_by_another, 1);
}

/* -- What is refused -- */

LIVE_TEST_FIVE(is_refused) {
    redlock_lock *locks[N], *many[REDLOCK_ANY_MAX + 1];
    redlock_acquire_options options = one_round();
    redlock_client *other = live_another(live);
    struct result result = {.done = {0}};
    make(live->client, locks);
    for (size_t i = 0; i <= REDLOCK_ANY_MAX; i++) {
        many[i] = locks[i % N];
    }
    LIVE_STATUS(redlock_acquire_any(NULL, 1, NULL, any_cb, &result), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_acquire_any(locks, 0, NULL, any_cb, &result), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_acquire_any(many, REDLOCK_ANY_MAX + 1, NULL, any_cb, &result),
                REDLOCK_ERR_INVALID);
    options.ttl_ms = 0;
    LIVE_STATUS(redlock_acquire_any(locks, N, &options, any_cb, &result), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(locks[0]), "ttl_ms");
    redlock_lock *mixed[3] = {locks[0], live_lock(other, "0"), NULL};
    LIVE_STATUS(redlock_acquire_any(mixed, 2, NULL, any_cb, &result), REDLOCK_ERR_INVALID);
    mixed[1] = NULL;
    LIVE_STATUS(redlock_acquire_any(mixed, 2, NULL, any_cb, &result), REDLOCK_ERR_INVALID);
    /* A list that repeats one lock, and no callback. */
    LIVE_STATUS(redlock_acquire_any(many, REDLOCK_ANY_MAX, NULL, NULL, NULL), 0);
    LIVE_UNTIL(live, live_stats(live->client).held == 1);
    for (size_t i = 0; i < N; i++) {
        redlock_release(locks[i], NULL, NULL);
    }
    LIVE_UNTIL(live, live_stats(live->client).released == 1);
    for (size_t i = 0; i < N; i++) {
        LIVE_STATUS(redlock_acquire(locks[i], NULL, NULL, NULL), 0);
    }
    LIVE_STATUS(redlock_acquire_any(locks, N, NULL, any_cb, &result), REDLOCK_ERR_BUSY);
    LIVE_UNTIL(live, live_stats(live->client).held == N);
    LIVE_STATUS(redlock_acquire_any(locks, N, NULL, any_cb, &result), REDLOCK_ERR_ALREADY_HELD);
    live_close(live, other);
    LIVE_STATUS(redlock_client_close(live->client, NULL, NULL), 0);
    LIVE_STATUS(redlock_acquire_any(locks, N, NULL, any_cb, &result), REDLOCK_ERR_CLOSED);
    live->client = NULL;
    assert_int_equal(result.done.count, 0);
}

/* Each allocation of the call fails once; nothing is pending or kept then. */
struct memory {
    size_t blocks;
    int left; /* allocations that still succeed; negative: all do */
};

static void *take(size_t size, void *data) {
    struct memory *memory = data;
    if (memory->left == 0) {
        return NULL;
    }
    memory->left -= memory->left > 0;
    memory->blocks++;
    return malloc(size);
}

static void give_back(void *pointer, void *data) {
    struct memory *memory = data;
    memory->blocks -= pointer != NULL;
    free(pointer);
}

LIVE_TEST_FIVE(out_of_memory) {
    struct memory memory = {0, -1};
    const redlock_allocator allocator = {take, give_back, &memory};
    redlock_client_options client_options = live_options(live);
    redlock_acquire_options options = one_round();
    redlock_client *client;
    redlock_lock *locks[N];
    struct result result = {.done = {0}};
    int status = REDLOCK_ERR_NOMEM, failed = -1;
    client_options.allocator = &allocator;
    LIVE_STATUS(live_open(live, &client_options, &client), 0);
    make(client, locks);
    while (status == REDLOCK_ERR_NOMEM) {
        const size_t blocks = memory.blocks;
        memory.left = ++failed;
        status = redlock_acquire_any(locks, N, &options, any_cb, &result);
        memory.left = -1;
        assert_true(status == 0 || memory.blocks == blocks);
        assert_int_equal(result.done.count, 0);
    }
    LIVE_STATUS(status, 0);
    assert_true(failed > 0);
    LIVE_UNTIL(live, result.done.count == 1);
    if (result.done.status != 0) { /* it was a command that could not be sent */
        LIVE_STATUS(result.done.status, REDLOCK_ERR_NO_QUORUM);
    }
    live_close(live, client);
    assert_int_equal(memory.blocks, 0);
}
