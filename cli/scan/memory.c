/* See memory.h. */
#include "scan/memory.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

#define BLOCK 65536
#define ALIGN sizeof(max_align_t)

struct rl_memory_block {
    struct rl_memory_block *next;
    size_t size;
    max_align_t bytes[];
};

void *rl_memory_take(struct rl_memory *memory, size_t size) {
    struct rl_memory_block *block = memory->first;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (block == NULL || block->size - memory->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block = rl_must_alloc(1, sizeof *block + room);
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
    return memcpy(text, bytes, length);
}

void rl_memory_free(struct rl_memory *memory) {
    while (memory->first != NULL) {
        struct rl_memory_block *next = memory->first->next;
        free(memory->first);
        memory->first = next;
    }
    memory->used = 0;
}
