/* Sentences for people, in the caller's memory. */
#ifndef RL_BASE_ERROR_H
#define RL_BASE_ERROR_H

#include <stddef.h>

/* Writes the sentence, cut to what there is room for, with "..." at its end then: text may be NULL,
 * and size 0. Returns status, so that a caller that fails needs one line for it. */
int rl_error_set(char *text, size_t size, int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ... a sentence that there is already. */
#define rl_error_copy(text, size, sentence) ((void)rl_error_set(text, size, 0, "%s", sentence))

#endif
