/* A lock that ends by itself: on_lost runs on the loop thread in time, is_valid sees it in all
 * threads, and unlock reports it. Also time that passes while the loop thread is busy with another
 * call. */

#include "blocking/crew.h"
#include "blocking/gate.h"
#include "spent.h"

/* What on_lost saw. Written on the loop thread; read when `count` has the expected value. */
struct loss {
    atomic_int count;
    redlock_blocking *blocking;
    int status;
    uint64_t at_ns;
    int is_valid;
    int64_t remaining_ms;
    int token_status;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    uint64_t fence;
    char message[REDLOCK_MESSAGE_MAX];
    int wrong[8]; /* of calls that would wait for the thread that makes them */
};

static void on_lost(redlock_mutex *mutex, int status, void *data) {
    struct loss *loss = data;
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_mutex *other;
    char text[REDLOCK_MESSAGE_MAX];
    loss->at_ns = redlock_now_ns();
    loss->status = status;
    loss->is_valid = redlock_mutex_is_valid(mutex);
    loss->remaining_ms = redlock_mutex_remaining_ms(mutex);
    loss->token_status = redlock_mutex_token(mutex, loss->token, sizeof loss->token);
    loss->fence = redlock_mutex_fence(mutex);
    redlock_mutex_message(mutex, loss->message, sizeof loss->message);
    loss->wrong[0] = redlock_mutex_lock(mutex, 1000);
    loss->wrong[1] = redlock_mutex_unlock(mutex);
    loss->wrong[2] = redlock_mutex_extend(mutex, 0);
    loss->wrong[3] = redlock_mutex_free(mutex);
    loss->wrong[4] = redlock_mutex_new(loss->blocking, "x", 1, NULL, &other);
    loss->wrong[5] = redlock_blocking_stats(loss->blocking, &stats);
    loss->wrong[6] = redlock_blocking_close(loss->blocking);
    redlock_blocking_message(loss->blocking, text, sizeof text);
    loss->wrong[7] = strcmp(text, redlock_strerror(REDLOCK_ERR_WRONG_THREAD)) == 0
                         ? REDLOCK_ERR_WRONG_THREAD
                         : 0;
    atomic_fetch_add(&loss->count, 1);
}

static redlock_mutex *begin(struct live *live, struct loss *loss, redlock_mutex_options *options) {
    live_start(live, 5, NULL);
    loss->blocking = crew_open(live);
    options->on_lost = on_lost;
    options->lost_data = loss;
    return crew_mutex(loss->blocking, "one", options);
}

static void end(struct live *live, struct loss *loss, redlock_mutex *mutex) {
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    crew_end(live, loss->blocking);
}

static void pause_all(struct live *live) {
    live_do(live, live_pause, 0, live->n);
}

static void resume_all(struct live *live) {
    live_do(live, live_resume, 0, live->n);
}

static void check_inside(const struct loss *loss) {
    assert_int_equal(loss->is_valid, 0);
    assert_int_equal(loss->remaining_ms, 0);
    LIVE_STATUS(loss->token_status, 0);
    for (size_t i = 0; i < sizeof loss->wrong / sizeof loss->wrong[0]; i++) {
        LIVE_STATUS(loss->wrong[i], REDLOCK_ERR_WRONG_THREAD);
    }
}

/* All nodes are paused. on_lost runs before the validity that the owner saw last has ended. */
LIVE_TEST(told_in_time) {
    struct loss loss = {0};
    char token[REDLOCK_TOKEN_LENGTH + 1];
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.ttl_ms = 1500;
    options.fencing = 1;
    redlock_mutex *mutex = begin(live, &loss, &options);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(redlock_mutex_token(mutex, token, sizeof token), 0);
    uint64_t fence = redlock_mutex_fence(mutex);
    assert_true(fence != 0);
    LIVE_POLL(live, crew_stats(loss.blocking).renewed >= 2); /* by the loop thread */
    pause_all(live);
    uint64_t valid_until_ns = 0;
    struct spent since = spent_begin();
    while (atomic_load(&loss.count) == 0) {
        uint64_t now_ns = redlock_now_ns();
        uint64_t left_ms = (uint64_t)redlock_mutex_remaining_ms(mutex);
        if (left_ms > 0) {
            valid_until_ns = now_ns + (left_ms + 1) * LIVE_MS; /* it was rounded down */
        }
        live_run_for(live, 1);
    }
    LIVE_STATUS(loss.status, REDLOCK_ERR_EXPIRED);
    assert_true(valid_until_ns != 0);
    assert_true(loss.at_ns <= valid_until_ns + spent_kept_ns(&since));
    check_inside(&loss);
    assert_string_equal(loss.token, token);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);
    LIVE_STATUS(redlock_mutex_token(mutex, token, sizeof token), 0); /* still readable */
    assert_string_equal(loss.token, token);
    assert_int_equal(loss.fence, fence);
    assert_int_equal(redlock_mutex_fence(mutex), fence);
    LIVE_STATUS(redlock_mutex_extend(mutex, 0), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_lock(mutex, 100), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST); /* once for each lock */
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_NOT_HELD);
    resume_all(live);
    LIVE_STATUS(redlock_mutex_lock(mutex, LIVE_PATIENCE_MS), 0);
    assert_true(redlock_mutex_fence(mutex) > fence);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    assert_int_equal(atomic_load(&loss.count), 1);
    end(live, &loss, mutex);
}

