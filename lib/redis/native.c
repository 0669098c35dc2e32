/* See native.h. */
#include "redis/native.h"

#include <assert.h>

#include "base/mark.h"
#include "redis/node_state.h"
#include "redis/request.h"
#include "redlock/status.h"

void rl_native_begin(struct rl_node *node) {
    assert(node->state == RL_NODE_UP && node->head == NULL);
    node->release_kind = RL_COMMAND_RELEASE;
    node->release_offered = (uint8_t)rl_handshake_release(&node->info);
}

enum rl_command_kind rl_native_kind(const struct rl_node *node) {
    return (enum rl_command_kind)node->release_kind;
}

enum rl_command_kind rl_native_offered(const struct rl_node *node) {
    return (enum rl_command_kind)node->release_offered;
}

void rl_native_try(struct rl_node *node, const char *wire, size_t length, uint64_t now_ns) {
    assert(rl_command_is_native_release(rl_native_offered(node)));
    assert(node->state == RL_NODE_UP && node->head != NULL); /* behind a release */
    if (node->waiting >= node->options->requests_max / 2 ||
        rl_conn_unsent(node->conn) > node->options->unsent_max / 2) {
        return; /* another time */
    }
    node->trial = (struct rl_request){.kind = node->release_offered, .sent_ns = now_ns};
    if (rl_conn_send(node->conn, wire, length)) {
        node->release_offered = RL_COMMAND_RELEASE; /* once */
        rl_node_push(node, &node->trial);
    }
    rl_node_invariant(node);
}

void rl_native_tried(struct rl_node *node, const struct rl_answer *answer) {
    assert(rl_command_is_native_release((enum rl_command_kind)node->trial.kind));
    assert(node->release_kind == RL_COMMAND_RELEASE);
    if (answer->verdict == RL_YES || answer->verdict == RL_NO) {
        RL_MARK(RELEASES_NATIVELY);
        node->release_kind = node->trial.kind;
    }
}

/* It says something of the command or of the user, and not of this moment. */
static bool is_lasting(int16_t reason) {
    assert(reason != 0);
    return reason == REDLOCK_ERR_NODE_ERROR || reason == REDLOCK_ERR_NODE_PERMISSION;
}

bool rl_native_resend(struct rl_node *node, struct rl_request *request,
                      const struct rl_answer *answer) {
    char *wire = node->io->wire;
    assert(answer->verdict == RL_ERROR);
    if (!rl_command_is_native_release((enum rl_command_kind)request->kind)) {
        return false;
    }
    RL_MARK(NATIVE_REFUSED);
    if (is_lasting(answer->reason)) {
        node->release_kind = RL_COMMAND_RELEASE;
    }
    assert(node->io->wire_room >= rl_command_room(request->target));
    request->kind = RL_COMMAND_RELEASE;
    request->next = NULL;
    if (!rl_conn_send(node->conn, wire, rl_request_format(request, wire))) {
        return false; /* the connection is broken, and the release pending */
    }
    rl_node_push(node, request);
    return true;
}
