/* One mutex, few threads: every call, every refusal. */

#include "blocking/crew.h"

static void free_mutex(redlock_mutex *mutex) {
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
}

CREW_TEST(lock_and_unlock) {
    char token[REDLOCK_TOKEN_LENGTH + 1] = "x";
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);
    assert_int_equal(redlock_mutex_remaining_ms(mutex), 0);
    LIVE_STATUS(redlock_mutex_token(mutex, token, sizeof token), REDLOCK_ERR_NOT_HELD);
    assert_string_equal(token, "");
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    assert_int_equal(redlock_mutex_is_valid(mutex), 1);
    assert_in_range(redlock_mutex_remaining_ms(mutex), 5000, 9897);
    LIVE_STATUS(redlock_mutex_token(mutex, token, sizeof token), 0);
    LIVE_POLL(live, live_count_keys(live, "one", token) == 5);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_NOT_HELD);
    LIVE_POLL(live, live_no_keys(live));
    free_mutex(mutex);
    LIVE_STATUS(redlock_mutex_free(NULL), 0);
}

static uint64_t attempts_of_a_lock(redlock_blocking *blocking, redlock_mutex *mutex) {
    const uint64_t before = crew_stats(blocking).attempts;
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    return crew_stats(blocking).attempts - before;
}

/* A lingering lock serves whichever thread comes next. */
CREW_TEST(it_lingers) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.ttl_ms = 600000;
    options.linger_ms = 300000;
    redlock_mutex *mutex = crew_mutex(blocking, "one", &options);
    live_watch(live, LIVE_PATIENCE_MS);
    while (attempts_of_a_lock(blocking, mutex) != 0) {
        live_turn(live, 1, "it lingers", __FILE__, __LINE__);
    }
    const uint64_t before = crew_stats(blocking).attempts;
    struct member other = {.mutex = mutex, .timeout_ms = 5000};
    crew_start(&other, crew_hold);
    LIVE_POLL(live, atomic_load(&other.stage) == 1);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0); /* to this thread */
    crew_go_on(&other);
    crew_join(&other);
    LIVE_STATUS(other.status, 0);
    LIVE_STATUS(other.other, 0);
    assert_int_equal(crew_stats(blocking).attempts, before);
    free_mutex(mutex);
    mutex = crew_mutex(blocking, "one", &options);
    assert_int_equal(attempts_of_a_lock(blocking, mutex), 1);
    free_mutex(mutex);
    LIVE_POLL(live, live_no_keys(live));
}

static void look_as_another(void *data) {
    struct member *member = data;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    member->status = redlock_mutex_is_valid(member->mutex);
    member->other = redlock_mutex_token(member->mutex, token, sizeof token);
    if (redlock_mutex_remaining_ms(member->mutex) != 0) {
        member->status = -1;
    }
}

CREW_TEST(another_thread_is_not_the_owner) {
    struct member other = {.status = 7};
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(crew_do(mutex, crew_unlock, 0), REDLOCK_ERR_NOT_OWNER);
    LIVE_STATUS(crew_do(mutex, crew_extend, 0), REDLOCK_ERR_NOT_OWNER);
    LIVE_STATUS(crew_do(mutex, crew_lock, 0), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_do(mutex, crew_lock, 200), REDLOCK_ERR_DEADLINE);
    other.mutex = mutex;
    crew_start(&other, look_as_another);
    crew_join(&other);
    assert_int_equal(other.status, 0); /* not valid for that thread */
    LIVE_STATUS(other.other, REDLOCK_ERR_NOT_HELD);
    assert_int_equal(redlock_mutex_is_valid(mutex), 1);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    LIVE_STATUS(crew_do(mutex, crew_unlock, 0), REDLOCK_ERR_NOT_HELD);
    free_mutex(mutex);
}

