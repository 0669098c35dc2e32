/* See node_state.h. The table is the diagram in node.h, as code. */
#include "redis/node_state.h"

#include <assert.h>
#include <stddef.h>

#define IN(state) (1u << (state))

static const uint32_t next_states[RL_NODE_STATES] = {
    [RL_NODE_IDLE] = IN(RL_NODE_RESOLVING) | IN(RL_NODE_CONNECTING) | IN(RL_NODE_BACKOFF),
    [RL_NODE_RESOLVING] = IN(RL_NODE_CONNECTING) | IN(RL_NODE_BACKOFF),
    [RL_NODE_CONNECTING] = IN(RL_NODE_CONNECTING) | IN(RL_NODE_HANDSHAKE) | IN(RL_NODE_BACKOFF),
    [RL_NODE_HANDSHAKE] = IN(RL_NODE_CONNECTING) | IN(RL_NODE_UP) | IN(RL_NODE_BACKOFF),
    [RL_NODE_UP] = IN(RL_NODE_BACKOFF),
    [RL_NODE_BACKOFF] = IN(RL_NODE_RESOLVING) | IN(RL_NODE_CONNECTING) | IN(RL_NODE_BACKOFF),
    [RL_NODE_CLOSED] = 0,
};

static_assert(RL_NODE_STATES <= 32, "a set of states is 32 bits");
static_assert(RL_BATCH_MAX < RL_REPLY_TEXT_MAX, "the reply has a character for each");

void rl_node_invariant(const struct rl_node *node) {
    const uint32_t connected = IN(RL_NODE_CONNECTING) | IN(RL_NODE_HANDSHAKE) | IN(RL_NODE_UP);
    assert((node->conn != NULL) == ((IN(node->state) & connected) != 0));
    assert((node->resolve != NULL) == (node->state == RL_NODE_RESOLVING));
    assert((node->reason == 0) == (node->state == RL_NODE_UP));
    assert((node->head == NULL) == (node->waiting == 0));
    assert((node->head == NULL) == (node->tail == &node->head));
    assert(*node->tail == NULL);
    assert(node->unwritten == NULL || node->head != NULL);
    assert((node->batch == NULL) == (node->batch_n == 0) && node->batch_n <= node->waiting);
    assert(node->auth.state != RL_AUTH_SENT || node->conn != NULL);
    assert(node->address_next <= node->address_count);
    assert(node->address_count <= RL_ADDRESSES_MAX);
    (void)node; /* without assertions */
    (void)connected;
}

void rl_node_set_deadline(struct rl_node *node, uint64_t at_ns) {
    if (node->deadline_ns != at_ns) {
        node->deadline_ns = at_ns;
        node->events->deadline(node);
    }
}

void rl_node_push(struct rl_node *node, struct rl_request *request) {
    assert(request->next == NULL);
    assert(node->batch == NULL || rl_command_extends_one_key(request)); /* else it overtakes */
    *node->tail = request;
    node->tail = &request->next;
    node->waiting++;
    if (node->unwritten == NULL) {
        node->unwritten = request;
    }
}

void rl_node_push_live(struct rl_node *node, struct rl_request *request, uint64_t now_ns) {
    assert(node->state == RL_NODE_UP);
    request->next = NULL;
    request->sent_ns = request->began_ns = now_ns;
    request->written_ns = rl_conn_is_full(node->conn) ? now_ns : 0; /* it waits for the node */
    rl_node_push(node, request);
    if (node->deadline_ns == RL_NEVER) {
        node->answers_seen = node->answers;
        rl_node_set_deadline(node, now_ns + node->options->stall_ns);
    }
}

/* Whether the script was sent whole on this connection. */
static bool knows(const struct rl_node *node, enum rl_command_kind kind) {
    return (node->known & IN(kind)) != 0;
}

void rl_node_batch(struct rl_node *node, struct rl_request *request, uint64_t now_ns) {
    if (node->batch_n == RL_BATCH_MAX) {
        rl_node_write_batch(node);
    }
    request->batched = 0;
    rl_node_push_live(node, request, now_ns);
    node->batch = node->batch_n == 0 ? request : node->batch;
    node->batch_n++;
    node->events->dirty(node);
}

