/* redlock complete WORD...: the candidates for the last word. Only shells call it: their files in
 * cli/completion only pass words on, so that all shells use the one table of options. WORD...: the
 * line after "redlock", up to the cursor; the last word may be empty.
 *
 * Happy path: it prints a line for each candidate; for options, with a tab and a description. A
 * line that begins with a tab is an instruction:
 *
 *     <tab>files      file names, behind the = of --option=, if there is one
 *     <tab>command    what follows the first -- is a command of its own
 *
 * For KEY it lists the locks on the nodes that the line, the environment or the configuration file
 * names.
 *
 * Failure modes: the line cannot be parsed, or there are no nodes: no candidates. It never writes
 * to stderr and never reads stdin, where the user is typing. It ends after two seconds, even if a
 * file named in the line still blocks. */
#include "commands.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "say.h"
#include "tool/utf8.h"

#define KEYS_MAX 20000 /* keys read of each node: time is short */
#define SECONDS_MAX 2  /* a node that hangs takes one, see scan/scan.c */
#define CONNECT_TIMEOUT_MS 300

static const char *const set_words[] = {"init",    "show",       "replace", "resize",
                                        "add-set", "remove-set", "resume",  "abort"};

struct line {
    struct tool_options options; /* rows, count and use */
    char **words;                /* [0] is the command */
    int n;                       /* without the last one */
    const char *typed;           /* the part of the last word that candidates begin with */
    int given;                   /* characters of that word before this part; they stay */
};

/* -- What is offered -- */

static bool fits(const struct line *line, const char *candidate) {
    return strncmp(candidate, line->typed, strlen(line->typed)) == 0;
}

static void offer(const struct line *line, const char *candidate) {
    if (fits(line, candidate)) {
        printf("%.*s%s\n", line->given, line->typed - line->given, candidate);
    }
}

static void offer_commands(const struct line *line) {
    for (int i = 0; i < RL_CMDS; i++) {
        offer(line, rl_commands[i].name);
    }
    offer(line, "conform");
}

static void offer_options(const struct line *line) {
    for (size_t i = 0; i < line->options.count; i++) {
        const struct tool_option *row = &line->options.rows[i];
        const char *name = rl_text("--%s", row->name);
        if (!tool_option_is_for(row, line->options.use) || !fits(line, name)) {
            continue;
        }
        printf("%s\t", name);
        for (const char *at = row->help; *at != '\0'; at++) {
            putchar(*at == '\n' ? ' ' : *at);
        }
        putchar('\n');
    }
}

/* In a list, candidates complete its last item. */
static void go_to_item(struct line *line) {
    const char *comma = strrchr(line->typed, ',');
    if (comma != NULL && (comma == line->typed || comma[-1] != '\\')) {
        line->given += (int)(comma + 1 - line->typed);
        line->typed = comma + 1;
    }
}

static void offer_stories(struct line *line) {
    go_to_item(line);
#ifdef REDLOCK_HAS_CONFORM
    for (size_t i = 0; rl_conform_story(i) != NULL; i++) {
        offer(line, rl_conform_story(i));
    }
#endif
}

static void offer_value(struct line *line, const struct tool_option *row) {
    if (strcmp(row->value, "FILE") == 0 || strcmp(row->value, "PATH") == 0) {
        puts("\tfiles");
    } else if (strcmp(row->name, "story") == 0) {
        offer_stories(line);
    }
    for (const char *at = row->choices; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        offer(line, rl_text("%.*s", (int)strcspn(at, "|"), at));
    }
}

/* Offers the subcommands of `set`, if the line has none yet. */
static void offer_set_words(const struct line *line) {
    for (size_t i = 0; i < sizeof set_words / sizeof set_words[0]; i++) {
        for (int j = 1; j < line->n; j++) {
            if (strcmp(line->words[j], set_words[i]) == 0) {
                return;
            }
        }
    }
    for (size_t i = 0; i < sizeof set_words / sizeof set_words[0]; i++) {
        offer(line, set_words[i]);
    }
}

/* -- Keys -- */

/* Commas separate keys; a comma within a key is escaped by a backslash. Keys that cannot be typed
 * are not offered. */
static void offer_key(void *data, const char *name, size_t length) {
    const struct line *line = data;
    char shown[REDLOCK_RESOURCE_MAX + 1], key[2 * REDLOCK_RESOURCE_MAX + 1];
    size_t used = 0;
    tool_utf8_clean(name, length, shown, sizeof shown);
    bool is_option = line->given == 0 && length > 0 && name[0] == '-'; /* would be parsed as an
                                                                          option */
    if (is_option || strlen(shown) != length || memcmp(shown, name, length) != 0) {
        return;
    }
    bool is_list = rl_commands[line->options.use].keys == RL_KEYS_LIST;
    for (size_t i = 0; i < length; i++) {
        if (is_list && name[i] == ',') {
            key[used++] = '\\';
        }
        key[used++] = name[i];
    }
    key[used] = '\0';
    offer(line, key);
}

