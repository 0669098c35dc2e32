/* How the verdicts of `redlock conform` are shown: a line for each story, and for what is not PASS
 * the rule and a sentence; or JSON. Nothing can fail here. */
#ifndef RL_CLI_CONFORM_REPORT_H
#define RL_CLI_CONFORM_REPORT_H

#include <stdbool.h>

#include "conform/stories.h"
#include "conform/verdict.h"

struct rl_report {
    bool json;
    int counts[RL_VERDICTS];
};

void rl_report_list(bool json); /* of the stories alone */
void rl_report_show(struct rl_report *report, const struct rl_story *story,
                    const struct rl_result *result);
void rl_report_end(const struct rl_report *report);

#endif
