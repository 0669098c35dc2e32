/* One acquire, as the options demand: how it waits, how a signal interrupts it, and how a failure
 * is reported.
 *
 * Failure modes: another client has the lock: the message names it. Too few nodes answer. A signal
 * arrived: a lock that was granted is released. */
#include "session/room.h"

#include <stdio.h>
#include <string.h>

#include "say.h"

/* rl_look_say() for the first key that it can describe. NULL: there is none, or too few nodes
 * answer. */
static const char *find_holder(struct rl_session *session, const char *keys_text) {
    struct rl_keys keys;
    static struct rl_found found;
    const char *said = NULL;
    if (rl_keys_parse(&keys, keys_text) == NULL) {
        for (size_t i = 0; i < keys.count && said == NULL; i++) {
            int status = rl_ask_key(session, &found, keys.items[i],
                                    (struct rl_found_parts){.readers = true});
            found.look.reads = session->args->shared;
            said = status == 0 && found.status == 0 ? rl_look_say(&found.look, 0) : NULL;
        }
    }
    rl_keys_free(&keys);
    return said;
}

/* Why an acquire failed: RL_EXIT_HELD, RL_EXIT_NO_QUORUM, or RL_EXIT_USAGE if other clients use
 * another number of permits. */
static int why_not(const redlock_lock *lock, int status) {
    int why = status == REDLOCK_ERR_DEADLINE ? redlock_lock_attempt_status(lock) : status;
    if (why == REDLOCK_ERR_PERMITS) {
        return RL_EXIT_USAGE; /* waiting does not help */
    }
    bool is_outage = why == REDLOCK_ERR_NO_QUORUM || why == REDLOCK_ERR_EXPIRED;
    return is_outage ? RL_EXIT_NO_QUORUM : RL_EXIT_HELD;
}

static int interrupted(struct rl_session *session) {
    session->outcome = REDLOCK_ERR_CANCELED;
    snprintf(session->why_not, sizeof session->why_not, "interrupted by a signal (%s)",
             strsignal(session->caught));
    return RL_EXIT_SIGNAL + session->caught;
}

static int not_acquired(struct rl_session *session, redlock_lock *lock, const char *keys,
                        int status) {
    const struct rl_args *args = session->args;
    bool is_system = status == REDLOCK_ERR_SYSTEM || status == REDLOCK_ERR_NOMEM;
    int why = is_system ? RL_EXIT_SYSTEM : why_not(lock, status);
    int exit_status = why == RL_EXIT_HELD ? (int)args->conflict_status : why;
    if (session->caught != 0) {
        return interrupted(session);
    }
    redlock_lock_message(lock, session->why_not, sizeof session->why_not);
    if (why == RL_EXIT_HELD && (exit_status != 0 || args->verbose)) {
        const char *holder = args->permits != 0 ? rl_look_say_permits(args->permits, args->take)
                                                : find_holder(session, keys);
        snprintf(session->why_not, sizeof session->why_not, "%s",
                 holder != NULL ? holder : "another client was faster");
    }
    bool is_told = why != RL_EXIT_HELD || exit_status != 0 || args->verbose;
    if (is_told && !args->json) { /* with --json the caller reports it */
        rl_say_of(keys, "not acquired: %s", session->why_not);
    }
    return exit_status;
}

int rl_acquire_give_back(struct rl_session *session, redlock_lock *lock) {
    if (redlock_release(lock, rl_session_lock_cb, session) == 0) {
        rl_session_wait(session);
    }
    return interrupted(session);
}

bool rl_acquire(struct rl_session *session, redlock_lock *const *locks, size_t n, const char *keys,
                redlock_acquire_options *options, int *exit_status) {
    const struct rl_args *args = session->args;
    options->ttl_ms = args->ttl_ms;
    options->min_validity_ms = args->ttl_ms / 2; /* a command needs time to start */
    options->wait_ms = args->wait_ms;
    options->fencing = args->fence;
    if (args->no_wait) {
        options->wait_ms = REDLOCK_NO_LIMIT;
        options->tries = 1;
    }
    int status = n == 1 ? redlock_acquire(locks[0], options, rl_session_lock_cb, session)
                        : redlock_acquire_any(locks, n, options, rl_session_lock_cb, session);
    if (status != 0) {
        session->outcome = status;
        redlock_lock_message(locks[0], session->why_not, sizeof session->why_not);
        *exit_status = rl_session_refused(locks[0], keys, status);
        return false;
    }
    session->acquiring = locks;
    session->n_acquiring = n;
    if (!args->no_wait) {
        rl_waiting_begin(&session->waiting, session->client, keys);
    }
    status = rl_session_wait(session);
    rl_waiting_end(&session->waiting);
    session->n_acquiring = 0;
    session->outcome = status;
    if (status != 0) {
        *exit_status = not_acquired(session, session->lock, keys, status);
    } else if (session->caught != 0) {
        *exit_status = rl_acquire_give_back(session, session->lock);
    } else {
        *exit_status = RL_EXIT_OK;
        return true;
    }
    return false;
}
