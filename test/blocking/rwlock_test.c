/* One read/write lock, few threads: which holders exclude each other, every change of the mode,
 * every refusal, and the loss of a single reader. */

#include "blocking/crew.h"
#include "live/readers.h"

#define READERS 4

/* Frees the lock, closes, and checks that the nodes have no keys. */
static void end(struct live *live, redlock_rwlock *rwlock) {
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0);
    LIVE_POLL(live, live_no_keys(live));
}

static void say(redlock_rwlock *rwlock, const char *wanted) {
    char text[REDLOCK_MESSAGE_MAX];
    assert_ptr_equal(redlock_rwlock_message(rwlock, text, sizeof text), text);
    assert_contains(text, wanted);
}

/* -- Side by side -- */

struct reader {
    char token[REDLOCK_TOKEN_LENGTH + 1];
    int is_valid;
    int64_t remaining_ms;
};

static void read_and_look(void *data) {
    struct member *member = data;
    struct reader *reader = member->data;
    member->status = redlock_rwlock_rdlock(member->rwlock, 5000);
    redlock_rwlock_token(member->rwlock, reader->token, sizeof reader->token);
    reader->is_valid = redlock_rwlock_is_valid(member->rwlock);
    reader->remaining_ms = redlock_rwlock_remaining_ms(member->rwlock);
    atomic_store(&member->stage, 1);
    crew_wait(member);
    reader->is_valid += redlock_rwlock_is_valid(member->rwlock);
    member->other = redlock_rwlock_unlock(member->rwlock);
}

/* Threads of one object, and another client's, read at the same time; each has its own lease. */
CREW_TEST(readers_side_by_side) {
    struct member members[READERS] = {{0}};
    struct reader readers[READERS] = {{{0}, 0, 0}};
    redlock_blocking *other = crew_open(live);
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    redlock_rwlock *elsewhere = crew_rwlock(other, "one", NULL);
    redlock_mutex *mutex = crew_mutex(other, "one", NULL);
    for (int i = 0; i < READERS; i++) {
        members[i].rwlock = i == 0 ? elsewhere : rwlock;
        members[i].data = &readers[i];
        crew_start(&members[i], read_and_look);
        LIVE_POLL(live, atomic_load(&members[i].stage) == 1);
        LIVE_STATUS(members[i].status, 0);
        assert_int_equal(readers[i].is_valid, 1);
        assert_in_range(readers[i].remaining_ms, 5000, 9897);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(readers[i].token, readers[j].token);
        }
    }
    LIVE_POLL(live, readers_count(live, "one") == READERS * live->n);
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 0); /* this thread does not hold */
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), REDLOCK_ERR_NOT_OWNER);
    LIVE_STATUS(redlock_rwlock_free(rwlock), REDLOCK_ERR_NOT_OWNER);
    LIVE_STATUS(redlock_rwlock_try_wrlock(rwlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_rwlock_attempt_status(rwlock), REDLOCK_ERR_HELD);
    say(rwlock, "held by another");
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, 100), REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(redlock_mutex_try_lock(mutex), REDLOCK_ERR_HELD);
    for (int i = 0; i < READERS; i++) {
        crew_go_on(&members[i]);
        crew_join(&members[i]);
        LIVE_STATUS(members[i].other, 0);
        assert_int_equal(readers[i].is_valid, 2); /* before the others came, and after */
    }
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, LIVE_PATIENCE_MS), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_try(elsewhere, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_try(elsewhere, redlock_rwlock_try_wrlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_do(mutex, crew_lock, 0), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    LIVE_STATUS(redlock_rwlock_free(elsewhere), 0);
    LIVE_STATUS(redlock_blocking_close(other), 0);
    end(live, rwlock);
}

/* -- One thread -- */

CREW_TEST(a_reader_reads_again) {
    char first[REDLOCK_TOKEN_LENGTH + 1];
    char second[REDLOCK_TOKEN_LENGTH + 1];
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    redlock_rwlock *duplicate = crew_rwlock(blocking, "one", NULL);
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(redlock_rwlock_try_rdlock(rwlock), 0);
    LIVE_STATUS(redlock_rwlock_rdlock(duplicate, 5000), 0);
    assert_int_equal(crew_stats(blocking).attempts, 1);
    LIVE_STATUS(redlock_rwlock_token(rwlock, first, sizeof first), 0);
    LIVE_STATUS(redlock_rwlock_token(duplicate, second, sizeof second), 0);
    assert_string_equal(first, second);
    /* The thread would wait for itself, through either object. */
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, REDLOCK_NO_LIMIT), REDLOCK_ERR_WOULD_DEADLOCK);
    say(rwlock, "wait for itself");
    LIVE_STATUS(redlock_rwlock_try_wrlock(duplicate), REDLOCK_ERR_WOULD_DEADLOCK);
    LIVE_STATUS(redlock_mutex_lock(mutex, REDLOCK_NO_LIMIT), REDLOCK_ERR_WOULD_DEADLOCK);
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 1);
    LIVE_STATUS(redlock_rwlock_unlock(duplicate), 0);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(redlock_mutex_try_lock(mutex), REDLOCK_ERR_WOULD_DEADLOCK);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 0);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_mutex_lock(mutex, LIVE_PATIENCE_MS), 0);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 0), 0); /* the writer may also read */
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD); /* a writer still */
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    LIVE_STATUS(redlock_rwlock_free(duplicate), 0);
    end(live, rwlock);
}

