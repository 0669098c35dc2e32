/* Makes text from outside (a node, a file, an argument) safe to show: it may contain escape
 * sequences or broken UTF-8. */
#ifndef TOOL_UTF8_H
#define TOOL_UTF8_H

#include <stddef.h>

/* The bytes of the valid character at text (of length bytes), 1 to 4; 0 if there is none: broken,
 * longer than needed, a surrogate, above U+10FFFF, or a C1 control, which terminals obey. */
size_t tool_utf8_length(const char *text, size_t length);

/* text as it may be shown: control characters and broken UTF-8 as '?', cut to size. Returns out. */
const char *tool_utf8_clean(const char *text, size_t length, char *out, size_t size);

#endif
