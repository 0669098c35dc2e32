/* See findings.h. */
#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "say.h"

void rl_findings_add(struct rl_findings *findings, const char *check, enum rl_level level, int node,
                     const char *remedy, const char *format, ...) {
    findings->items =
        rl_must_grow(findings->items, findings->count, &findings->room, sizeof *findings->items);
    struct rl_finding *finding = &findings->items[findings->count++];
    va_list args;
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
