/* The configuration file: lines "name = value", with the names of the options.
 *
 *     # a comment is a line of its own
 *     nodes = redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3
 *     ttl = 30s
 *
 * Happy path: the file named by --config or REDLOCK_CONFIG, or the first that is there of
 * $XDG_CONFIG_HOME/redlock/redlock.conf (~/.config) and /etc/redlock.conf; each line sets one
 * option unless the command line has set it. `nodes` may be repeated and adds up.
 *
 * Failure modes: each names file, line and remedy. A file that was asked for must be there. One
 * that others can read although it has a password in it is told, and used. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "args.h"
#include "exits.h"
#include "say.h"

#define LINE_MAX_BYTES 65536
#define SYSTEM_FILE "/etc/redlock.conf"

struct reader {
    struct rl_args *args;
    const bool *given;
    int first_line[64]; /* where the file set a row of the table, 0: nowhere */
    int line;
    bool takes_nodes; /* neither command line nor environment named any */
};

/* -- Which file -- */

static char *user_file(void) {
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    bool has_base = base != NULL && base[0] == '/';
    char *path = NULL;
    if (!has_base && (home == NULL || home[0] == '\0')) {
        return NULL;
    }
    if (asprintf(&path, "%s%s/redlock/redlock.conf", has_base ? base : home,
                 has_base ? "" : "/.config") < 0) {
        return NULL;
    }
    return path;
}

/* Opens the file to read and names it in args->config. NULL with *status 0: there is none. */
static FILE *open_file(struct rl_args *args, int *status) {
    const char *asked = args->config != NULL ? "--config" : "REDLOCK_CONFIG";
    if (args->config == NULL) {
        const char *named = getenv("REDLOCK_CONFIG");
        args->config = named != NULL && named[0] != '\0' ? strdup(named) : NULL;
    }
    if (args->config != NULL) {
        FILE *file = fopen(args->config, "re");
        if (file == NULL) {
            *status = rl_fail(RL_EXIT_CONFIG, "%s: %s: %s; name a file that you can read", asked,
                              args->config, strerror(errno));
        }
        return file;
    }
    args->config = user_file();
    FILE *file = args->config != NULL ? fopen(args->config, "re") : NULL;
    if (file == NULL && (args->config == NULL || errno == ENOENT || errno == ENOTDIR)) {
        free(args->config);
        args->config = strdup(SYSTEM_FILE);
        file = fopen(SYSTEM_FILE, "re");
    }
    if (file == NULL && errno != ENOENT) {
        *status = rl_fail(RL_EXIT_CONFIG, "%s: %s; make it readable, or name another by --config",
                          args->config, strerror(errno));
    }
    return file;
}

/* -- Its lines -- */

static char *trim(char *text) {
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

static int bad_line(const struct reader *reader, const char *what, const char *why) {
    char shown[64];
    rl_say_clean(what, strlen(what), shown, sizeof shown);
    return rl_fail(RL_EXIT_CONFIG, "%s:%d: \"%s\": %s", reader->args->config, reader->line, shown,
                   why);
}

/* Whether so many changes of a single letter make a out of b: a typing mistake. */
static bool is_near(const char *a, const char *b, int changes) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b) {
        return true;
    }
    return changes > 0 && ((*a != '\0' && is_near(a + 1, b, changes - 1)) ||
                           (*b != '\0' && is_near(a, b + 1, changes - 1)) ||
                           (*a != '\0' && *b != '\0' && is_near(a + 1, b + 1, changes - 1)));
}

