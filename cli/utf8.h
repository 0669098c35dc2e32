/* UTF-8, as far as output needs it: is this a whole character? */
#ifndef RL_CLI_UTF8_H
#define RL_CLI_UTF8_H

#include <stddef.h>

/* The bytes of the valid character at text (of length bytes), 1 to 4; 0 if there is none: broken,
 * longer than needed, a surrogate, above U+10FFFF, or a C1 control, which terminals obey. */
size_t rl_utf8_length(const char *text, size_t length);

#endif
