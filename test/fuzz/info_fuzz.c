/* libFuzzer: any bytes as the answer to INFO, compared with a second parser that searches for each
 * field.
 *
 * What must hold: the parser reports complete information exactly if each field is there once and
 * well formed; ids are 40 hex digits; nothing beyond the end is read (the input is copied into a
 * block of its size). */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redis/info.h"

static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static bool is_end(char c) {
    return c == '\r' || c == '\n';
}

/* How often a line begins with this name and a colon; *value is the last one's. */
static unsigned count(const char *text, size_t size, const char *name, const char **value,
                      size_t *length) {
    size_t n = strlen(name);
    unsigned found = 0;
    for (size_t i = 0; i + n < size; i++) {
        if ((i == 0 || is_end(text[i - 1])) && memcmp(text + i, name, n) == 0 &&
            text[i + n] == ':') {
            *value = text + i + n + 1;
            for (*length = 0; *value + *length < text + size && !is_end((*value)[*length]);) {
                ++*length;
            }
            found++;
        }
    }
    return found;
}

static bool is_made_of(const char *value, size_t length, const char *letters) {
    for (size_t i = 0; i < length; i++) {
        if (value[i] == '\0' || strchr(letters, value[i]) == NULL) {
            return false;
        }
    }
    return length > 0;
}

static bool is_good(const char *text, size_t size) {
    static const char *const ids[] = {"run_id", "master_replid"};
    static const char *const numbers[] = {"uptime_in_seconds", "loading", "maxmemory"};
    const char *value = NULL;
    size_t length = 0;
    bool good = true;
    for (size_t i = 0; i < 2; i++) {
        good = good && count(text, size, ids[i], &value, &length) == 1 &&
               length == RL_INFO_ID_LEN && is_made_of(value, length, "0123456789abcdef");
    }
    for (size_t i = 0; i < 3 && good; i++) {
        good = count(text, size, numbers[i], &value, &length) == 1;
        bool signs = good && i == 0 && length > 0 && value[0] == '-';
        good = good && is_made_of(value + signs, length - signs, "0123456789");
    }
    good = good && count(text, size, "role", &value, &length) == 1 &&
           ((length == 6 && memcmp(value, "master", 6) == 0) ||
            (length == 5 && memcmp(value, "slave", 5) == 0) ||
            (length == 7 && memcmp(value, "replica", 7) == 0));
    return good && count(text, size, "maxmemory_policy", &value, &length) == 1 && length > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rl_info info;
    char *text = malloc(size > 0 ? size : 1);
    demand(text != NULL);
    memcpy(text, data, size);
    bool read = rl_info_read(&info, text, size);
    demand(read == (info.problem == NULL));
    demand(read == is_good(text, size));
    demand(read || info.field != NULL);
    if (read) {
        demand(strlen(info.run_id) == RL_INFO_ID_LEN && strlen(info.replid) == RL_INFO_ID_LEN);
        demand(!info.evicts || info.maxmemory > 0);
    }
    free(text);
    return 0;
}
