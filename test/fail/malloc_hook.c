/* See malloc_hook.h. The real functions are glibc's own names for them. */
#include "fail/malloc_hook.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void __libc_free(void *pointer);

struct malloc_hook malloc_hook;

static _Thread_local bool is_main; /* the thread that main() runs in */
/* Excluded functions in progress; volatile, because compilers assume that malloc() does not read
 * such variables. */
static _Thread_local volatile unsigned excluding;
static int (*real_poll_start)(uv_poll_t *, int, uv_poll_cb);

/* Runs before main(), because looking up symbols allocates. */
__attribute__((constructor)) static void prepare(void) {
    void *found = dlsym(RTLD_NEXT, "uv_poll_start");
    assert(found != NULL);
    memcpy(&real_poll_start, &found, sizeof(found));
    is_main = true;
}

/* Whether this allocation is the one that fails. */
static bool strikes(void) {
    struct malloc_hook *hook = &malloc_hook;
    if (!is_main || !hook->inside) {
        return false;
    }
    if (excluding > 0) {
        hook->excluded++;
        return false;
    }
    hook->calls++;
    bool hit = hook->calls == hook->fail_at || (hook->and_later && hook->calls > hook->fail_at);
    hook->struck += hit;
    return hit && hook->fail_at > 0;
}

static void *count(void *pointer) {
    if (pointer == NULL) {
        errno = ENOMEM;
    } else {
        __atomic_add_fetch(&malloc_hook.allocated, 1, __ATOMIC_RELAXED);
    }
    return pointer;
}

/* -- The C library's -- */

void *malloc(size_t size) {
    return count(strikes() ? NULL : __libc_malloc(size));
}

void *calloc(size_t n, size_t size) {
    return count(strikes() ? NULL : __libc_calloc(n, size));
}

void *realloc(void *pointer, size_t size) {
    if (strikes()) {
        return count(NULL);
    }
    void *moved = __libc_realloc(pointer, size);
    return pointer == NULL ? count(moved) : moved;
}

void free(void *pointer) {
    if (pointer != NULL) {
        __atomic_add_fetch(&malloc_hook.freed, 1, __ATOMIC_RELAXED);
    }
    __libc_free(pointer);
}

/* -- Failures that their caller cannot survive -- */

int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb callback) {
    excluding = excluding + 1;
    int status = real_poll_start(handle, events, callback);
    excluding = excluding - 1;
    return status;
}

#if HIREDIS_MAJOR < 1

void *hi_malloc(size_t size);
void *hi_calloc(size_t n, size_t size);
void *hi_realloc(void *pointer, size_t size);
char *hi_strdup(const char *text);

void *hi_malloc(size_t size) {
    excluding = excluding + 1;
    void *pointer = malloc(size);
    excluding = excluding - 1;
    return pointer;
}

void *hi_calloc(size_t n, size_t size) {
    excluding = excluding + 1;
    void *pointer = calloc(n, size);
    excluding = excluding - 1;
    return pointer;
}

void *hi_realloc(void *pointer, size_t size) {
    excluding = excluding + 1;
    void *moved = realloc(pointer, size);
    excluding = excluding - 1;
    return moved;
}

char *hi_strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = hi_malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

#endif
