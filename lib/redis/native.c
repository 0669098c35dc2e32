/* See native.h. */
#include "redis/native.h"

#include <assert.h>

#include "base/mark.h"
#include "redis/node_state.h"
#include "redlock/status.h"

#define PAUSE_MAX 127 /* connections */

void rl_native_begin(struct rl_node *node) {
    struct rl_native *native = &node->native;
    assert(node->state == RL_NODE_UP && node->head == NULL);
    assert(native->rest <= native->pause);
    native->kind = RL_COMMAND_RELEASE;
    native->offered = (uint8_t)rl_handshake_release(&node->info);
    if (native->rest > 0) {
        native->rest--;
        native->offered = RL_COMMAND_RELEASE;
    }
}

enum rl_command_kind rl_native_kind(const struct rl_node *node) {
    return (enum rl_command_kind)node->native.kind;
}

void rl_native_try(struct rl_node *node, const struct rl_request *request,
                   const struct rl_answer *answer) {
    struct rl_native *native = &node->native;
    const bool has_run = request->kind == RL_COMMAND_RELEASE &&
                         (answer->verdict == RL_YES || answer->verdict == RL_NO);
    if (!has_run || native->offered == RL_COMMAND_RELEASE ||
        node->waiting >= node->options->requests_max / 2 ||
        rl_conn_unsent(node->conn) > node->options->unsent_max / 2) {
        return; /* perhaps next time */
    }
    struct rl_request again = *request; /* its target may be freed before the answer comes */
    char *wire = node->io->wire;
    assert(rl_command_is_native_release((enum rl_command_kind)native->offered));
    assert(node->io->wire_room >= rl_command_room(request->target));
    again.kind = native->offered;
    native->trial = (struct rl_request){.kind = again.kind, .sent_ns = rl_io_step_ns(node->io)};
    native->offered = RL_COMMAND_RELEASE; /* once */
    rl_node_write_batch(node);
    if (rl_conn_send(node->conn, wire, rl_command_format(wire, &again))) {
        rl_node_push(node, &native->trial);
    }
}

void rl_native_tried(struct rl_node *node, const struct rl_answer *answer) {
    struct rl_native *native = &node->native;
    assert(rl_command_is_native_release((enum rl_command_kind)native->trial.kind));
    assert(native->kind == RL_COMMAND_RELEASE);
    native->pause = 0;
    if (answer->verdict == RL_YES || answer->verdict == RL_NO) {
        RL_MARK(RELEASES_NATIVELY);
        native->kind = native->trial.kind;
    }
}

void rl_native_lost(struct rl_node *node) {
    struct rl_native *native = &node->native;
    assert(native->rest == 0); /* it was not paused */
    RL_MARK(TRIAL_LOST);
    native->pause = (uint8_t)(native->pause < PAUSE_MAX ? 2 * native->pause + 1 : PAUSE_MAX);
    native->rest = native->pause;
}

/* Whether the error is about the command or the user, and not temporary. */
static bool is_lasting(int16_t reason) {
    assert(reason != 0);
    return reason == REDLOCK_ERR_NODE_ERROR || reason == REDLOCK_ERR_NODE_PERMISSION;
}

bool rl_native_resend(struct rl_node *node, struct rl_request *request,
                      const struct rl_answer *answer) {
    assert(answer->verdict == RL_ERROR);
    if (!rl_command_is_native_release((enum rl_command_kind)request->kind)) {
        return false;
    }
    RL_MARK(NATIVE_REFUSED);
    if (is_lasting(answer->reason)) {
        node->native.kind = RL_COMMAND_RELEASE;
    }
    request->kind = RL_COMMAND_RELEASE;
    return rl_node_resend(node, request); /* if not, the release is pending */
}
