/* See probe.h. */
#include "doctor/probe.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "say.h"
#include "tool/utf8.h"
#include "wire/connection.h"

#define PROBE_MS 500
#define ANSWER_MAX 64

static const char ping[] = "*1\r\n$4\r\nPING\r\n";

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

static const struct {
    const char *begins;
    const char *name; /* NULL: TLS */
} known[] = {
    {"\x15\x03", NULL},                  /* an alert */
    {"\x16\x03", NULL},                  /* a handshake */
    {"HTTP/", "an HTTP server"},         /**/
    {"<", "an HTTP server"},             /* an old one: the page alone */
    {"SSH-", "an SSH server"},           /**/
    {"ERROR\r\n", "a memcached server"}, /* it does not know "*1" */
    {"220 ", "a mail or an FTP server"}, /* greets every client */
};

/* Returns how many bytes came back; 0: none, or no connection. */
static size_t exchange(struct rl_wire *wire, const char *bytes, size_t length,
                       char answer[ANSWER_MAX]) {
    ssize_t got = 0;
    if (rl_wire_connect(wire)) {
        redisContext *context = wire->context;
        redisSetTimeout(context, (struct timeval){.tv_usec = PROBE_MS * 1000});
        if (send(context->fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length) {
            got = recv(context->fd, answer, ANSWER_MAX, 0);
        }
    }
    rl_wire_disconnect(wire);
    return got > 0 ? (size_t)got : 0;
}

void rl_doctor_probe(struct rl_facts *facts) {
    struct rl_wire *wire = facts->wire;
    const char *failed_at = wire->failed_at;
    char answer[ANSWER_MAX], shown[32], failure[RL_WIRE_TEXT_MAX];
    memcpy(failure, wire->failure, sizeof failure);
    size_t length = exchange(wire, ping, sizeof ping - 1, answer);
    if (length == 0) {
        length = exchange(wire, client_hello, sizeof client_hello, answer);
    }
    wire->failed_at = failed_at; /* of the connection before these */
    memcpy(wire->failure, failure, sizeof wire->failure);
    if (length == 0 || answer[0] == '+') { /* nothing, or PONG after all */
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t begins = strlen(known[i].begins);
        if (length >= begins && memcmp(answer, known[i].begins, begins) == 0) {
            facts->wants_tls = known[i].name == NULL;
            snprintf(facts->other, sizeof facts->other, "%s",
                     facts->wants_tls ? "a port that requires TLS" : known[i].name);
            return;
        }
    }
    snprintf(facts->other, sizeof facts->other, "a server that answers PING with \"%s\"",
             tool_utf8_clean(answer, length < 24 ? length : 24, shown, sizeof shown));
}
