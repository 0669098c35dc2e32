/* What run and elect report while they work: sentences with --verbose, JSON lines with --json.
 * Both go to stderr when stdout is the command's. */
#ifndef RL_CLI_REPORT_H
#define RL_CLI_REPORT_H

#include <stdio.h>

#include "args.h"
#include "redlock/redlock.h"

#define RL_REPORT_SLOTS_MAX ((size_t)REDLOCK_TAKE_MAX * 12 + 1)
#define RL_REPORT_MAX (REDLOCK_MESSAGE_MAX + 32)

struct rl_report {
    const struct rl_args *args;
    FILE *file; /* of JSON */
    const char *keys;
    int32_t slots[REDLOCK_TAKE_MAX]; /* of a semaphore: those of the last grant */
    size_t n_slots;
};

/* The numbers of the slots, a space between two. Returns out. */
const char *rl_report_slots(const struct rl_report *report, char out[RL_REPORT_SLOTS_MAX]);

/* token may be NULL. fence: 0 for none. */
void rl_report_acquired(const struct rl_report *report, const char *token, uint64_t fence,
                        int64_t valid_ms);
/* With --json only: the terminal shows it already. */
void rl_report_refused(const struct rl_report *report, int status, const char *message);
void rl_report_renewed(const struct rl_report *report, int status, int64_t valid_ms);
/* Why a lock that is still held was not renewed: message, with this reason in place of "success".
 * Returns out. */
const char *rl_report_not_renewed(const char *message, char out[RL_REPORT_MAX]);
/* The text without "the lock was lost: ", if it begins so. */
const char *rl_report_cause(const char *message);
/* Always reported: with neither option as a text on stderr. */
void rl_report_lost(const struct rl_report *report, int status, const char *message,
                    const char *then);
/* The lock was lost to a kick: by whom and why. Always reported. */
void rl_report_kicked(const struct rl_report *report, const char *message);
/* The guard process was "killed" or "stopped". why_no_other: NULL if another has replaced it.
 * Always reported. */
void rl_report_guard(const struct rl_report *report, const char *what, const char *why_no_other);
/* A check of --health failed, so many times in a row. */
void rl_report_unhealthy(const struct rl_report *report, const char *how, int failures, int most);
void rl_report_ended(const struct rl_report *report, int exit_status);
void rl_report_released(const struct rl_report *report, int status, const char *message);

#endif