void rl_node_write_batch(struct rl_node *node) {
    struct rl_request *first = node->batch;
    const uint32_t n = node->batch_n;
    if (n == 0) {
        return;
    }
    const enum rl_command_kind kind = n > 1 ? RL_COMMAND_EXTEND_MANY : RL_COMMAND_EXTEND;
    first->whole_script = !knows(node, kind);
    first->batched = (uint8_t)(n > 1 ? n : 0);
    node->batch = NULL;
    node->batch_n = 0;
    const size_t room = rl_command_many_room(first, n);
    char *wire = rl_conn_place(node->conn, room);
    if (wire != NULL) {
        rl_conn_wrote(node->conn, n > 1 ? rl_command_format_many(wire, room, first, n)
                                        : rl_command_format(wire, first));
        node->known |= IN(kind);
    }
}

void rl_node_note_written(struct rl_node *node) {
    struct rl_request *request = node->unwritten;
    const uint64_t now_ns = request != NULL ? rl_io_now_ns(node->io) : 0;
    for (; request != NULL; request = request->next) {
        if (request->written_ns == 0) {
            request->written_ns = now_ns;
        }
    }
    node->unwritten = NULL;
}

uint64_t rl_request_latency_ns(const struct rl_request *request, uint64_t now_ns) {
    const uint64_t since_ns = request->written_ns != 0 ? request->written_ns : request->sent_ns;
    return now_ns > since_ns ? now_ns - since_ns : 0; /* a step's time may be slightly older */
}

void rl_node_move(struct rl_node *node, enum rl_node_state to) {
    bool allowed = to == RL_NODE_CLOSED || (next_states[node->state] & IN(to)) != 0;
    assert(allowed);
    (void)allowed; /* without assertions */
    node->state = (uint8_t)to;
}

bool rl_node_resend(struct rl_node *node, struct rl_request *request) {
    char *wire = node->io->wire;
    assert(node->state == RL_NODE_UP);
    assert(node->io->wire_room >= rl_command_room(request->target));
    request->next = NULL;
    request->batched = 0;
    rl_node_write_batch(node);
    if (!rl_conn_send(node->conn, wire, rl_command_format(wire, request))) {
        return false;
    }
    request->sent_again = true;
    rl_node_script_sent(node, request);
    rl_node_push(node, request);
    return true;
}

void rl_node_put_script(const struct rl_node *node, struct rl_request *request) {
    const enum rl_command_kind kind = (enum rl_command_kind)request->kind;
    request->whole_script = rl_command_is_script(kind) && !knows(node, kind);
}

void rl_node_script_sent(struct rl_node *node, const struct rl_request *request) {
    if (request->whole_script) {
        node->known |= IN(request->kind);
    }
}

void rl_node_script_missing(struct rl_node *node, enum rl_command_kind kind) {
    node->known &= ~IN(kind);
}

bool rl_node_reserve(struct rl_node *node, const struct rl_request *request, size_t length) {
    const enum rl_command_kind last =
        request->lock_mode == RL_PERMIT ? RL_COMMAND_RELEASE_PERMIT : RL_COMMAND_RELEASE_LINE;
    const size_t release =
        length + (knows(node, last) ? RL_COMMAND_RELEASE_MORE : RL_COMMAND_RELEASE_WHOLE);
    return !rl_command_acquires((enum rl_command_kind)request->kind) ||
           rl_conn_reserve(node->conn, length + release);
}

/* -- For all users -- */

void rl_node_put_off(struct rl_node *node, uint64_t since_ns, uint64_t now_ns) {
    const uint64_t timeout_ns = node->options->connect_timeout_ns;
    assert(since_ns <= now_ns);
    for (struct rl_request *request = node->head; request != NULL; request = request->next) {
        if (request->sent_ns >= since_ns) {
            request->sent_ns = now_ns;
        }
    }
    bool begins = node->state == RL_NODE_RESOLVING || node->state == RL_NODE_CONNECTING ||
                  node->state == RL_NODE_HANDSHAKE;
    if (begins && node->deadline_ns != RL_NEVER && node->deadline_ns >= since_ns + timeout_ns) {
        rl_node_set_deadline(node, now_ns + timeout_ns);
    }
}

bool rl_node_is_up(const struct rl_node *node) {
    return node->state == RL_NODE_UP;
}

const struct rl_address *rl_node_address(const struct rl_node *node) {
    assert(node->conn != NULL && node->address_next > 0);
    return &node->addresses[node->address_next - 1];
}

uint64_t rl_node_deadline_ns(const struct rl_node *node) {
    return node->deadline_ns;
}
