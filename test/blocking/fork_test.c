/* fork() of a process whose threads are in the middle of calls: the child's calls return at once,
 * even if another thread held the gate at the fork; the parent is not affected; the child's own
 * client works, and the parent's lock excludes it. */
#include <sys/syscall.h>

#include "blocking/crew.h"
#include "child.h"

/* Children get their parent's pid, as the first process of a pid namespace may: no check may rely
 * on the pid. */
pid_t getpid(void) {
    static pid_t first;
    first = first != 0 ? first : (pid_t)syscall(SYS_getpid);
    return first;
}

#define THREADS 4
#define CHILDREN 15
#define CHILD_SECONDS 60 /* a child that hangs is ended by its alarm */

static bool says_forked(const char *message) {
    return strcmp(message, redlock_strerror(REDLOCK_ERR_FORKED)) == 0;
}

static _Noreturn void child(redlock_blocking *blocking, redlock_mutex *held, redlock_mutex *busy) {
    char text[REDLOCK_MESSAGE_MAX];
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_mutex *mutex;
    alarm(CHILD_SECONDS);
    CHILD_CHECK(redlock_mutex_is_valid(held) == 0);
    CHILD_CHECK(redlock_mutex_remaining_ms(held) == 0);
    CHILD_CHECK(redlock_mutex_lock(busy, 1000) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_mutex_try_lock(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_mutex_unlock(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_mutex_extend(held, 0) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_mutex_token(held, text, sizeof text) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(says_forked(redlock_mutex_message(held, text, sizeof text)));
    CHILD_CHECK(redlock_mutex_new(blocking, "x", 1, NULL, &mutex) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_blocking_stats(blocking, &stats) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_blocking_metrics(blocking, REDLOCK_METRICS_PROMETHEUS, text, sizeof text) ==
                REDLOCK_ERR_FORKED);
    CHILD_CHECK(says_forked(redlock_blocking_message(blocking, text, sizeof text)));
    CHILD_CHECK(redlock_mutex_free(busy) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_blocking_close(blocking) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_mutex_free(held) == REDLOCK_ERR_FORKED);
    _exit(0);
}

static void use(void *data) {
    struct member *member = data;
    while (member->status == 0 && atomic_load(&member->stage) == 0) {
        member->status = redlock_mutex_lock(member->mutex, LIVE_PATIENCE_MS);
        if (member->status == 0) {
            member->status = redlock_mutex_unlock(member->mutex);
        }
    }
}

LIVE_TEST(in_the_middle_of_calls) {
    struct member members[THREADS] = {{0}};
    live_start(live, 3, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *held = crew_mutex(blocking, "held", NULL);
    redlock_mutex *busy = crew_mutex(blocking, "busy", NULL);
    LIVE_STATUS(redlock_mutex_lock(held, 5000), 0);
    for (int i = 0; i < THREADS; i++) {
        members[i].mutex = busy;
        crew_start(&members[i], use);
    }
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child(blocking, held, busy);
        }
        child_expect_good(pid);
        assert_int_equal(redlock_mutex_is_valid(held), 1);
    }
    for (int i = 0; i < THREADS; i++) {
        atomic_store(&members[i].stage, 1);
    }
    for (int i = 0; i < THREADS; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, 0);
    }
    LIVE_STATUS(redlock_mutex_extend(held, 0), 0);
    LIVE_STATUS(redlock_mutex_unlock(held), 0);
    LIVE_STATUS(redlock_mutex_free(held), 0);
    LIVE_STATUS(redlock_mutex_free(busy), 0);
    crew_end(live, blocking);
    assert_true(live_no_keys(live));
}

static _Noreturn void child_with_its_own(const struct live *live, redlock_blocking *parents) {
    redlock_blocking *blocking = NULL;
    redlock_mutex *mutex = NULL;
    redlock_client_options options = live_options(live);
    alarm(CHILD_SECONDS);
    CHILD_CHECK(redlock_blocking_close(parents) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_blocking_open(&blocking, &options) == 0);
    CHILD_CHECK(redlock_mutex_new(blocking, "held", 4, NULL, &mutex) == 0);
    CHILD_CHECK(redlock_mutex_try_lock(mutex) == REDLOCK_ERR_HELD);
    CHILD_CHECK(redlock_mutex_lock(mutex, 200) == REDLOCK_ERR_DEADLINE);
    CHILD_CHECK(redlock_mutex_free(mutex) == 0);
    CHILD_CHECK(redlock_blocking_close(blocking) == 0);
    _exit(0);
}

LIVE_TEST(child_opens_its_own) {
    live_start(live, 3, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *held = crew_mutex(blocking, "held", NULL);
    LIVE_STATUS(redlock_mutex_lock(held, 5000), 0);
    pid_t pid = fork();
    if (pid == 0) {
        child_with_its_own(live, blocking);
    }
    child_expect_good(pid);
    assert_int_equal(redlock_mutex_is_valid(held), 1);
    LIVE_STATUS(redlock_mutex_unlock(held), 0);
    LIVE_STATUS(redlock_mutex_free(held), 0);
    crew_end(live, blocking);
}
