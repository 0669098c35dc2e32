/* One Redis node: keeps the connection, sends commands, and matches answers to them.
 *
 *     idle -> resolving -> connecting -> handshake -> up
 *               ^    \         \            |         |
 *               |     +---------+-----------+---------+--> backoff (or the next address at once)
 *               +----------------------------------------------+
 *     closed, from everywhere, for good
 *
 * Happy path: rl_node_start(), `up`, rl_node_send(), `answer` for each request.
 *
 * Failure modes: a node does not resolve, connect or complete the handshake within connect_timeout;
 * its connection breaks; it sends an unexpected reply; it answers nothing for stall_ns; or it
 * leaves its oldest request unanswered for RL_NODE_LATE_STALLS times as long, even if it answers
 * others now and then. Each of these ends the connection: `down` comes if the node was up, then
 * every outstanding request is answered with RL_UNANSWERED, and the node is reconnected: soon if it
 * was up for backoff_min_ns, else after a pause that doubles up to a cap and is jittered.
 *
 * Can an answer reach the wrong request? No. Answers come in the order of the commands on one
 * connection. A request is appended to the list when rl_conn_send() succeeds, each reply takes one
 * from its front, and the list is emptied when the connection ends. A request that its owner has
 * given up stays in the list, so that its late reply is matched to it and to no other.
 *
 * Can an answer be missed? No: a request leaves the list in two places only, node_take() and
 * node_fail_requests(). The callers of both call `answer` for it, or put it back.
 *
 * Extensions that are sent in one turn form a batch: one command for up to RL_BATCH_MAX locks,
 * since a client with many locks renews hundreds at a time (core/timing.h), and each would be a
 * script run of its own. The batch is the end of the list. It is appended to the connection before
 * anything else, and by the flush, so a release never overtakes the extension before it. Its reply
 * answers all of its requests; unless it has a character for each, it is a protocol error. If the
 * node has lost the script or refuses the command, perhaps because of one of the keys, each
 * extension is sent alone. A single extension is not a batch.
 */
#ifndef RL_REDIS_NODE_H
#define RL_REDIS_NODE_H

#include "redis/node_state.h"

/* url is copied; options, events and io must outlive the node. seed: any number, different for each
 * node. */
void rl_node_init(struct rl_node *node, struct rl_io *io, const struct rl_url *url,
                  const struct rl_node_options *options, const struct rl_node_events *events,
                  uint64_t seed);

void rl_node_start(struct rl_node *node);

/* Sends a command that was formatted as wire[0..length), with wire[length] == 0. An extension of
 * one key needs no such text, since the batch is formatted when it is written. Returns 0 if
 * `answer` will come; or why the command was not sent, and no `answer` comes. */
int16_t rl_node_send(struct rl_node *node, struct rl_request *request, const char *wire,
                     size_t length, uint64_t now_ns);

/* Whether the node is silent: its oldest request is unanswered for longer than the timeout, or it
 * reads too slowly, so that any command but a release would be refused as busy. */
bool rl_node_is_silent(const struct rl_node *node, uint64_t timeout_ns, uint64_t now_ns);

void rl_node_flush(struct rl_node *node);

/* Call this when rl_node_deadline_ns() has come. */
void rl_node_tick(struct rl_node *node, uint64_t now_ns);

/* Breaks the connection, if there is one; it is connected again soon. Not from inside an event. */
void rl_node_restart(struct rl_node *node, int16_t reason, const char *detail);

/* Ends the connection; requests are answered, `down` does not come. Not from inside an event. */
void rl_node_close(struct rl_node *node);

#endif
