/* See request.h. */
#include "redis/request.h"

#include <assert.h>

size_t rl_request_format(const struct rl_request *request, char *wire) {
    assert(request->kind < RL_COMMAND_HANDSHAKE);
    assert(request->target != NULL);
    const struct rl_command command = {.kind = (enum rl_command_kind)request->kind,
                                       .whole_script = request->whole_script,
                                       .announces = request->announces,
                                       .ttl_ms = request->ttl_ms,
                                       .counter = request->counter,
                                       .target = request->target,
                                       .token = request->token,
                                       .successor = request->successor,
                                       .lease_ms = request->lease_ms,
                                       .waited_ms = request->waited_ms,
                                       .grace_ms = request->grace_ms,
                                       .index = request->index,
                                       .converts = request->converts,
                                       .shut_ms = request->shut_ms,
                                       .intent_ms = request->intent_ms,
                                       .mode = request->mode,
                                       .which = request->which,
                                       .lock_mode = request->lock_mode,
                                       .join = request->join,
                                       .has_turn = request->has_turn,
                                       .line_only = request->line_only,
                                       .from = request->from,
                                       .slots = &request->slots};
    return rl_command_format(wire, &command);
}