/* The nodes lose the key; the next extension detects that. */
LIVE_TEST(the_token_is_gone) {
    struct loss loss = {0};
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    redlock_mutex *mutex = begin(live, &loss, &options);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_POLL(live, live_integer(live, 4, "EXISTS one") == 1); /* late votes have come */
    live_tell_all(live, "FLUSHALL");
    assert_int_equal(redlock_mutex_is_valid(mutex), 1); /* as far as the client knows */
    LIVE_STATUS(redlock_mutex_extend(mutex, 0), REDLOCK_ERR_LOST);
    assert_int_equal(atomic_load(&loss.count), 1);
    LIVE_STATUS(loss.status, REDLOCK_ERR_LOST);
    assert_true(strlen(loss.message) > 0);
    check_inside(&loss);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);

    /* Another thread takes it, which does not affect the one that lost it. */
    struct member other = {.mutex = mutex, .timeout_ms = 5000};
    crew_start(&other, crew_hold);
    LIVE_POLL(live, atomic_load(&other.stage) == 1);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);
    assert_int_equal(redlock_mutex_remaining_ms(mutex), 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_NOT_OWNER);
    crew_go_on(&other);
    crew_join(&other);
    LIVE_STATUS(other.status, 0);
    LIVE_STATUS(other.other, 0); /* it held until it unlocked */
    end(live, &loss, mutex);
}

LIVE_TEST(no_longer_than_max_hold) {
    struct loss loss = {0};
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.ttl_ms = 2000;
    options.max_hold_ms = 4500; /* more than two ttls */
    redlock_mutex *mutex = begin(live, &loss, &options);
    uint64_t began_ns = redlock_now_ns();
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_POLL(live, atomic_load(&loss.count) == 1);
    LIVE_STATUS(loss.status, REDLOCK_ERR_MAX_HOLD);
    assert_true(loss.at_ns >= began_ns + 4000 * LIVE_MS);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    LIVE_POLL(live, live_no_keys(live));
    end(live, &loss, mutex);
}

