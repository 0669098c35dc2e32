/* Readers and writers in turns, each of a client of its own as in processes; and a hold that
 * changes its mode while others wait for a gap. */
#include <string.h>

#include "blocking/crew.h"
#include "live/readers.h"

#define READERS 3
#define SHUT_MS 2000 /* so long a reader that comes late may count on being kept out */

static void start(struct member *member, const struct live *live, void (*run)(void *member)) {
    member->blocking = crew_open(live);
    member->rwlock = crew_rwlock(member->blocking, "one", NULL);
    member->timeout_ms = 10 * LIVE_PATIENCE_MS; /* the test loses its patience first */
    crew_start(member, run);
}

static void end(struct member *member) {
    crew_join(member);
    LIVE_STATUS(member->status, 0);
    LIVE_STATUS(member->other, 0);
    LIVE_STATUS(redlock_rwlock_free(member->rwlock), 0);
    LIVE_STATUS(redlock_blocking_close(member->blocking), 0);
}

static bool is_in(const struct member *member) {
    return atomic_load(&member->stage) == 1;
}

static long long writers_waiting(const struct live *live) {
    long long count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += live_integer(live, i, "ZCARD libredlock:line:{one}");
    }
    return count;
}

/* While a writer holds it readers come, then a writer; when those read, one more reader. Returns
 * whether that was early enough to be kept out. */
static bool phases_once(struct live *live, redlock_rwlock *rwlock) {
    struct member readers[READERS] = {{0}};
    struct member writer = {0};
    struct member late = {0};
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, LIVE_PATIENCE_MS), 0);
    for (size_t i = 0; i < READERS; i++) {
        start(&readers[i], live, crew_read);
        LIVE_POLL(live, readers_waiting(live, "one") == i + 1);
    }
    start(&writer, live, crew_write);
    LIVE_POLL(live, writers_waiting(live) == 1);
    const uint64_t from_ns = redlock_now_ns();
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_POLL(live, is_in(&readers[0]) && is_in(&readers[1]) && is_in(&readers[2]));
    start(&late, live, crew_read);
    LIVE_POLL(live, readers_waiting(live, "one") == 1 || is_in(&late));
    const bool is_early = redlock_now_ns() - from_ns < SHUT_MS * LIVE_MS;
    assert_false(is_in(&writer));
    for (size_t i = 0; i < READERS; i++) {
        assert_true(!is_early || !is_in(&late));
        crew_go_on(&readers[i]);
        end(&readers[i]);
    }
    LIVE_POLL(live, is_in(&writer) || !is_early);
    assert_true(!is_early || !is_in(&late));
    crew_go_on(&writer);
    LIVE_POLL(live, is_in(&late));
    crew_go_on(&late);
    end(&writer);
    end(&late);
    return is_early;
}

static void phases(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    while (!phases_once(live, rwlock)) {
        print_message("the machine is busy: once more\n");
    }
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0);
    LIVE_POLL(live, live_no_keys(live));
    crew_end(live, blocking);
}

/* -- Without a gap -- */

struct thief {
    atomic_int tries;
    atomic_int entries;
    atomic_bool ends;
};

static void try_to_write(void *data) {
    struct member *member = data;
    struct thief *thief = member->data;
    while (!atomic_load(&thief->ends) && member->status == 0) {
        int status = redlock_rwlock_try_wrlock(member->rwlock);
        if (status == 0) {
            atomic_fetch_add(&thief->entries, 1);
            status = redlock_rwlock_unlock(member->rwlock);
        }
        member->status = status == REDLOCK_ERR_HELD ? 0 : status;
        atomic_fetch_add(&thief->tries, 1);
    }
}

static void let_it_try(struct live *live, struct thief *thief) {
    const int before = atomic_load(&thief->tries);
    LIVE_POLL(live, atomic_load(&thief->tries) >= before + 5);
    assert_int_equal(atomic_load(&thief->entries), 0);
}

/* A second writer tries all the while, and another reader waits for the downgrade. */
static void no_gap(void **state) {
    struct live *live = *state;
    struct thief thief = {0};
    struct member writer = {.data = &thief};
    struct member reader = {0};
    live_start(live, 5, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, 5000), 0);
    LIVE_POLL(live, live_integer(live, 4, "EXISTS one") == 1); /* votes that came late are in */
    start(&writer, live, try_to_write);
    start(&reader, live, crew_read);
    LIVE_POLL(live, readers_waiting(live, "one") == 1);
    let_it_try(live, &thief);
    assert_false(is_in(&reader));
    LIVE_STATUS(redlock_rwlock_downgrade(rwlock), 0);
    LIVE_POLL(live, is_in(&reader));
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 1);
    let_it_try(live, &thief);
    LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), REDLOCK_ERR_HELD); /* that one reads */
    crew_go_on(&reader);
    end(&reader);
    for (int i = 0; i < 5; i++) {
        LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), 0);
        LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD);
        let_it_try(live, &thief);
        LIVE_STATUS(redlock_rwlock_downgrade(rwlock), 0);
        LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), 0);
        let_it_try(live, &thief);
    }
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_POLL(live, atomic_load(&thief.entries) > 0);
    atomic_store(&thief.ends, true);
    end(&writer);
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0);
    LIVE_POLL(live, live_no_keys(live));
    crew_end(live, blocking);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(phases),
        LIVE_TEST(no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
