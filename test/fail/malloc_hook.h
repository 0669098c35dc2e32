/* The process's malloc, calloc and realloc, which fail on demand: for hiredis and libuv, which
 * allocate for themselves. In a program that is linked with malloc_hook.c they replace the C
 * library's, also in its shared libraries. Needs glibc and no sanitizer.
 *
 * Excluded, because no caller can survive it:
 *   - what hiredis before 1.0 allocates with hi_malloc, hi_calloc, hi_realloc and hi_strdup,
 *     which abort: the address to connect to, and two tables per connection;
 *   - libuv's table of watchers, which grows in uv_poll_start() and aborts.
 * malloc_hook.c wraps these functions, too, to recognise and count such allocations. */
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
    size_t excluded;  /* excluded ones, while inside */
    size_t allocated; /* by any thread, ever */
    size_t freed;
};

extern struct malloc_hook malloc_hook;

#endif /* FAIL_MALLOC_HOOK_H */
