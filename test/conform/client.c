/* libredlock behind the lines of `redlock conform` (docs/protocol.md): our own client must pass all
 * stories that it plays to others.
 *
 *     redlock conform -- conform_client [--fence]
 *
 * Happy path: one request at a time, answered by the callback; the input's end closes the client.
 * Failure modes: the client cannot be opened, or a request is malformed: it ends with a message. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "redlock/redlock.h"

#define LINE_MAX_BYTES 600
#define LOCKS_MAX 64
#define NODES_MAX 8

static struct {
    redlock_client *client;
    uv_pipe_t input;
    char line[LINE_MAX_BYTES];
    size_t used;
    redlock_lock *locks[LOCKS_MAX];
    size_t n_locks;
    int fencing;
    uint64_t fence;
} me;

static void say(const char *text) {
    puts(text);
    fflush(stdout);
}

static void give_up(const char *what, const char *why) {
    fprintf(stderr, "conform_client: %s: %s\n", what, why);
    exit(1);
}

static redlock_lock *lock_of(const char *key) {
    size_t length = 0;
    for (size_t i = 0; i < me.n_locks; i++) {
        const void *resource = redlock_lock_resource(me.locks[i], &length);
        if (length == strlen(key) && memcmp(resource, key, length) == 0) {
            return me.locks[i];
        }
    }
    if (me.n_locks == LOCKS_MAX ||
        redlock_lock_new(me.client, key, strlen(key), &me.locks[me.n_locks]) != 0) {
        give_up(key, "no lock");
    }
    return me.locks[me.n_locks++];
}

static void on_acquired(redlock_lock *lock, int status, void *data) {
    (void)data;
    if (status != 0) {
        printf("refused %s\n", redlock_strerror(status));
    } else if (me.fencing && redlock_lock_fence(lock) <= me.fence) {
        give_up("fence", "it did not grow");
    } else {
        me.fence = redlock_lock_fence(lock);
        printf("granted %s %" PRId64 "\n", redlock_lock_token(lock),
               redlock_lock_remaining_ms(lock));
    }
    fflush(stdout);
}

static void on_extended(redlock_lock *lock, int status, void *data) {
    (void)data;
    if (status == 0) {
        printf("extended %" PRId64 "\n", redlock_lock_remaining_ms(lock));
    } else {
        printf("failed %s\n", redlock_strerror(status));
    }
    fflush(stdout);
}

static void on_released(redlock_lock *lock, int status, void *data) {
    (void)lock;
    (void)data;
    printf("%s%s\n", status == 0 ? "released" : "failed ",
           status == 0 ? "" : redlock_strerror(status));
    fflush(stdout);
}

static void obey(const char *line) {
    char what[16], key[LINE_MAX_BYTES];
    int64_t ttl_ms = 0, tries = 1;
    int n = sscanf(line, "%15s %599s %" SCNd64 " %" SCNd64, what, key, &ttl_ms, &tries);
    if (n < 2) {
        give_up(line, "this is no request");
    }
    redlock_lock *lock = lock_of(key);
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.tries = tries;
    options.fencing = me.fencing;
    int status = what[0] == 'a'   ? redlock_acquire(lock, &options, on_acquired, NULL)
                 : what[0] == 'e' ? redlock_extend(lock, ttl_ms, on_extended, NULL)
                                  : redlock_release(lock, on_released, NULL);
    if (status != 0) { /* usually a lock that has ended */
        say(what[0] == 'a' ? "refused at once" : "failed at once");
    }
}

static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    if (n < 0) {
        redlock_client_close(me.client, NULL, NULL);
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (buffer->base[i] != '\n' && me.used + 1 < sizeof me.line) {
            me.line[me.used++] = buffer->base[i];
        } else if (buffer->base[i] == '\n') {
            me.line[me.used] = '\0';
            me.used = 0;
            obey(me.line);
        }
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    static char bytes[4096];
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_open(redlock_client *client, int status, void *data) {
    (void)client;
    (void)status; /* too few nodes: the client keeps connecting */
    (void)data;
    uv_read_start((uv_stream_t *)&me.input, allocate, on_input);
    say("ready");
}

int main(int argc, char **argv) {
    const char *urls[NODES_MAX];
    size_t n_urls = 0;
    char *nodes = getenv("REDLOCK_NODES"), *rest = NULL;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    for (char *url = nodes != NULL ? strtok_r(nodes, ",", &rest) : NULL;
         url != NULL && n_urls < NODES_MAX; url = strtok_r(NULL, ",", &rest)) {
        urls[n_urls++] = url;
    }
    me.fencing = argc > 1 && strcmp(argv[1], "--fence") == 0;
    options.nodes = urls;
    options.n_nodes = n_urls;
    uv_pipe_init(uv_default_loop(), &me.input, 0);
    uv_pipe_open(&me.input, 0);
    int status = redlock_client_open(&me.client, uv_default_loop(), &options, on_open, NULL);
    if (status != 0) {
        give_up("open", redlock_strerror(status));
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return uv_loop_close(uv_default_loop()) == 0 ? 0 : 1;
}
