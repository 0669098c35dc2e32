/* The heap that a client and its held locks use in the whole process, including hiredis, libuv and
 * the heap's overhead. live/memory limits the library's own allocations.
 *
 * Without heap counts (another C library, a sanitizer) it checks nothing. */
#include <malloc.h>

#include "cost/cost.h"

#define LOCKS 10000
#define AT_ONCE 100
#define CLIENT_BYTES_MAX 150000 /* five nodes; 104,000 in November 2026 */
#define LOCK_BYTES_MAX 866      /* a name of 32 bytes; 850 */

#ifdef __GLIBC__
static size_t heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#else
static size_t heap_bytes(void) {
    return 0;
}
#endif

static void hold(struct live *live, redlock_lock **locks) {
    struct live_done done = {0};
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = 60000;
    for (int i = 0; i < LOCKS; i++) {
        char name[33];
        snprintf(name, sizeof(name), "%032d", i);
        locks[i] = live_lock(live->client, name);
        LIVE_STATUS(redlock_acquire(locks[i], &options, live_lock_cb, &done), 0);
        if (i % AT_ONCE == AT_ONCE - 1) {
            LIVE_UNTIL(live, done.count == i + 1 && live_is_quiet(live->client, 5));
            LIVE_STATUS(done.status, 0);
        }
    }
}

static void release(struct live *live, redlock_lock **locks) {
    struct live_done done = {0};
    for (int i = 0; i < LOCKS; i++) {
        LIVE_STATUS(redlock_release(locks[i], live_lock_cb, &done), 0);
    }
    LIVE_UNTIL(live, done.count == LOCKS && live_is_quiet(live->client, 5));
}

LIVE_TEST(heap) {
    static redlock_lock *locks[LOCKS];
    live_start(live, 5, NULL);
    size_t before = heap_bytes();
    live_open_all(live, NULL);
    size_t idle = heap_bytes();
    hold(live, locks);
    assert_int_equal(live_stats(live->client).held, LOCKS);
    double per_client = (double)(idle - before);
    double per_lock = (double)(heap_bytes() - idle) / LOCKS;
    release(live, locks);
    cost_show("heap bytes of a client of five nodes, idle", per_client);
    cost_show("heap bytes of a held lock", per_lock);
    assert_true(per_client <= CLIENT_BYTES_MAX);
    assert_true(per_lock <= LOCK_BYTES_MAX);
}
