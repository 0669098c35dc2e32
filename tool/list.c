/* See list.h. */
#include "tool/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *tool_list_add(struct tool_list *list, const char *text) {
    size_t length = strlen(text);
    if (strspn(text, TOOL_LIST_SEPARATORS) == length) {
        return "it is empty (an unset variable?); give URL,URL,...";
    }
    if (text[0] == ',' || text[length - 1] == ',' || strstr(text, ",,") != NULL) {
        return "a URL is missing before or after a comma; give URL,URL,...";
    }
    if (list == NULL) {
        return NULL;
    }
    size_t old = list->text != NULL ? strlen(list->text) : 0;
    char *longer = realloc(list->text, old + 1 + length + 1);
    if (longer == NULL) {
        return "out of memory";
    }
    if (old > 0) {
        longer[old++] = ',';
    }
    memcpy(longer + old, text, length + 1);
    list->text = longer;
    return NULL;
}

int tool_list_split(struct tool_list *list) {
    assert(list->n == 0);
    for (char *at = list->text; at != NULL;) {
        at += strspn(at, TOOL_LIST_SEPARATORS);
        size_t length = strcspn(at, TOOL_LIST_SEPARATORS);
        if (length == 0) {
            break;
        }
        if (list->n == TOOL_LIST_MAX) {
            return -1;
        }
        list->items[list->n++] = at;
        at += length;
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    return 0;
}

void tool_list_free(struct tool_list *list) {
    free(list->text);
    *list = (struct tool_list){0};
}
