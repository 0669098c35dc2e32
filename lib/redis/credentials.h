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
 * Failure modes: the node refuses them; a refused AUTH leaves a connection as it was. The client
 * then keeps both, and each new connection sends AUTH with the newer ones and, if these are
 * refused, with the old ones: the node is used if it accepts either. So it does not matter whether
 * a new password reaches the client or the node first.
 *
 * Can a client whose first credentials are wrong go on as `default`, without a password? No:
 * credentials that are set before the loop runs, so before the node was sent any, replace the
 * URL's, so there are no older ones to fall back to.
 *
 * If a server does not refuse the newer ones properly (it hangs up, sends an invalid answer, or
 * nothing), do the old ones become unusable too? No: after such a handshake the next one omits the
 * newer ones (is_skipped). Once the node is up they are sent again, since the server may only have
 * been stopped, unless it has refused them, or has also hung up on them on a live connection.
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
 * Can a password stay in memory? No: each copy is wiped when it has been accepted, replaced or
 * moved, and all copies with their node. */
#ifndef RL_REDIS_CREDENTIALS_H
#define RL_REDIS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/node_state.h"

/* Returns false, and leaves `credentials` empty, if the password or user cannot be sent. */
bool rl_credentials_set(struct rl_credentials *credentials, const char *user, const char *password);

void rl_credentials_wipe(struct rl_credentials *credentials);

/* Offers newer ones. They must be sent, unless others are outstanding. */
void rl_auth_offer(struct rl_auth *auth, const struct rl_credentials *credentials);

/* Offers what another node was offered and has not accepted, if anything. */
void rl_auth_offer_same(struct rl_auth *auth, const struct rl_auth *as);

/* AUTH with the offered ones is sent. */
void rl_auth_sent(struct rl_auth *auth);

/* The node has accepted them: puts them into url, and wipes the old ones. */
void rl_auth_accepted(struct rl_auth *auth, struct rl_url *url);

/* The node has refused them. words: as rl_auth_hide() left them. */
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

/* -- Of a node --
 *
 * On a live connection AUTH is a request like any other: answered in order, with the same timeouts.
 * It is written when all earlier requests have been answered, and later ones wait for that, about a
 * round trip. Can it cost the connection? Only through an unexpected reply, or none: a refusal
 * leaves the connection as it was. */

/* Offers newer credentials, which are copied. They are tried now if the node is up, else on its
 * next connection, which begins at once if the node pauses because the old ones were refused.
 * is_first: the loop has not run since the client was opened; unless others were already sent, they
 * replace the URL's. False: no memory for AUTH; they are tried on the next connection. */
bool rl_node_offer(struct rl_node *node, const struct rl_credentials *credentials, bool is_first);

/* Offers refused credentials once more, since another connection has shown that the old ones are no
 * longer valid. Not more often than a node that is down is retried. */
void rl_node_offer_again(struct rl_node *node);

/* For node.c. */

/* Sends AUTH with the offered ones first in a handshake. False: there are none to send. */
bool rl_node_auth_greet(struct rl_node *node);

/* The node has just come up: sends credentials that were offered during the handshake, or omitted
 * in it. */
void rl_node_auth_up(struct rl_node *node);

/* The connection has ended, for this reason; the state is still what it was. */
void rl_node_auth_ended(struct rl_node *node, int16_t reason);

/* The answer to AUTH with the old ones, in a handshake. */
void rl_node_auth_former(struct rl_node *node, const struct rl_answer *answer);

/* Ends a connection in its handshake. If the node demands a password, and has refused one on this
 * connection, it is down because of that refusal. */
void rl_node_auth_break(struct rl_node *node, int16_t reason, const char *text);

/* The answer to AUTH with the offered ones. Returns 0 if they were accepted, or why not; then the
 * old ones stay in use, unless it is NODE_PROTOCOL: then the connection is broken. */
int16_t rl_node_auth_answer(struct rl_node *node, const struct rl_answer *answer);

#endif