static void give_up(int signal_number) {
    (void)signal_number;
    _exit(RL_EXIT_OK);
}

static bool asks_for_help(const struct line *line) {
    bool asks = false;
    for (int i = 1; i < line->n; i++) {
        asks |= strcmp(line->words[i], "--help") == 0 || strcmp(line->words[i], "-h") == 0;
    }
    return asks;
}

static void offer_keys(struct line *line) {
    struct rl_args args;
    int exit_status = 0;
    const enum rl_keys_use keys = rl_commands[line->options.use].keys;
    if (keys == RL_KEYS_NONE || asks_for_help(line)) { /* --help would be printed */
        return;
    }
    line->words[line->n] = NULL;
    if (rl_args_parse(&args, (enum rl_command_name)line->options.use, line->n, line->words,
                      &exit_status) &&
        (args.n_words == 0 || keys == RL_KEYS_MANY)) {
        if (keys == RL_KEYS_LIST) {
            go_to_item(line);
        }
        args.keys_max = KEYS_MAX;
        args.client.connect_timeout_ms = CONNECT_TIMEOUT_MS;
        rl_ls_names(&args, offer_key, line);
    }
    rl_args_free(&args);
}

/* -- Where the cursor is -- */

/* The option's row if it takes a value; else NULL. */
static const struct tool_option *asks_for_value(const struct line *line, const char *option,
                                                size_t length) {
    for (size_t i = 0; i < line->options.count; i++) {
        const struct tool_option *row = &line->options.rows[i];
        bool is_long = length > 2 && strncmp(option, "--", 2) == 0 &&
                       strlen(row->name) == length - 2 &&
                       strncmp(option + 2, row->name, length - 2) == 0;
        bool is_letter = length == 2 && option[0] == '-' && option[1] == row->letter;
        if ((is_long || is_letter) && row->kind >= TOOL_TEXT &&
            tool_option_is_for(row, line->options.use)) {
            return row;
        }
    }
    return NULL;
}

static void offer_argument(struct line *line) {
    const char *last = line->words[line->n], *before = line->words[line->n - 1];
    const char *equals = strchr(last, '=');
    const struct tool_option *row =
        line->n > 1 ? asks_for_value(line, before, strlen(before)) : NULL;
    if ((row == NULL || row->is_optional) && strncmp(last, "--", 2) == 0 && equals != NULL) {
        row = asks_for_value(line, last, (size_t)(equals - last));
        line->typed = equals + 1;
        line->given = (int)(line->typed - last);
    }
    if (row != NULL && !(row->is_optional && line->given == 0)) {
        offer_value(line, row);
    } else if (last[0] == '-') {
        offer_options(line);
    } else if (line->options.rows == rl_args_table && line->options.use == RL_CMD_SET) {
        offer_set_words(line);
    } else if (line->options.rows == rl_args_table) {
        offer_keys(line);
    }
}

static bool find_command(struct line *line) {
    for (int i = 0; i < RL_CMDS; i++) {
        if (strcmp(line->words[0], rl_commands[i].name) == 0) {
            line->options = (struct tool_options){
                .rows = rl_args_table, .count = rl_args_table_size, .use = (unsigned)i};
            return true;
        }
    }
#ifdef REDLOCK_HAS_CONFORM
    if (strcmp(line->words[0], "conform") == 0) {
        line->options =
            (struct tool_options){.rows = rl_conform_table, .count = rl_conform_table_size};
        return true;
    }
#endif
    return false;
}

static void complete(struct line *line) {
    for (int i = 1; i < line->n; i++) {
        if (strcmp(line->words[i], "--") == 0) {
            puts("\tcommand");
            return;
        }
    }
    if (line->n == 0) {
        offer_commands(line);
        offer(line, "help");
        offer(line, "--help");
        offer(line, "--version");
    } else if (strcmp(line->words[0], "help") == 0 && line->n == 1) {
        offer_commands(line);
        offer(line, "options");
    } else if (find_command(line)) {
        offer_argument(line);
    }
}

int rl_cmd_complete(int argc, char **argv) {
    if (argc < 2 || freopen("/dev/null", "r", stdin) == NULL ||
        freopen("/dev/null", "w", stderr) == NULL) {
        return RL_EXIT_OK;
    }
    struct line line = {.words = argv + 1, .n = argc - 2, .typed = argv[argc - 1]};
    signal(SIGALRM, give_up);
    alarm(SECONDS_MAX); /* a file in the line may be a pipe without a writer */
    complete(&line);
    return RL_EXIT_OK;
}
