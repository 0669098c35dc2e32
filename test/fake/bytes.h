/* A growing row of bytes. Happy path: append, look at data and length, consume from the front,
 * free. Failure mode: out of memory ends the program, as a test may. */
#ifndef FAKE_BYTES_H
#define FAKE_BYTES_H

#include <stddef.h>

struct bytes { /* {NULL, 0, 0} is empty */
    char *data;
    size_t length;
    size_t capacity;
};

void bytes_append(struct bytes *bytes, const void *data, size_t length);
void bytes_append_text(struct bytes *bytes, const char *text);
void bytes_append_format(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Drops the first length bytes. */
void bytes_consume(struct bytes *bytes, size_t length);

void bytes_free(struct bytes *bytes);

#endif /* FAKE_BYTES_H */