CREW_TEST(a_thread_locks_again) {
    redlock_mutex *one = crew_mutex(blocking, "one", NULL);
    redlock_mutex *duplicate = crew_mutex(blocking, "one", NULL);
    char first[REDLOCK_TOKEN_LENGTH + 1];
    char second[REDLOCK_TOKEN_LENGTH + 1];
    LIVE_STATUS(redlock_mutex_lock(one, 5000), 0);
    LIVE_STATUS(redlock_mutex_try_lock(one), 0);
    LIVE_STATUS(redlock_mutex_lock(duplicate, 0), 0); /* through another object */
    LIVE_STATUS(redlock_mutex_token(one, first, sizeof first), 0);
    LIVE_STATUS(redlock_mutex_token(duplicate, second, sizeof second), 0);
    assert_string_equal(first, second);
    assert_int_equal(crew_stats(blocking).attempts, 1);
    LIVE_STATUS(redlock_mutex_unlock(one), 0);
    LIVE_STATUS(redlock_mutex_unlock(one), 0);
    assert_int_equal(redlock_mutex_is_valid(one), 0);
    assert_int_equal(redlock_mutex_is_valid(duplicate), 1);
    LIVE_STATUS(redlock_mutex_unlock(one), REDLOCK_ERR_NOT_HELD);
    /* `one` carries the hold of `duplicate`, but another thread must still wait. */
    LIVE_STATUS(crew_do(one, crew_lock, 0), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_do(one, crew_lock, 100), REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(redlock_mutex_unlock(duplicate), 0);
    LIVE_STATUS(redlock_mutex_lock(one, 5000), 0);
    LIVE_STATUS(redlock_mutex_unlock(one), 0);
    free_mutex(one);
    free_mutex(duplicate);
}

CREW_TEST(extend) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.auto_extend = 0;
    options.ttl_ms = 20000;
    redlock_mutex *one = crew_mutex(blocking, "one", &options);
    redlock_mutex *duplicate = crew_mutex(blocking, "one", &options);
    LIVE_STATUS(redlock_mutex_extend(one, 0), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_mutex_lock(one, 5000), 0);
    LIVE_STATUS(redlock_mutex_lock(duplicate, 5000), 0);
    LIVE_STATUS(redlock_mutex_extend(one, 60000), 0);
    assert_in_range(redlock_mutex_remaining_ms(one), 40000, 60000);
    LIVE_STATUS(redlock_mutex_extend(one, -1), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_extend(one, 1), REDLOCK_ERR_INVALID); /* drift exceeds it */
    LIVE_STATUS(redlock_mutex_extend(one, 10000), 0);
    assert_in_range(redlock_mutex_remaining_ms(one), 1, 10000);
    assert_in_range(redlock_mutex_remaining_ms(duplicate), 1, 10000); /* the same hold */
    LIVE_STATUS(redlock_mutex_extend(one, 0), 0);
    assert_in_range(redlock_mutex_remaining_ms(one), 10001, 20000);
    LIVE_STATUS(redlock_mutex_unlock(one), 0);
    LIVE_STATUS(redlock_mutex_unlock(duplicate), 0);
    free_mutex(one);
    free_mutex(duplicate);
}

/* A shorter ttl counts from the call on: from then on a node may let others in. */
CREW_TEST(a_shorter_life_shows_at_once) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.auto_extend = 0;
    options.ttl_ms = 60000;
    options.owner = 1;
    redlock_mutex *one = crew_mutex(blocking, "one", &options);
    redlock_mutex *duplicate = crew_mutex(blocking, "one", &options);
    LIVE_STATUS(redlock_mutex_lock(one, 5000), 0);
    LIVE_STATUS(redlock_mutex_lock(duplicate, 5000), 0);
    struct member other = {.mutex = one, .timeout_ms = 20000};
    live_do(live, live_pause, 0, live->n);
    crew_start(&other, crew_extend);
    LIVE_POLL(live, redlock_mutex_remaining_ms(one) <= 20000 || atomic_load(&other.stage) == 1);
    assert_int_equal(atomic_load(&other.stage), 0); /* it is pending, as no node answers */
    assert_in_range(redlock_mutex_remaining_ms(duplicate), 1, 20000);
    live_do(live, live_resume, 0, live->n);
    crew_join(&other);
    LIVE_STATUS(other.status, 0);
    LIVE_STATUS(redlock_mutex_unlock(one), 0);
    LIVE_STATUS(redlock_mutex_unlock(duplicate), 0);
    free_mutex(one);
    free_mutex(duplicate);
}

