/* Pieces of docs/recipes.md, with the program around them: compiled, not run. */
#include <redlock/blocking.h>
#include <redlock/redlock.h>
#include <redlock/semaphore.h>
#include <redlock/semaphore_blocking.h>

static void on_permit(redlock_lock *lock, int status, void *data) {
    (void)lock, (void)status, (void)data;
}

static void both_accounts(redlock_client *client) {
    char error[REDLOCK_MESSAGE_MAX];
    redlock_lock *lock;
#include "several.inc"
}

static void upload(redlock_client *client, void *data) {
    char error[REDLOCK_MESSAGE_MAX];
    redlock_lock *lock;
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
#include "uploads.inc"
}

static void upload_with_threads(redlock_blocking *client) {
    redlock_semaphore *permit;
#include "uploads_threads.inc"
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        both_accounts(NULL);
        upload(NULL, NULL);
        upload_with_threads(NULL);
    }
    return 0;
}
