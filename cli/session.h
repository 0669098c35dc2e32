/* One client on one loop, for commands that read from top to bottom.
 *
 *     rl_session_open() -> rl_session_lock() -> redlock_...(.., rl_session_lock_cb, session)
 *         -> rl_session_wait() -> rl_session_close()
 *
 * rl_session_wait() runs the loop until the callback of the call before it has come.
 *
 * Failure modes: the client cannot be opened (a bad URL: RL_EXIT_USAGE); too few nodes answer,
 * which is no error here: a client that waits for a lock waits for nodes as well. SIGINT, SIGTERM
 * or SIGHUP during an acquire cancel it, so that no key stays behind; session->caught is the
 * signal. */
#ifndef RL_CLI_SESSION_H
#define RL_CLI_SESSION_H

#include <stdbool.h>
#include <uv.h>

#include "args.h"
#include "redlock/redlock.h"
#include "redlock/token.h"
#include "signals.h"
#include "token.h"
#include "waiting.h"

struct rl_session {
    uv_loop_t loop;
    redlock_client *client;
    struct rl_args *args;
    struct rl_signals signals;
    struct rl_waiting waiting;
    uv_timer_t password_timer;      /* when its file is looked at again, if has_password_timer */
    redlock_lock *const *acquiring; /* what a signal cancels */
    size_t n_acquiring;
    redlock_lock *lock; /* of the last callback */
    bool is_done;
    int status;  /* that the callback brought */
    int outcome; /* of the last acquire */
    char why_not[REDLOCK_MESSAGE_MAX];
    int caught; /* the signal that ended the waiting, 0 */
    bool is_open, has_password_timer;
    bool is_interruptible; /* a signal ends the waiting */
};

/* Returns 0 or an exit status. session->status is how the client opened: 0, or
 * REDLOCK_ERR_NO_QUORUM, which was reported on stderr. Once a quorum is connected, the other nodes
 * have half of the node timeout to connect: a node that is not connected when the command begins
 * takes no part in its lock. */
int rl_session_open(struct rl_session *session, struct rl_args *args);
void rl_session_close(struct rl_session *session);

/* How many nodes the client has: those of the set, however many were named. */
size_t rl_session_nodes(const struct rl_session *session);

/* Runs the loop until rl_session_done(). Returns session->status. */
int rl_session_wait(struct rl_session *session);
void rl_session_done(struct rl_session *session, int status);
void rl_session_lock_cb(redlock_lock *lock, int status, void *session);

/* Runs the loop until is_over() holds, which is looked at whenever something has come, or for
 * limit_ms; a signal ends that if it is interruptible. */
typedef bool rl_session_condition(const struct rl_session *session, const void *data);
void rl_session_until(struct rl_session *session, rl_session_condition *is_over, const void *data,
                      int64_t limit_ms, bool is_interruptible);

/* With --repeat, waits for its time. False: a signal came, or there is no --repeat. */
bool rl_session_repeats(struct rl_session *session);

/* Before a command ends: waits until every connected node has answered, at most for the node
 * timeout. An acquire or an extension is over with a majority's answers; a node without the script
 * needs it sent whole, and a node that has lost the key gets it again; both need this process. With
 * a held lock it takes at most half of the remaining validity, and a signal ends it; without a lock
 * (NULL: a release) a signal does not. */
void rl_session_settle(struct rl_session *session, const redlock_lock *lock);

/* The status of a release, after nodes that had not answered it have had two node timeouts to
 * connect and answer: 0 if none still has the key. A change of a set's nodes cuts connections. */
int rl_session_confirm(struct rl_session *session, int status);

/* A lock of "KEY[,KEY...]", or of an election's name, stored with the holder's name. Returns 0 or
 * an exit status. */
int rl_session_lock(struct rl_session *session, const char *keys, const char *holder,
                    redlock_lock **lock);

/* Reports that a call on a lock was refused, or how an operation ended. Returns the exit status. */
int rl_session_refused(redlock_lock *lock, const char *keys, int status);

/* "host:number", the usual name of a holder. */
void rl_session_holder(long number, char *out, size_t size);

#endif
