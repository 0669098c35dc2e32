/* The command line and the environment: see options.h. */
#include "tool/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/utf8.h"

#define LONG_BASE 1000 /* a long option's value for getopt_long() is this plus its row */

int tool_options_fail(struct tool_options *options, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(options->error, sizeof options->error, format, args);
    va_end(args);
    return -1;
}

enum tool_source tool_options_from(const struct tool_options *options, size_t at) {
    for (size_t i = 0; i < options->count; i++) {
        if (options->from[i] != TOOL_DEFAULT && options->rows[i].at == at &&
            options->rows[i].kind >= TOOL_FLAG) {
            return options->from[i];
        }
    }
    return TOOL_DEFAULT;
}

int tool_options_check(struct tool_options *options, const char *name) {
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        if (options->from[i] == TOOL_LINE && !tool_option_is_for(row, options->use)) {
            return tool_options_fail(options,
                                     "--%s does not apply to %s; leave it out, or see %s --help",
                                     row->name, name, options->program);
        }
    }
    return 0;
}

const struct tool_option *tool_options_nearest(const struct tool_options *options,
                                               const char *typed, bool in_config) {
    const struct tool_option *nearest = NULL;
    int fewest = TOOL_UNLIKE;
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        bool is_meant = in_config ? row->in_config : tool_option_is_for(row, options->use);
        int mistakes =
            is_meant && row->name != NULL ? tool_typing_mistakes(typed, row->name) : TOOL_UNLIKE;
        if (mistakes < fewest) {
            fewest = mistakes;
            nearest = row;
        }
    }
    return nearest;
}

/* -- The command line -- */

static int argument_of(const struct tool_option *row) {
    if (row->is_optional) {
        return optional_argument;
    }
    return row->kind >= TOOL_TEXT ? required_argument : no_argument;
}

/* The table for getopt_long(). A heading has no name, and gets one that is never typed. */
static void list_options(const struct tool_options *options, struct option *all, char *letters) {
    size_t used = 0;
    letters[used++] = ':';
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        const char *name = row->kind == TOOL_HEADING ? "\n" : row->name;
        all[i] = (struct option){name, argument_of(row), NULL, LONG_BASE + (int)i};
        if (row->letter != 0) {
            letters[used++] = row->letter;
            for (int colons = argument_of(row); colons > 0; colons--) {
                letters[used++] = ':';
            }
        }
    }
    letters[used] = '\0';
    all[options->count] = (struct option){0};
}

static size_t row_of(const struct tool_options *options, int found) {
    size_t row = found >= LONG_BASE ? (size_t)(found - LONG_BASE) : 0;
    while (found < LONG_BASE && options->rows[row].letter != found) {
        row++;
        assert(row < options->count);
    }
    return row;
}

static int set_given(struct tool_options *options, size_t i, const char *text) {
    const struct tool_option *row = &options->rows[i];
    char shown[96], why_text[TOOL_WHY_MAX];
    const char *why = tool_option_set(row, options->target, text, why_text);
    if (why == NULL) {
        options->from[i] = TOOL_LINE;
        return 0;
    }
    if (row->is_secret) {
        return tool_options_fail(options, "--%s: %s", row->name, why);
    }
    tool_utf8_clean(text, strlen(text), shown, sizeof shown);
    return tool_options_fail(options, "--%s \"%s\": %s", row->name, shown, why);
}

static int complain(struct tool_options *options, int found, char **argv) {
    char shown[96], letter[3] = {'-', (char)optopt, '\0'};
    /* A letter may be one of several in a word, and a long name may have a value. */
    bool is_long = optopt == 0 || optopt >= LONG_BASE;
    const char *text = is_long ? argv[optind - 1] : letter;
    tool_utf8_clean(text, is_long ? strcspn(text, "=") : strlen(text), shown, sizeof shown);
    if (found == ':') {
        return tool_options_fail(options, "%s needs a value; see %s --help", shown,
                                 options->program);
    }
    if (is_long && optopt >= LONG_BASE) {
        return tool_options_fail(options, "%s takes no value; leave out what follows the =", shown);
    }
    const struct tool_option *near =
        is_long ? tool_options_nearest(options, shown + strspn(shown, "-"), false) : NULL;
    if (near != NULL) {
        return tool_options_fail(options, "%s is not an option of %s; did you mean --%s?", shown,
                                 options->name, near->name);
    }
    return tool_options_fail(options, "%s is not an option of %s; see %s --help", shown,
                             options->name, options->program);
}

