/* See listener.h. */
#include "redis/listener.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "redis/conn.h"
#include "redis/handshake.h"
#include "redlock/status.h"

#define IN(state) (1u << (state))
#define WIRE_MAX (RL_CHANNEL_MAX + 64)

/* Allowed moves, besides the one to off. */
static const uint32_t next_states[RL_LISTENER_STATES] = {
    [RL_LISTENER_OFF] = IN(RL_LISTENER_CONNECTING) | IN(RL_LISTENER_BACKOFF),
    [RL_LISTENER_CONNECTING] = IN(RL_LISTENER_HANDSHAKE) | IN(RL_LISTENER_BACKOFF),
    [RL_LISTENER_HANDSHAKE] =
        IN(RL_LISTENER_UP) | IN(RL_LISTENER_BACKOFF) | IN(RL_LISTENER_REFUSED),
    [RL_LISTENER_UP] = IN(RL_LISTENER_BACKOFF) | IN(RL_LISTENER_REFUSED),
    [RL_LISTENER_BACKOFF] = IN(RL_LISTENER_CONNECTING) | IN(RL_LISTENER_BACKOFF),
    [RL_LISTENER_REFUSED] = IN(RL_LISTENER_CONNECTING) | IN(RL_LISTENER_BACKOFF),
};

/* The first commands: the part of a node's handshake that is not about scripts. */
static const enum rl_step steps[] = {RL_STEP_AUTH, RL_STEP_SELECT, RL_STEP_SETNAME, RL_STEP_CONFIG,
                                     RL_STEP_PING};
#define N_STEPS (sizeof steps / sizeof steps[0])
static_assert(N_STEPS <= 32, "which are not answered is a mask");

static void listener_move(struct rl_listener *listener, enum rl_listener_state to) {
    const bool allowed = to == RL_LISTENER_OFF || (next_states[listener->state] & IN(to)) != 0;
    assert(allowed);
    (void)allowed; /* without assertions */
    listener->state = (uint8_t)to;
    assert((listener->conn != NULL) ==
           ((IN(to) &
             (IN(RL_LISTENER_CONNECTING) | IN(RL_LISTENER_HANDSHAKE) | IN(RL_LISTENER_UP))) != 0));
}

static void listener_set_deadline(struct rl_listener *listener, uint64_t at_ns) {
    if (listener->deadline_ns != at_ns) {
        listener->deadline_ns = at_ns;
        listener->events->deadline(listener);
    }
}

/* -- The end of a connection -- */

static void listener_failed(struct rl_listener *listener, int16_t reason) {
    bool was_up = listener->state == RL_LISTENER_UP;
    bool is_refused = reason == REDLOCK_ERR_NODE_PERMISSION;
    const uint64_t now_ns = rl_io_now_ns(listener->io);
    uint64_t pause_ns = RL_LISTENER_REFUSED_NS;
    assert(listener->conn == NULL && reason != 0);
    listener->failures++;
    listener->waiting = 0;
    listener->reason = reason;
    if (!is_refused) {
        pause_ns = rl_pause_ns(listener->options->backoff_min_ns, listener->options->backoff_max_ns,
                               was_up ? now_ns - listener->up_ns : 0, &listener->pause_ns,
                               &listener->random);
    }
    listener_move(listener, is_refused ? RL_LISTENER_REFUSED : RL_LISTENER_BACKOFF);
    listener_set_deadline(listener, now_ns + pause_ns);
    if (reason == REDLOCK_ERR_NODE_AUTH) {
        listener->events->unauthorized(listener);
    }
    if (was_up || is_refused) {
        listener->events->down(listener);
    }
}

static void listener_broken(void *owner, int16_t reason, const char *detail) {
    struct rl_listener *listener = owner;
    assert(listener->conn != NULL);
    (void)detail; /* no message is about a listener */
    listener->conn = NULL;
    listener_failed(listener, reason);
}

/* -- Received items -- */

static void listener_greeted(struct rl_listener *listener) {
    assert(listener->steps == 0); /* PING is answered last */
    listener_move(listener, RL_LISTENER_UP);
    listener->reason = 0;
    listener->pause_ns = 0;
    listener->up_ns = rl_io_now_ns(listener->io);
    listener_set_deadline(listener, RL_NEVER);
    listener->events->up(listener);
}

