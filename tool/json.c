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

/* What stands before a value. */
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

void tool_json_open(struct tool_json *json, const char *name, char bracket) {
    assert(bracket == '{' || bracket == '[');
    begin(json, name);
    fputc(bracket, json->file);
    json->needs_comma = false;
}

void tool_json_close(struct tool_json *json, char bracket) {
    assert(bracket == '}' || bracket == ']');
    fputc(bracket, json->file);
    json->needs_comma = true;
}

void tool_json_end(struct tool_json *json) {
    fputc('\n', json->file);
    json->needs_comma = false;
}

void tool_json_text(struct tool_json *json, const char *name, const char *text) {
    if (text == NULL) {
        tool_json_null(json, name);
        return;
    }
    tool_json_bytes(json, name, text, strlen(text));
}

void tool_json_bytes(struct tool_json *json, const char *name, const void *bytes, size_t length) {
    begin(json, name);
    put_string(json->file, bytes, length);
}

void tool_json_number(struct tool_json *json, const char *name, int64_t number) {
    begin(json, name);
    fprintf(json->file, "%" PRId64, number);
}

void tool_json_real(struct tool_json *json, const char *name, double number) {
    if (!isfinite(number)) {
        tool_json_null(json, name);
        return;
    }
    begin(json, name);
    fprintf(json->file, "%.3f", number);
}

void tool_json_bool(struct tool_json *json, const char *name, bool value) {
    begin(json, name);
    fputs(value ? "true" : "false", json->file);
}

void tool_json_null(struct tool_json *json, const char *name) {
    begin(json, name);
    fputs("null", json->file);
}
