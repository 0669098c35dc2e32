/* What one node has: its keys, and what it reports about itself. Data only: scan.c fills it in,
 * list.c makes locks of it. */
#include "scan/room.h"

#include <stdlib.h>
#include <string.h>

#include "redis/command.h"
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

#define KICKS_PREFIX RL_COMMAND_PREFIX "kicks:"

struct span {
    const char *at;
    size_t length;
};

static bool take(struct span *span, const char *prefix) {
    size_t length = strlen(prefix);
    if (span->length < length || memcmp(span->at, prefix, length) != 0) {
        return false;
    }
    span->at += length;
    span->length -= length;
    return true;
}

/* "{NAME}" */
static bool take_braces(struct span *span) {
    if (span->length < 3 || span->at[0] != '{' || span->at[span->length - 1] != '}') {
        return false;
    }
    span->at++;
    span->length -= 2;
    return true;
}

/* "I:" */
static bool take_slot(struct span *span, uint16_t *slot) {
    size_t digits = 0;
    uint32_t number = 0;
    while (digits < span->length && digits < 4 && span->at[digits] >= '0' &&
           span->at[digits] <= '9') {
        number = number * 10 + (uint32_t)(span->at[digits++] - '0');
    }
    span->at += digits;
    span->length -= digits;
    *slot = (uint16_t)number;
    bool is_plain = digits == 1 || (digits > 1 && span->at[-(ptrdiff_t)digits] != '0');
    return is_plain && number < RL_PERMITS_MAX && take(span, ":");
}

/* What is behind the prefix: NAME, "{NAME}" or "I:{NAME}". */
enum form { PLAIN, BRACED, SLOT };

/* The first prefix that fits. */
static const struct {
    const char *prefix;
    enum form form;
    enum rl_key_kind kind;
} kinds[] = {
    {RL_COMMAND_COUNTER_PREFIX RL_COMMAND_SLOT_PREFIX, SLOT, RL_KEY_SLOT_FENCE},
    {RL_COMMAND_COUNTER_PREFIX RL_COMMAND_PREFIX, PLAIN, RL_KEY_BESIDE},
    {RL_COMMAND_COUNTER_PREFIX, PLAIN, RL_KEY_FENCE},
    {RL_COMMAND_SLOT_PREFIX, SLOT, RL_KEY_SLOT},
    {RL_COMMAND_READERS_PREFIX, BRACED, RL_KEY_READERS},
    {RL_COMMAND_LINE_SHARED_PREFIX, BRACED, RL_KEY_LINE_SHARED},
    {RL_COMMAND_LINE_PREFIX "permits:", BRACED, RL_KEY_LINE_PERMITS},
    {RL_COMMAND_LINE_PREFIX, BRACED, RL_KEY_LINE},
    {RL_COMMAND_PERMITS_PREFIX, BRACED, RL_KEY_PERMITS},
    {KICKS_PREFIX, BRACED, RL_KEY_KICKS},
    {RL_COMMAND_PREFIX, PLAIN, RL_KEY_BESIDE},
    {"", PLAIN, RL_KEY_LOCK},
};

void rl_key_read(const char *name, size_t length, struct rl_key *key) {
    struct span span = {name, length};
    size_t i = 0;
    *key = (struct rl_key){.kind = RL_KEY_BESIDE};
    while (!take(&span, kinds[i].prefix)) { /* the last one fits */
        i++;
    }
    const bool is_good =
        kinds[i].form == PLAIN
            ? span.length > 0
            : (kinds[i].form == BRACED || take_slot(&span, &key->slot)) && take_braces(&span);
    key->kind = is_good ? kinds[i].kind : RL_KEY_BESIDE;
    key->resource = span.at;
    key->length = span.length;
}