static void listener_step_answered(struct rl_listener *listener, const redisReply *reply) {
    size_t at = 0;
    while (at < N_STEPS && !(listener->steps & IN(at))) {
        at++;
    }
    assert(at < N_STEPS); /* the guard refuses an unsolicited answer */
    listener->steps &= ~IN(at);
    struct rl_answer answer = rl_reply_judge(RL_COMMAND_HANDSHAKE, reply);
    int16_t reason = rl_handshake_judge(steps[at], &answer);
    if (reason != 0) {
        rl_conn_break(listener->conn, reason, "");
    } else if (steps[at] == RL_STEP_CONFIG) {
        struct rl_config_read *read = &listener->io->config;
        const struct rl_config *config = answer.verdict != RL_NO ? read->config : NULL;
        if ((answer.verdict != RL_NO && config == NULL) ||
            !listener->events->config(listener, config)) {
            rl_conn_break(listener->conn, REDLOCK_ERR_NODE_CONFIG, "");
        }
        rl_config_unread(read, NULL);
    } else if (steps[at] == RL_STEP_PING) {
        rl_conn_expect(listener->conn, (struct rl_due){0});
        listener_greeted(listener);
    }
}

/* SUBSCRIBE was answered with an error: an ACL forbids it, or the server has no such command. */
static void listener_denied(struct rl_listener *listener, const char *text) {
    int16_t reason = rl_reply_reason(text);
    if (reason == REDLOCK_ERR_NODE_ERROR) {
        reason = REDLOCK_ERR_NODE_PERMISSION;
    }
    rl_conn_break(listener->conn, reason, "");
}

static bool listener_is_asked(struct rl_listener *listener) {
    const struct rl_received *heard = &listener->received;
    assert(heard->channel_length <= RL_CHANNEL_MAX);
    if (listener->state != RL_LISTENER_UP) {
        return false;
    }
    if (heard->kind == RL_RECEIVED_MESSAGE) {
        return listener->events->message(listener, heard->channel, heard->channel_length,
                                         heard->payload, heard->payload_length);
    }
    return listener->events->confirmed(listener, heard->channel, heard->channel_length,
                                       heard->kind == RL_RECEIVED_SUBSCRIBED);
}

static void listener_reply(void *owner, const redisReply *reply) {
    struct rl_listener *listener = owner;
    const bool is_array = reply->type == REDIS_REPLY_ARRAY;
    if (!is_array || listener->received.kind != RL_RECEIVED_MESSAGE) {
        assert(listener->waiting > 0);
        listener->waiting--;
    }
    if (!is_array && listener->state == RL_LISTENER_HANDSHAKE) {
        listener_step_answered(listener, reply);
    } else if (reply->type == REDIS_REPLY_ERROR) {
        listener_denied(listener, reply->str);
    } else if (!is_array) {
        rl_conn_break(listener->conn, REDLOCK_ERR_NODE_PROTOCOL, "");
    } else if (!listener_is_asked(listener)) {
        rl_conn_break(listener->conn, REDLOCK_ERR_NODE_PROTOCOL, "");
    }
}

/* -- Connecting -- */

static void listener_connected(void *owner) {
    struct rl_listener *listener = owner;
    char wire[RL_COMMAND_WIRE_MAX];
    assert(listener->waiting == 0);
    listener_move(listener, RL_LISTENER_HANDSHAKE);
    listener->steps = 0;
    rl_conn_expect(listener->conn, (struct rl_due){.config = &listener->io->config});
    if (!rl_conn_begin_secret(listener->conn, N_STEPS * sizeof wire)) {
        return;
    }
    for (size_t i = 0; i < N_STEPS; i++) {
        size_t length =
            rl_handshake_format(steps[i], listener->url, &listener->options->handshake, wire);
        if (length > 0 && rl_conn_send(listener->conn, wire, length)) {
            listener->steps |= IN(i);
            listener->waiting++;
        }
    }
    rl_wipe(wire, sizeof wire);
}

static void listener_dirty(void *owner) {
    struct rl_listener *listener = owner;
    listener->events->dirty(listener);
}

static void listener_reached(void *owner) {
    struct rl_listener *listener = owner;
    assert(listener->state == RL_LISTENER_CONNECTING);
    listener_set_deadline(listener,
                          rl_io_now_ns(listener->io) + listener->options->connect_timeout_ns);
}

