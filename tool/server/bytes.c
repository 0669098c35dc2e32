/* See bytes.h. Growth doubles; a failed allocation aborts. A zero byte follows the data, for
 * functions that read text. */
#include "server/bytes.h"

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
        reserve(bytes, length + 1);
        memcpy(bytes->data + bytes->length, data, length);
        bytes->length += length;
        bytes->data[bytes->length] = '\0';
    }
    assert(bytes->length <= bytes->capacity);
}

void bytes_set(struct bytes *bytes, const void *data, size_t length) {
    bytes->length = 0;
    reserve(bytes, length + 1);
    if (length > 0) {
        memcpy(bytes->data, data, length);
    }
    bytes->data[length] = '\0';
    bytes->length = length;
}

void bytes_append_text(struct bytes *bytes, const char *text) {
    assert(text != NULL);
    bytes_append(bytes, text, strlen(text));
}

void bytes_append_number(struct bytes *bytes, char prefix, long long number) {
    char text[32];
    char *at = text + sizeof text;
    unsigned long long rest =
        number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        *--at = '-';
    }
    *--at = prefix;
    bytes_append(bytes, at, (size_t)(text + sizeof text - at));
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
        bytes->data[bytes->length] = '\0';
    }
}

void bytes_free(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){NULL, 0, 0};
}
