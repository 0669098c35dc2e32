/* A service that tells "busy" from "outage": it wants a lock for a fifth of a second, and answers
 * with an HTTP status.
 *
 *     busy redis://host:port ...      prints "409 held by another: ..."
 *
 * The exit status is 0 for 200, 1 for 409 and 2 for anything else.
 */
#include <redlock/blocking.h>
#include <stdio.h>

static int http_status(redlock_mutex *mutex, int status) {
    if (status == REDLOCK_ERR_DEADLINE) { /* the time is over: what did the last attempt find? */
        status = redlock_mutex_attempt_status(mutex);
    }
    switch (status) {
        case 0:
            return 200;
        case REDLOCK_ERR_HELD: /* busy: another request works on it, so try again later */
            return 409;
        case REDLOCK_ERR_NO_QUORUM: /* an outage: no client can get the lock, so page an operator */
        case REDLOCK_ERR_EXPIRED:   /* ... or nodes too slow to be of use */
            return 503;
        default: /* closed, no memory, a wrong argument: ours to fix */
            return 500;
    }
}

int main(int argc, char **argv) {
    char sentence[REDLOCK_MESSAGE_MAX] = "";
    redlock_blocking *client;
    redlock_mutex *mutex = NULL;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = (const char *const *)(argv + 1);
    options.n_nodes = (size_t)(argc - 1);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    options.error = sentence;
    options.error_size = sizeof sentence;
    if (redlock_blocking_open(&client, &options) != 0 && client == NULL) {
        fprintf(stderr, "busy: %s\n", sentence);
        return 2;
    }
    int answer = 500;
    if (redlock_mutex_new(client, "order:4711", 10, NULL, &mutex) == 0) {
        int status = redlock_mutex_lock(mutex, 200);
        answer = http_status(mutex, status);
        printf("%d %s\n", answer,
               status == 0 ? "" : redlock_mutex_message(mutex, sentence, sizeof sentence));
        if (status == 0) {
            redlock_mutex_unlock(mutex); /* after the work */
        }
    }
    redlock_mutex_free(mutex);
    redlock_blocking_close(client);
    return answer == 200 ? 0 : answer == 409 ? 1 : 2;
}
