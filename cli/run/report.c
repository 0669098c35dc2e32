/* What run and elect report while they work: sentences with --verbose, JSON lines with --json.
 * Both go to stderr when stdout is the command's. Nothing can fail here. */
#include "run/room.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "say.h"
#include "tool/json.h"

/* Whether it was written: only with --json. */
static bool put_event(const struct rl_report *report, const struct tool_json_member *members) {
    if (report->args->json) {
        tool_json_put_line(report->file, members);
        rl_output_flush();
    }
    return report->args->json;
}
#define EVENT(report, event, ...)                                                               \
    put_event(report, JSON_MEMBERS(JSON_TEXT("event", event), JSON_TEXT("key", (report)->keys), \
                                   __VA_ARGS__))

const char *rl_report_slots(const struct rl_report *report, char out[RL_REPORT_SLOTS_MAX]) {
    size_t used = 0;
    out[0] = '\0';
    assert(report->n_slots <= REDLOCK_TAKE_MAX);
    for (size_t i = 0; i < report->n_slots; i++) {
        used += (size_t)snprintf(out + used, RL_REPORT_SLOTS_MAX - used, "%s%" PRId32,
                                 i > 0 ? " " : "", report->slots[i]);
        assert(used < RL_REPORT_SLOTS_MAX);
    }
    return out;
}

void rl_report_acquired(const struct rl_report *report, const char *token, uint64_t fence,
                        int64_t valid_ms) {
    char left[32], with[48] = "", slots[RL_REPORT_SLOTS_MAX];
    EVENT(report, "acquired", JSON_IF(token != NULL, JSON_TEXT("token", token)),
          JSON_IF(fence != 0, JSON_INT("fence", fence)), JSON_INT("valid_ms", valid_ms),
          JSON_IF(report->n_slots > 0, JSON_INTS("slots", report->slots, report->n_slots)));
    if (report->args->verbose) {
        if (fence != 0) {
            snprintf(with, sizeof with, " with fence %" PRIu64, fence);
        }
        const char *which = report->n_slots == 0 ? "" : report->n_slots == 1 ? " slot " : " slots ";
        rl_say_of(report->keys, "acquired%s%s%s, valid for %s unless renewed", which,
                  rl_report_slots(report, slots), with,
                  rl_say_duration((double)valid_ms, left, sizeof left));
    }
}

void rl_report_refused(const struct rl_report *report, int status, const char *message) {
    EVENT(report, "refused", JSON_TEXT("status", redlock_err_name(status)),
          JSON_TEXT("message", message));
}

void rl_report_renewed(const struct rl_report *report, int status, int64_t valid_ms) {
    char left[32];
    EVENT(report, "renewed", JSON_TEXT("status", redlock_err_name(status)),
          JSON_INT("valid_ms", valid_ms));
    if (report->args->verbose) {
        rl_say_of(report->keys, "%s, valid for %s", status == 0 ? "renewed" : "not renewed yet",
                  rl_say_duration((double)valid_ms, left, sizeof left));
    }
}

const char *rl_report_not_renewed(const char *message, char out[RL_REPORT_MAX]) {
    const char *begin = strstr(message, ": ");
    snprintf(out, RL_REPORT_MAX, "not renewed in time%s", begin != NULL ? begin : "");
    return out;
}

const char *rl_report_cause(const char *message) {
    const char *lost = redlock_strerror(REDLOCK_ERR_LOST);
    size_t length = strlen(lost);
    bool begins = strncmp(message, lost, length) == 0 && strncmp(message + length, ": ", 2) == 0;
    return begins ? message + length + 2 : message;
}

void rl_report_lost(const struct rl_report *report, int status, const char *message,
                    const char *then) {
    if (!EVENT(report, "lost", JSON_TEXT("status", redlock_err_name(status)),
               JSON_TEXT("message", message))) {
        rl_say_of(report->keys, "the lock was lost: %s; %s", rl_report_cause(message), then);
    }
}

void rl_report_kicked(const struct rl_report *report, const char *message) {
    if (!EVENT(report, "kicked", JSON_TEXT("message", message))) {
        rl_say_of(report->keys, "%s", message);
    }
}

void rl_report_guard(const struct rl_report *report, const char *what, const char *why_no_other) {
    const bool is_replaced = why_no_other == NULL;
    if (EVENT(report, "guard", JSON_TEXT("message", what), JSON_BOOL("replaced", is_replaced),
              JSON_IF(!is_replaced, JSON_TEXT("why", why_no_other)))) {
        return;
    }
    if (is_replaced) {
        rl_say_of(report->keys, "the guard process was %s; another one has replaced it", what);
    } else {
        rl_say_of(
            report->keys,
            "the guard process was %s, and cannot be replaced (%s); the command is terminated",
            what, why_no_other);
    }
}

void rl_report_unhealthy(const struct rl_report *report, const char *how, int failures, int most) {
    EVENT(report, "unhealthy", JSON_INT("failures", failures), JSON_TEXT("message", how));
    if (report->args->verbose) {
        rl_say_of(report->keys, "--health failed, %d of %d: %s", failures, most, how);
    }
}

void rl_report_ended(const struct rl_report *report, int exit_status) {
    EVENT(report, "ended", JSON_INT("exit_status", exit_status));
    if (report->args->verbose) {
        rl_say_of(report->keys, "the command ended with status %d", exit_status);
    }
}

void rl_report_released(const struct rl_report *report, int status, const char *message) {
    const bool is_json = EVENT(report, "released", JSON_TEXT("status", redlock_err_name(status)));
    if (report->args->verbose || (status != 0 && !is_json)) {
        rl_say_of(report->keys, "%s%s%s",
                  status == 0 ? "released" : "not released: ", status == 0 ? "" : message,
                  status == 0 ? "" : "; it ends with its ttl");
    }
}
