/* A thread pool without libuv: every machine runs this program with the same jobs, and no two
 * threads on any machines work on the same job at the same time. (A job itself must record, under
 * the lock, that it is done; the lock does not remember that.)
 *
 *     pool redis://host:port ...
 *
 * A worker takes the next job, locks its name, works in small steps, and checks before each step
 * that the lock is still valid. It skips jobs of other workers. */
#include <pthread.h>
#include <redlock/blocking.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WORKERS 4
#define JOBS 12
#define STEPS 5

static redlock_blocking *client;
static atomic_int next_job;
static atomic_int done;

static void do_step(void) {
    struct timespec step = {0, 2 * 1000 * 1000};
    nanosleep(&step, NULL);
}

/* Runs on the loop thread: it must be quick, and must not call anything that waits. */
static void on_lost(redlock_mutex *mutex, int status, void *data) {
    (void)mutex;
    printf("%s: lost: %s\n", (const char *)data, redlock_strerror(status));
}

/* Returns whether the job was done under the lock from its first step to its last. */
static int work(redlock_mutex *mutex, const char *job) {
    int step = 0;
    while (step < STEPS && redlock_mutex_is_valid(mutex)) {
        do_step();
        step++;
    }
    int status = redlock_mutex_unlock(mutex);
    if (status != 0) {
        printf("%s: unlock: %s\n", job, redlock_strerror(status));
    }
    return step == STEPS && status != REDLOCK_ERR_LOST;
}

static void try_job(char *job) {
    char sentence[REDLOCK_MESSAGE_MAX] = "";
    redlock_mutex *mutex;
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT; /* renewed until it is unlocked */
    options.max_hold_ms = 60000; /* the lock of a job that hangs ends */
    options.on_lost = on_lost;
    options.lost_data = job;
    options.error = sentence;
    options.error_size = sizeof sentence;
    if (redlock_mutex_new(client, job, strlen(job), &options, &mutex) != 0) {
        printf("%s: %s\n", job, sentence);
        return;
    }
    int status = redlock_mutex_try_lock(mutex);
    if (status == 0) {
        int is_done = work(mutex, job);
        atomic_fetch_add(&done, is_done);
        printf("%s: %s\n", job, is_done ? "done" : "not finished");
    } else {
        redlock_mutex_message(mutex, sentence, sizeof sentence);
        printf("%s: left to others: %s\n", job, sentence);
    }
    redlock_mutex_free(mutex);
}

static void *worker(void *data) {
    char job[32];
    (void)data;
    for (int i = atomic_fetch_add(&next_job, 1); i < JOBS; i = atomic_fetch_add(&next_job, 1)) {
        snprintf(job, sizeof job, "pool:job-%d", i);
        try_job(job);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t workers[WORKERS];
    char sentence[REDLOCK_MESSAGE_MAX] = "";
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = (const char *const *)(argv + 1);
    options.n_nodes = (size_t)(argc - 1);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    options.error = sentence;
    options.error_size = sizeof sentence;
    if (redlock_blocking_open(&client, &options) != 0) {
        fprintf(stderr, "pool: %s\nusage: pool redis://host:port ...\n", sentence);
        redlock_blocking_close(client);
        return 2;
    }
    int started = 0;
    while (started < WORKERS && pthread_create(&workers[started], NULL, worker, NULL) == 0) {
        started++;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i], NULL);
    }
    redlock_blocking_close(client);
    printf("%d of %d jobs done here\n", atomic_load(&done), JOBS);
    return started == WORKERS ? 0 : 1;
}
