/* See resp.h. A cursor walks over the input; when it would step past the end, the command is
 * incomplete. Lengths above the limits are no protocol: they are checked before they are used. */
#include "fake/resp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum outcome { COMPLETE, INCOMPLETE, WRONG };

struct cursor {
    const char *at;
    const char *end;
};

/* "*3\r\n" or "$12\r\n": the number between the mark and the end of the line. */
static enum outcome read_count(struct cursor *c, char mark, size_t max, size_t *count) {
    assert(c->at <= c->end);
    if (c->at == c->end) {
        return INCOMPLETE;
    }
    if (*c->at != mark) {
        return WRONG;
    }
    size_t value = 0;
    const char *p = c->at + 1;
    for (; p < c->end && *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (size_t)(*p - '0');
        if (value > max) {
            return WRONG;
        }
    }
    if (p == c->end || (*p == '\r' && p + 1 == c->end)) {
        return INCOMPLETE;
    }
    if (p == c->at + 1 || p[0] != '\r' || p[1] != '\n') {
        return WRONG;
    }
    *count = value;
    c->at = p + 2;
    assert(c->at <= c->end);
    return COMPLETE;
}

static enum outcome read_bulk(struct cursor *c, struct resp_arg *arg) {
    size_t length = 0;
    enum outcome outcome = read_count(c, '$', RESP_BULK_MAX, &length);
    if (outcome != COMPLETE) {
        return outcome;
    }
    if ((size_t)(c->end - c->at) < length + 2) {
        return INCOMPLETE;
    }
    if (memcmp(c->at + length, "\r\n", 2) != 0) {
        return WRONG;
    }
    *arg = (struct resp_arg){c->at, length};
    c->at += length + 2;
    assert(c->at <= c->end);
    return COMPLETE;
}

ssize_t resp_parse(const char *data, size_t length, struct resp_command *command) {
    if (length == 0) {
        return 0;
    }
    struct cursor c = {data, data + length};
    size_t count = 0;
    enum outcome outcome = read_count(&c, '*', RESP_ARGS_MAX, &count);
    if (outcome == COMPLETE && count == 0) {
        outcome = WRONG;
    }
    for (size_t i = 0; i < count && outcome == COMPLETE; i++) {
        outcome = read_bulk(&c, &command->args[i]);
    }
    if (outcome != COMPLETE) {
        return outcome == INCOMPLETE ? 0 : -1;
    }
    command->count = count;
    assert(c.at > data);
    return c.at - data;
}

bool resp_is(const struct resp_arg *arg, const char *word) {
    assert(word != NULL);
    return arg->length == strlen(word) && strncasecmp(arg->data, word, arg->length) == 0;
}

bool resp_number(const struct resp_arg *arg, long long *number) {
    char text[24];
    char *end = NULL;
    if (arg->length == 0 || arg->length >= sizeof(text)) {
        return false;
    }
    memcpy(text, arg->data, arg->length);
    text[arg->length] = '\0';
    if (strspn(text, "-0123456789") != arg->length) {
        return false;
    }
    *number = strtoll(text, &end, 10);
    assert(end <= text + arg->length);
    return *end == '\0' && end != text;
}
