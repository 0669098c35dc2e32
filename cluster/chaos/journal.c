/* The record of a run: see journal.h. */
#include "journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redlock/redlock.h"

#define PATH_SIZE 4096
#define LINE_SIZE 1024

void chaos_journal_die(const char *what) {
    fprintf(stderr, "redlock-chaos-client: %s: %s\n", what, strerror(errno));
    exit(CHAOS_UNUSABLE);
}

/* dir/name into path. */
static void join(char *path, const char *dir, const char *name) {
    int length = snprintf(path, PATH_SIZE, "%s/%s", dir, name);
    if (length < 0 || length >= PATH_SIZE) {
        errno = ENAMETOOLONG;
        chaos_journal_die(dir);
    }
}

static void make_folder(const char *dir, const char *name) {
    char path[PATH_SIZE];
    join(path, dir, name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        chaos_journal_die(path);
    }
}

static int open_log(const char *dir, const char *name) {
    char path[PATH_SIZE];
    join(path, dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        chaos_journal_die(path);
    }
    return fd;
}

/* One line, one write(): other processes append to the same file. */
static void append(int fd, const char *line, int length) {
    assert(length > 0 && length < LINE_SIZE && line[length - 1] == '\n');
    ssize_t written;
    do {
        written = write(fd, line, (size_t)length);
    } while (written < 0 && errno == EINTR);
    if (written != length) {
        if (written >= 0) {
            errno = ENOSPC;
        }
        chaos_journal_die("a record could not be written");
    }
}

static void append_record(int fd, const struct chaos_record *record) {
    char line[LINE_SIZE];
    assert(record->token[0] != '\0' && record->t_ns > 0);
    int length = snprintf(line, sizeof(line), "%" PRIu64 " %s %s %s %s %" PRIu64 " %" PRIu64 "\n",
                          record->t_ns, record->client, record->what, record->resource,
                          record->token, record->valid_until_ns, record->sequence);
    append(fd, line, length);
}

void chaos_journal_open(struct chaos_journal *journal, const char *dir, int process) {
    char name[64];
    make_folder(dir, "clients");
    make_folder(dir, "set");
    journal->register_fd = open_log(dir, "register.log");
    journal->acks_fd = open_log(dir, "set-acks.log");
    snprintf(name, sizeof(name), "clients/%d.jsonl", process);
    journal->story_fd = open_log(dir, name);
}

void chaos_journal_close(struct chaos_journal *journal) {
    close(journal->register_fd);
    close(journal->acks_fd);
    close(journal->story_fd);
    journal->register_fd = journal->acks_fd = journal->story_fd = -1;
}

void chaos_journal_act(const struct chaos_journal *journal, const struct chaos_record *record) {
    append_record(journal->register_fd, record);
}

void chaos_journal_ack(const struct chaos_journal *journal, const struct chaos_record *record) {
    append_record(journal->acks_fd, record);
}

void chaos_journal_story(const struct chaos_journal *journal, const char *client,
                         const char *format, ...) {
    char line[LINE_SIZE];
    const int room = LINE_SIZE - 3; /* for the end: } newline zero */
    va_list arguments;
    int length = snprintf(line, sizeof(line), "{\"t_ns\":%" PRIu64 ",\"client\":\"%s\",",
                          redlock_now_ns(), client);
    assert(length > 0 && length < room);
    va_start(arguments, format);
    int more = vsnprintf(line + length, (size_t)(room - length), format, arguments);
    va_end(arguments);
    if (more < 0 || more >= room - length) {
        errno = EMSGSIZE;
        chaos_journal_die("a record could not be written");
    }
    length += more;
    line[length++] = '}';
    line[length++] = '\n';
    append(journal->story_fd, line, length);
}
