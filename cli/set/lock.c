/* The lock of a set itself, "redlock set ID", which keeps administrators apart. This thread renews
 * it while a second thread does the work, which blocks.
 *
 * Failure modes: another administrator has the lock: nothing is done, and the message names the
 * holder. If that administrator has died, the lock soon expires. Too few nodes grant it: nothing is
 * done, or the work is done without the lock. A signal ends the work at its next step. */
#include "set/room.h"

#include <stdio.h>
#include <unistd.h>

#include "say.h"
#include "session/room.h"

#define TTL_MS 5000
#define WAIT_MS 1000 /* in addition to the ttl of an administrator that has died */

struct job {
    rl_set_work *work;
    void *data;
    struct rl_session *session;
    uv_async_t ended;
    int status;
    bool is_over;
};

static void run_job(void *data) {
    struct job *job = data;
    job->status = job->work(job->data);
    uv_async_send(&job->ended);
}

static void on_ended(uv_async_t *ended) {
    struct job *job = ended->data;
    job->is_over = true;
    rl_session_done(job->session, 0);
}

/* The thread is not from libuv's pool: the lock may need the pool to look up a name, and exit()
 * would wait for the thread. */
static int work_beside(struct rl_session *session, struct rl_steps *steps, rl_set_work *work,
                       void *data) {
    struct job job = {.work = work, .data = data, .session = session};
    uv_thread_t thread;
    uv_async_init(&session->loop, &job.ended, on_ended);
    job.ended.data = &job;
    if (uv_thread_create(&thread, run_job, &job) != 0) {
        job.status = rl_fail(RL_EXIT_SYSTEM, "a thread is unavailable");
    } else {
        session->is_interruptible = true;
        while (!job.is_over) {
            rl_session_wait(session);
            atomic_store(&steps->caught, session->caught);
        }
        session->is_interruptible = false;
        uv_thread_join(&thread);
    }
    uv_close((uv_handle_t *)&job.ended, NULL);
    uv_run(&session->loop, UV_RUN_NOWAIT);
    session->is_done = false; /* a signal may have set it last */
    return job.status;
}

static void set_options(struct rl_args *args, int64_t max_ttl_ms) {
    const int64_t longest_ms =
        max_ttl_ms < args->client.max_ttl_ms ? max_ttl_ms : args->client.max_ttl_ms;
    args->ttl_ms = longest_ms < TTL_MS ? longest_ms : TTL_MS;
    args->wait_ms = args->ttl_ms + WAIT_MS;
    args->quiet = args->quiet || args->json;
}

int rl_set_locked(struct rl_args *args, const struct rl_set_lock *plan, rl_set_work *work,
                  void *data) {
    struct rl_session session;
    redlock_lock *lock = NULL;
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    char resource[64], holder[RL_HOLDER_ROOM];
    set_options(args, plan->max_ttl_ms);
    options.auto_extend = 1;
    snprintf(resource, sizeof resource, "redlock set %s", plan->id);
    snprintf(holder, sizeof holder, "%s@%.47s", plan->name, rl_session_holder((long)getpid()));
    int status = rl_session_open(&session, args);
    if (status != 0) {
        return status;
    }
    status = rl_session_lock(&session, resource, holder, &lock);
    const bool is_held = status == 0 && rl_acquire(&session, &lock, 1, resource, &options, &status);
    if (is_held || (status == RL_EXIT_NO_QUORUM && !plan->is_needed)) {
        if (!is_held) {
            rl_say("goes on without that lock, which only keeps administrators apart");
        }
        status = work_beside(&session, plan->steps, work, data);
        if (is_held && redlock_release(lock, rl_session_lock_cb, &session) == 0) {
            rl_session_wait(&session);
        }
    }
    if (session.caught != 0 && status == RL_EXIT_SIGNAL + session.caught) {
        rl_say("interrupted; redlock set show says how far it is");
    }
    rl_session_close(&session, RL_CLOSE_WAITS);
    return status;
}
