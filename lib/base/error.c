/* See error.h. */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int rl_error_set(char *text, size_t size, int status, const char *format, ...) {
    assert(status <= 0);
    if (text != NULL && size > 0) {
        va_list args;
        va_start(args, format);
        int length = vsnprintf(text, size, format, args);
        va_end(args);
        assert(length >= 0);
        assert(strlen(text) < size);
        if ((size_t)length >= size && size >= sizeof "...") {
            memcpy(text + size - sizeof "...", "...", sizeof "...");
        }
    }
    return status;
}
