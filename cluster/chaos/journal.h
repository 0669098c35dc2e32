/* The records of the clients of one process: the history that the checker reads afterwards.
 *
 *   register.log             one line per act of a holder, of all processes, in the order in which
 *                            they took place: each is one write() to a file opened with O_APPEND
 *   set-acks.log             (lock-set) one line per number whose addition was acknowledged
 *   clients/<process>.jsonl  one object per line: waits, requested places in lines, turns, grants,
 *                            refusals (and why, in the library's words), losses, releases, counts
 *
 * A line of the register, seven fields, and an eighth for holders of permits of a semaphore, as
 * "0,3/5", slots 0 and 3 of five:
 *
 *   <t_ns> <client> <what> <resource> <token> <valid_until_ns> <sequence> [<slots>/<permits>]
 *
 * The register represents the resource that a lock protects, so only a holder may write enter,
 * write and exit into it, and only a reader enter-reader, read and exit; extend, downgrade (it is a
 * reader from then on), upgrade (it is a writer from then on) and lost are annotations.
 *
 * How it can fail: a record that cannot be written whole would hide what happened, so the program
 * ends at once, with status 3 and the reason. Its window then stays open in the history, which the
 * checker handles. */
#ifndef CHAOS_JOURNAL_H
#define CHAOS_JOURNAL_H

#include <stdint.h>
#include <stdio.h>

#include "tool/json.h"

#define CHAOS_UNUSABLE 3 /* exit status: the record of the run is not to be trusted */

struct chaos_journal {
    int register_fd, acks_fd;
    FILE *story;
    struct tool_json json; /* of the line being written */
};

struct chaos_record {
    uint64_t t_ns;
    const char *client;
    const char *what; /* as above; ack */
    const char *resource;
    const char *token;
    uint64_t valid_until_ns;
    uint64_t sequence; /* of the hold, unique among all processes of a run; of an ack: the number */
    const char *slots; /* "" without permits */
};

/* Opens the files, and creates missing folders below dir. Ends the program on failure. */
void chaos_journal_open(struct chaos_journal *journal, const char *dir, int process);
/* Only for acts, without the clients' story; the files below dir must exist. */
void chaos_journal_open_register(struct chaos_journal *journal, const char *dir);
void chaos_journal_close(struct chaos_journal *journal);

void chaos_journal_act(const struct chaos_journal *journal, const struct chaos_record *record);
void chaos_journal_ack(const struct chaos_journal *journal, const struct chaos_record *record);

/* One object of the story: time, client, what; then the members that the caller adds to the
 * returned JSON, until chaos_journal_end(). */
struct tool_json *chaos_journal_begin(struct chaos_journal *journal, const char *client,
                                      const char *what);
void chaos_journal_end(struct chaos_journal *journal);

/* One object with only a status, or with a resource, too. */
void chaos_journal_status(struct chaos_journal *journal, const char *client, const char *what,
                          const char *resource, const char *status);

/* Ends the program: what, then the system's reason. */
__attribute__((noreturn)) void chaos_journal_die(const char *what);

#endif /* CHAOS_JOURNAL_H */
