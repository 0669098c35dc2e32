/* The human-readable output of redlock(1): sentences on stderr, and text on stdout that cannot harm
 * a terminal.
 *
 * Failure modes: none of its own. Text from a node, a file or an argument may contain escape
 * sequences: it goes through rl_say_wrapped() or tool_utf8_clean(), which show unprintable bytes as
 * '?'. Output is coloured only on a terminal; NO_COLOR turns colours off (no-color.org). */
#ifndef RL_CLI_SAY_H
#define RL_CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Times of the wall clock as text: human-readable in the machine's time zone, machine-readable in
 * UTC.
 *
 * Failure modes: a time that the calendar cannot represent (a machine's clock, or a note, is far
 * off) is shown as "?". */

/* Now, since 1970. */
int64_t rl_when_now_us(void);
int64_t rl_when_now_ms(void);

/* "2026-11-23 02:31:07", with ms "2026-11-23 02:31:07.123"; valid as long as an rl_text(). */
const char *rl_when_show(int64_t at_ms, bool with_ms);

/* "2026-11-23T01:31:07.123Z"; valid as long as an rl_text(). */
const char *rl_when_utc(int64_t at_ms);

/* The exit statuses of redlock(1). Scripts rely on them: they are part of the interface, and the
 * manual lists them. The values from 64 on are from <sysexits.h>; the values from 126 on follow the
 * shell.
 *
 * `run` and `elect -- COMMAND` end with the command's own status when nothing went wrong, so a
 * command should leave 64 to 78 alone. */
enum rl_exit {
    RL_EXIT_OK = 0,
    RL_EXIT_HELD = 1,       /* another client holds the lock; -E changes this status. redlock
                               status: it is free. redlock set: a change is pending, was not
                               confirmed, or ended otherwise */
    RL_EXIT_WARNINGS = 1,   /* doctor: also, too few nodes vote for strict clients yet. set show:
                               nodes differ */
    RL_EXIT_ERRORS = 2,     /* doctor */
    RL_EXIT_USAGE = 64,     /* a bad option, key, number, duration or URL; no nodes given; --permits
                               differs from the number in use */
    RL_EXIT_NO_QUORUM = 69, /* too few nodes answered */
    RL_EXIT_SYSTEM = 71,    /* no memory, no process, no random bytes */
    RL_EXIT_LOST = 75,      /* the lock was lost, or the nodes no longer have the token */
    RL_EXIT_CONFIG = 78,    /* the configuration file or the password file cannot be used */
    RL_EXIT_CANNOT_RUN = 126,
    RL_EXIT_NOT_FOUND = 127,
    RL_EXIT_SIGNAL = 128 /* plus the signal's number */
};

/* "redlock: ..." on stderr. Returns status, so that a check can return it. */
int rl_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define rl_usage(...) rl_fail(RL_EXIT_USAGE, __VA_ARGS__)
#define rl_say(...) ((void)rl_fail(0, __VA_ARGS__))
/* "redlock: KEYS: ..."; of: KEYS as typed, any bytes. */
#define rl_fail_of(status, of, ...) \
    rl_fail((status), "%s: %s", rl_text_clean((of), 128), rl_text(__VA_ARGS__))
#define rl_say_of(...) ((void)rl_fail_of(0, __VA_ARGS__))

/* A temporary text: valid until this thread has made RL_TEXTS more. It is cut to RL_TEXT_MAX. */
#define RL_TEXTS 16
#define RL_TEXT_MAX 2048
const char *rl_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The text made safe for a terminal, and shorter than max; valid as long as an rl_text(). */
const char *rl_text_clean(const char *text, size_t max);
const char *rl_text_bytes(const char *bytes, size_t length, size_t max);

/* As calloc(); when out of memory, it reports that and ends the program with RL_EXIT_SYSTEM. A lock
 * held at that time is released by its guard process, or expires. */
void *rl_must_alloc(size_t n, size_t size);
/* As asprintf(), but returns the text; ends the program when out of memory, as rl_must_alloc(). */
char *rl_must_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends more to text, which it frees; with the separator between them unless text is empty. */
char *rl_must_join(char *text, const char *separator, const char *more);
/* Writes random hex digits, an even number of them, and a terminating zero. */
void rl_must_draw(char *out, size_t digits);
/* Makes room for one more item. Returns items, or their new address. */
void *rl_must_grow(void *items, size_t used, size_t *room, size_t size);

