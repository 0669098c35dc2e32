/* See json.h. */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "output.h"
#include "utf8.h"

static void put_string(FILE *file, const char *text, size_t length) {
    fputc('"', file);
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)text[i];
        size_t step = rl_utf8_length(text + i, length - i);
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
static void begin(struct rl_json *json, const char *name) {
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

void rl_json_open(struct rl_json *json, const char *name, char bracket) {
    assert(bracket == '{' || bracket == '[');
    begin(json, name);
    fputc(bracket, json->file);
    json->needs_comma = false;
}

void rl_json_close(struct rl_json *json, char bracket) {
    assert(bracket == '}' || bracket == ']');
    fputc(bracket, json->file);
    json->needs_comma = true;
}

void rl_json_end(struct rl_json *json) {
    fputc('\n', json->file);
    if (json->file == stdout) {
        rl_output_flush();
    } else {
        fflush(json->file);
    }
    json->needs_comma = false;
}

void rl_json_text(struct rl_json *json, const char *name, const char *text) {
    if (text == NULL) {
        rl_json_null(json, name);
        return;
    }
    rl_json_bytes(json, name, text, strlen(text));
}

void rl_json_bytes(struct rl_json *json, const char *name, const void *bytes, size_t length) {
    begin(json, name);
    put_string(json->file, bytes, length);
}

void rl_json_number(struct rl_json *json, const char *name, int64_t number) {
    begin(json, name);
    fprintf(json->file, "%" PRId64, number);
}

void rl_json_real(struct rl_json *json, const char *name, double number) {
    if (!isfinite(number)) {
        rl_json_null(json, name);
        return;
    }
    begin(json, name);
    fprintf(json->file, "%.3f", number);
}

void rl_json_bool(struct rl_json *json, const char *name, bool value) {
    begin(json, name);
    fputs(value ? "true" : "false", json->file);
}

void rl_json_null(struct rl_json *json, const char *name) {
    begin(json, name);
    fputs("null", json->file);
}
