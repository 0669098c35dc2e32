/* See memory.h. */
#include "base/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *default_malloc(size_t size, void *data) {
    (void)data;
    return malloc(size);
}

static void default_free(void *pointer, void *data) {
    (void)data;
    free(pointer);
}

void rl_memory_init(redlock_allocator *memory, const redlock_allocator *user) {
    if (user != NULL) {
        *memory = *user;
    } else {
        *memory = (redlock_allocator){default_malloc, default_free, NULL};
    }
    assert(memory->malloc != NULL);
    assert(memory->free != NULL);
}

void *rl_alloc(const redlock_allocator *memory, size_t count, size_t size) {
    assert(count > 0 && size > 0);
    if (count > SIZE_MAX / size) {
        return NULL;
    }
    void *pointer = rl_alloc_uncleared(memory, count * size);
    if (pointer != NULL) {
        memset(pointer, 0, count * size);
    }
    return pointer;
}

void *rl_alloc_uncleared(const redlock_allocator *memory, size_t size) {
    return memory->malloc(size, memory->data);
}

void rl_free(const redlock_allocator *memory, void *pointer) {
    memory->free(pointer, memory->data);
}

void rl_wipe(void *secret, size_t size) {
    memset(secret, 0, size);
    __asm__ volatile("" : : "r"(secret) : "memory"); /* for all the compiler knows, this reads it */
}
