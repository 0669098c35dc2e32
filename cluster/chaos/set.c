/* The files of the lock-set workload: see set.h. */
#include "set.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

#define PATH_SIZE 4096
#define LONG_SET 65536 /* bytes */

static void path_of(const struct chaos_worker *worker, char *path, const char *kind,
                    const char *detail) {
    int length = snprintf(path, PATH_SIZE, "%s/set/%s%s%s", worker->process->settings.dir, kind,
                          worker->resource, detail);
    if (length < 0 || length >= PATH_SIZE) {
        errno = ENAMETOOLONG;
        chaos_journal_die(worker->process->settings.dir);
    }
}

/* Appends the content of fd to the buffer. */
static void read_all(struct chaos_worker *worker, int fd, const char *path) {
    for (;;) {
        char part[8192];
        ssize_t got = read(fd, part, sizeof(part));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            chaos_journal_die(path);
        }
        if (got == 0) {
            return;
        }
        char *more = realloc(worker->set, worker->set_length + (size_t)got);
        if (more == NULL) {
            chaos_journal_die(path);
        }
        memcpy(more + worker->set_length, part, (size_t)got);
        worker->set = more;
        worker->set_length += (size_t)got;
    }
}

void chaos_set_read(struct chaos_worker *worker) {
    char path[PATH_SIZE];
    assert(worker->set == NULL && worker->set_length == 0);
    path_of(worker, path, "", "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return; /* no number was added yet */
    }
    if (fd < 0) {
        chaos_journal_die(path);
    }
    read_all(worker, fd, path);
    close(fd);
}

void chaos_set_forget(struct chaos_worker *worker) {
    free(worker->set);
    worker->set = NULL;
    worker->set_length = 0;
}

/* A new file at path: length bytes, and the number if it is not 0. */
static void write_file(const char *path, const char *bytes, size_t length, uint64_t number) {
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        chaos_journal_die(path);
    }
    int is_bad = length > 0 && fwrite(bytes, 1, length, file) != length;
    is_bad |= number > 0 && fprintf(file, "%" PRIu64 "\n", number) < 0;
    if (fclose(file) != 0 || is_bad) {
        chaos_journal_die(path);
    }
}

static void acknowledge(const struct chaos_worker *worker, uint64_t t_ns) {
    const struct chaos_record record = {t_ns,
                                        worker->name,
                                        "ack",
                                        worker->resource,
                                        worker->token,
                                        worker->valid_until_ns,
                                        worker->sequence,
                                        ""};
    chaos_journal_ack(&worker->process->journal, &record);
}

/* temporary takes the place of path, if the lock is still held. Returns 0 if it is not. */
static int replace(const struct chaos_worker *worker, const char *temporary, const char *path,
                   int (*act)(const struct chaos_worker *worker, const char *what)) {
    if (!act(worker, "write")) {
        unlink(temporary);
        return 0;
    }
    if (rename(temporary, path) != 0) {
        chaos_journal_die(path);
    }
    return 1;
}

int chaos_set_add(struct chaos_worker *worker,
                  int (*act)(const struct chaos_worker *worker, const char *what)) {
    char path[PATH_SIZE], temporary[PATH_SIZE], aside[PATH_SIZE], detail[64];
    const int is_long = worker->set_length > LONG_SET;
    assert(worker->sequence > 0);
    path_of(worker, path, "", "");
    snprintf(detail, sizeof(detail), ".%s", worker->name);
    path_of(worker, temporary, ".new-", detail);
    snprintf(detail, sizeof(detail), ".%" PRIu64, worker->sequence);
    path_of(worker, aside, "", detail);

    write_file(temporary, worker->set, worker->set_length, worker->sequence);
    if (!replace(worker, temporary, is_long ? aside : path, act)) {
        return 0;
    }
    acknowledge(worker, redlock_now_ns());
    if (is_long) {
        write_file(temporary, NULL, 0, 0);
        /* If the lock is lost by now, the next holder finds the long file and renames it. */
        (void)replace(worker, temporary, path, act);
    }
    return 1;
}