/* Without redlock_mutex_alive() the watchdog stops and the lock ends; a call in time renews it. */
LIVE_TEST(without_a_sign_of_life) {
    struct loss loss = {0};
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.ttl_ms = 6000;
    options.renew_ms = 100;
    options.max_silence_ms = 1;
    redlock_mutex *mutex = begin(live, &loss, &options);
    LIVE_STATUS(redlock_mutex_alive(mutex), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_POLL(live, redlock_mutex_remaining_ms(mutex) < 4000); /* the watchdog has stopped */
    const uint64_t renewed = crew_stats(loss.blocking).renewed;
    LIVE_STATUS(crew_do(mutex, crew_alive, 0), REDLOCK_ERR_NOT_OWNER);
    LIVE_STATUS(redlock_mutex_alive(mutex), 0);
    LIVE_POLL(live, crew_stats(loss.blocking).renewed == renewed + 1);
    LIVE_POLL(live, atomic_load(&loss.count) == 1);
    LIVE_STATUS(loss.status, REDLOCK_ERR_SILENT);
    LIVE_STATUS(redlock_mutex_alive(mutex), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    LIVE_POLL(live, live_no_keys(live));
    end(live, &loss, mutex);
}

/* Without renewal the lock ends, and another thread gets it before the first has unlocked. */
LIVE_TEST(without_renewal) {
    struct loss loss = {0};
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.ttl_ms = 600;
    options.auto_extend = 0;
    redlock_mutex *mutex = begin(live, &loss, &options);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(crew_do(mutex, crew_lock, LIVE_PATIENCE_MS), 0);
    assert_int_equal(atomic_load(&loss.count), 1);
    LIVE_STATUS(loss.status, REDLOCK_ERR_EXPIRED);
    assert_int_equal(redlock_mutex_is_valid(mutex), 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    LIVE_POLL(live, atomic_load(&loss.count) == 2);                /* the ended thread's hold */
    LIVE_STATUS(redlock_mutex_free(mutex), REDLOCK_ERR_NOT_OWNER); /* never unlocked by it */
    crew_end(live, loss.blocking);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
}

LIVE_TEST(renewed_for_long) {
    struct loss loss = {0};
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    options.ttl_ms = 3000;
    redlock_mutex *mutex = begin(live, &loss, &options);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    uint64_t until_ns = redlock_now_ns() + 7000 * LIVE_MS;
    while (redlock_now_ns() < until_ns) {
        assert_int_equal(redlock_mutex_is_valid(mutex), 1);
        live_run_for(live, 20);
    }
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    assert_int_equal(atomic_load(&loss.count), 0);
    end(live, &loss, mutex);
}

/* -- A busy loop -- */

/* The trace hook blocks the loop thread from the acquire of "busy" until go_on is posted. */
struct busy {
    redlock_blocking *blocking;
    redlock_mutex *mutexes[2];
    struct member members[2];
    atomic_int kept;
    uv_sem_t go_on;
};

static void keep(const redlock_event *event, void *data) {
    struct busy *busy = data;
    size_t length = 0;
    const void *resource = redlock_lock_resource(event->lock, &length);
    if (event->type == REDLOCK_EVENT_SUBMITTED && length >= 4 && memcmp(resource, "busy", 4) == 0) {
        atomic_fetch_add(&busy->kept, 1);
        uv_sem_wait(&busy->go_on);
    }
}

static void begin_busy(struct live *live, struct busy *busy) {
    live_start(live, 5, NULL);
    redlock_client_options options = live_options(live);
    options.trace = keep;
    options.trace_data = busy;
    assert_int_equal(uv_sem_init(&busy->go_on, 0), 0);
    LIVE_STATUS(redlock_blocking_open(&busy->blocking, &options), 0);
    for (int i = 0; i < 2; i++) {
        busy->mutexes[i] = crew_mutex(busy->blocking, i == 0 ? "busy" : "busy, too", NULL);
        busy->members[i] = (struct member){.mutex = busy->mutexes[i], .timeout_ms = 5000};
    }
}

/* Blocks the loop thread. */
static void keep_busy(struct live *live, struct busy *busy) {
    crew_start(&busy->members[0], crew_hold);
    LIVE_POLL(live, atomic_load(&busy->kept) == 1);
}

static void end_busy(struct live *live, struct busy *busy, size_t n) {
    for (size_t i = 0; i < n; i++) {
        crew_go_on(&busy->members[i]);
        crew_join(&busy->members[i]);
        LIVE_STATUS(busy->members[i].status, 0);
    }
    LIVE_STATUS(redlock_mutex_free(busy->mutexes[0]), 0);
    LIVE_STATUS(redlock_mutex_free(busy->mutexes[1]), 0);
    crew_end(live, busy->blocking);
    uv_sem_destroy(&busy->go_on);
}

/* Number of calls that the loop thread has not taken yet. */
static size_t untaken(redlock_blocking *blocking) {
    size_t n = 0;
    rl_gate_close(blocking);
    for (const struct rl_queued *at = blocking->asks.first; at != NULL;) {
        at = at != blocking->asks.last ? at->next : NULL;
        n++;
    }
    rl_gate_open(blocking);
    return n;
}

/* All of a timeout passes before the loop thread sees the call. */
LIVE_TEST(a_timeout_runs_while_the_loop_is_busy) {
    static struct busy busy; /* the loop thread may use it after a failure */
    begin_busy(live, &busy);
    live_tell_all(live, "SET one someone");
    redlock_mutex *mutex = crew_mutex(busy.blocking, "one", NULL);
    struct member other = {.mutex = mutex, .timeout_ms = 2000};
    keep_busy(live, &busy);
    crew_start(&other, crew_lock);
    LIVE_POLL(live, untaken(busy.blocking) == 1);
    live_block_until(redlock_now_ns() + 2000 * LIVE_MS);
    struct spent since = spent_begin();
    uv_sem_post(&busy.go_on);
    crew_join(&other);
    assert_true(spent_ms(&since) < 1000);
    LIVE_STATUS(other.status, REDLOCK_ERR_DEADLINE);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    end_busy(live, &busy, 1);
}

/* A lock ends by the clock while the loop thread works on one call, and its unlock is the next:
 * on_lost has not run in between. */
LIVE_TEST(an_inner_unlock_looks_at_the_clock) {
    static struct busy busy; /* the loop thread may use it after a failure */
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    begin_busy(live, &busy);
    options.ttl_ms = 1500;
    options.auto_extend = 0;
    options.owner = 1;
    redlock_mutex *mutex = crew_mutex(busy.blocking, "one", &options);
    struct member other = {.mutex = mutex};
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    keep_busy(live, &busy);
    crew_start(&busy.members[1], crew_hold);
    LIVE_POLL(live, untaken(busy.blocking) == 1);
    crew_start(&other, crew_unlock);
    LIVE_POLL(live, untaken(busy.blocking) == 2);
    uv_sem_post(&busy.go_on); /* the loop thread takes both calls */
    LIVE_POLL(live, atomic_load(&busy.kept) == 2);
    LIVE_POLL(live, redlock_mutex_is_valid(mutex) == 0);
    uv_sem_post(&busy.go_on);
    crew_join(&other);
    LIVE_STATUS(other.status, REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_unlock(mutex), REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    end_busy(live, &busy, 2);
}
