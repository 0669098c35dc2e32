/* The Redis protocol as a server reads it: arrays of bulk strings.
 *
 * Happy path: resp_parse() on what has been received so far, again and again, until it says that
 * the rest is not complete. Failure mode: anything that is not such an array. The arguments point
 * into the input. */
#ifndef FAKE_RESP_H
#define FAKE_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RESP_ARGS_MAX 16
#define RESP_BULK_MAX (1 << 20)

struct resp_arg {
    const char *data; /* not terminated */
    size_t length;
};

struct resp_command {
    struct resp_arg args[RESP_ARGS_MAX];
    size_t count; /* 1 or more */
};

/* Reads one command from the beginning of data. Returns the bytes that it takes, 0 if it is not
 * complete yet, -1 if this is not the protocol. */
ssize_t resp_parse(const char *data, size_t length, struct resp_command *command);

/* True if the argument is this word, without regard to case. */
bool resp_is(const struct resp_arg *arg, const char *word);

/* True if the whole argument is a decimal number, a leading minus sign included. */
bool resp_number(const struct resp_arg *arg, long long *number);

#endif /* FAKE_RESP_H */
