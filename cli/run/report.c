/* What run and elect report while they work: sentences with --verbose, JSON lines with --json. Both
 * go to stderr when stdout belongs to the command. Nothing can fail here. */
#include "run/room.h"

#include <inttypes.h>
#include <string.h>

#include "say.h"
#include "tool/json.h"

static void tell(const struct rl_report *report, const struct tool_json_member *event, bool is_said,
                 const char *sentence) {
    if (report->args->json) {
        tool_json_put_line(report->file, event);
        rl_output_flush();
    }
    if (is_said) {
        rl_say_of(report->keys, "%s", sentence);
    }
}
#define EVENT(name, ...) \
    JSON_MEMBERS(JSON_TEXT("event", name), JSON_TEXT("key", report->keys), __VA_ARGS__)

void rl_report_acquired(const struct rl_report *report, const char *token, uint64_t fence,
                        int64_t valid_ms) {
    const char *which = report->n_slots == 0 ? "" : report->n_slots == 1 ? " slot " : " slots ";
    tell(report,
         EVENT("acquired", JSON_IF(token != NULL, JSON_TEXT("token", token)),
               JSON_IF(fence != 0, JSON_INT("fence", fence)), JSON_INT("valid_ms", valid_ms),
               JSON_IF(report->n_slots > 0, JSON_INTS("slots", report->slots, report->n_slots))),
         report->args->verbose,
         rl_text("acquired%s%s%s, valid for %s unless renewed", which,
                 rl_token_slots(report->slots, report->n_slots, " "),
                 fence != 0 ? rl_text(" with fence %" PRIu64, fence) : "", rl_say_ms(valid_ms)));
}

void rl_report_refused(const struct rl_report *report, int status, const char *message) {
    tell(report,
         EVENT("refused", JSON_TEXT("status", redlock_err_name(status)),
               JSON_TEXT("message", message)),
         false, "");
}

void rl_report_renewed(const struct rl_report *report, int status, int64_t valid_ms) {
    tell(report,
         EVENT("renewed", JSON_TEXT("status", redlock_err_name(status)),
               JSON_INT("valid_ms", valid_ms)),
         report->args->verbose,
         rl_text("%s, valid for %s", status == 0 ? "renewed" : "not renewed yet",
                 rl_say_ms(valid_ms)));
}

const char *rl_report_not_renewed(const char *message) {
    const char *begin = strstr(message, ": ");
    return rl_text("not renewed in time%s", begin != NULL ? begin : "");
}

/* The message without its prefix "the lock was lost: ", if any. */
static const char *cause_of(const char *message) {
    const char *lost = redlock_strerror(REDLOCK_ERR_LOST);
    size_t length = strlen(lost);
    bool begins = strncmp(message, lost, length) == 0 && strncmp(message + length, ": ", 2) == 0;
    return begins ? message + length + 2 : message;
}

void rl_report_lost(const struct rl_report *report, int status, const char *message,
                    const char *then) {
    tell(
        report,
        EVENT("lost", JSON_TEXT("status", redlock_err_name(status)), JSON_TEXT("message", message)),
        !report->args->json, rl_text("the lock was lost: %s; %s", cause_of(message), then));
}

void rl_report_kicked(const struct rl_report *report, const char *message) {
    tell(report, EVENT("kicked", JSON_TEXT("message", message)), !report->args->json, message);
}

void rl_report_guard(const struct rl_report *report, const char *what, const char *why_no_other) {
    const bool is_replaced = why_no_other == NULL;
    tell(report,
         EVENT("guard", JSON_TEXT("message", what), JSON_BOOL("replaced", is_replaced),
               JSON_IF(!is_replaced, JSON_TEXT("why", why_no_other))),
         !report->args->json,
         is_replaced ? rl_text("the guard process was %s; another one has replaced it", what)
                     : rl_text("the guard process was %s, and cannot be replaced (%s); the command "
                               "is terminated",
                               what, why_no_other));
}

void rl_report_unhealthy(const struct rl_report *report, const char *how, int failures, int most) {
    tell(report, EVENT("unhealthy", JSON_INT("failures", failures), JSON_TEXT("message", how)),
         report->args->verbose, rl_text("--health failed, %d of %d: %s", failures, most, how));
}

void rl_report_ended(const struct rl_report *report, int exit_status) {
    tell(report, EVENT("ended", JSON_INT("exit_status", exit_status)), report->args->verbose,
         rl_text("the command ended with status %d", exit_status));
}

void rl_report_released(const struct rl_report *report, int status, const char *message) {
    tell(report, EVENT("released", JSON_TEXT("status", redlock_err_name(status))),
         report->args->verbose || (status != 0 && !report->args->json),
         status == 0 ? "released" : rl_text("not released: %s; it ends with its ttl", message));
}
