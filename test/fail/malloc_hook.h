/* The process's malloc, calloc and realloc, made to fail at will: for hiredis and libuv, which
 * allocate for themselves. A program that is linked with malloc_hook.c has these functions instead
 * of the C library's, and so have its shared libraries. It needs glibc and no sanitizer.
 *
 * Excluded, because no caller can survive it:
 *   - what hiredis before 1.0 allocates by its hi_malloc, hi_calloc, hi_realloc and hi_strdup,
 *     which abort: the address to connect to, and two tables per connection;
 *   - libuv's table of watchers, which grows in uv_poll_start() and aborts.
 * They are recognised by these functions, which are replaced here as well, and counted. */
#ifndef FAIL_MALLOC_HOOK_H
#define FAIL_MALLOC_HOOK_H

#include <stdbool.h>
#include <stddef.h>

struct malloc_hook {
    bool inside;      /* allocations of this thread count, and may fail */
    bool and_later;   /* not only number fail_at, but all after it */
    size_t struck;    /* those that have failed */
    size_t fail_at;   /* from 1; 0: none */
    size_t calls;     /* while inside */
    size_t excluded;  /* while inside, besides */
    size_t allocated; /* by any thread, ever */
    size_t freed;
};

extern struct malloc_hook malloc_hook;

#endif /* FAIL_MALLOC_HOOK_H */
