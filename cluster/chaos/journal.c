/* The record of a run: see journal.h. */
#include "journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redlock/redlock.h"

#define PATH_SIZE 4096
#define LINE_SIZE 1024
#define STORY_BUFFER 4096

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
    int length = snprintf(
        line, sizeof(line), "%" PRIu64 " %s %s %s %s %" PRIu64 " %" PRIu64 "%s%s\n", record->t_ns,
        record->client, record->what, record->resource, record->token, record->valid_until_ns,
        record->sequence, record->slots[0] != '\0' ? " " : "", record->slots);
    append(fd, line, length);
}

void chaos_journal_open(struct chaos_journal *journal, const char *dir, int process) {
    char name[64];
    make_folder(dir, "clients");
    make_folder(dir, "set");
    journal->register_fd = open_log(dir, "register.log");
    journal->acks_fd = open_log(dir, "set-acks.log");
    snprintf(name, sizeof(name), "clients/%d.jsonl", process);
    journal->story = fdopen(open_log(dir, name), "a");
    /* A line fits, so it is one write(): a process that is killed leaves whole lines. */
    if (journal->story == NULL || setvbuf(journal->story, NULL, _IOFBF, STORY_BUFFER) != 0) {
        chaos_journal_die(name);
    }
}

void chaos_journal_open_register(struct chaos_journal *journal, const char *dir) {
    *journal = (struct chaos_journal){.register_fd = open_log(dir, "register.log"), .acks_fd = -1};
}

void chaos_journal_close(struct chaos_journal *journal) {
    close(journal->register_fd);
    close(journal->acks_fd);
    fclose(journal->story);
    journal->register_fd = journal->acks_fd = -1;
}

void chaos_journal_act(const struct chaos_journal *journal, const struct chaos_record *record) {
    append_record(journal->register_fd, record);
}

void chaos_journal_ack(const struct chaos_journal *journal, const struct chaos_record *record) {
    append_record(journal->acks_fd, record);
}

struct tool_json *chaos_journal_begin(struct chaos_journal *journal, const char *client,
                                      const char *what) {
    journal->json = (struct tool_json){.file = journal->story};
    tool_json_open(&journal->json, NULL, '{');
    tool_json_put(&journal->json, JSON_INT("t_ns", redlock_now_ns()), JSON_TEXT("client", client),
                  JSON_TEXT("what", what));
    return &journal->json;
}

void chaos_journal_end(struct chaos_journal *journal) {
    tool_json_end(&journal->json);
    if (fflush(journal->story) != 0) {
        chaos_journal_die("a record could not be written");
    }
}

void chaos_journal_status(struct chaos_journal *journal, const char *client, const char *what,
                          const char *resource, const char *status) {
    struct tool_json *json = chaos_journal_begin(journal, client, what);
    tool_json_put(json, JSON_IF(resource != NULL, JSON_TEXT("resource", resource)),
                  JSON_TEXT("status", status));
    chaos_journal_end(journal);
}
