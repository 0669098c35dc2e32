/* See rotation.h. */
#include "rotation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "tool/json.h"

#define LOOK_MS 1000

static void on_look(uv_timer_t *timer) {
    struct rl_rotation *rotation = timer->data;
    assert(rotation->is_open);
    if (rl_password_look(&rotation->args->password)) {
        int status = rl_password_set(&rotation->args->password, rotation->client);
        if (status != 0 && status != REDLOCK_ERR_CLOSED) {
            rl_say("the new password: %s", redlock_strerror(status));
        }
    }
}

int rl_rotation_open(struct rl_rotation *rotation, uv_loop_t *loop, redlock_client *client,
                     struct rl_args *args) {
    *rotation = (struct rl_rotation){.client = client, .args = args};
    if (args->password.is_watched) {
        uv_timer_init(loop, &rotation->timer);
        rotation->timer.data = rotation;
        uv_timer_start(&rotation->timer, on_look, LOOK_MS, LOOK_MS);
        uv_unref((uv_handle_t *)&rotation->timer);
        rotation->is_open = true;
    }
    return rl_password_set(&args->password, client);
}

void rl_rotation_close(struct rl_rotation *rotation) {
    if (rotation->is_open) {
        rotation->is_open = false;
        uv_close((uv_handle_t *)&rotation->timer, NULL);
    }
}

static void say_refused(const struct rl_rotation *rotation, const redlock_event *event) {
    for (size_t i = 0; i < rotation->args->nodes.n; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        if (redlock_client_node(rotation->client, i, &info) == 0 &&
            strcmp(info.node, event->node) == 0) {
            bool has_words = info.credentials_detail[0] != '\0';
            rl_say("node %s refuses the new password: %s%s%s%s%s", event->node,
                   redlock_strerror(event->status), has_words ? " (" : "", info.credentials_detail,
                   has_words ? ")" : "", info.connects > 0 ? "; the one before stays in use" : "");
        }
    }
}

static void tell(const redlock_event *event) {
    struct tool_json json = {.file = stderr};
    assert(event->node != NULL);
    tool_json_open(&json, NULL, '{');
    tool_json_text(&json, "event", "password");
    tool_json_text(&json, "node", event->node);
    tool_json_text(&json, "status", redlock_err_name(event->status));
    tool_json_close(&json, '}');
    tool_json_end(&json);
}

void rl_rotation_on_event(const struct rl_rotation *rotation, const redlock_event *event) {
    const bool is_refused = event->type == REDLOCK_EVENT_CREDENTIALS_REFUSED;
    if (!is_refused && event->type != REDLOCK_EVENT_CREDENTIALS_ACCEPTED) {
        return;
    }
    const struct rl_args *args = rotation->args;
    if (args->json && (args->command == RL_CMD_RUN || args->command == RL_CMD_ELECT)) {
        tell(event);
    } else if (is_refused) {
        say_refused(rotation, event);
    } else if (args->verbose) {
        rl_say("node %s accepts the new password", event->node);
    }
}
