/* Memory for what one look at the nodes finds: taken piece by piece, given back all at once. */
#ifndef RL_CLI_SCAN_MEMORY_H
#define RL_CLI_SCAN_MEMORY_H

#include <stddef.h>

struct rl_memory {
    struct rl_memory_block *first;
    size_t used;
};

/* Aligned for everything; its bytes are zero. */
void *rl_memory_take(struct rl_memory *memory, size_t size);
/* length bytes, and a zero behind them. */
char *rl_memory_text(struct rl_memory *memory, const char *bytes, size_t length);
void rl_memory_free(struct rl_memory *memory);

#endif