/* Owners that are not threads: a task's number, or the object itself. */
CREW_TEST(owners_that_move) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    redlock_mutex *thread = crew_mutex(blocking, "one", NULL);
    options.owner = 1; /* another owner than the first thread */
    redlock_mutex *task = crew_mutex(blocking, "one", &options);
    redlock_mutex *same = crew_mutex(blocking, "one", &options);
    options.owner = REDLOCK_OWNER_OBJECT;
    redlock_mutex *object = crew_mutex(blocking, "one", &options);
    redlock_mutex *alike = crew_mutex(blocking, "one", &options);

    LIVE_STATUS(crew_do(task, crew_lock, 5000), 0);
    assert_int_equal(redlock_mutex_is_valid(task), 1); /* here too */
    LIVE_STATUS(redlock_mutex_try_lock(same), 0);
    LIVE_STATUS(redlock_mutex_try_lock(thread), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_mutex_try_lock(object), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_do(task, crew_extend, 0), 0);
    LIVE_STATUS(redlock_mutex_unlock(task), 0);
    LIVE_STATUS(crew_do(same, crew_unlock, 0), 0);

    LIVE_STATUS(redlock_mutex_lock(object, 5000), 0);
    LIVE_STATUS(redlock_mutex_try_lock(alike), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_mutex_try_lock(thread), REDLOCK_ERR_HELD);
    LIVE_STATUS(crew_do(object, crew_unlock, 0), 0);
    free_mutex(thread);
    free_mutex(task);
    free_mutex(same);
    free_mutex(object);
    free_mutex(alike);
}

static void say(redlock_mutex *mutex, const char *wanted) {
    char text[REDLOCK_MESSAGE_MAX];
    assert_ptr_equal(redlock_mutex_message(mutex, text, sizeof text), text);
    assert_contains(text, wanted);
}

static void look_at_the_fence(void *data) {
    struct member *member = data;
    member->other = redlock_mutex_fence(member->mutex) != 0;
}

static bool another_sees_a_fence(redlock_mutex *mutex) {
    struct member other = {.mutex = mutex, .other = -1};
    crew_start(&other, look_at_the_fence);
    crew_join(&other);
    assert_in_range(other.other, 0, 1);
    return other.other == 1;
}

CREW_TEST(fence) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    redlock_mutex *plain = crew_mutex(blocking, "one", NULL);
    options.fencing = 1;
    redlock_mutex *one = crew_mutex(blocking, "one", &options);
    redlock_mutex *duplicate = crew_mutex(blocking, "one", &options);
    uint64_t before = 0;
    assert_int_equal(redlock_mutex_fence(NULL), 0);
    assert_int_equal(redlock_mutex_fence(one), 0);
    for (int i = 0; i < 3; i++) {
        LIVE_STATUS(redlock_mutex_lock(i == 1 ? duplicate : one, 5000), 0);
        uint64_t fence = redlock_mutex_fence(i == 1 ? duplicate : one);
        assert_true(fence > before);
        assert_int_equal(redlock_mutex_fence(i == 1 ? one : duplicate), 0); /* not by this object */
        LIVE_STATUS(redlock_mutex_lock(one, 5000), 0);                      /* again, or shared */
        LIVE_STATUS(redlock_mutex_lock(plain, 5000), 0);
        LIVE_STATUS(redlock_mutex_extend(one, 0), 0);
        assert_int_equal(redlock_mutex_fence(one), fence);
        assert_int_equal(redlock_mutex_fence(plain), fence); /* it shares the hold */
        assert_false(another_sees_a_fence(one));
        LIVE_STATUS(redlock_mutex_unlock(i == 1 ? duplicate : one), 0);
        assert_int_equal(redlock_mutex_fence(one), fence);
        LIVE_STATUS(redlock_mutex_unlock(one), 0);
        LIVE_STATUS(redlock_mutex_unlock(plain), 0);
        assert_int_equal(redlock_mutex_fence(one) + redlock_mutex_fence(plain), 0);
        before = fence;
    }
    LIVE_STATUS(redlock_mutex_lock(plain, 5000), 0);
    assert_int_equal(redlock_mutex_fence(plain), 0); /* its options have no fencing */
    LIVE_STATUS(redlock_mutex_lock(one, 5000), REDLOCK_ERR_ALREADY_HELD);
    say(one, "has no fence: set fencing");
    LIVE_STATUS(redlock_mutex_unlock(plain), 0);
    free_mutex(plain);
    free_mutex(one);
    free_mutex(duplicate);
}

