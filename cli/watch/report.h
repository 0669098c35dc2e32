/* The events of redlock status --watch, a line each on stdout, written at once:
 *
 *     2026-11-23 02:31:07.123 backup: handed over from vm:860 to vm:871, on 5 of 5 nodes
 *
 * and with --json an object each.
 *
 * Failure modes: stdout cannot be written: the next rl_output_flush() reports it. */
#ifndef RL_CLI_WATCH_REPORT_H
#define RL_CLI_WATCH_REPORT_H

#include "args.h"
#include "kick/note.h"
#include "watch/snapshot.h"

struct rl_watch_report {
    const struct rl_args *args;
    redlock_bytes key; /* of the events that are of one */
    size_t n, needed;  /* nodes that decide about it, and a quorum of them */
};

void rl_watch_report_change(const struct rl_watch_report *report, const struct rl_change *change);

/* The state when nobody holds it: at the beginning, and after an unknown state. */
void rl_watch_report_free(const struct rl_watch_report *report, size_t left_over);
/* Fewer nodes answer than a quorum. */
void rl_watch_report_unknown(const struct rl_watch_report *report, size_t answered);
void rl_watch_report_kicked(const struct rl_watch_report *report, const struct rl_kick_note *note);
/* n, needed and voting, how many can vote now, are of the first key. */
void rl_watch_report_node(const struct rl_watch_report *report, const redlock_node_info *info,
                          uint64_t voting);

#endif
