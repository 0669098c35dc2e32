/* The library's allocations, as seen by the client's allocator: none in the steady state, a bounded
 * number of bytes for each lock and client, and no leak. hiredis and libuv allocate for themselves
 * and are not counted. */

#include "live/live.h"

#define CYCLES 1000
#define LOCKS 1000
#define IN_FLIGHT 32
#define LOCK_BYTES_MAX 840      /* with its resource, which no other client wants */
#define REQUEST_BYTES_MAX 480   /* with its command, which waits to be written; also for slots */
#define CLIENT_BYTES_MAX 72000  /* with 16 KiB to read into, a list of nodes, and passwords */
#define BUFFER_BYTES_MAX 110592 /* to write acquires and the longest release for five nodes */
#define TLS_BYTES_MAX 20480     /* with 16 KiB to decrypt into; OpenSSL's own are not counted */

/* -- An allocator that counts -- */

struct counted {
    uint64_t mallocs;
    uint64_t frees;
    size_t bytes; /* in use */
    int left;     /* allocations until one fails; 0: none does */
};

union header {
    size_t size;
    max_align_t align;
};

static void *count_malloc(size_t size, void *data) {
    struct counted *counted = data;
    if (counted->left > 0 && --counted->left == 0) {
        counted->left = 1; /* the next one fails, too */
        return NULL;
    }
    union header *header = malloc(sizeof(*header) + size);
    assert_non_null(header);
    header->size = size;
    counted->mallocs++;
    counted->bytes += size;
    return header + 1;
}

static void count_free(void *pointer, void *data) {
    struct counted *counted = data;
    if (pointer != NULL) {
        union header *header = (union header *)pointer - 1;
        counted->frees++;
        counted->bytes -= header->size;
        free(header);
    }
}

static void open_counted(struct live *live, struct counted *counted) {
    memset(counted, 0, sizeof(*counted));
    redlock_allocator allocator = {count_malloc, count_free, counted};
    live_start(live, 5, NULL);
    redlock_client_options options = live_options(live);
    options.allocator = &allocator;
    live_open_all(live, &options);
    assert_true(counted->mallocs > 0);
}

static void close_counted(struct live *live, const struct counted *counted) {
    live_end(live);
    assert_true(live_no_keys(live));
    assert_int_equal(counted->bytes, 0);
    assert_int_equal(counted->mallocs, counted->frees);
}

/* -- The steady state -- */

/* Waits for all answers, so that the number of outstanding requests is the same each time. */
static void cycle(struct live *live, redlock_lock *lock) {
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
}

LIVE_TEST(one_at_a_time) {
    struct counted counted;
    open_counted(live, &counted);
    redlock_lock *lock = live_lock(live->client, "key");
    for (int i = 0; i < 5; i++) {
        cycle(live, lock);
    }
    uint64_t before = counted.mallocs;
    for (int i = 0; i < CYCLES; i++) {
        cycle(live, lock);
    }
    assert_int_equal(counted.mallocs - before, 0);
    print_message("# %d cycles of acquire, extend and release: %llu allocations\n", CYCLES,
                  (unsigned long long)(counted.mallocs - before));
    close_counted(live, &counted);
}

/* Refused attempts, with their releases and pauses, cost nothing either. */
LIVE_TEST(in_vain) {
    struct counted counted;
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    open_counted(live, &counted);
    redlock_lock *lock = live_lock(live->client, "key");
    live_tell_all(live, "SET key stranger");
    options.delay_ms = options.jitter_ms = 0;
    options.tries = 10;
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    /* On a busy machine a listener may still be connecting, which is not free. */
    uint64_t before;
    int rounds = 5;
    do {
        before = counted.mallocs;
        for (int i = 0; i < 50; i++) {
            LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
            LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        }
    } while (counted.mallocs != before && --rounds > 0);
    assert_int_equal(counted.mallocs - before, 0);
    live_tell_all(live, "DEL key");
    close_counted(live, &counted);
}

/* Acquires and releases all of them at once, again and again. */
static void run_many(struct live *live, redlock_lock **locks, int count, int cycles) {
    struct live_done done = {0};
    for (int cycles_done = 0; cycles_done < cycles; cycles_done += count) {
        for (int i = 0; i < count; i++) {
            LIVE_STATUS(redlock_acquire(locks[i], NULL, live_lock_cb, &done), 0);
        }
        LIVE_UNTIL(live, done.count == 2 * cycles_done + count);
        for (int i = 0; i < count; i++) {
            LIVE_STATUS(redlock_release(locks[i], live_lock_cb, &done), 0);
        }
        LIVE_UNTIL(live, done.count == 2 * cycles_done + 2 * count);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    }
}

