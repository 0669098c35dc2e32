/* Settings in two files that must fit together. Many programs read them, and sometimes one changes
 * them: a reader never sees one file new and the other old.
 *
 *     settings DIR redis://host:port ...              prints what is in DIR/limits and DIR/routes
 *     settings DIR TEXT redis://host:port ...         writes TEXT into both
 *
 * The exit status is 0, or with a message on stderr 1, or 2 for wrong arguments.
 */
#include <redlock/blocking.h>
#include <redlock/rwlock.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 200

static const char *const names[] = {"limits", "routes"};

static int load(const char *dir, const char *name, char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    return fclose(file);
}

static int save(const char *dir, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    int failed = file == NULL || fputs(text, file) < 0;
    failed |= file != NULL && fclose(file) != 0;
    if (failed) {
        perror(path);
    }
    return -failed;
}

static int read_settings(redlock_rwlock *lock, const char *dir, char text[2][TEXT_MAX]) {
    int status = redlock_rwlock_rdlock(lock, 5000); /* beside all others that read */
    if (status != 0) {
        return status;
    }
    int failed = load(dir, names[0], text[0]) | load(dir, names[1], text[1]);
    status = redlock_rwlock_unlock(lock); /* LOST: perhaps changed meanwhile */
    return failed ? REDLOCK_ERR_SYSTEM : status;
}

static int write_settings(redlock_rwlock *lock, const char *dir, const char *text) {
    int status = redlock_rwlock_wrlock(lock, 5000); /* when those that read now have ended */
    if (status != 0) {
        return status;
    }
    int failed = 0;
    for (int i = 0; i < 2 && redlock_rwlock_is_valid(lock); i++) {
        failed |= save(dir, names[i], text);
    }
    status = redlock_rwlock_unlock(lock); /* LOST: write them once more */
    return failed ? REDLOCK_ERR_SYSTEM : status;
}

int main(int argc, char **argv) {
    char sentence[REDLOCK_MESSAGE_MAX] = "", text[2][TEXT_MAX];
    int writes = argc > 2 && strncmp(argv[2], "redis", 5) != 0, first = writes ? 3 : 2;
    redlock_blocking *client = NULL;
    redlock_rwlock *lock = NULL;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    if (argc <= first) {
        fprintf(stderr, "usage: settings DIR [TEXT] redis://host:port ...\n");
        return 2;
    }
    options.nodes = (const char *const *)(argv + first);
    options.n_nodes = (size_t)(argc - first);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    options.error = sentence;
    options.error_size = sizeof sentence;
    int status = redlock_blocking_open(&client, &options);
    if (client != NULL) {
        status = redlock_rwlock_new(client, "settings", 8, NULL, &lock);
    }
    if (status == 0) {
        status =
            writes ? write_settings(lock, argv[1], argv[2]) : read_settings(lock, argv[1], text);
        redlock_rwlock_message(lock, sentence, sizeof sentence);
    }
    if (status != 0) {
        fprintf(stderr, "settings: %s\n",
                sentence[0] != '\0' ? sentence : redlock_strerror(status));
    } else if (!writes) {
        printf("%s %s\n", text[0], text[1]);
    }
    redlock_rwlock_free(lock);
    redlock_blocking_close(client);
    return status != 0;
}
