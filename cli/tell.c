/* See tell.h. Nothing can fail here. */
#include "tell.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

/* Whether it was written: with --json alone. */
static bool put_event(const struct rl_tell *tell, const struct tool_json_member *members) {
    if (tell->args->json) {
        tool_json_put_line(tell->file, members);
        rl_output_flush();
    }
    return tell->args->json;
}
#define EVENT(tell, event, ...)                                                             \
    put_event(tell, JSON_MEMBERS(JSON_TEXT("event", event), JSON_TEXT("key", (tell)->keys), \
                                 __VA_ARGS__))

static const char *clean(const struct rl_tell *tell, char out[128]) {
    return tool_utf8_clean(tell->keys, strlen(tell->keys), out, 128);
}

const char *rl_tell_slots(const struct rl_tell *tell, char out[RL_TELL_SLOTS_MAX]) {
    size_t used = 0;
    out[0] = '\0';
    assert(tell->n_slots <= REDLOCK_TAKE_MAX);
    for (size_t i = 0; i < tell->n_slots; i++) {
        used += (size_t)snprintf(out + used, RL_TELL_SLOTS_MAX - used, "%s%" PRId32,
                                 i > 0 ? " " : "", tell->slots[i]);
        assert(used < RL_TELL_SLOTS_MAX);
    }
    return out;
}

void rl_tell_acquired(const struct rl_tell *tell, const char *token, uint64_t fence,
                      int64_t valid_ms) {
    char shown[128], left[32], with[48] = "", slots[RL_TELL_SLOTS_MAX];
    EVENT(tell, "acquired", JSON_IF(token != NULL, JSON_TEXT("token", token)),
          JSON_IF(fence != 0, JSON_INT("fence", fence)), JSON_INT("valid_ms", valid_ms),
          JSON_IF(tell->n_slots > 0, JSON_INTS("slots", tell->slots, tell->n_slots)));
    if (tell->args->verbose) {
        if (fence != 0) {
            snprintf(with, sizeof with, " with fence %" PRIu64, fence);
        }
        const char *which = tell->n_slots == 0 ? "" : tell->n_slots == 1 ? " slot " : " slots ";
        rl_say("%s: acquired%s%s%s, valid for %s unless renewed", clean(tell, shown), which,
               rl_tell_slots(tell, slots), with,
               rl_say_duration((double)valid_ms, left, sizeof left));
    }
}

void rl_tell_refused(const struct rl_tell *tell, int status, const char *message) {
    EVENT(tell, "refused", JSON_TEXT("status", redlock_err_name(status)),
          JSON_TEXT("message", message));
}

void rl_tell_renewed(const struct rl_tell *tell, int status, int64_t valid_ms) {
    char shown[128], left[32];
    EVENT(tell, "renewed", JSON_TEXT("status", redlock_err_name(status)),
          JSON_INT("valid_ms", valid_ms));
    if (tell->args->verbose) {
        rl_say("%s: %s, valid for %s", clean(tell, shown),
               status == 0 ? "renewed" : "not renewed yet",
               rl_say_duration((double)valid_ms, left, sizeof left));
    }
}

const char *rl_tell_not_renewed(const char *message, char out[RL_TELL_MAX]) {
    const char *begin = strstr(message, ": ");
    snprintf(out, RL_TELL_MAX, "not renewed in time%s", begin != NULL ? begin : "");
    return out;
}

const char *rl_tell_cause(const char *message) {
    const char *lost = redlock_strerror(REDLOCK_ERR_LOST);
    size_t length = strlen(lost);
    bool begins = strncmp(message, lost, length) == 0 && strncmp(message + length, ": ", 2) == 0;
    return begins ? message + length + 2 : message;
}

void rl_tell_lost(const struct rl_tell *tell, int status, const char *message, const char *then) {
    char shown[128];
    if (!EVENT(tell, "lost", JSON_TEXT("status", redlock_err_name(status)),
               JSON_TEXT("message", message))) {
        rl_say("%s: the lock was lost: %s; %s", clean(tell, shown), rl_tell_cause(message), then);
    }
}

void rl_tell_kicked(const struct rl_tell *tell, const char *message) {
    char shown[128];
    if (!EVENT(tell, "kicked", JSON_TEXT("message", message))) {
        rl_say("%s: %s", clean(tell, shown), message);
    }
}

void rl_tell_guard(const struct rl_tell *tell, const char *what, const char *why_no_other) {
    char shown[128];
    const bool is_replaced = why_no_other == NULL;
    if (EVENT(tell, "guard", JSON_TEXT("message", what), JSON_BOOL("replaced", is_replaced),
              JSON_IF(!is_replaced, JSON_TEXT("why", why_no_other)))) {
        return;
    }
    if (is_replaced) {
        rl_say("%s: the guard process was %s; another one has replaced it", clean(tell, shown),
               what);
    } else {
        rl_say(
            "%s: the guard process was %s, and cannot be replaced (%s); the command is terminated",
            clean(tell, shown), what, why_no_other);
    }
}

void rl_tell_ended(const struct rl_tell *tell, int exit_status) {
    char shown[128];
    EVENT(tell, "ended", JSON_INT("exit_status", exit_status));
    if (tell->args->verbose) {
        rl_say("%s: the command ended with status %d", clean(tell, shown), exit_status);
    }
}

void rl_tell_released(const struct rl_tell *tell, int status, const char *message) {
    char shown[128];
    const bool is_json = EVENT(tell, "released", JSON_TEXT("status", redlock_err_name(status)));
    if (tell->args->verbose || (status != 0 && !is_json)) {
        rl_say("%s: %s%s%s", clean(tell, shown),
               status == 0 ? "released" : "not released: ", status == 0 ? "" : message,
               status == 0 ? "" : "; it ends with its ttl");
    }
}
