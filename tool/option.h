/* One option: a row of a table (options.h), and how its field is set from text.
 *
 * Failure modes: a clause that says what is wrong with the text, or what it could be. */
#ifndef TOOL_OPTION_H
#define TOOL_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_WHY_MAX 256
#define TOOL_EVERY 255u  /* use: all of them */
#define TOOL_COMMON 254u /* for --help: the rows that apply to every use */

/* The type of a row's field, and the syntax of its text. */
enum tool_kind {
    TOOL_HEADING,  /* not an option: `help` is a line of --help */
    TOOL_STOP,     /* no field: parsing ends here, for --help and --version */
    TOOL_FLAG,     /* bool */
    TOOL_TEXT,     /* const char *: any text but "" */
    TOOL_CHOICE,   /* int: which of `choices`, "a|b|c" */
    TOOL_WHOLE,    /* int64_t */
    TOOL_DURATION, /* int64_t, in ms: "10s" */
    TOOL_SECONDS,  /* int64_t, in ms: "0.5" */
    TOOL_LIST      /* struct tool_list */
};

struct tool_option {
    const char *name;
    char letter; /* 0: none */
    enum tool_kind kind;
    size_t at;            /* offset in the target */
    int64_t min, max;     /* of numbers; of seconds in ms */
    const char *choices;  /* of TOOL_CHOICE */
    bool is_optional;     /* --name alone leaves the field unchanged: only its presence counts */
    bool in_config;       /* the file may set it */
    bool is_secret;       /* its text is not shown in errors */
    const char *variable; /* of the environment, NULL: none */
    unsigned uses;        /* bit set of the uses that know it, 0: all */
    const char *value;    /* its value's name in --help, NULL if it takes none */
    const char *help;     /* lines, separated by \n; NULL: not shown */
};

/* Sets the field of the row in target; with target NULL it only checks whether it could be set.
 * text: NULL if the option was given without one. Returns NULL, or the reason: a clause, in `why`
 * or static. */
const char *tool_option_set(const struct tool_option *row, void *target, const char *text,
                            char why[TOOL_WHY_MAX]);

/* Whether the row is for use number `use`. */
bool tool_option_is_for(const struct tool_option *row, unsigned use);

/* The number of typing mistakes that turn a name into `typed`: letters changed, left out, added, or
 * swapped with the next one. TOOL_UNLIKE: too many for a word of this length. */
#define TOOL_UNLIKE 3
int tool_typing_mistakes(const char *typed, const char *name);

/* Choice number `choice` of "a|b|c", in out. Returns out. */
#define TOOL_CHOICE_MAX 32
const char *tool_choice_name(const char *choices, int choice, char out[TOOL_CHOICE_MAX]);

#endif
