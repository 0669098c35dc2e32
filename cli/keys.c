/* See keys.h. */
#include "keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

static const char *end_key(struct rl_keys *keys, char *begin, const char *end) {
    size_t length = (size_t)(end - begin);
    if (length == 0) {
        return "a key is empty (an unset variable?)";
    }
    if (length > REDLOCK_RESOURCE_MAX) {
        return "a key is longer than 1024 bytes";
    }
    if (keys->count == REDLOCK_RESOURCES_MAX) {
        return "too many keys; at most 64";
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->items[i].length == length && memcmp(keys->items[i].data, begin, length) == 0) {
            return "a key is named twice";
        }
    }
    keys->items[keys->count++] = (redlock_bytes){begin, length};
    return NULL;
}

const char *rl_keys_parse(struct rl_keys *keys, const char *text) {
    static_assert(REDLOCK_RESOURCES_MAX == 64, "the sentence names the limit");
    static_assert(REDLOCK_RESOURCE_MAX == 1024, "the sentence names the limit");
    *keys = (struct rl_keys){.text = rl_must_print("%s", text)};
    char *begin = keys->text, *out = begin;
    const char *why = NULL;
    for (const char *in = text; why == NULL; in++) {
        if (*in == '\0' || *in == ',') {
            why = end_key(keys, begin, out);
            begin = out;
            if (*in == '\0') {
                break;
            }
        } else if (*in == '\\' && (in[1] == ',' || in[1] == '\\')) {
            *out++ = *++in;
        } else {
            *out++ = *in;
        }
    }
    assert(why != NULL || keys->count > 0);
    return why;
}

void rl_keys_free(struct rl_keys *keys) {
    free(keys->text);
    keys->text = NULL;
}
