/* See tell.h. Nothing can fail here. */
#include "tell.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "output.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

static struct tool_json begin(const struct rl_tell *tell, const char *event) {
    struct tool_json json = {.file = tell->file};
    tool_json_open(&json, NULL, '{');
    tool_json_text(&json, "event", event);
    tool_json_text(&json, "key", tell->keys);
    return json;
}

static void end(struct tool_json *json) {
    tool_json_close(json, '}');
    tool_json_end(json);
    rl_output_flush();
}

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
    if (tell->args->json) {
        struct tool_json json = begin(tell, "acquired");
        if (token != NULL) {
            tool_json_text(&json, "token", token);
        }
        if (fence != 0) {
            tool_json_number(&json, "fence", (int64_t)fence);
        }
        tool_json_number(&json, "valid_ms", valid_ms);
        if (tell->n_slots > 0) {
            tool_json_open(&json, "slots", '[');
            for (size_t i = 0; i < tell->n_slots; i++) {
                tool_json_number(&json, NULL, tell->slots[i]);
            }
            tool_json_close(&json, ']');
        }
        end(&json);
    }
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
    if (tell->args->json) {
        struct tool_json json = begin(tell, "refused");
        tool_json_text(&json, "status", redlock_err_name(status));
        tool_json_text(&json, "message", message);
        end(&json);
    }
}

void rl_tell_renewed(const struct rl_tell *tell, int status, int64_t valid_ms) {
    char shown[128], left[32];
    if (tell->args->json) {
        struct tool_json json = begin(tell, "renewed");
        tool_json_text(&json, "status", redlock_err_name(status));
        tool_json_number(&json, "valid_ms", valid_ms);
        end(&json);
    }
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
    if (tell->args->json) {
        struct tool_json json = begin(tell, "lost");
        tool_json_text(&json, "status", redlock_err_name(status));
        tool_json_text(&json, "message", message);
        end(&json);
    } else {
        rl_say("%s: the lock was lost: %s; %s", clean(tell, shown), rl_tell_cause(message), then);
    }
}

void rl_tell_kicked(const struct rl_tell *tell, const char *message) {
    char shown[128];
    if (tell->args->json) {
        struct tool_json json = begin(tell, "kicked");
        tool_json_text(&json, "message", message);
        end(&json);
    } else {
        rl_say("%s: %s", clean(tell, shown), message);
    }
}

void rl_tell_guard(const struct rl_tell *tell, const char *what, const char *why_no_other) {
    char shown[128];
    if (tell->args->json) {
        struct tool_json json = begin(tell, "guard");
        tool_json_text(&json, "message", what);
        tool_json_bool(&json, "replaced", why_no_other == NULL);
        if (why_no_other != NULL) {
            tool_json_text(&json, "why", why_no_other);
        }
        end(&json);
    } else if (why_no_other == NULL) {
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
    if (tell->args->json) {
        struct tool_json json = begin(tell, "ended");
        tool_json_number(&json, "exit_status", exit_status);
        end(&json);
    }
    if (tell->args->verbose) {
        rl_say("%s: the command ended with status %d", clean(tell, shown), exit_status);
    }
}

void rl_tell_released(const struct rl_tell *tell, int status, const char *message) {
    char shown[128];
    if (tell->args->json) {
        struct tool_json json = begin(tell, "released");
        tool_json_text(&json, "status", redlock_err_name(status));
        end(&json);
    }
    if (tell->args->verbose || (status != 0 && !tell->args->json)) {
        rl_say("%s: %s%s%s", clean(tell, shown),
               status == 0 ? "released" : "not released: ", status == 0 ? "" : message,
               status == 0 ? "" : "; it ends with its ttl");
    }
}
