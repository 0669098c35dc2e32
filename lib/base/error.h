/* Human-readable sentences, in the caller's memory. */
#ifndef RL_BASE_ERROR_H
#define RL_BASE_ERROR_H

#include <stddef.h>

/* Writes the sentence; without enough room it is truncated and ends in "...". text may be NULL, and
 * size 0. Returns status, so that a failing caller needs only one line. */
int rl_error_set(char *text, size_t size, int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Writes a sentence about invalid `options`, which have the buffer. */
#define rl_error_invalid(options, ...) \
    rl_error_set((options)->error, (options)->error_size, REDLOCK_ERR_INVALID, __VA_ARGS__)

/* Copies an existing sentence. */
#define rl_error_copy(text, size, sentence) ((void)rl_error_set(text, size, 0, "%s", sentence))

#endif