#define REFUSED(blocking, field, value, sentence)                                                 \
    do {                                                                                          \
        char text_[REDLOCK_MESSAGE_MAX] = "";                                                     \
        redlock_mutex *none_;                                                                     \
        redlock_mutex_options options_ = REDLOCK_MUTEX_OPTIONS_INIT;                              \
        options_.field = (value);                                                                 \
        options_.error = text_;                                                                   \
        options_.error_size = sizeof text_;                                                       \
        LIVE_STATUS(redlock_mutex_new(blocking, "a", 1, &options_, &none_), REDLOCK_ERR_INVALID); \
        assert_null(none_);                                                                       \
        assert_contains(text_, sentence);                                                         \
    } while (0)

/* A shared mutex would exclude nobody. */
static void no_readers(redlock_blocking *blocking) {
    char text[REDLOCK_MESSAGE_MAX] = "";
    redlock_mutex *none;
    redlock_bytes name = {"a", 1};
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    lock.resources = &name;
    lock.n_resources = 1;
    lock.mode = REDLOCK_SHARED;
    options.error = text;
    options.error_size = sizeof text;
    LIVE_STATUS(redlock_mutex_new_with(blocking, &lock, &options, &none), REDLOCK_ERR_INVALID);
    assert_null(none);
    assert_contains(text, "mode is REDLOCK_SHARED");
    assert_int_equal(crew_stats(blocking).locks, 0);
}

