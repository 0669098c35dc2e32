/* See probe.h. */
#include "doctor/probe.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "redis/reply.h"
#include "tool/utf8.h"
#include "wire/connection.h"

#define PROBE_MS 500

/* A ClientHello of TLS 1.2 with no extension, for ciphers that most know. A server with others
 * answers with an alert, which tells as much. */
static const char client_hello[] =
    "\x16\x03\x01\x00\x33"             /* handshake, 51 bytes */
    "\x01\x00\x00\x2f\x03\x03"         /* ClientHello, 47 bytes, TLS 1.2 */
    "redlock-doctor asks: who's there" /* random: 32 bytes */
    "\x00"                             /* no session */
    "\x00\x08\xc0\x2f\xc0\x30\xc0\x2b\x00\x9c"
    "\x01"; /* compression: none, by the zero that ends the string */
static_assert(sizeof client_hello == 5 + 51, "as it says of itself");

/* What is said to that. Returns how many bytes came back; 0: none, or no connection. */
static size_t shake_hands(struct rl_wire *wire, char answer[RL_WIRE_FIRST_MAX]) {
    const size_t length = sizeof client_hello;
    ssize_t got = 0;
    if (rl_wire_connect(wire)) {
        redisContext *context = wire->context;
        redisSetTimeout(context, (struct timeval){.tv_usec = PROBE_MS * 1000});
        if (send(context->fd, client_hello, length, MSG_NOSIGNAL) == (ssize_t)length) {
            got = recv(context->fd, answer, RL_WIRE_FIRST_MAX, 0);
        }
    }
    rl_wire_disconnect(wire);
    return got > 0 ? (size_t)got : 0;
}

void rl_doctor_probe(struct rl_facts *facts) {
    struct rl_wire *wire = facts->wire;
    const char *failed_at = wire->failed_at;
    char answer[RL_WIRE_FIRST_MAX], shown[32], failure[RL_WIRE_TEXT_MAX];
    size_t length = wire->first_length;
    memcpy(answer, wire->first, sizeof answer);
    memcpy(failure, wire->failure, sizeof failure);
    if (length == 0) {
        length = shake_hands(wire, answer);
    }
    wire->failed_at = failed_at; /* of the connection before this one */
    memcpy(wire->failure, failure, sizeof wire->failure);
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