CREW_TEST(a_writer_reads_and_writes_again) {
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, 5000), 0);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(redlock_rwlock_try_wrlock(rwlock), 0);
    assert_int_equal(crew_stats(blocking).attempts, 1);
    for (int i = 0; i < 2; i++) { /* exclusive until the last unlock */
        LIVE_STATUS(redlock_rwlock_downgrade(rwlock), REDLOCK_ERR_BUSY);
        say(rwlock, "more than once");
        LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
        LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD);
        assert_int_equal(redlock_rwlock_is_valid(rwlock), 1);
    }
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), 0);
    end(live, rwlock);
}

CREW_TEST(one_owner_in_two_threads) {
    redlock_rwlock_options options = REDLOCK_RWLOCK_OPTIONS_INIT;
    options.owner = REDLOCK_OWNER_OBJECT;
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", &options);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), 0);
    assert_int_equal(crew_stats(blocking).attempts, 1);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_wrlock), REDLOCK_ERR_WOULD_DEADLOCK);
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 0); /* crew_try() has unlocked it */
    end(live, rwlock);
}

/* -- From one mode to the other -- */

CREW_TEST(a_reader_becomes_the_writer) {
    char token[REDLOCK_TOKEN_LENGTH + 1];
    redlock_rwlock_options options = REDLOCK_RWLOCK_OPTIONS_INIT;
    options.ttl_ms = 20000;
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", &options);
    LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_upgrade), REDLOCK_ERR_NOT_OWNER);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(redlock_rwlock_downgrade(rwlock), REDLOCK_ERR_INVALID);
    say(rwlock, "shared already");
    LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), 0);
    LIVE_STATUS(redlock_rwlock_token(rwlock, token, sizeof token), 0);
    LIVE_POLL(live, live_count_keys(live, "one", token) == 5);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), REDLOCK_ERR_INVALID);
    say(rwlock, "exclusively already");
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, 5000), 0); /* this thread writes now */
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(redlock_rwlock_extend(rwlock, 60000), 0);
    LIVE_STATUS(redlock_rwlock_alive(rwlock), 0);
    assert_in_range(redlock_rwlock_remaining_ms(rwlock), 40000, 60000);
    LIVE_STATUS(redlock_rwlock_downgrade(rwlock), 0); /* to the ttl of the options */
    assert_in_range(redlock_rwlock_remaining_ms(rwlock), 10000, 20000);
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, 5000), REDLOCK_ERR_WOULD_DEADLOCK);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_wrlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), 0); /* and back */
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_wrlock), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_wrlock), 0);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, LIVE_PATIENCE_MS), 0); /* the mode is the call's */
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_rdlock), 0);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    end(live, rwlock);
}

CREW_TEST(fences) {
    redlock_rwlock_options options = REDLOCK_RWLOCK_OPTIONS_INIT;
    options.fencing = 1;
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", &options);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        LIVE_STATUS(redlock_rwlock_wrlock(rwlock, LIVE_PATIENCE_MS), 0);
        uint64_t written = redlock_rwlock_fence(rwlock);
        assert_true(written > last);
        LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
        assert_int_equal(redlock_rwlock_fence(rwlock), 0);
        LIVE_STATUS(redlock_rwlock_rdlock(rwlock, LIVE_PATIENCE_MS), 0);
        last = redlock_rwlock_fence(rwlock);
        assert_true(last >= written);
        LIVE_STATUS(redlock_rwlock_try_upgrade(rwlock), 0);
        assert_true(redlock_rwlock_fence(rwlock) > last);
        last = redlock_rwlock_fence(rwlock);
        LIVE_STATUS(redlock_rwlock_downgrade(rwlock), 0);
        assert_int_equal(redlock_rwlock_fence(rwlock), last);
        LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    }
    end(live, rwlock);
}

