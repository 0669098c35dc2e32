/* One table of options for a program: the command line, the environment, a configuration file and
 * --help all read it, so that a new option is one row.
 *
 * Happy path:
 *
 *     static const struct tool_option rows[] = {
 *         {"ttl", 't', TOOL_DURATION, .at = offsetof(struct settings, ttl_ms), .min = 1,
 *          .max = 86400000, .in_config = true, .value = "TIME", .help = "how long it lives"},
 *         {"help", 'h', TOOL_STOP, .help = "this text"},
 *     };
 *     struct tool_options options = {.rows = rows, .count = 2, .target = &settings, ...};
 *     tool_options_parse() -> tool_options_environment() -> tool_config_read()
 *
 * Defaults are the target's initial values. The first source wins: the command line over the
 * environment, and that over the file. A row whose value is a list takes all values of one source.
 *
 * Failure modes: a sentence in `error` that names the option (or the variable, or file and line)
 * and says what to write instead; values set until then stay set.
 *
 * Texts are not copied: they live as long as argv, the environment and the file's text.
 *
 * Why not argp or popt? getopt_long() splits the arguments. The rest is messages, file and
 * environment, which neither of them offers. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/option.h"

#define TOOL_OPTIONS_MAX 56
#define TOOL_ERROR_MAX 1024

/* Where a value came from. */
enum tool_source { TOOL_DEFAULT, TOOL_LINE, TOOL_ENVIRONMENT, TOOL_FILE };

struct tool_options {
    const struct tool_option *rows;
    size_t count;
    void *target;
    const char *program; /* "redlock run": errors refer to its --help */
    const char *name;    /* for errors: "run" */
    unsigned use;        /* whose options these are */

    enum tool_source from[TOOL_OPTIONS_MAX]; /* of each row */
    const struct tool_option *stop;          /* the row that ended parsing, or NULL */
    char **words;                            /* the operands */
    int n_words;
    char error[TOOL_ERROR_MAX];
};

/* Returns 0, or -1 with `error`. argv[0] is ignored; getopt_long() may reorder the rest. */
int tool_options_parse(struct tool_options *options, int argc, char **argv);

/* The same for options that were not given, from the rows' variables; an empty variable counts as
 * unset. */
int tool_options_environment(struct tool_options *options);

/* Checks that all options of the command line apply to options->use; if not, -1, and the error says
 * which one "does not apply to" name. */
int tool_options_check(struct tool_options *options, const char *name);

/* The row whose name was most likely meant, among those for options->use, or those that the file
 * may set. NULL: none is similar. */
const struct tool_option *tool_options_nearest(const struct tool_options *options,
                                               const char *typed, bool in_config);

/* The source of the value of the row at this offset, or of this name. */
enum tool_source tool_options_from(const struct tool_options *options, size_t at);

/* Writes `error`, returns -1. */
int tool_options_fail(struct tool_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the rows for `use`, except those for every use, which are TOOL_COMMON. With TOOL_EVERY
 * all. */
void tool_options_help(const struct tool_options *options, unsigned use);

#endif
