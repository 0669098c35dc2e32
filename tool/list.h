/* A list in one text, "URL,URL URL": separated by commas, spaces, or both.
 *
 * Happy path: tool_list_add() once or several times, then tool_list_split().
 *
 * Failure modes: no item, or an empty item (an unset variable); too many. */
#ifndef TOOL_LIST_H
#define TOOL_LIST_H

#include <stddef.h>

#define TOOL_LIST_MAX 31
#define TOOL_LIST_SEPARATORS ", \t\n"

struct tool_list {
    char *text; /* owned; items point into it; NULL: nothing was added */
    size_t n;
    const char *items[TOOL_LIST_MAX];
};

/* Adds what the text lists. list may be NULL: the text is only checked. Returns NULL, or the
 * reason, a clause. */
const char *tool_list_add(struct tool_list *list, const char *text);

/* Cuts the text into items; call it once, after all additions. Returns 0, or -1: more than
 * TOOL_LIST_MAX. */
int tool_list_split(struct tool_list *list);

void tool_list_free(struct tool_list *list);

#endif
