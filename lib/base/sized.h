/* Public structs that begin with their size, as the caller's compiler saw it.
 *
 * A struct is accepted if a released header gave it that size. So far each has only one such size:
 * any other was not set by the initializer, ends inside a field, or comes from a newer header,
 * whose fields we could not honour. (A release that adds fields will also accept the size without
 * them; they keep their defaults.)
 */
#ifndef RL_BASE_SIZED_H
#define RL_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the caller's struct over the defaults in full. Returns false, and does nothing, if the
 * size is invalid. */
bool rl_sized_take(void *full, size_t full_size, const void *user, size_t user_size);

/* Does what an initializer does, for a caller that cannot use it. out: may be NULL. Returns as
 * rl_sized_give(). */
int rl_sized_fresh(void *out, size_t out_size, const void *fresh, size_t fresh_size);

/* Fills in a caller's struct, with the caller's size. Returns 0, or REDLOCK_ERR_INVALID if that
 * size is invalid. */
int rl_sized_give(void *out, size_t out_size, void *full, size_t full_size);

/* Writes a sentence about an invalid size, where the options have a place for it (a pointer and a
 * size_t at error_at): if they were set to zero and filled in without the initializer, or have a
 * size that another version may give them. A struct with an implausible size may be anything, and
 * is not read further. Returns REDLOCK_ERR_INVALID. */
int rl_sized_refuse(const void *options, size_t expected, size_t error_at, const char *initializer);

#endif
