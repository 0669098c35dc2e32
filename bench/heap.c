/* Counting allocations: see heap.h for purpose, use and failure modes.
 *
 * The counting allocator keeps the size of a block in front of it, in 16 bytes so that the block
 * stays aligned for anything; these 16 are not counted. The counters of malloc are per thread, so
 * that counting costs one addition and libuv's worker threads do not disturb it. free() is the C
 * library's, as the blocks are. */
#include "heap.h"

#include <assert.h>
#include <stdlib.h>

#define HEADER_BYTES 16

static void *counting_malloc(size_t size, void *data) {
    struct rl_bench_heap *heap = data;
    if (size > SIZE_MAX - HEADER_BYTES) {
        return NULL;
    }
    char *block = malloc(size + HEADER_BYTES);
    if (block == NULL) {
        return NULL;
    }
    *(size_t *)(void *)block = size;
    heap->allocations++;
    heap->blocks++;
    heap->bytes += size;
    return block + HEADER_BYTES;
}

static void counting_free(void *pointer, void *data) {
    struct rl_bench_heap *heap = data;
    if (pointer == NULL) {
        return;
    }
    char *block = (char *)pointer - HEADER_BYTES;
    size_t size = *(size_t *)(void *)block;
    assert(heap->blocks > 0);
    assert(heap->bytes >= size);
    heap->blocks--;
    heap->bytes -= size;
    free(block);
}

void rl_bench_heap_allocator(struct rl_bench_heap *heap, redlock_allocator *allocator) {
    assert(heap != NULL && allocator != NULL);
    *heap = (struct rl_bench_heap){0, 0, 0};
    allocator->malloc = counting_malloc;
    allocator->free = counting_free;
    allocator->data = heap;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)
#define COUNTED 1
#endif

#ifdef COUNTED

#define EXPORTED __attribute__((visibility("default")))

/* glibc's own names for its allocator. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

static _Thread_local uint64_t mallocs;

EXPORTED void *malloc(size_t size) {
    mallocs++;
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size) {
    mallocs++;
    return __libc_calloc(count, size);
}

EXPORTED void *realloc(void *pointer, size_t size) {
    mallocs++;
    return __libc_realloc(pointer, size);
}

bool rl_bench_heap_is_counted(void) {
    return true;
}

uint64_t rl_bench_heap_mallocs(void) {
    return mallocs;
}

#else

bool rl_bench_heap_is_counted(void) {
    return false;
}

uint64_t rl_bench_heap_mallocs(void) {
    return 0;
}

#endif
