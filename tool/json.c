/* See json.h. */
#include "tool/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tool/utf8.h"

static void put_string(FILE *file, const char *text, size_t length) {
    fputc('"', file);
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)text[i];
        size_t step = tool_utf8_length(text + i, length - i);
        if (step == 0) {
            fputs("\\ufffd", file);
            i++;
            continue;
        }
        if (byte < 0x20 || byte == 0x7f) {
            fprintf(file, "\\u%04x", byte);
        } else {
            if (byte == '"' || byte == '\\') {
                fputc('\\', file);
            }
            fwrite(text + i, 1, step, file);
        }
        i += step;
    }
    fputc('"', file);
}

/* Writes what precedes a value: comma and key. */
static void begin(struct tool_json *json, const char *name) {
    assert(json->file != NULL);
    if (json->needs_comma) {
        fputs(", ", json->file);
    }
    if (name != NULL) {
        put_string(json->file, name, strlen(name));
        fputs(": ", json->file);
    }
    json->needs_comma = true;
}

void tool_json_open(struct tool_json *json, const char *key, char bracket) {
    assert(bracket == '{' || bracket == '[');
    begin(json, key);
    assert(json->depth < TOOL_JSON_DEPTH_MAX);
    json->closing[json->depth++] = bracket == '{' ? '}' : ']';
    fputc(bracket, json->file);
    json->needs_comma = false;
}

void tool_json_close(struct tool_json *json) {
    assert(json->depth > 0);
    fputc(json->closing[--json->depth], json->file);
    json->needs_comma = true;
}

void tool_json_end(struct tool_json *json) {
    while (json->depth > 0) {
        tool_json_close(json);
    }
    fputc('\n', json->file);
    json->needs_comma = false;
}

static void put(struct tool_json *json, const struct tool_json_member *member) {
    const bool is_real = member->kind == TOOL_JSON_REAL && isfinite(member->real);
    begin(json, member->name);
    if (member->kind == TOOL_JSON_BYTES) {
        put_string(json->file, member->text, member->length);
    } else if (member->kind == TOOL_JSON_TEXT && member->text != NULL) {
        put_string(json->file, member->text, strlen(member->text));
    } else if (member->kind == TOOL_JSON_INT) {
        fprintf(json->file, "%" PRId64, member->number);
    } else if (member->kind == TOOL_JSON_INTS) {
        fputc('[', json->file);
        for (size_t i = 0; i < member->length; i++) {
            fprintf(json->file, "%s%" PRId32, i > 0 ? ", " : "", member->numbers[i]);
        }
        fputc(']', json->file);
    } else if (is_real) {
        fprintf(json->file, "%.3f", member->real);
    } else if (member->kind == TOOL_JSON_BOOL) {
        fputs(member->number != 0 ? "true" : "false", json->file);
    } else {
        fputs("null", json->file);
    }
}

void tool_json_put_all(struct tool_json *json, const struct tool_json_member *members) {
    for (; members->kind != TOOL_JSON_LAST; members++) {
        if (members->kind != TOOL_JSON_LEFT_OUT) {
            put(json, members);
        }
    }
}

void tool_json_put_object(struct tool_json *json, const char *key,
                          const struct tool_json_member *members) {
    tool_json_open(json, key, '{');
    tool_json_put_all(json, members);
    tool_json_close(json);
}

struct tool_json tool_json_begin_all(FILE *file, const struct tool_json_member *members) {
    struct tool_json json = {.file = file};
    tool_json_open(&json, NULL, '{');
    tool_json_put_all(&json, members);
    return json;
}

void tool_json_put_line(FILE *file, const struct tool_json_member *members) {
    struct tool_json json = tool_json_begin_all(file, members);
    tool_json_end(&json);
}