static int unknown_name(const struct reader *reader, const char *name) {
    char why[512];
    const char *near = NULL;
    size_t used = 0;
    for (size_t i = 0; i < rl_options_count; i++) {
        if (rl_options_table[i].in_config && is_near(name, rl_options_table[i].name, 2)) {
            near = rl_options_table[i].name;
        }
    }
    if (near != NULL) {
        snprintf(why, sizeof why, "not a setting; did you mean \"%s\"?", near);
        return bad_line(reader, name, why);
    }
    used = (size_t)snprintf(why, sizeof why, "not a setting. There are:");
    for (size_t i = 0; i < rl_options_count; i++) {
        if (rl_options_table[i].in_config && used < sizeof why) {
            used +=
                (size_t)snprintf(why + used, sizeof why - used, " %s", rl_options_table[i].name);
        }
    }
    return bad_line(reader, name, why);
}

static int set(struct reader *reader, const char *name, const char *value) {
    size_t row = 0;
    while (row < rl_options_count &&
           !(rl_options_table[row].in_config && strcmp(rl_options_table[row].name, name) == 0)) {
        row++;
    }
    if (row == rl_options_count) {
        return unknown_name(reader, name);
    }
    bool is_nodes = rl_options_table[row].kind == RL_OPTION_NODES;
    if (reader->first_line[row] != 0 && !is_nodes) {
        char why[64];
        snprintf(why, sizeof why, "set in line %d already; remove one", reader->first_line[row]);
        return bad_line(reader, name, why);
    }
    reader->first_line[row] = reader->line;
    struct rl_args scratch = {0}; /* what is not used is checked all the same */
    bool used = is_nodes ? reader->takes_nodes : !reader->given[row];
    const char *why = rl_args_set(used ? reader->args : &scratch, &rl_options_table[row], value);
    rl_args_free(&scratch);
    return why == NULL ? 0 : bad_line(reader, is_nodes ? name : value, why);
}

static int read_line(struct reader *reader, char *line) {
    char *name = trim(line);
    if (name[0] == '\0' || name[0] == '#') {
        return 0;
    }
    char *equals = strchr(name, '=');
    if (equals == NULL) {
        return bad_line(reader, name, "no = in it; write name = value, and a comment after a #");
    }
    *equals = '\0';
    char *value = trim(equals + 1);
    name = trim(name);
    if (name[0] == '\0' || value[0] == '\0') {
        return bad_line(
            reader, name,
            name[0] == '\0' ? "a name is missing before the =" : "a value is missing after the =");
    }
    if (strstr(value, " #") != NULL) {
        return bad_line(reader, name, "a comment needs a line of its own");
    }
    return set(reader, name, value);
}

static void warn_of_password(const struct rl_args *args, FILE *file) {
    struct stat status;
    if (args->nodes_text != NULL && strchr(args->nodes_text, '@') != NULL &&
        fstat(fileno(file), &status) == 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
        rl_say("%s: others can read the passwords in it; chmod 600 %s", args->config, args->config);
    }
}

static int read_lines(struct reader *reader, FILE *file) {
    char *line = NULL;
    size_t size = 0;
    int status = 0;
    ssize_t length;
    while (status == 0 && (length = getline(&line, &size, file)) >= 0) {
        reader->line++;
        if (length > LINE_MAX_BYTES || strlen(line) != (size_t)length) {
            status = bad_line(reader, "", "not text; is it the right file?");
        } else {
            status = read_line(reader, line);
        }
    }
    if (status == 0 && ferror(file)) {
        status = rl_fail(RL_EXIT_CONFIG, "%s: %s; name a file that can be read",
                         reader->args->config, strerror(errno));
    }
    free(line);
    return status;
}

int rl_config_read(struct rl_args *args, const bool *given) {
    struct reader reader = {.args = args, .given = given, .takes_nodes = args->nodes_text == NULL};
    int status = 0;
    assert(rl_options_count <= sizeof reader.first_line / sizeof reader.first_line[0]);
    FILE *file = open_file(args, &status);
    if (file == NULL) {
        free(args->config);
        args->config = NULL;
        return status;
    }
    status = read_lines(&reader, file);
    if (status == 0 && reader.takes_nodes && args->nodes_text != NULL) {
        args->nodes_from = args->config;
        warn_of_password(args, file);
    }
    fclose(file);
    return status;
}
