/* One connection to one node, for commands that ask the nodes themselves: hiredis's blocking
 * context, with an end to every question. None of the library's client is in it, so that what it
 * says is seen by a second pair of eyes.
 *
 * Happy path: rl_wires_open() (wires.h) for all nodes; in a thread for each, rl_wire_connect(),
 * rl_wire_hello(), questions, rl_wire_disconnect().
 *
 *     redisReply *reply = rl_wire_command(wire, "TIME");      one question
 *     redisAppendCommand(wire->context, ...);                 several at once,
 *     redisReply *reply = rl_wire_reply(wire);                and an answer to each, in order
 *
 * Why not redisCommand()? It waits anew after each byte that comes: a server that sends one now and
 * then, or never stops, would hold the command for ever, and the second would fill the memory.
 *
 * Failure modes: no connection, no TLS, a password that is refused: wire->failed_at and
 * wire->failure say so. The answer is not whole in time, or too long: no reply, and the context has
 * the error, so that nothing more is asked on it. */
#ifndef RL_CLI_WIRE_CONNECTION_H
#define RL_CLI_WIRE_CONNECTION_H

#include <stdbool.h>

#include "wire/wire.h"

struct redisReply;

/* As redisConnectWithTimeout(), to what the URL names. One at a time. False: failed_at and failure
 * say why; rl_wire_disconnect() comes all the same. */
bool rl_wire_connect(struct rl_wire *wire);

/* As redisFree(), if there is a connection; wire->tls_end says afterwards whether TLS had ended
 * it. */
void rl_wire_disconnect(struct rl_wire *wire);

/* Logs in, selects the database, and looks whether the node answers. False: failed_at and failure
 * say why. */
bool rl_wire_hello(struct rl_wire *wire);

/* As redisCommand(), but the whole answer has to be there in time, and of a reasonable length. */
struct redisReply *rl_wire_command(struct rl_wire *wire, const char *format, ...);
/* The same for what has been appended to the context. */
struct redisReply *rl_wire_reply(struct rl_wire *wire);

/* The reply; or NULL if it is none or an error, which is left in wire->failure. */
struct redisReply *rl_wire_checked(struct rl_wire *wire, struct redisReply *reply);

/* Why the context has failed. */
const char *rl_wire_error(const struct rl_wire *wire);

#endif
