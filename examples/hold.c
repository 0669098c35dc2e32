#include <redlock/redlock.h>
#include <stdio.h>
#include <uv.h>

static int exit_status = 1; /* until the lock was held and released */

static void on_released(redlock_lock *lock, int status, void *data) {
    (void)data;
    printf("release: %s\n", redlock_strerror(status));
    exit_status = status != 0;
    redlock_client_close(redlock_lock_client(lock), NULL, NULL);
}

static void on_lock(redlock_lock *lock, int status, void *data) {
    char message[REDLOCK_MESSAGE_MAX];
    (void)data;
    redlock_lock_message(lock, message, sizeof message); /* with what each node answered */
    printf("acquire: %s\n", message);
    if (status == 0) {
        printf("held for %lld ms\n", (long long)redlock_lock_remaining_ms(lock));
        redlock_release(lock, on_released, NULL); /* after the work */
    } else {
        redlock_client_close(redlock_lock_client(lock), NULL, NULL);
    }
}

static void on_open(redlock_client *client, int status, void *data) {
    char message[REDLOCK_MESSAGE_MAX];
    redlock_lock *lock;
    (void)data;
    printf("open: %s, %s\n", redlock_strerror(status),
           redlock_client_message(client, message, sizeof message));
    if (redlock_lock_new(client, "nightly-report", 14, &lock) != 0 ||
        redlock_acquire(lock, NULL, on_lock, NULL) != 0) { /* NULL: ttl 10 s, waits up to 10 s */
        redlock_client_close(client, NULL, NULL);
    }
}

int main(int argc, char **argv) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_client *client;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = (const char *const *)(argv + 1); /* redis://host:port ... */
    options.n_nodes = (size_t)(argc - 1);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    options.error = error;
    options.error_size = sizeof error;
    if (redlock_client_open(&client, uv_default_loop(), &options, on_open, NULL) != 0) {
        fprintf(stderr, "hold: %s\nusage: hold redis://host:port ...\n", error);
        return 2;
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return exit_status;
}
