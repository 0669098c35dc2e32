/* User and password of a node, and how newer credentials replace the old ones.
 *
 *     settled -> offered -> sent -> settled    the node has accepted them
 *                   ^         |
 *                   |         +--> refused     those before go on
 *                   +---------+----------+     the connection has ended
 *
 * Happy path: newer credentials are offered, AUTH is sent on the live connection, the node says OK,
 * and the old ones are wiped.
 *
 * Failure modes: the node refuses them, and a refused AUTH leaves a connection as it was. Both are
 * kept then, and each new connection sends AUTH with the newer ones, and if they are refused with
 * the old ones: the node is used if it accepts either. So it does not matter whether a new password
 * reaches the client or the node first.
 *
 * Can a client whose first credentials are wrong go on as `default`, without a password? No:
 * credentials that are set before the loop runs, so before the node was sent any, replace the
 * URL's, so there are no older ones to fall back to (rl_credentials_use()).
 *
 * If a server does not refuse the newer ones properly (it hangs up, sends an invalid answer, or
 * nothing), do the old ones become unusable, too? No: after a handshake that ended so, the next one
 * omits the newer ones (is_skipped). Once the node is up they are sent again, since the server may
 * only have been stopped; unless it has refused them, or has hung up on them on a live connection,
 * too.
 *
 * Can newer ones be mistaken for those that a node has accepted? No: only one AUTH with offered
 * credentials is outstanding at a time, and credentials that are offered meanwhile wait for its
 * answer (`later`).
 *
 * Can a refusal be missed? Redis since 7.2, and Valkey before 9, do not answer a refused AUTH while
 * answers to earlier commands wait to be written (redis/redis#15640): each later answer would be
 * matched to the command before its own. So AUTH is sent only when no earlier command is
 * unanswered: first on a new connection, and on a live one after a gap (rl_conn_send_apart()).
 *
 * Can a password stay in memory? No: each place is wiped when what is in it has been accepted,
 * replaced or moved, and all of them with their node. */
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
    RL_AUTH_OFFERED, /* newer ones are not tried on this connection, or there is none */
    RL_AUTH_SENT,    /* AUTH with them is outstanding */
    RL_AUTH_REFUSED, /* on this connection; tried again on the next */
    RL_AUTH_STATES
};

struct rl_auth {
    struct rl_credentials offered;
    struct rl_credentials later;   /* offered while others were outstanding */
    uint8_t state;                 /* enum rl_auth_state */
    bool is_skipped;               /* the offered ones, in the next handshake */
    bool is_cut_live;              /* the server has hung up on them on a live connection */
    int16_t reason;                /* why the offered ones were refused last, or 0 */
    char words[RL_REPLY_TEXT_MAX]; /* ... in the node's words */
};

/* Returns false if the password or user cannot be sent. The place is empty then. */
bool rl_credentials_set(struct rl_credentials *credentials, const char *user, const char *password);

void rl_credentials_wipe(struct rl_credentials *credentials);

/* Puts them into the URL, and wipes the old ones. */
void rl_credentials_use(const struct rl_credentials *credentials, struct rl_url *url);

/* Writes AUTH, at most RL_COMMAND_WIRE_MAX bytes, which the caller wipes. Returns its length. */
size_t rl_credentials_format(const char *user, const char *password, char *wire);

/* Offers newer ones. They must be sent, unless others are outstanding. */
void rl_auth_offer(struct rl_auth *auth, const struct rl_credentials *credentials);

/* AUTH with the offered ones is sent. */
void rl_auth_sent(struct rl_auth *auth);

/* The node has accepted them: puts them into url, and wipes the old ones. */
void rl_auth_accepted(struct rl_auth *auth, struct rl_url *url);

/* words: as rl_auth_hide() left them. */
void rl_auth_refused(struct rl_auth *auth, int16_t reason, const char *words);

enum rl_auth_end {
    RL_AUTH_ENDED,         /* for another reason */
    RL_AUTH_CUT_HANDSHAKE, /* before it was up: by the server, or for an odd answer or none */
    RL_AUTH_CUT_LIVE       /* when it was up: by the server, or for an odd answer */
};

/* The connection, or the attempt at one, has ended. */
void rl_auth_ended(struct rl_auth *auth, enum rl_auth_end how);

/* Whether the offered ones must be sent on a connection that has just come up. */
bool rl_auth_is_due(const struct rl_auth *auth);

/* Makes the text of an answer to AUTH safe to show: some servers repeat the command ("ERR unknown
 * command 'AUTH', with args beginning with: ..."). Then only its first word is left in text, and
 * the rest is wiped. */
void rl_auth_hide(char *text, const char *password);

#endif
