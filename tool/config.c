/* See config.h. */
#include "tool/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/option.h"
#include "tool/utf8.h"

#define FILE_BYTES_MAX (1024 * 1024)
#define BLANKS " \t\r\n"

struct reader {
    struct tool_options *options;
    const char *path;
    int first_line[TOOL_OPTIONS_MAX]; /* the line that sets a row of the table, 0: none */
    int line;
};

static char *trim(char *text) {
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS, text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

static int bad_line(const struct reader *reader, const char *what, const char *why) {
    char shown[64];
    tool_utf8_clean(what, strlen(what), shown, sizeof shown);
    return tool_options_fail(reader->options, "%s:%d: \"%s\": %s", reader->path, reader->line,
                             shown, why);
}

static int unknown_name(const struct reader *reader, const char *name) {
    const struct tool_options *options = reader->options;
    char why[512];
    const struct tool_option *near = tool_options_nearest(options, name, true);
    size_t used = 0;
    if (near != NULL) {
        snprintf(why, sizeof why, "not a setting; did you mean \"%s\"?", near->name);
        return bad_line(reader, name, why);
    }
    used = (size_t)snprintf(why, sizeof why, "not a setting. There are:");
    for (size_t i = 0; i < options->count && used < sizeof why; i++) {
        if (options->rows[i].in_config) {
            used += (size_t)snprintf(why + used, sizeof why - used, " %s", options->rows[i].name);
        }
    }
    return bad_line(reader, name, why);
}

static int set(struct reader *reader, const char *name, const char *value) {
    struct tool_options *options = reader->options;
    char why_text[TOOL_WHY_MAX];
    size_t i = 0;
    while (i < options->count &&
           !(options->rows[i].in_config && strcmp(options->rows[i].name, name) == 0)) {
        i++;
    }
    if (i == options->count) {
        return unknown_name(reader, name);
    }
    const struct tool_option *row = &options->rows[i];
    if (reader->first_line[i] != 0 && row->kind != TOOL_LIST) {
        snprintf(why_text, sizeof why_text, "set in line %d already; remove one",
                 reader->first_line[i]);
        return bad_line(reader, name, why_text);
    }
    reader->first_line[i] = reader->line;
    bool is_used = options->from[i] == TOOL_DEFAULT || options->from[i] == TOOL_FILE;
    const char *why = tool_option_set(row, is_used ? options->target : NULL, value, why_text);
    if (why != NULL) {
        return bad_line(reader, row->is_secret ? name : value, why);
    }
    options->from[i] = is_used ? TOOL_FILE : options->from[i];
    return 0;
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
    if (name[0] == '\0') {
        return bad_line(reader, name, "a name is missing before the =");
    }
    if (value[0] == '\0') {
        return bad_line(reader, name, "a value is missing after the =");
    }
    if (strstr(value, " #") != NULL) {
        return bad_line(reader, name, "a comment needs a line of its own");
    }
    return set(reader, name, value);
}

/* Reads the whole file and appends a zero. */
static int read_text(struct tool_options *options, FILE *file, const char *path, char **text,
                     size_t *length) {
    *text = malloc(FILE_BYTES_MAX + 1);
    if (*text == NULL) {
        return tool_options_fail(options, "%s: out of memory", path);
    }
    *length = fread(*text, 1, FILE_BYTES_MAX, file);
    (*text)[*length] = '\0';
    if (ferror(file)) {
        return tool_options_fail(options, "%s: %s; name a file that can be read", path,
                                 strerror(errno));
    }
    return 0;
}

int tool_config_read(struct tool_options *options, FILE *file, const char *path, char **text) {
    struct reader reader = {.options = options, .path = path};
    size_t length = 0;
    int result = read_text(options, file, path, text, &length);
    for (size_t at = 0; result == 0 && at < length;) {
        char *line = *text + at;
        char *newline = memchr(line, '\n', length - at);
        size_t size = newline != NULL ? (size_t)(newline - line) : length - at;
        reader.line++;
        line[size] = '\0';
        bool is_text = strlen(line) == size && length < FILE_BYTES_MAX;
        result = is_text ? read_line(&reader, line)
                         : bad_line(&reader, "", "not text; is it the right file?");
        at += size + 1;
    }
    return result;
}
