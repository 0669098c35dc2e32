/* User and password of a node, and how newer ones take the place of those before.
 *
 *     settled -> offered -> sent -> settled    the node has accepted them
 *                   ^         |
 *                   |         +--> refused     those before go on
 *                   +---------+----------+     the connection has ended
 *
 * Happy path: newer ones are offered, AUTH goes out on the live connection, the node says OK, and
 * those before are wiped.
 *
 * Failure modes: the node refuses them, and a refused AUTH leaves a connection as it was. Both are
 * kept then, and each new connection says AUTH with the newer ones, and if they are refused with
 * those before: the node is used if it takes either. So it does not matter who is told of a
 * password first, the client or the node.
 *
 * Can a client whose first credentials are wrong go on as `default`, without a password? No: those
 * that are set before the loop runs, so before the node was sent any, replace the URL's, so there
 * are none before them to fall back to (rl_credentials_use()).
 *
 * Does a server that does not refuse them in good order (it hangs up, says what is no answer, or
 * nothing) take those before with it? No: where a handshake ended so, the next one is without the
 * newer ones (is_skipped). Once it is up they are said again, for the server may only have been
 * stopped; unless it has refused them, or has hung up on them on a live connection, too.
 *
 * Can newer ones be mistaken for those that a node has accepted? Only one AUTH with offered ones is
 * out at a time, and what is offered meanwhile waits for its answer (`later`).
 *
 * Can a refusal be missed? Redis since 7.2, and Valkey before 9, say nothing to a refused
 * AUTH while answers to commands before it wait to be written (redis/redis#15640): each answer that
 * follows would be taken for that of the command before. So AUTH goes out when there is nothing
 * before it without an answer, and not sooner: first on a new connection, and on a live one behind
 * a gap (rl_conn_send_apart()).
 *
 * Can a password stay in memory? Each place is wiped when what is in it has been accepted, replaced
 * or moved, and all of them with their node. */
#ifndef RL_REDIS_CREDENTIALS_H
#define RL_REDIS_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/reply.h"
#include "redis/url.h"

struct rl_credentials {
    bool has_password; /* false: there are none */
    char user[RL_URL_USER_MAX + 1];
    char password[RL_URL_PASSWORD_MAX + 1];
};

enum rl_auth_state {
    RL_AUTH_SETTLED, /* those of the URL are the newest */
    RL_AUTH_OFFERED, /* there are newer ones, not tried on this connection, or there is none */
    RL_AUTH_SENT,    /* AUTH with them is out */
    RL_AUTH_REFUSED, /* on this connection; tried again on the next */
    RL_AUTH_STATES
};

struct rl_auth {
    struct rl_credentials offered;
    struct rl_credentials later;   /* offered while others were out */
    uint8_t state;                 /* enum rl_auth_state */
    bool is_skipped;               /* the offered ones, in the next handshake */
    bool is_cut_live;              /* the server has hung up on them when it was up */
    int16_t reason;                /* why the offered ones were refused last, or 0 */
    char words[RL_REPLY_TEXT_MAX]; /* ... in the node's words */
};

/* False: it is no password or user that can be sent. The place is empty then. */
bool rl_credentials_set(struct rl_credentials *credentials, const char *user, const char *password);

void rl_credentials_wipe(struct rl_credentials *credentials);

/* They are the URL's from now on, and those before are wiped. */
void rl_credentials_use(const struct rl_credentials *credentials, struct rl_url *url);

/* Writes AUTH, at most RL_COMMAND_WIRE_MAX bytes, which the caller wipes. Returns its length. */
size_t rl_credentials_format(const char *user, const char *password, char *wire);

/* Newer ones. They are to be sent, unless others are out. */
void rl_auth_offer(struct rl_auth *auth, const struct rl_credentials *credentials);

/* AUTH with the offered ones goes out. */
void rl_auth_sent(struct rl_auth *auth);

/* The node has accepted them: they are url's from now on, and those before are wiped. */
void rl_auth_accepted(struct rl_auth *auth, struct rl_url *url);

/* words: as rl_auth_hide() left them. */
void rl_auth_refused(struct rl_auth *auth, int16_t reason, const char *words);

enum rl_auth_end {
    RL_AUTH_ENDED,         /* for another reason */
    RL_AUTH_CUT_HANDSHAKE, /* before it was up: by the server, or since it answered oddly or not */
    RL_AUTH_CUT_LIVE       /* when it was up: by the server, or since it answered oddly */
};

/* The connection, or the attempt at one, has ended. */
void rl_auth_ended(struct rl_auth *auth, enum rl_auth_end how);

/* Whether the offered ones are said on a connection that has just come up. */
bool rl_auth_is_due(const struct rl_auth *auth);

/* The words of an answer to AUTH as they may be shown: some servers repeat what was sent ("ERR
 * unknown command 'AUTH', with args beginning with: ..."). Then only its first word is left in
 * text, and the rest is wiped. */
void rl_auth_hide(char *text, const char *password);

#endif
