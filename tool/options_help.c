/* See options_help.h. */
#include "tool/options_help.h"

#include <stdio.h>
#include <string.h>

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
