/* A user's program: it uses the installed headers and public names, and nothing of this tree. It
 * opens a client whose only node refuses, gets that error, and closes it.
 *
 *     downstream VERSION
 */
#include <redlock/redlock.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static int opened = 1, closed = 1;

static void on_close(redlock_client *client, int status, void *data) {
    (void)client;
    (void)data;
    closed = status;
}

static void on_open(redlock_client *client, int status, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    (void)data;
    opened = status;
    printf("%s: %s\n", redlock_strerror(status),
           redlock_client_message(client, sentence, sizeof sentence));
    if (redlock_client_close(client, on_close, NULL) != 0) {
        opened = 1;
    }
}

int main(int argc, char **argv) {
    /* Nobody listens on port 1. */
    const char *nodes[] = {redlock_has_tls() ? "rediss://127.0.0.1:1" : "redis://127.0.0.1:1"};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_client *client;
    uv_loop_t loop;

    if (argc != 2 || strcmp(argv[1], redlock_version()) != 0 ||
        strcmp(REDLOCK_VERSION, redlock_version()) != 0) {
        fprintf(stderr, "library %s, headers %s\n", redlock_version(), REDLOCK_VERSION);
        return 1;
    }
    options.nodes = nodes;
    options.n_nodes = 1;
    if (uv_loop_init(&loop) != 0 ||
        redlock_client_open(&client, &loop, &options, on_open, NULL) != 0) {
        fprintf(stderr, "no client\n");
        return 1;
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    if (opened != REDLOCK_ERR_NO_QUORUM || closed != 0 || uv_loop_close(&loop) != 0) {
        fprintf(stderr, "opened %d, closed %d\n", opened, closed);
        return 1;
    }
    return 0;
}
