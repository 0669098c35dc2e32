/* See findings.h. */
#include "doctor/findings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void rl_findings_add(struct rl_findings *findings, const char *check, enum rl_level level, int node,
                     const char *remedy, const char *format, ...) {
    if (findings->count == findings->capacity) {
        size_t capacity = findings->capacity * 2 + 64;
        struct rl_finding *items = realloc(findings->items, capacity * sizeof *items);
        if (items == NULL) {
            findings->is_short = true;
            return;
        }
        findings->items = items;
        findings->capacity = capacity;
    }
    struct rl_finding *finding = &findings->items[findings->count++];
    va_list args;
    assert(findings->count <= findings->capacity);
    finding->check = check;
    finding->level = level;
    finding->node = node;
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
    snprintf(finding->remedy, sizeof finding->remedy, "%s", remedy != NULL ? remedy : "");
}

void rl_findings_free(struct rl_findings *findings) {
    free(findings->items);
    *findings = (struct rl_findings){0};
}