/* -- A loss -- */

struct loss {
    atomic_int count;
    int status;
    int is_valid;
    int wrong[3];
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

static void on_lost(redlock_rwlock *rwlock, int status, void *data) {
    struct loss *loss = data;
    loss->status = status;
    loss->is_valid = redlock_rwlock_is_valid(rwlock);
    redlock_rwlock_token(rwlock, loss->token, sizeof loss->token);
    loss->wrong[0] = redlock_rwlock_unlock(rwlock);
    loss->wrong[1] = redlock_rwlock_rdlock(rwlock, 0);
    loss->wrong[2] = redlock_rwlock_downgrade(rwlock);
    atomic_fetch_add(&loss->count, 1);
}

/* The nodes lose one lease of two. The other reader still holds, and keeps writers out. */
CREW_TEST(the_loss_of_one_reader) {
    struct loss loss = {0};
    struct reader reader = {{0}, 0, 0};
    char token[REDLOCK_TOKEN_LENGTH + 1];
    redlock_rwlock_options options = REDLOCK_RWLOCK_OPTIONS_INIT;
    options.on_lost = on_lost;
    options.lost_data = &loss;
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", &options);
    struct member other = {.rwlock = rwlock, .data = &reader};
    crew_start(&other, read_and_look);
    LIVE_POLL(live, atomic_load(&other.stage) == 1);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(redlock_rwlock_token(rwlock, token, sizeof token), 0);
    LIVE_POLL(live, readers_count(live, "one") == 10);
    for (size_t i = 0; i < live->n; i++) {
        live_tell(live, i, "ZREM libredlock:readers:{one} %s", reader.token);
    }
    LIVE_STATUS(redlock_rwlock_extend(rwlock, 0), 0); /* this one has its lease */
    LIVE_POLL(live, atomic_load(&loss.count) == 1);   /* the watchdog detects the loss */
    LIVE_STATUS(loss.status, REDLOCK_ERR_LOST);
    assert_string_equal(loss.token, reader.token);
    assert_int_equal(loss.is_valid, 0);
    for (size_t i = 0; i < 3; i++) {
        LIVE_STATUS(loss.wrong[i], REDLOCK_ERR_WRONG_THREAD);
    }
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 1);
    LIVE_STATUS(redlock_rwlock_token(rwlock, loss.token, sizeof loss.token), 0);
    assert_string_equal(loss.token, token);
    LIVE_STATUS(crew_try(rwlock, redlock_rwlock_try_wrlock), REDLOCK_ERR_HELD);
    crew_go_on(&other);
    crew_join(&other);
    LIVE_STATUS(other.other, REDLOCK_ERR_LOST);
    assert_int_equal(reader.is_valid, 1); /* before the loss, and not after */
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    assert_int_equal(atomic_load(&loss.count), 1);
    end(live, rwlock);
}

/* -- Input -- */

CREW_TEST(bad_input) {
    char text[REDLOCK_MESSAGE_MAX] = "";
    redlock_rwlock *rwlock;
    redlock_rwlock_options options = REDLOCK_RWLOCK_OPTIONS_INIT;
    options.error = text;
    options.error_size = sizeof text;
    LIVE_STATUS(redlock_rwlock_new(blocking, "a", 0, &options, &rwlock), REDLOCK_ERR_INVALID);
    assert_contains(text, "0 bytes");
    options.owner = REDLOCK_OWNER_MAX + 1;
    LIVE_STATUS(redlock_rwlock_new(blocking, "a", 1, &options, &rwlock), REDLOCK_ERR_INVALID);
    assert_contains(text, "owner");
    options.owner = REDLOCK_OWNER_THREAD;
    options.ttl_ms = 2;
    LIVE_STATUS(redlock_rwlock_new(blocking, "a", 1, &options, &rwlock), REDLOCK_ERR_INVALID);
    assert_contains(text, "the drift allowance");
    assert_null(rwlock);
    assert_int_equal(crew_stats(blocking).locks, 0);
    rwlock = crew_rwlock(blocking, "a", NULL);
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, -2), REDLOCK_ERR_INVALID);
    say(rwlock, "timeout_ms is -2");
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), 0);
    LIVE_STATUS(redlock_rwlock_extend(rwlock, -1), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0); /* releases this thread's hold, too */
    rwlock = crew_rwlock(blocking, "a", NULL);
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, LIVE_PATIENCE_MS), 0);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), 0);
    end(live, rwlock);
}
