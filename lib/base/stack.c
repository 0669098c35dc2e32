/* See stack.h. */
#include "base/stack.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

struct bounds {
    bool is_known;
    uintptr_t low;
    uintptr_t high;
};

static struct bounds ask_system(void) {
    struct bounds bounds = {.is_known = true};
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            bounds.low = (uintptr_t)low;
            bounds.high = bounds.low + size;
        }
        pthread_attr_destroy(&attributes);
    }
    assert(bounds.low <= bounds.high);
    return bounds;
}

/* Not the address of a variable: a sanitizer may place that elsewhere. */
bool rl_stack_has_room(size_t bytes) {
    static _Thread_local struct bounds stack;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!stack.is_known) {
        stack = ask_system();
    }
    return here > stack.low && here <= stack.high && here - stack.low >= bytes;
}
