/* What redlock kick says: before, what it means; behind it, what became of it on each node.
 *
 *       node             key        note
 *       127.0.0.1:7001   deleted    noted
 *       127.0.0.1:7002   not there  noted
 *       127.0.0.1:7003   node did not answer in time
 *
 *     backup: vm:860 was kicked; it had 4 of 5 nodes. web2:4148 is next.
 */
#ifndef RL_CLI_KICK_SHOW_H
#define RL_CLI_KICK_SHOW_H

#include "found.h"
#include "kick/notes.h"
#include "kick/release.h"

struct rl_kick_report {
    const struct rl_args *args;
    const struct rl_found *found; /* before the kick */
    const struct rl_kick_targets *targets;
    const struct rl_kick_note *note;
    const struct rl_kick_noted *noted; /* by nodes */
};

/* On stderr, before anything is done. */
void rl_kick_show_meaning(const struct rl_kick_report *report);

/* On stdout, behind it. */
void rl_kick_show_outcome(const struct rl_kick_report *report, enum rl_kick_verdict verdict);

#endif
