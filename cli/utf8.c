/* See utf8.h. Pure; the ranges are those of the Unicode Standard, table 3-7. */
#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>

static bool is_between(unsigned char byte, int low, int high) {
    return byte >= low && byte <= high;
}

size_t rl_utf8_length(const char *text, size_t length) {
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
