/* The Redis protocol as a server reads it: arrays of bulk strings.
 *
 * Happy path: resp_parse() on what has been received so far, again and again, until the rest is
 * incomplete. Failure mode: anything other than such an array; `error` is Redis's error, after
 * which it closes the connection. The arguments point into the input. */
#ifndef SERVER_RESP_H
#define SERVER_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RESP_ARGS_MAX 256 /* the longest script call of the library has 135 */
#define RESP_BULK_MAX (1 << 20)

struct resp_arg {
    const char *data; /* not terminated */
    size_t length;
};

struct resp_command {
    struct resp_arg args[RESP_ARGS_MAX];
    size_t count; /* 0: there is nothing to do ("*0") */
    const char *error;
    char text[64];
};

/* Reads one command from the beginning of data. is_stranger: a client that has not authenticated,
 * whose commands are limited in size. Returns the bytes that it takes, 0 if it is not complete yet,
 * -1 if this is not the protocol. */
ssize_t resp_parse(const char *data, size_t length, bool is_stranger, struct resp_command *command);

/* True if the argument is this word, ignoring case. */
bool resp_is(const struct resp_arg *arg, const char *word);

/* True if the whole argument is a decimal number as Redis writes it: no sign but a minus, no zero
 * in front, and not beyond 64 bits. */
bool resp_number(const struct resp_arg *arg, long long *number);

#endif
