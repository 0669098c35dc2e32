/* See bytes.h. Growth doubles; a failed allocation aborts. */
#include "fake/bytes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct bytes *bytes, size_t more) {
    assert(bytes->length <= bytes->capacity);
    if (bytes->capacity - bytes->length >= more) {
        return;
    }
    bytes->capacity = 2 * bytes->capacity + more;
    bytes->data = realloc(bytes->data, bytes->capacity);
    if (bytes->data == NULL) {
        abort();
    }
}

void bytes_append(struct bytes *bytes, const void *data, size_t length) {
    assert(data != NULL || length == 0);
    if (length > 0) {
        reserve(bytes, length);
        memcpy(bytes->data + bytes->length, data, length);
        bytes->length += length;
    }
    assert(bytes->length <= bytes->capacity);
}

void bytes_append_text(struct bytes *bytes, const char *text) {
    assert(text != NULL);
    bytes_append(bytes, text, strlen(text));
}

void bytes_append_format(struct bytes *bytes, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    assert(length >= 0);
    assert((size_t)length < sizeof(text));
    bytes_append(bytes, text, (size_t)length);
}

void bytes_consume(struct bytes *bytes, size_t length) {
    assert(length <= bytes->length);
    if (length > 0) {
        bytes->length -= length;
        memmove(bytes->data, bytes->data + length, bytes->length);
    }
}

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){NULL, 0, 0};
}
