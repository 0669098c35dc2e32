/* Many threads: exclusion, the order of fences, hand-over, closing and freeing while they work. */

#include "blocking/crew.h"

#define CROWD 8
#define ROUNDS 20

/* -- Exclusion -- */

struct count {
    long value; /* not atomic: the lock guards it */
    int inside;
    int worst; /* the maximum of `inside` */
    uint64_t fence;
    int misplaced; /* fences that were not larger than those before */
};

static void count_one(void *data) {
    struct member *member = data;
    struct count *count = member->data;
    for (int i = 0; i < ROUNDS && member->status == 0; i++) {
        member->other += redlock_mutex_fence(member->mutex) != 0; /* this thread does not hold it */
        member->status = redlock_mutex_lock(member->mutex, LIVE_PATIENCE_MS);
        if (member->status == 0) {
            long value = count->value;
            uint64_t fence = redlock_mutex_fence(member->mutex);
            count->misplaced += fence <= count->fence;
            count->fence = fence;
            count->inside++;
            count->worst = count->inside > count->worst ? count->inside : count->worst;
            live_block_until(redlock_now_ns() + LIVE_MS / 20); /* gives others time to come in */
            count->inside--;
            count->value = value + 1;
            member->status = redlock_mutex_unlock(member->mutex);
        }
    }
}

static redlock_mutex *fenced(redlock_blocking *blocking) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.fencing = 1;
    return crew_mutex(blocking, "counter", &options);
}

static void count_in(redlock_blocking *blocking, redlock_mutex *shared) {
    struct count count = {0};
    struct member members[CROWD] = {{0}};
    for (int i = 0; i < CROWD; i++) {
        members[i].mutex = shared != NULL ? shared : fenced(blocking);
        members[i].data = &count;
        crew_start(&members[i], count_one);
    }
    for (int i = 0; i < CROWD; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, 0);
        assert_int_equal(members[i].other, 0);
        if (shared == NULL) {
            LIVE_STATUS(redlock_mutex_free(members[i].mutex), 0);
        }
    }
    assert_int_equal(count.value, CROWD * ROUNDS);
    assert_int_equal(count.worst, 1);
    assert_int_equal(count.misplaced, 0);
}

LIVE_TEST(exact_count) {
    live_start(live, 5, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *mutex = fenced(blocking);
    count_in(blocking, mutex);
    count_in(blocking, NULL); /* each thread uses its own mutex object */
    assert_int_equal(crew_stats(blocking).granted, 2 * CROWD * ROUNDS);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    crew_end(live, blocking);
    assert_true(live_no_keys(live));
}

/* -- All of several resources -- */

LIVE_TEST(several_resources) {
    live_start(live, 5, NULL);
    redlock_blocking *blocking = crew_open(live);
    char text[REDLOCK_MESSAGE_MAX] = "";
    char names[2][4] = {"a", "bb"};
    redlock_bytes both[2] = {{names[0], 1}, {names[1], 2}};
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    redlock_mutex *pair;
    redlock_mutex *none;
    redlock_mutex *one = crew_mutex(blocking, "bb", NULL);
    lock.resources = both;
    lock.n_resources = 2;
    lock.holder = "worker-7";
    LIVE_STATUS(redlock_mutex_new_with(blocking, &lock, NULL, &pair), 0);
    memset(names, 'x', sizeof names); /* it was copied */
    LIVE_STATUS(redlock_mutex_lock(pair, 5000), 0);
    LIVE_STATUS(crew_do(one, crew_lock, 0), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_mutex_try_lock(one), REDLOCK_ERR_PART_HELD);
    LIVE_POLL(live, live_integer(live, 0, "EXISTS a bb") == 2); /* node 0 may answer last */
    LIVE_STATUS(redlock_mutex_unlock(pair), 0);
    LIVE_STATUS(crew_do(pair, crew_lock, 5000), 0); /* this may make a lock object from the copy */
    LIVE_STATUS(redlock_mutex_free(pair), REDLOCK_ERR_NOT_OWNER);
    both[1] = both[0];
    options.error = text;
    options.error_size = sizeof text;
    LIVE_STATUS(redlock_mutex_new_with(blocking, &lock, &options, &none), REDLOCK_ERR_INVALID);
    assert_contains(text, "name each once");
    assert_null(none);
    LIVE_STATUS(redlock_mutex_free(one), 0);
    assert_true(crew_stats(blocking).locks <= 2); /* the lock objects of `pair` */
    crew_end(live, blocking);
    LIVE_STATUS(redlock_mutex_free(pair), 0);
}

/* -- Time -- */

CREW_TEST(timeouts) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.delay_ms = 20000; /* an attempt in line would take so long */
    redlock_mutex *mutex = crew_mutex(blocking, "one", &options);
    struct member holder = {.mutex = mutex, .timeout_ms = 5000};
    crew_start(&holder, crew_hold);
    LIVE_POLL(live, atomic_load(&holder.stage) == 1);
    uint64_t began_ns = redlock_now_ns();
    LIVE_STATUS(redlock_mutex_try_lock(mutex), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_mutex_lock(mutex, 300), REDLOCK_ERR_DEADLINE);
    uint64_t took_ns = redlock_now_ns() - began_ns;
    assert_true(took_ns >= 290 * LIVE_MS);
    assert_true(took_ns < 10000 * LIVE_MS);
    crew_go_on(&holder);
    LIVE_STATUS(redlock_mutex_lock(mutex, REDLOCK_NO_LIMIT), 0); /* handed over */
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    crew_join(&holder);
    LIVE_STATUS(holder.other, 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
}

CREW_TEST(one_owner_in_two_threads) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.owner = 7;
    redlock_mutex *mutex = crew_mutex(blocking, "one", &options);
    struct member waits = {.mutex = mutex, .timeout_ms = LIVE_PATIENCE_MS};
    live_tell_all(live, "SET one someone");
    crew_start(&waits, crew_lock);
    LIVE_POLL(live, crew_stats(blocking).acquires == 1);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_BUSY);
    live_tell_all(live, "DEL one");
    crew_join(&waits);
    LIVE_STATUS(waits.status, 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
}