int tool_options_parse(struct tool_options *options, int argc, char **argv) {
    struct option all[TOOL_OPTIONS_MAX + 1];
    char letters[3 * TOOL_OPTIONS_MAX + 2];
    int result = 0;
    assert(options->count <= TOOL_OPTIONS_MAX);
    list_options(options, all, letters);
    opterr = 0;
    optind = 0; /* start again, even within a word of letters */
    while (result == 0 && options->stop == NULL) {
        optopt = 0;
        int found = getopt_long(argc, argv, letters, all, NULL);
        if (found == -1) {
            break;
        }
        if (found == '?' || found == ':') {
            return complain(options, found, argv);
        }
        size_t row = row_of(options, found);
        if (options->rows[row].kind == TOOL_STOP) {
            options->stop = &options->rows[row];
        } else {
            result = set_given(options, row, optarg);
        }
    }
    options->words = argv + optind;
    options->n_words = argc - optind;
    return result;
}

/* -- The environment -- */

int tool_options_environment(struct tool_options *options) {
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        const char *text = row->variable != NULL ? getenv(row->variable) : NULL;
        char why_text[TOOL_WHY_MAX];
        if (text == NULL || text[0] == '\0' || options->from[i] != TOOL_DEFAULT) {
            continue;
        }
        const char *why = tool_option_set(row, options->target, text, why_text);
        if (why != NULL) {
            return tool_options_fail(options, "%s: %s", row->variable, why);
        }
        options->from[i] = TOOL_ENVIRONMENT;
    }
    return 0;
}

/* -- Help -- */

#define NAME_COLUMN 18
#define LETTER_COLUMNS 4

static void print_row(const struct tool_option *row, int letter_columns) {
    char name[64];
    const char *text = row->help;
    const char *gap = row->value == NULL || row->value[0] == '[' ? "" : " ";
    int column = NAME_COLUMN + letter_columns - (letter_columns > 0 ? 2 : 0);
    int length = snprintf(name, sizeof name, "%*s--%s%s%s", letter_columns, "", row->name, gap,
                          row->value != NULL ? row->value : "");
    if (row->letter != 0) {
        name[0] = '-';
        name[1] = row->letter;
        name[2] = ',';
    }
    printf("  %-*s", column, name);
    if (length >= column) {
        printf("\n  %-*s", column, "");
    }
    for (const char *end = strchr(text, '\n'); end != NULL; end = strchr(text, '\n')) {
        printf("%.*s\n  %-*s", (int)(end - text), text, column, "");
        text = end + 1;
    }
    printf("%s\n", text);
}

static bool is_shown(const struct tool_option *row, unsigned use) {
    bool is_common = row->uses == 0;
    return row->help != NULL && tool_option_is_for(row, use == TOOL_COMMON ? TOOL_EVERY : use) &&
           (use == TOOL_EVERY || is_common == (use == TOOL_COMMON));
}

void tool_options_help(const struct tool_options *options, unsigned use) {
    int letter_columns = 0;
    for (size_t i = 0; i < options->count; i++) {
        letter_columns = options->rows[i].letter != 0 ? LETTER_COLUMNS : letter_columns;
    }
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        if (row->kind == TOOL_HEADING) {
            printf("%s%s\n", i == 0 ? "" : "\n", row->help);
        } else if (is_shown(row, use)) {
            print_row(row, letter_columns);
        }
    }
}
