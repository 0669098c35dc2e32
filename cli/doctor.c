/* redlock doctor: see doctor.h. */
#include "doctor.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "exits.h"
#include "say.h"

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

static int examine(struct rl_facts *facts, struct rl_args *args) {
    struct rl_findings findings = {0};
    int status = rl_doctor_ask(facts, args);
    if (status != 0) {
        return status;
    }
    for (size_t i = 0; i < args->n_nodes; i++) {
        rl_doctor_judge_node(&findings, &facts[i], (int)i);
    }
    rl_doctor_judge_nodes(&findings, facts, args->n_nodes);
    status = findings.is_short ? rl_fail(RL_EXIT_SYSTEM, "out of memory")
                               : rl_doctor_show(&findings, facts, args);
    free(findings.items);
    return status;
}

int rl_cmd_doctor(struct rl_args *args) {
    if (args->n_words > 0 || args->child != NULL) {
        const char *word = args->n_words > 0 ? args->words[0] : "--";
        char shown[64];
        return rl_fail(RL_EXIT_USAGE, "doctor: \"%s\" is too much; nodes are given by --nodes",
                       rl_say_clean(word, strlen(word), shown, sizeof shown));
    }
    if (args->acl != NULL) {
        return rl_doctor_acl(args);
    }
    struct rl_facts *facts = calloc(args->n_nodes, sizeof *facts);
    if (facts == NULL) {
        return rl_fail(RL_EXIT_SYSTEM, "out of memory");
    }
    signal(SIGPIPE, SIG_IGN); /* hiredis writes without MSG_NOSIGNAL */
    int status = examine(facts, args);
    free(facts);
    return status;
}