/* Whether stderr can show a status line: it is a terminal, and redlock is in its foreground. */
bool rl_say_has_line(void);
/* Shows this status line in place of the last one, cut to the terminal's width; NULL: clears it.
 * rl_say() clears it, too. Without a terminal nothing happens. */
void rl_say_line(const char *text);

/* Reads a line from stdin. Returns whether it says y or yes. */
bool rl_say_is_yes(void);

/* The length of the first character in bytes; *width: how many columns it takes on a terminal, two
 * for an ideogram, none for an accent. */
size_t rl_say_character(const char *text, int *width);
/* How many columns the text takes. */
int rl_say_columns(const char *text);

/* The column width, widened to fit this text; at most max. */
int rl_say_widen(int width, const char *text, int max);

/* "3 clients", "1 client"; valid as long as an rl_text(). */
const char *rl_say_count(uint64_t number, const char *noun);

enum rl_paint {
    RL_PAINT_NONE,
    RL_PAINT_GOOD,
    RL_PAINT_WARN,
    RL_PAINT_BAD,
    RL_PAINT_FAINT,
    RL_PAINT_BOLD,
    RL_PAINT_HEAD /* reverse */
};
/* The codes between ESC [ and m. Codes that begin with '3' are colours. */
extern const char *const rl_paint_codes[];

/* Whether file may be coloured. */
bool rl_say_is_colored(FILE *file);

/* text, coloured if stdout may be, and padded to width columns. */
void rl_say_painted(enum rl_paint paint, const char *text, int width);

/* A table on stdout. heads and rows are texts with a tab between two cells. Spaces after a head
 * widen its column; a column whose head begins with '?' is left out if it has no text. The last
 * cell of a row that ends early may be as long as it likes. */
struct rl_table {
    const char *heads;
    int indent;
    int max; /* width of a column; a text that is longer shifts the rest of its row */
    char **cells;
    size_t used, room;
};

/* A coloured cell begins with one of these. */
#define RL_CELL_WARN "\2" /* RL_PAINT_WARN */
#define RL_CELL_BAD "\3"

void rl_table_add(struct rl_table *table, char *row); /* frees row */
#define rl_table_row(table, ...) rl_table_add((table), rl_must_print(__VA_ARGS__))
/* Prints the heads and the rows, and frees the table. */
void rl_table_print(struct rl_table *table);

/* Prints text on stdout, broken at spaces so that no line is wider than the terminal (80 columns if
 * there is none). The cursor is at column indent; the following lines begin there, too. */
void rl_say_wrapped(const char *text, int indent);

/* "8.2 s", "15 min", "0.3 ms": a duration, rounded to a few digits. This and the next two are valid
 * as long as an rl_text(). */
const char *rl_say_duration(double ms);
/* The same for a whole number, such as a key's remaining ttl; negative: "for ever". */
const char *rl_say_ms(int64_t ms);
/* As an option is written: "90s". */
const char *rl_say_exact(int64_t ms);

/* The standard descriptors, and stdout in particular: a script must not take an empty token for a
 * lock.
 *
 * Happy path: rl_output_open() comes before any other call; stdout is buffered until
 * rl_output_flush(), which therefore knows the errno of a failure.
 *
 * Failure modes: stdout cannot be written (closed, a full disk, no reader): rl_output_flush()
 * returns the first errno, from then on. SIGPIPE does nothing; it is not ignored, which the command
 * that redlock runs would inherit. One of 0, 1, 2 is closed: the next descriptor that is opened
 * would get its number; libuv aborts when it closes one of these, and text meant for stderr would
 * go to a node. So a closed one is opened on /dev/null in the direction that is not used: using it
 * still fails with EBADF. The command that redlock runs finds it closed. */

/* Returns 0 or an errno. */
int rl_output_open(void);

/* Writes the buffered output to stdout. Returns 0, or the errno of the first failure. */
int rl_output_flush(void);

/* The reader of stdout has gone, which is not a failure: drops unwritten and later output. */
void rl_output_drop(void);

/* Closes stdout: a file server may report a full disk only then. Returns the exit status, or
 * RL_EXIT_SYSTEM after reporting that the output could not be written. */
int rl_output_close(int exit_status);

#endif
