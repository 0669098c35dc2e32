/* Counts allocations: the library's through its allocator, and all code's through malloc.
 *
 * Happy path: give rl_bench_heap_allocator()'s table to redlock_client_options.allocator and read
 * the counters at any time. rl_bench_heap_mallocs() counts every malloc, calloc and realloc
 * of the calling thread, those of hiredis and libuv included, since redlock-bench puts its own
 * malloc before that of the C library.
 *
 * Failure modes: without glibc, or under a sanitizer that needs malloc for itself, the count of
 * mallocs is not available (rl_bench_heap_is_counted() is false, it reads 0). The library's own
 * allocations are counted in any case.
 *
 * Used for allocations per lock, bytes per held lock and per client. */
#ifndef RL_BENCH_HEAP_H
#define RL_BENCH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"

struct rl_bench_heap {
    uint64_t allocations; /* calls of malloc so far */
    uint64_t blocks;      /* not freed yet */
    size_t bytes;         /* requested and not freed yet */
};

/* Fills in a table that counts in heap; both must outlive the client. */
void rl_bench_heap_allocator(struct rl_bench_heap *heap, redlock_allocator *allocator);

bool rl_bench_heap_is_counted(void);
uint64_t rl_bench_heap_mallocs(void);

#endif /* RL_BENCH_HEAP_H */