/* Calls what does not wait, while others lock, unlock and fail: every message is complete, and no
 * thread's lock is valid for another. */
static void look(void *data) {
    struct member *member = data;
    char text[REDLOCK_MESSAGE_MAX];
    char token[REDLOCK_TOKEN_LENGTH + 1];
    for (int i = 0; i < 100 * ROUNDS; i++) {
        member->other += redlock_mutex_is_valid(member->mutex);
        member->other += redlock_mutex_remaining_ms(member->mutex) != 0;
        member->other += redlock_mutex_token(member->mutex, token, sizeof token) == 0;
        redlock_mutex_message(member->mutex, text, sizeof text);
        bool is_whole = strcmp(text, "") == 0 ||
                        strcmp(text, redlock_strerror(REDLOCK_ERR_NOT_HELD)) == 0 ||
                        strcmp(text, redlock_strerror(REDLOCK_ERR_NOT_OWNER)) == 0;
        member->status = is_whole ? member->status : -1;
    }
    atomic_store(&member->stage, 1);
}

static void fail_and_lock(void *data) {
    struct member *member = data;
    struct member *looker = member->data;
    while (atomic_load(&looker->stage) == 0 && member->status == 0) {
        redlock_mutex_unlock(member->mutex); /* it does not hold it */
        member->status = redlock_mutex_lock(member->mutex, LIVE_PATIENCE_MS);
        member->other += member->status == 0 && !redlock_mutex_is_valid(member->mutex);
        redlock_mutex_unlock(member->mutex);
    }
}

CREW_TEST(looked_at_while_used) {
    struct member members[4] = {{0}};
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    for (int i = 0; i < 4; i++) {
        members[i].mutex = mutex;
        members[i].data = &members[0];
        crew_start(&members[i], i == 0 ? look : fail_and_lock);
    }
    for (int i = 0; i < 4; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, 0);
        assert_int_equal(members[i].other, 0);
    }
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
}

/* -- The end -- */

LIVE_TEST(freed_while_used) {
    live_start(live, 5, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    struct member holder = {.mutex = mutex, .timeout_ms = 5000};
    struct member waits = {.mutex = mutex, .timeout_ms = LIVE_PATIENCE_MS};
    crew_start(&holder, crew_hold);
    LIVE_POLL(live, atomic_load(&holder.stage) == 1);
    LIVE_STATUS(redlock_mutex_free(mutex), REDLOCK_ERR_NOT_OWNER);
    crew_start(&waits, crew_lock);
    LIVE_POLL(live, crew_stats(blocking).waiting == 1);
    LIVE_STATUS(redlock_mutex_free(mutex), REDLOCK_ERR_BUSY);
    crew_go_on(&holder);
    crew_join(&holder);
    crew_join(&waits);
    LIVE_STATUS(waits.status, 0); /* and ended while it held */
    LIVE_STATUS(redlock_mutex_free(mutex), REDLOCK_ERR_NOT_OWNER);
    crew_end(live, blocking);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    assert_true(live_no_keys(live));
}

CREW_TEST(freed_while_held) {
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    LIVE_POLL(live, live_no_keys(live));
}

LIVE_TEST(closed_while_threads_wait) {
    live_start(live, 5, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    struct member members[CROWD] = {{0}};
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    for (int i = 0; i < CROWD; i++) {
        members[i].mutex = mutex;
        members[i].timeout_ms = REDLOCK_NO_LIMIT;
        crew_start(&members[i], crew_lock);
    }
    LIVE_POLL(live, crew_stats(blocking).waiting == CROWD);
    LIVE_STATUS(redlock_blocking_close(blocking), 0);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);
    for (int i = 0; i < CROWD; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, REDLOCK_ERR_CANCELED);
    }
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_mutex_extend(mutex, 0), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    assert_true(live_no_keys(live));
}

/* Uses its mutex until the client is closed, and then frees it, whatever the others do. */
static void use_until_closed(void *data) {
    struct member *member = data;
    do {
        atomic_store(&member->stage, 1);
        member->status = redlock_mutex_lock(member->mutex, 1000);
        if (member->status == 0) {
            member->status = redlock_mutex_unlock(member->mutex);
        }
    } while (member->status == 0 || member->status == REDLOCK_ERR_DEADLINE);
    member->other = redlock_mutex_free(member->mutex);
}

LIVE_TEST(closed_and_freed_at_once) {
    live_start(live, 5, NULL);
    for (int round = 0; round < 10; round++) {
        redlock_blocking *blocking = crew_open(live);
        struct member members[CROWD] = {{0}};
        for (int i = 0; i < CROWD; i++) {
            members[i].mutex = crew_mutex(blocking, i % 2 == 0 ? "even" : "odd", NULL);
            crew_start(&members[i], use_until_closed);
        }
        for (int i = 0; i < CROWD; i++) {
            LIVE_POLL(live, atomic_load(&members[i].stage) == 1);
        }
        LIVE_STATUS(redlock_blocking_close(blocking), 0);
        for (int i = 0; i < CROWD; i++) {
            crew_join(&members[i]);
            assert_true(members[i].status == REDLOCK_ERR_CLOSED ||
                        members[i].status == REDLOCK_ERR_CANCELED);
            LIVE_STATUS(members[i].other, 0);
        }
    }
    assert_true(live_no_keys(live));
    crew_end(live, NULL);
}
