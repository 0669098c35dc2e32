/* Findings and facts as a screen, or as one JSON document.
 *
 * On the screen findings of one check that say the same of several nodes are one line, so that five
 * nodes that are set up alike take no more room than one. */
#ifndef RL_CLI_DOCTOR_SHOW_H
#define RL_CLI_DOCTOR_SHOW_H

#include "doctor/facts.h"
#include "doctor/findings.h"

/* wait_s: until a quorum votes for strict clients, or 0. Returns the exit status. */
int rl_doctor_show(const struct rl_findings *findings, const struct rl_facts *facts,
                   const struct rl_args *args, int64_t wait_s);

#endif