LIVE_TEST(many_at_a_time) {
    struct counted counted;
    redlock_lock *locks[2 * IN_FLIGHT];
    open_counted(live, &counted);
    for (int i = 0; i < 2 * IN_FLIGHT; i++) {
        char name[16];
        snprintf(name, sizeof(name), "key %d", i);
        locks[i] = live_lock(live->client, name);
    }
    run_many(live, locks, 2 * IN_FLIGHT, CYCLES); /* warm, with twice as many */
    uint64_t before = counted.mallocs;
    run_many(live, locks, IN_FLIGHT, CYCLES);
    assert_int_equal(counted.mallocs - before, 0);
    close_counted(live, &counted);
}

/* -- Bytes -- */

LIVE_TEST(bytes) {
    struct counted counted;
    struct live_done done = {0};
    static redlock_lock *locks[LOCKS];
    open_counted(live, &counted);
    size_t client_bytes = counted.bytes, buffers = 0;
    for (int i = 0; i < LOCKS; i++) { /* one by one: few requests are outstanding */
        char name[33];
        snprintf(name, sizeof(name), "%032d", i);
        locks[i] = live_lock(live->client, name);
        LIVE_STATUS(live_acquire(live, locks[i], NULL), 0);
        LIVE_UNTIL(live, live_is_quiet(live->client, 5));
        buffers = i == 0 ? counted.bytes - client_bytes : buffers; /* five, and a lock */
    }
    LIVE_STATUS(live_extend(live, locks[0], 0), 0); /* its script goes out whole once */
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    size_t held_bytes = counted.bytes;
    for (int i = 0; i < LOCKS; i++) { /* all at once: requests are allocated */
        LIVE_STATUS(redlock_extend(locks[i], 0, live_lock_cb, &done), 0);
    }
    size_t request_bytes = counted.bytes - held_bytes;
    LIVE_UNTIL(live, done.count == LOCKS);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_stats(live->client).held, LOCKS);
    size_t per_lock = (held_bytes - client_bytes - buffers) / (LOCKS - 1);
    size_t per_request = request_bytes / ((size_t)LOCKS * 5);
    print_message(
        "# %zu bytes for a client of 5 nodes, %zu more with its first lock, %zu for each further "
        "one that is held (name of 32 bytes), %zu for each request that is out\n",
        client_bytes, buffers, per_lock, per_request);
    bool has_tls = strncmp(live->urls[0], "rediss:", 7) == 0;
    assert_in_range(client_bytes, 1, CLIENT_BYTES_MAX + (has_tls ? TLS_BYTES_MAX : 0));
    assert_in_range(buffers, 1, BUFFER_BYTES_MAX);
    assert_in_range(per_lock, 1, LOCK_BYTES_MAX);
    assert_in_range(per_request, 1, REQUEST_BYTES_MAX);
    close_counted(live, &counted);
}

/* Reconnecting twenty times does not make a client larger. */
LIVE_TEST(reconnecting) {
    struct counted counted;
    open_counted(live, &counted);
    redlock_lock *lock = live_lock(live->client, "key");
    cycle(live, lock);
    size_t before = counted.bytes;
    for (uint64_t i = 2; i < 22; i++) {
        live_tell(live, 0, "CLIENT KILL TYPE normal");
        LIVE_UNTIL(live, live_node(live->client, 0).connects == i);
        cycle(live, lock);
    }
    assert_int_equal(counted.bytes, before);
    close_counted(live, &counted);
}

/* -- No memory for what is to be written -- */

/* A failed allocation breaks the connections; the client handles that at the end of the turn. An
 * acquire that fails then lets the next one in line go on. */
LIVE_TEST(none_to_write) {
    struct counted counted;
    struct live_done done[3] = {{0}};
    redlock_acquire_options once = live_once(10000);
    open_counted(live, &counted);
    redlock_lock *locks[] = {live_lock(live->client, "a"), live_lock(live->client, "b"),
                             live_lock(live->client, "b")};
    counted.left = 2; /* enough for the call's own data, not for the buffer */
    for (int i = 0; i < 3; i++) {
        LIVE_STATUS(redlock_acquire(locks[i], i < 2 ? &once : NULL, live_lock_cb, &done[i]), 0);
        counted.left = 0;
    }
    LIVE_UNTIL(live, done[0].count == 1 && done[1].count == 1 && done[2].count == 1);
    LIVE_STATUS(done[0].status, REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(done[1].status, REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(done[2].status, 0); /* connected again */
    close_counted(live, &counted);
}
