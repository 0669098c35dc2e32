/* The client's allocator. Nothing else in lib/ may call malloc or free (the tidy test checks
 * this). */
#ifndef RL_MEMORY_H
#define RL_MEMORY_H

#include <stddef.h>

#include "redlock/redlock.h"

/* user: copied; NULL: malloc and free. */
void rl_memory_init(redlock_allocator *memory, const redlock_allocator *user);

/* Zeroed memory; NULL: none left, or count * size overflows. */
void *rl_alloc(const redlock_allocator *memory, size_t count, size_t size);

/* Memory that is not zeroed, for large blocks of which little is used. */
void *rl_alloc_uncleared(const redlock_allocator *memory, size_t size);

void rl_free(const redlock_allocator *memory, void *pointer);

/* Zeroes memory that may contain a password, in a way that no compiler optimises away. */
void rl_wipe(void *secret, size_t size);

#endif
