/* See resp.h. A cursor walks over the input; when it would step past the end, the command is
 * incomplete. Lengths above the limits are protocol errors: they are checked before they are
 * used. */
#include "server/resp.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX_LENGTH 65536   /* of a count; more is refused */
#define STRANGER_ARGS_MAX 10    /* of a client that has not authenticated */
#define STRANGER_BULK_MAX 16384 /* the same */

enum outcome { COMPLETE, INCOMPLETE, WRONG };

struct cursor {
    const char *at;
    const char *end;
    struct resp_command *command; /* takes the error */
};

static enum outcome wrong(struct cursor *c, const char *what) {
    c->command->error = what;
    return WRONG;
}

/* "*3\r\n" or "$12\r\n": the number between the mark and the end of the line. Wrong if that is not
 * a number. */
static enum outcome read_count(struct cursor *c, const char *too_long, const char *no_number,
                               long long *count) {
    assert(c->at < c->end);
    size_t length = (size_t)(c->end - c->at);
    const char *stop = memchr(c->at, '\r', length);
    if (stop == NULL) {
        return length > LINE_MAX_LENGTH ? wrong(c, too_long) : INCOMPLETE;
    }
    if (stop + 1 == c->end) {
        return INCOMPLETE;
    }
    struct resp_arg digits = {c->at + 1, (size_t)(stop - c->at - 1)};
    if (!resp_number(&digits, count)) {
        return wrong(c, no_number);
    }
    c->at = stop + 2; /* whatever follows the '\r' */
    return COMPLETE;
}

static enum outcome read_bulk(struct cursor *c, bool is_stranger, struct resp_arg *arg) {
    long long length = 0;
    if (c->at >= c->end) {
        return INCOMPLETE;
    }
    if (memchr(c->at, '\r', (size_t)(c->end - c->at)) != NULL && *c->at != '$') {
        char found = *c->at == '\n' || *c->at == '\r' ? ' ' : *c->at;
        snprintf(c->command->text, sizeof c->command->text, "expected '$', got '%c'", found);
        return wrong(c, c->command->text);
    }
    enum outcome outcome =
        read_count(c, "too big bulk count string", "invalid bulk length", &length);
    if (outcome != COMPLETE) {
        return outcome;
    }
    if (length < 0 || length > RESP_BULK_MAX) {
        return wrong(c, "invalid bulk length");
    }
    if (is_stranger && length > STRANGER_BULK_MAX) {
        return wrong(c, "unauthenticated bulk length");
    }
    if (c->at > c->end || (size_t)(c->end - c->at) < (size_t)length + 2) {
        return INCOMPLETE;
    }
    *arg = (struct resp_arg){c->at, (size_t)length};
    c->at += length + 2; /* the two bytes are not checked */
    return COMPLETE;
}

ssize_t resp_parse(const char *data, size_t length, bool is_stranger,
                   struct resp_command *command) {
    command->count = 0;
    command->error = NULL;
    if (length == 0) {
        return 0;
    }
    struct cursor c = {data, data + length, command};
    long long count = 0;
    enum outcome outcome = *data != '*' ? wrong(&c, "this server knows no inline commands")
                                        : read_count(&c, "too big mbulk count string",
                                                     "invalid multibulk length", &count);
    if (outcome == COMPLETE && count > RESP_ARGS_MAX) {
        outcome = wrong(&c, "invalid multibulk length");
    } else if (outcome == COMPLETE && is_stranger && count > STRANGER_ARGS_MAX) {
        outcome = wrong(&c, "unauthenticated multibulk length");
    }
    size_t wanted = count > 0 ? (size_t)count : 0;
    for (size_t i = 0; i < wanted && outcome == COMPLETE; i++) {
        outcome = read_bulk(&c, is_stranger, &command->args[i]);
    }
    if (outcome != COMPLETE) {
        return outcome == INCOMPLETE ? 0 : -1;
    }
    command->count = wanted;
    assert(c.at > data && c.at <= c.end);
    return c.at - data;
}

bool resp_is(const struct resp_arg *arg, const char *word) {
    assert(word != NULL);
    return arg->length == strlen(word) && strncasecmp(arg->data, word, arg->length) == 0;
}

bool resp_number(const struct resp_arg *arg, long long *number) {
    const bool is_negative = arg->length > 0 && arg->data[0] == '-';
    const uint64_t limit = (uint64_t)LLONG_MAX + (is_negative ? 1 : 0);
    const char *at = arg->data + (is_negative ? 1 : 0), *end = arg->data + arg->length;
    uint64_t sum = 0;
    if (at == end || (*at == '0' && arg->length > 1)) {
        return false;
    }
    for (; at < end; at++) {
        unsigned digit = (unsigned char)*at - (unsigned)'0';
        if (digit > 9 || sum > (limit - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *number = is_negative ? (long long)(0 - sum) : (long long)sum;
    return true;
}