static const struct rl_conn_events conn_events = {
    .reached = listener_reached,
    .connected = listener_connected,
    .reply = listener_reply,
    .dirty = listener_dirty,
    .broken = listener_broken,
};

static void listener_connect(struct rl_listener *listener) {
    int16_t reason = 0;
    char detail[RL_DETAIL_MAX];
    assert(listener->conn == NULL);
    listener->waiting = 0;
    listener->conn = rl_conn_open(listener->io, listener->dialer, &listener->address, &conn_events,
                                  listener, &listener->waiting, &reason, detail);
    if (listener->conn == NULL) {
        listener_failed(listener, reason);
        return;
    }
    rl_conn_listen(listener->conn, &listener->received);
    listener_move(listener, RL_LISTENER_CONNECTING);
    listener_set_deadline(listener,
                          rl_io_now_ns(listener->io) + listener->options->connect_timeout_ns);
}

/* -- The interface -- */

void rl_listener_init(struct rl_listener *listener, struct rl_io *io, const struct rl_url *url,
                      const struct rl_node_options *options,
                      const struct rl_listener_events *events, uint64_t seed) {
    assert(options->backoff_min_ns > 0 && options->backoff_min_ns <= options->backoff_max_ns);
    memset(listener, 0, sizeof *listener);
    listener->options = options;
    listener->events = events;
    listener->url = url;
    listener->io = io;
    listener->deadline_ns = RL_NEVER;
    listener->random = seed | 1;
    listener->state = RL_LISTENER_OFF;
}

void rl_listener_open(struct rl_listener *listener, const struct rl_address *address) {
    assert(address->length > 0 && address->length <= sizeof address->storage);
    if (listener->state == RL_LISTENER_OFF) {
        listener->address = *address;
        listener_connect(listener);
    }
}

bool rl_listener_ask(struct rl_listener *listener, const char *channel, size_t length,
                     bool subscribe) {
    char wire[WIRE_MAX];
    assert(listener->state == RL_LISTENER_UP);
    assert(length > 0 && length <= RL_CHANNEL_MAX);
    const char *word = subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE";
    int head =
        snprintf(wire, sizeof wire, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(word), word, length);
    assert(head > 0 && (size_t)head + length + 3 <= sizeof wire);
    memcpy(wire + head, channel, length);
    memcpy(wire + head + length, "\r\n", 3);
    if (!rl_conn_send(listener->conn, wire, (size_t)head + length + 2)) {
        return false;
    }
    listener->waiting++;
    return true;
}

bool rl_listener_is_up(const struct rl_listener *listener) {
    return listener->state == RL_LISTENER_UP;
}

void rl_listener_flush(struct rl_listener *listener) {
    if (listener->conn != NULL) {
        rl_conn_flush(listener->conn);
    }
}

void rl_listener_tick(struct rl_listener *listener, uint64_t now_ns) {
    if (now_ns < listener->deadline_ns) {
        return;
    }
    switch ((enum rl_listener_state)listener->state) {
        case RL_LISTENER_BACKOFF:
        case RL_LISTENER_REFUSED:
            listener_connect(listener);
            break;
        case RL_LISTENER_CONNECTING:
        case RL_LISTENER_HANDSHAKE:
            rl_conn_close(listener->conn);
            listener->conn = NULL;
            listener_failed(listener, REDLOCK_ERR_NODE_TIMEOUT);
            break;
        case RL_LISTENER_OFF:
        case RL_LISTENER_UP:
        case RL_LISTENER_STATES:
            assert(false); /* a state without a deadline */
            break;
    }
}

void rl_listener_authorized(struct rl_listener *listener) {
    bool waits = listener->state == RL_LISTENER_BACKOFF || listener->state == RL_LISTENER_REFUSED;
    assert(listener->url->has_password);
    if (waits && (listener->reason == REDLOCK_ERR_NODE_AUTH ||
                  listener->reason == REDLOCK_ERR_NODE_PERMISSION)) {
        listener->pause_ns = 0;
        listener_set_deadline(listener, rl_io_now_ns(listener->io));
    }
}

void rl_listener_close(struct rl_listener *listener) {
    if (listener->conn != NULL) {
        rl_conn_close(listener->conn);
        listener->conn = NULL;
    }
    listener->waiting = 0;
    listener->reason = 0;
    listener_move(listener, RL_LISTENER_OFF);
    listener_set_deadline(listener, RL_NEVER);
}
