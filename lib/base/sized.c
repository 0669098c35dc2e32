/* See sized.h. */
#include "base/sized.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "redlock/status.h"

#define SIZE_MAX_CREDIBLE 4096 /* of a struct of a later version */

bool rl_sized_take(void *full, size_t full_size, const void *user, size_t user_size) {
    assert(full != user);
    if (user_size != full_size) {
        return false;
    }
    memcpy(full, user, user_size);
    return true;
}

int rl_sized_fresh(void *out, size_t out_size, const void *fresh, size_t fresh_size) {
    bool fits = out != NULL && rl_sized_take(out, out_size, fresh, fresh_size);
    return fits ? 0 : REDLOCK_ERR_INVALID;
}

int rl_sized_give(void *out, size_t out_size, void *full, size_t full_size) {
    assert(full_size >= sizeof out_size);
    if (out_size != full_size) {
        return REDLOCK_ERR_INVALID;
    }
    memcpy(full, &out_size, sizeof out_size); /* the size field stays the caller's */
    memcpy(out, full, out_size);
    return 0;
}

int rl_sized_refuse(const void *options, size_t expected, size_t error_at,
                    const char *initializer) {
    struct {
        char *text;
        size_t size;
    } error = {NULL, 0};
    size_t size;
    assert(error_at + sizeof error <= expected);
    assert(expected <= SIZE_MAX_CREDIBLE);
    memcpy(&size, options, sizeof size);
    size_t place_end = error_at + sizeof error;
    if (size == 0 || (size >= place_end && size <= SIZE_MAX_CREDIBLE)) {
        memcpy(&error, (const char *)options + error_at, sizeof error);
    }
    return rl_error_set(error.text, error.size, REDLOCK_ERR_INVALID,
                        "options.size is %zu, not %zu: begin with %s", size, expected, initializer);
}
