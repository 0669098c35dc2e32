/* Asks every node at once, a thread each, over hiredis and without the library: its findings are
 * independent of the library.
 *
 * Failure modes: a step that fails says why and ends the questions to that node; a forbidden
 * question (INFO, CONFIG, TIME) leaves its facts unknown, and the next one follows. */
#include "doctor/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "redis/reply.h"
#include "tool/utf8.h"

int64_t rl_doctor_quarantine_s(const struct rl_facts *facts) {
    const struct rl_args *args = facts->wire->args;
    /* The last second of the node's uptime may have just begun, so clients count one less. */
    int64_t quarantine_ms = args->max_ttl_ms + rl_args_drift_ms(args->max_ttl_ms);
    int64_t left_s = (quarantine_ms + 999) / 1000 + 1 - facts->info.uptime_s;
    return args->guard == REDLOCK_GUARD_STRICT && left_s > 0 ? left_s : 0;
}

/* Finds out what is behind a port that accepts connections but does not speak Redis: TLS, or
 * another server.
 *
 * Its first bytes tell; if it sent none, its answer to a ClientHello on a separate connection does.
 *
 * Failure modes: any other answer is shown by its first bytes, as printable text. A server that
 * says nothing in either case stays unknown: it may be a Redis that hangs. */
#define PROBE_MS 500

/* A ClientHello of TLS 1.2 with no extension, for widely known ciphers. A server with other ciphers
 * answers with an alert, which tells as much. */
static const char client_hello[] =
    "\x16\x03\x01\x00\x33"             /* handshake, 51 bytes */
    "\x01\x00\x00\x2f\x03\x03"         /* ClientHello, 47 bytes, TLS 1.2 */
    "redlock-doctor asks: who's there" /* random: 32 bytes */
    "\x00"                             /* no session */
    "\x00\x08\xc0\x2f\xc0\x30\xc0\x2b\x00\x9c"
    "\x01"; /* compression: none, by the zero that ends the string */
static_assert(sizeof client_hello == 5 + 51, "as it says of itself");

static void probe(struct rl_facts *facts) {
    struct rl_wire *wire = facts->wire;
    char shown[32];
    if (wire->socket.first_length == 0) {
        const struct rl_wire before = *wire; /* what is said of the first connection stays */
        if (rl_wire_connect(wire)) {
            rl_socket_put(&wire->socket, client_hello, sizeof client_hello);
            rl_socket_hear_first(&wire->socket, PROBE_MS);
        }
        rl_wire_disconnect(wire);
        wire->failed_at = before.failed_at;
        memcpy(wire->failure, before.failure, sizeof wire->failure);
    }
    const char *answer = wire->socket.first;
    const size_t length = wire->socket.first_length;
    if (length == 0 || answer[0] == '+' || answer[0] == '-') { /* nothing, or Redis after all */
        return;
    }
    const char *stranger = rl_reply_stranger(answer, length);
    if (stranger != NULL) {
        facts->wants_tls = strcmp(stranger, RL_REPLY_TLS) == 0;
        snprintf(facts->other, sizeof facts->other, "%s", stranger);
        return;
    }
    snprintf(facts->other, sizeof facts->other, "a server that answers PING with \"%s\"",
             tool_utf8_clean(answer, length < 24 ? length : 24, shown, sizeof shown));
}

/* -- Single questions -- */

/* The answer, or NULL; why then says why there is none. */
static redisReply *question(struct rl_facts *facts, char why[RL_FACT_MAX], const char *command) {
    redisReply *reply = rl_wire_checked(facts->wire, rl_wire_command(facts->wire, command));
    memcpy(why, facts->wire->failure, RL_FACT_MAX);
    return reply;
}

static void ask_info(struct rl_facts *facts) {
    redisReply *reply = question(facts, facts->no_info, "INFO");
    if (reply != NULL && reply->str != NULL) {
        rl_wire_info_read(reply->str, &facts->info);
    }
    freeReplyObject(reply);
}

/* One setting. False: not allowed, or not there. */
static bool ask_setting(struct rl_facts *facts, const char *command, char out[RL_FACT_MAX]) {
    char why[RL_FACT_MAX];
    redisReply *reply = question(facts, why, command);
    bool found = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                 reply->element[1]->str != NULL;
    if (found) {
        tool_utf8_clean(reply->element[1]->str, reply->element[1]->len, out, RL_FACT_MAX);
    }
    freeReplyObject(reply);
    return found;
}

static void ask_set(struct rl_facts *facts) {
    redisReply *reply = question(facts, facts->no_set, "GET " RL_CONFIG_KEY);
    if (reply != NULL && reply->type == REDIS_REPLY_STRING &&
        !rl_config_parse(&facts->set, reply->str, reply->len)) {
        facts->set.key.epoch = 0;
    }
    freeReplyObject(reply);
}

/* -- One node, all nodes -- */

static void ask(void *data) {
    struct rl_facts *facts = data;
    struct rl_wire *wire = facts->wire;
    if (rl_wire_connect(wire)) {
        facts->is_reachable = rl_wire_hello(wire);
        if (!facts->is_reachable && strcmp(wire->failed_at, "connect") == 0) {
            rl_wire_disconnect(wire);
            probe(facts); /* a connection was accepted, and not answered */
        }
    }
    if (facts->is_reachable) {
        ask_info(facts);
        facts->has_config = ask_setting(facts, "CONFIG GET appendfsync", facts->appendfsync) &&
                            ask_setting(facts, "CONFIG GET save", facts->save);
        ask_set(facts);
        rl_wire_clock(wire, RL_WIRE_SAMPLES, &facts->clock);
        rl_doctor_try(facts);
    }
    rl_wire_disconnect(wire);
}

void rl_doctor_ask(struct rl_facts *facts, struct rl_wires *wires) {
    rl_wires_each(wires, facts, sizeof *facts, ask);
}
