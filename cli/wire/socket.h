/* One connection to a node that blocks, with a time limit for all that it waits for. hiredis
 * connects, and parses the answers; the bytes go through a stream as a client's do, so that TLS,
 * which hiredis does not have in all versions, is the library's (lib/tls), with its messages about
 * a certificate.
 *
 * Happy path: rl_socket_open() connects and shakes hands, rl_socket_put() appends commands, each
 * rl_socket_reply() sends what is left of them and gives the next answer, rl_socket_close().
 *
 * Why not redisCommand()? Its timeout begins anew with each byte: a server that sends one now and
 * then, or never stops, would block the command forever, and the latter would fill the memory.
 *
 * Failure modes: no connection or no handshake in time, a certificate that is
 * not accepted, an answer that is incomplete in time, or too long: rl_socket_error() says so, and
 * no more is sent or received. With TLS 1.3 a server verifies the client's certificate after the
 * handshake: then it is the first answer that fails. */
#ifndef RL_CLI_WIRE_SOCKET_H
#define RL_CLI_WIRE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/world.h"
#include "redis/url.h"

#define RL_SOCKET_FIRST_MAX 64

struct redisContext;
struct redisReply;

struct rl_socket {
    struct rl_world world;        /* the first member: its dial() alone is there */
    struct rl_stream under;       /* the socket */
    struct rl_stream *stream;     /* ... or TLS on it */
    struct redisContext *context; /* NULL: not open. It has the socket, the parser and the error */
    bool is_up;
    bool wants_room;
    int error; /* the socket ends with it next; 0: it does not */
    char *out; /* commands to be sent: from `from` to `to` */
    size_t from, to, room;
    int pieces; /* of an answer */

    char first[RL_SOCKET_FIRST_MAX]; /* of the server; they stay when it is closed */
    size_t first_length;
};

/* connect_ms: for the connection, and again for the handshake of TLS. dialer: of TLS; NULL:
 * without. False: rl_socket_error() says why; rl_socket_close() is needed all the same. */
bool rl_socket_open(struct rl_socket *s, int64_t connect_ms, const struct rl_url *url,
                    struct rl_dialer *dialer);
/* Also if it is not open. */
void rl_socket_close(struct rl_socket *s);

/* Appends bytes to be sent. */
void rl_socket_put(struct rl_socket *s, const char *bytes, size_t length);

/* The next answer, whole within answer_ms, and not longer than 64 MiB or a million elements (with
 * hiredis 1.0 and later); or NULL. */
struct redisReply *rl_socket_reply(struct rl_socket *s, int64_t answer_ms);

/* Sends what was put, and waits so long for the server's first bytes. */
void rl_socket_hear_first(struct rl_socket *s, int64_t ms);

/* Whether it has failed; whether in TLS; and why. */
bool rl_socket_has_failed(const struct rl_socket *s);
bool rl_socket_has_failed_in_tls(const struct rl_socket *s);
const char *rl_socket_error(const struct rl_socket *s);

#endif
