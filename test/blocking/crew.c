/* See crew.h. */
#include "blocking/crew.h"

/* -- Threads -- */

void crew_start(struct member *member, void (*run)(void *member)) {
    assert_int_equal(uv_sem_init(&member->go_on, 0), 0);
    assert_int_equal(uv_thread_create(&member->thread, run, member), 0);
}

void crew_join(struct member *member) {
    assert_int_equal(uv_thread_join(&member->thread), 0);
    uv_sem_destroy(&member->go_on);
}

void crew_wait(struct member *member) {
    uv_sem_wait(&member->go_on);
}

void crew_go_on(struct member *member) {
    uv_sem_post(&member->go_on);
}

void crew_lock(void *data) {
    struct member *member = data;
    member->status = redlock_mutex_lock(member->mutex, member->timeout_ms);
    atomic_store(&member->stage, 1);
}

void crew_unlock(void *data) {
    struct member *member = data;
    member->status = redlock_mutex_unlock(member->mutex);
    atomic_store(&member->stage, 1);
}

void crew_extend(void *data) {
    struct member *member = data;
    member->status = redlock_mutex_extend(member->mutex, member->timeout_ms);
    atomic_store(&member->stage, 1);
}

void crew_alive(void *data) {
    struct member *member = data;
    member->status = redlock_mutex_alive(member->mutex);
    atomic_store(&member->stage, 1);
}

void crew_hold(void *data) {
    struct member *member = data;
    crew_lock(member);
    crew_wait(member);
    member->other = redlock_mutex_unlock(member->mutex);
}

int crew_do(redlock_mutex *mutex, void (*run)(void *member), int64_t ms) {
    struct member member = {.mutex = mutex, .timeout_ms = ms};
    crew_start(&member, run);
    crew_join(&member);
    return member.status;
}

/* -- Readers and writers -- */

struct trial {
    redlock_rwlock *rwlock;
    int (*call)(redlock_rwlock *rwlock);
    int status;
};

static void try(void *data) {
    struct trial *trial = data;
    trial->status = trial->call(trial->rwlock);
    if (redlock_rwlock_is_valid(trial->rwlock)) {
        redlock_rwlock_unlock(trial->rwlock);
    }
}

int crew_try(redlock_rwlock *rwlock, int (*call)(redlock_rwlock *rwlock)) {
    uv_thread_t thread;
    struct trial trial = {rwlock, call, 1};
    assert_int_equal(uv_thread_create(&thread, try, &trial), 0);
    assert_int_equal(uv_thread_join(&thread), 0);
    return trial.status;
}

/* -- The client -- */

redlock_blocking *crew_open(const struct live *live) {
    char error[REDLOCK_MESSAGE_MAX];
    redlock_blocking *blocking = NULL;
    redlock_client_options options = live_options(live);
    options.error = error;
    options.error_size = sizeof error;
    int status = redlock_blocking_open(&blocking, &options);
    if (status != 0) {
        print_error("%s\n", error);
    }
    LIVE_STATUS(status, 0);
    assert_non_null(blocking);
    return blocking;
}

redlock_mutex *crew_mutex(redlock_blocking *blocking, const char *resource,
                          const redlock_mutex_options *options) {
    redlock_mutex *mutex = NULL;
    LIVE_STATUS(redlock_mutex_new(blocking, resource, strlen(resource), options, &mutex), 0);
    assert_non_null(mutex);
    return mutex;
}

redlock_rwlock *crew_rwlock(redlock_blocking *blocking, const char *resource,
                            const redlock_rwlock_options *options) {
    redlock_rwlock *rwlock = NULL;
    LIVE_STATUS(redlock_rwlock_new(blocking, resource, strlen(resource), options, &rwlock), 0);
    assert_non_null(rwlock);
    return rwlock;
}

redlock_stats crew_stats(redlock_blocking *blocking) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    LIVE_STATUS(redlock_blocking_stats(blocking, &stats), 0);
    return stats;
}

void crew_end(struct live *live, redlock_blocking *blocking) {
    if (blocking != NULL) {
        LIVE_STATUS(redlock_blocking_close(blocking), 0);
    }
    live_end(live);
}
