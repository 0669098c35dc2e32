/* Findings and facts as a screen, or as one JSON document.
 *
 * On the screen findings of one check that say the same of several nodes are one line, so that five
 * nodes that are set up alike take no more room than one. */
#ifndef RL_CLI_DOCTOR_SHOW_H
#define RL_CLI_DOCTOR_SHOW_H

#include <stddef.h>

#include "doctor/ask.h"

/* What doctor reports: one finding for each thing that it checked, good or bad, with a remedy. */

enum rl_level { RL_LEVEL_OK, RL_LEVEL_NOTE, RL_LEVEL_WARNING, RL_LEVEL_ERROR };

#define RL_NODE_NONE (-1) /* a finding about all of them together */

struct rl_finding {
    const char *check; /* one word; findings of one check stand together */
    enum rl_level level;
    int node;
    char text[256];
    char remedy[320]; /* "" if there is nothing to do */
};

struct rl_findings {
    struct rl_finding *items;
    size_t count, room;
};

void rl_findings_add(struct rl_findings *findings, const char *check, enum rl_level level, int node,
                     const char *remedy, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void rl_findings_free(struct rl_findings *findings);

/* wait_s: until a quorum votes for strict clients, or 0. Returns the exit status. */
int rl_doctor_show(const struct rl_findings *findings, const struct rl_facts *facts,
                   const struct rl_wires *wires, int64_t wait_s);

#endif
