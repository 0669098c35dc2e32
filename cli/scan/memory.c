/* See memory.h. */
#include "scan/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536
#define ALIGN sizeof(max_align_t)

struct rl_memory_block {
    struct rl_memory_block *next;
    size_t size;
    max_align_t bytes[];
};

void *rl_memory_take(struct rl_memory *memory, size_t size) {
    struct rl_memory_block *block = memory->first;
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (block == NULL || block->size - memory->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block = calloc(1, sizeof *block + room);
        if (block == NULL) {
            return NULL;
        }
        block->next = memory->first;
        block->size = room;
        memory->first = block;
        memory->used = 0;
    }
    char *taken = (char *)block->bytes + memory->used;
    memory->used += size;
    return taken;
}

char *rl_memory_text(struct rl_memory *memory, const char *bytes, size_t length) {
    char *text = rl_memory_take(memory, length + 1);
    if (text != NULL) {
        memcpy(text, bytes, length);
    }
    return text;
}

void rl_memory_free(struct rl_memory *memory) {
    while (memory->first != NULL) {
        struct rl_memory_block *next = memory->first->next;
        free(memory->first);
        memory->first = next;
    }
    memory->used = 0;
}
