/* One node, as commands have it that ask the nodes themselves: data, for connection.h.
 *
 * Of the library's inside this folder knows: the grammar of URLs (redis/url.h, url_tls.h), how
 * other servers begin to speak (redis/reply.h), and TLS as clients have it (tls/context.h,
 * tls/peer.h, nodes/tls.h, and base/world.h, whose streams it is made of). A second
 * reader of its URLs, or a second opinion about a certificate, would one day be another one.
 * Nothing else in cli/ but this folder and doctor/ knows any of the library's inside. */
#ifndef RL_CLI_WIRE_WIRE_H
#define RL_CLI_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "args.h"
#include "redis/url.h"
#include "redis/url_tls.h"

#define RL_WIRE_TEXT_MAX 128
#define RL_WIRE_FIRST_MAX 64
#define RL_WIRE_ERR_TLS 64 /* err of a context; hiredis's own are small */

struct redisContext;
struct rl_tunnel;

struct rl_wire {
    const char *text; /* the URL */
    struct rl_url url;
    struct rl_url_tls tls; /* what it says of that */
    const struct rl_args *args;

    /* How long a whole answer may take, of how many elements an array may be (with hiredis 1.0 and
     * later), and how long an answer may be in pieces of 16 KiB. */
    int64_t answer_ms;
    long long elements_max;
    int pieces_max;

    struct redisContext *context; /* NULL: there is no connection */
    struct rl_tunnel *tunnel;     /* of that connection, or NULL */
    bool is_connected;            /* the port takes connections; TLS, if wanted, is there */

    char first[RL_WIRE_FIRST_MAX]; /* what the server said first on this connection */
    size_t first_length;

    const char *failed_at;          /* "connect", "TLS", "AUTH" or "SELECT", or NULL */
    char failure[RL_WIRE_TEXT_MAX]; /* why; or why the last answer was none, see below */
    char tls_end[RL_WIRE_TEXT_MAX]; /* why TLS ended a connection that was there; "": it did not */
};

#endif