/* Threads of one owner would hold side by side, and each would see the other's validity. */
static void permits_of_one_owner(redlock_blocking *blocking) {
    char text[REDLOCK_MESSAGE_MAX] = "";
    redlock_mutex *mutex;
    redlock_bytes name = {"permits", 7};
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    lock.resources = &name;
    lock.n_resources = 1;
    lock.permits = 2;
    options.error = text;
    options.error_size = sizeof text;
    LIVE_STATUS(redlock_mutex_new_with(blocking, &lock, &options, &mutex), REDLOCK_ERR_INVALID);
    assert_contains(text, "REDLOCK_OWNER_OBJECT");
    options.owner = REDLOCK_OWNER_OBJECT;
    LIVE_STATUS(redlock_mutex_new_with(blocking, &lock, &options, &mutex), 0);
    LIVE_STATUS(redlock_mutex_try_lock(mutex), 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    assert_int_equal(crew_stats(blocking).locks, 0);
}

/* Wrong options are reported by the call that takes them, not by the first lock. */
static void wrong_options(redlock_blocking *blocking) {
    REFUSED(blocking, ttl_ms, 0, "ttl_ms is 0");
    REFUSED(blocking, ttl_ms, 2, "the drift allowance");
    REFUSED(blocking, auto_extend, 2, "auto_extend is 2");
    REFUSED(blocking, renew_ms, 9999, "renew_ms is 9999");
    REFUSED(blocking, max_hold_ms, 0, "max_hold_ms is 0");
    REFUSED(blocking, delay_ms, -1, "delay_ms is -1");
    REFUSED(blocking, jitter_ms, -1, "jitter_ms is -1");
    REFUSED(blocking, min_validity_ms, 10000, "leave nothing of it");
    REFUSED(blocking, fencing, 2, "fencing is 2");
}

CREW_TEST(bad_input) {
    char text[REDLOCK_MESSAGE_MAX] = "";
    redlock_mutex *mutex;
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.error = text;
    options.error_size = sizeof text;
    LIVE_STATUS(redlock_mutex_new(blocking, "a", 0, &options, &mutex), REDLOCK_ERR_INVALID);
    assert_contains(text, "0 bytes");
    LIVE_STATUS(redlock_mutex_new(NULL, "a", 1, &options, &mutex), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_new(blocking, NULL, 1, &options, &mutex), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_new(blocking, "a", 1, &options, NULL), REDLOCK_ERR_INVALID);
    options.owner = REDLOCK_OWNER_MAX + 1;
    LIVE_STATUS(redlock_mutex_new(blocking, "a", 1, &options, &mutex), REDLOCK_ERR_INVALID);
    assert_contains(text, "owner");
    assert_null(mutex);
    options.owner = REDLOCK_OWNER_MAX;
    options.size++;
    LIVE_STATUS(redlock_mutex_new(blocking, "a", 1, &options, &mutex), REDLOCK_ERR_INVALID);
    options.size--;
    wrong_options(blocking);
    no_readers(blocking);
    permits_of_one_owner(blocking);
    mutex = crew_mutex(blocking, "a", NULL);
    LIVE_STATUS(redlock_mutex_lock(mutex, -2), REDLOCK_ERR_INVALID);
    say(mutex, "timeout_ms is -2");
    LIVE_STATUS(redlock_mutex_lock(mutex, INT64_C(4294967295)), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_lock(NULL, 0), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_unlock(NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_token(mutex, text, REDLOCK_TOKEN_LENGTH), REDLOCK_ERR_INVALID);
    assert_string_equal(redlock_mutex_message(mutex, text, 0), "");
    assert_int_equal(redlock_mutex_is_valid(NULL), 0);
    LIVE_STATUS(redlock_blocking_stats(blocking, NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_blocking_close(NULL), REDLOCK_ERR_INVALID);
    free_mutex(mutex);
}

/* The reason for a loss stays readable; a later refusal has its own message. */
CREW_TEST(words_after_a_loss) {
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.max_hold_ms = 2000;
    redlock_mutex *mutex = crew_mutex(blocking, "one", &options);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(crew_do(mutex, crew_unlock, 0), REDLOCK_ERR_NOT_OWNER);
    say(mutex, "another owner holds it");
    LIVE_POLL(live, crew_stats(blocking).lost == 1);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), REDLOCK_ERR_LOST);
    say(mutex, "the lock was lost: unlock it before it is locked again");
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    say(mutex, "the maximum hold time is over: ");
    free_mutex(mutex);
}

static void attempt_of_another(void *data) {
    struct member *member = data;
    member->status = redlock_mutex_lock(member->mutex, 500); /* long enough for one attempt */
    member->other = redlock_mutex_attempt_status(member->mutex);
}

/* redlock_mutex_attempt_status() is about the calling thread's own last call. */
CREW_TEST(deadlines) {
    struct member other = {.status = 7};
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    redlock_mutex *free_one = crew_mutex(blocking, "two", NULL);
    LIVE_STATUS(redlock_mutex_attempt_status(mutex), 0);
    live_tell_all(live, "SET one someone");
    LIVE_STATUS(redlock_mutex_lock(mutex, 100), REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(redlock_mutex_attempt_status(mutex), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_mutex_attempt_status(free_one), 0); /* the lock was on the other mutex */
    live_do(live, live_kill, 0, 3);
    other.mutex = mutex;
    crew_start(&other, attempt_of_another);
    crew_join(&other);
    LIVE_STATUS(other.status, REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(other.other, REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(redlock_mutex_attempt_status(mutex), REDLOCK_ERR_HELD); /* this thread's */
    LIVE_STATUS(redlock_mutex_try_lock(free_one), REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(redlock_mutex_attempt_status(free_one), REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(redlock_mutex_lock(free_one, -7), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_mutex_attempt_status(free_one), 0); /* that was no attempt */
    free_mutex(mutex);
    free_mutex(free_one);
    for (int i = 0; i < 100; i++) { /* malloc may reuse the address for another mutex */
        mutex = crew_mutex(blocking, "one", NULL);
        LIVE_STATUS(redlock_mutex_attempt_status(mutex), 0);
        LIVE_STATUS(redlock_mutex_try_lock(mutex), REDLOCK_ERR_NO_QUORUM);
        free_mutex(mutex);
    }
}

CREW_TEST(messages) {
    char text[REDLOCK_MESSAGE_MAX];
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    say(mutex, "");
    live_tell_all(live, "SET one someone");
    LIVE_STATUS(redlock_mutex_try_lock(mutex), REDLOCK_ERR_HELD);
    say(mutex, "held by another: 0 of 5 granted, 3 needed");
    assert_ptr_equal(redlock_blocking_message(blocking, text, sizeof text), text);
    assert_contains(text, "5 of 5 nodes up");
    assert_string_equal(redlock_blocking_message(blocking, text, 9), "5 of ...");
    assert_string_equal(redlock_blocking_message(blocking, text, 3), "5 ");
    const int length = redlock_blocking_metrics(blocking, REDLOCK_METRICS_PROMETHEUS, NULL, 0);
    assert_in_range(length, 1000, 32767);
    assert_int_equal(redlock_blocking_metrics(blocking, REDLOCK_METRICS_PROMETHEUS, text, 7),
                     length);
    assert_string_equal(text, "# HELP");
    assert_string_equal(redlock_mutex_message(mutex, text, 12), "held by ...");
    free_mutex(mutex);
}
