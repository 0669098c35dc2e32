/* See utf8.h. Pure; the ranges are those of the Unicode Standard, table 3-7. */
#include "tool/utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_between(unsigned char byte, int low, int high) {
    return byte >= low && byte <= high;
}

size_t tool_utf8_length(const char *text, size_t length) {
    const unsigned char *b = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    if (b[0] < 0x80) {
        return 1;
    }
    if (is_between(b[0], 0xc2, 0xdf)) {
        int low = b[0] == 0xc2 ? 0xa0 : 0x80; /* U+0080 to U+009F are controls */
        return length >= 2 && is_between(b[1], low, 0xbf) ? 2 : 0;
    }
    if (is_between(b[0], 0xe0, 0xef)) {
        int low = b[0] == 0xe0 ? 0xa0 : 0x80;
        int high = b[0] == 0xed ? 0x9f : 0xbf;
        return length >= 3 && is_between(b[1], low, high) && is_between(b[2], 0x80, 0xbf) ? 3 : 0;
    }
    if (is_between(b[0], 0xf0, 0xf4)) {
        int low = b[0] == 0xf0 ? 0x90 : 0x80;
        int high = b[0] == 0xf4 ? 0x8f : 0xbf;
        return length >= 4 && is_between(b[1], low, high) && is_between(b[2], 0x80, 0xbf) &&
                       is_between(b[3], 0x80, 0xbf)
                   ? 4
                   : 0;
    }
    return 0;
}

const char *tool_utf8_clean(const char *text, size_t length, char *out, size_t size) {
    assert(size > 0);
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t step = tool_utf8_length(text + i, length - i);
        bool printable = step > 1 || (step == 1 && text[i] >= 0x20 && text[i] != 0x7f);
        size_t bytes = printable ? step : 1;
        if (used + bytes >= size) {
            break;
        }
        memcpy(out + used, printable ? text + i : "?", bytes);
        used += bytes;
        i += step > 0 ? step : 1;
    }
    assert(used < size);
    out[used] = '\0';
    return out;
}
