/* See keys.h. */
#include "top/keys.h"

#include <assert.h>
#include <string.h>

#define ESCAPE '\033'

static const struct {
    const char *ends; /* what is behind ESC [ or ESC O */
    int typed;
} sequences[] = {
    {"A", RL_TYPED_UP},         {"B", RL_TYPED_DOWN}, {"5~", RL_TYPED_PAGE_UP},
    {"6~", RL_TYPED_PAGE_DOWN}, {"H", RL_TYPED_HOME}, {"1~", RL_TYPED_HOME},
    {"7~", RL_TYPED_HOME},      {"F", RL_TYPED_END},  {"4~", RL_TYPED_END},
    {"8~", RL_TYPED_END},
};

int rl_typed_read(const char *bytes, size_t length, size_t *used) {
    assert(length > 0);
    *used = 1;
    if (bytes[0] != ESCAPE) {
        return (unsigned char)bytes[0];
    }
    if (length == 1 || (bytes[1] != '[' && bytes[1] != 'O')) {
        return RL_TYPED_NOTHING;
    }
    size_t end = 2; /* parameters, then one byte from '@' to '~' */
    while (end < length && (bytes[end] < '@' || bytes[end] > '~')) {
        end++;
    }
    *used = end < length ? end + 1 : length;
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        size_t tail = strlen(sequences[i].ends);
        if (*used == 2 + tail && memcmp(bytes + 2, sequences[i].ends, tail) == 0) {
            return sequences[i].typed;
        }
    }
    return RL_TYPED_NOTHING;
}
