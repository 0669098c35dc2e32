/* A growing array of bytes. Happy path: append, read data and length, consume from the front, free.
 * Failure mode: out of memory ends the program, as a test may. */
#ifndef SERVER_BYTES_H
#define SERVER_BYTES_H

#include <stddef.h>

struct bytes { /* {NULL, 0, 0} is empty */
    char *data;
    size_t length;
    size_t capacity;
};

void bytes_append(struct bytes *bytes, const void *data, size_t length);
void bytes_append_text(struct bytes *bytes, const char *text);
/* A line of RESP that is a number: ":1\r\n", "$40\r\n". */
void bytes_append_number(struct bytes *bytes, char prefix, long long number);
void bytes_append_format(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replaces the content by these bytes, with a zero behind them that does not count. */
void bytes_set(struct bytes *bytes, const void *data, size_t length);

/* Drops the first length bytes. */
void bytes_consume(struct bytes *bytes, size_t length);

void bytes_free(struct bytes *bytes);

#endif /* SERVER_BYTES_H */
