/* TLS for the nodes of a live test: certificates made by cluster/certificates.sh, once for a
 * program, and nodes that take TLS on a port of its own beside the plain one, over which the test
 * asks them.
 *
 * The certificates, all for 127.0.0.1 unless the name says otherwise: good, again (another one),
 * expired, early, elsewhere (for DNS:redis.example), self, stranger (by an authority that the
 * client does not know), client.
 *
 * With REDLOCK_TEST_TLS in the environment live_start() secures every node: the whole suite runs
 * with TLS then. */
#ifndef LIVE_SECURE_H
#define LIVE_SECURE_H

#include "live/live.h"

/* Whether the server can do TLS and openssl(1) is there. Starts a node to find out. */
bool secure_is_possible(void);

/* Path of DIR/NAME.ENDING, valid until four more were asked for. */
const char *secure_path(const char *name, const char *ending);

/* Node i takes TLS from now on, with this certificate; live->urls[i] is its rediss:// URL, and
 * live_options() trust the authority. After live_restart() too. */
void secure_node(struct live *live, size_t i, const char *cert);

/* New connections to the node get another certificate. */
void secure_rotate(struct live *live, size_t i, const char *cert);

/* Whether clients must show a certificate. */
void secure_demand(struct live *live, size_t i, bool demands);

/* All of them, "good". */
void secure_all(struct live *live);

/* After a restart of a node that was secured. */
void secure_again(struct live *live, size_t i);

/* Secures the nodes from `first` on, and makes their authority the system's: neither clients nor
 * other processes of the test have to name it. */
void secure_silently(struct live *live, size_t first);

#endif
