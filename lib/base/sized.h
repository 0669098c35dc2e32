/* Structs of the interface that begin with their size, as the caller's compiler saw it.
 *
 * One is taken if a released header gave it that size. There is one such size of each so far, its
 * own: any other was not set by the initializer, ends inside a field, or comes from a newer header,
 * whose fields we could not honour. (A release that adds fields takes the size before them, too;
 * they keep their defaults.)
 */
#ifndef RL_BASE_SIZED_H
#define RL_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the caller's struct over the defaults in full; false, and nothing was done: its size is
 * none that it can have. */
bool rl_sized_take(void *full, size_t full_size, const void *user, size_t user_size);

/* What an initializer is, for a caller who cannot use it; out: may be NULL. As the next one. */
int rl_sized_fresh(void *out, size_t out_size, const void *fresh, size_t fresh_size);

/* Fills in a caller's struct, with his size. Returns 0, or REDLOCK_ERR_INVALID if it cannot have
 * that size. */
int rl_sized_give(void *out, size_t out_size, void *full, size_t full_size);

/* Puts that into a sentence, where the options have a place for it (a pointer and a size_t at
 * error_at): if they were set to zero and filled in without the initializer, or have a size that
 * another version may give them. What has an incredible size may be anything, and is not looked at.
 * Returns REDLOCK_ERR_INVALID. */
int rl_sized_refuse(const void *options, size_t expected, size_t error_at, const char *initializer);

#endif
