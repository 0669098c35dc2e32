/* A scripted Redis server for tests and for `redlock conform`, on its user's own loop.
 *
 * A fake node listens on a loopback port that the system chose (or on a socket path), answers like
 * a small correct Redis (server/server.h says what it knows), and departs from that exactly where
 * the test says so. There is no thread and no process: the node acts when the loop runs, so a test
 * can inspect and change it between any two turns, and never needs to sleep.
 *
 *     struct fake_node *node = fake_node_start(loop);
 *     open a client on fake_node_url(node), uv_run() until something is true, assert
 *     fake_node_close(node);
 *     uv_run() to its end; then uv_loop_close() is 0
 *
 * What a node does with a command:
 *   1. It counts it and writes it into its log, whatever happens next.
 *   2. The first rule that fits decides (fake_node_rule()); without one it runs and is answered.
 *   3. Answers leave in the order of the commands, each not before its time, whole or in pieces.
 *
 * Faults of a network or a server, and how to cause them:
 *
 *     a node that is down                    fake_node_refuse(), then fake_node_drop()
 *     ... whose packets vanish               fake_node_vanish()
 *     ... that comes back                    fake_node_listen()
 *     ... that restarts empty                fake_node_restart()
 *     a stopped process (SIGSTOP)            fake_node_pause(), fake_node_resume()
 *     it accepts, reads, never answers       rule {.action = FAKE_IGNORE}
 *     it accepts and never reads             fake_node_set_deaf()
 *     a slow answer                          rule {.delay_ms = 50}
 *     the command ran, its answer is lost    rule {.command = "SET", .action = FAKE_EXECUTE_RESET}
 *     an error reply                         rule {.action = FAKE_INSTEAD, .bytes = "-OOM ...\r\n"}
 *     a wrong answer after the right action  rule {.action = FAKE_REPLACE, .bytes = ":7\r\n"}
 *     a close at step 3 of the handshake     rule {.nth = 3, .action = FAKE_CLOSE}
 *     a reply without end                    rule {.action = FAKE_ENDLESS, .bytes = "$9000...\r\n"}
 *     unrequested bytes                      fake_node_send()
 *     not Redis at all                       fake_node_set_greeting()
 *     fragments                              fake_node_set_fragment()
 *     scripts forgotten (SCRIPT FLUSH)       server_forget_scripts(fake_node_server(node))
 *     a clock that steps                     fake_node_step_clock()
 *
 * Failure: a node that cannot work (no socket, no memory) ends the program with a message. It never
 * raises SIGPIPE and leaves that signal's action alone, so a test sees whether the client does.
 *
 * Thread rules: everything on the loop's thread, never from inside the node itself (it has no
 * callbacks). */
#ifndef FAKE_NODE_H
#define FAKE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/server.h"

struct fake_node;

/* -- Life -- */

/* Starts a node on 127.0.0.1 and a free port. It listens when this returns. */
struct fake_node *fake_node_start(uv_loop_t *loop);

/* Closes everything at once. The memory is freed when the loop has run the last of its close
 * callbacks; do not use node any more. */
void fake_node_close(struct fake_node *node);

/* "redis://127.0.0.1:PORT"; valid as long as the node. */
const char *fake_node_url(const struct fake_node *node);

/* As libredlock names it: "127.0.0.1:PORT". */
const char *fake_node_name(const struct fake_node *node);

/* The store: set a password, plant a key, read one, forget scripts. */
struct server *fake_node_server(struct fake_node *node);

/* The node uses the server of another one, which must outlive it; its own is freed. Call this
 * before the first connection. */
void fake_node_share(struct fake_node *node, struct fake_node *other);

/* -- Watching -- */

struct fake_watch { /* each function may be NULL */
    void *owner;

    /* A command has arrived, and is about to run, unless a rule prevents it. */
    void (*came)(void *owner, const struct server_connection *connection,
                 const struct resp_command *command);

    /* The command has run, or its rule's answer is queued. */
    void (*done)(void *owner, const struct resp_command *command);

    /* As `changed` of struct server_hooks. */
    void (*changed)(void *owner, const struct server_key *key, enum server_change change,
                    const struct server_connection *by);
};

/* The watch is copied. */
void fake_node_watch(struct fake_node *node, const struct fake_watch *watch);

/* The time of day at the node, by which keys expire. */
uint64_t fake_node_now_us(const struct fake_node *node);

/* -- Rules -- */

enum fake_action {
    FAKE_ANSWER,        /* execute, answer as Redis would (for delay_ms) */
    FAKE_REPLACE,       /* execute, answer with bytes */
    FAKE_INSTEAD,       /* do not execute, answer with bytes */
    FAKE_SWALLOW,       /* execute, never answer */
    FAKE_IGNORE,        /* do not execute, never answer */
    FAKE_CLOSE,         /* do not execute; write bytes, if there are any, and close */
    FAKE_EXECUTE_CLOSE, /* execute, do not answer, close */
    FAKE_RESET,         /* do not execute; close with a reset (RST) */
    FAKE_EXECUTE_RESET, /* execute, do not answer, close with a reset */
    FAKE_CUT,           /* execute, write the first half of the answer, close */
    FAKE_SPLIT,         /* execute, write the answer's first byte now, the others after delay_ms */
    FAKE_ENDLESS        /* do not execute; write bytes and then 'x' as long as the peer reads */
};

struct fake_rule {
    const char *command; /* its name, in any case, or that of the library's script that it runs
                            ("join", by its hash or whole); "script": any of these; NULL: every
                            command */
    const char *key;     /* only commands with this among their arguments; NULL: any. Not copied */
    unsigned nth;        /* only the nth command of its connection, from 1; 0: at any place */
    unsigned skip;       /* this many matching commands pass first */
    unsigned times;      /* the rule is used up after this many; 0: never */
    enum fake_action action;
    const void *bytes; /* copied */
    size_t length;     /* of bytes; 0: they are a string */
    uint64_t delay_ms; /* delay of the rule's bytes and close, and of all behind them */
};

/* Adds a rule behind the others. The first matching rule alone decides. */
void fake_node_rule(struct fake_node *node, struct fake_rule rule);

/* Removes all rules. Answers that they have already queued still leave. */
void fake_node_clear_rules(struct fake_node *node);

/* -- The whole node -- */

/* Stops listening: new connections are refused. The port stays reserved. Established connections
 * stay; fake_node_drop() ends them. */
void fake_node_refuse(struct fake_node *node);

/* New connections neither succeed nor fail, as behind a firewall that drops packets. Only with
 * TCP. */
void fake_node_vanish(struct fake_node *node);

/* Listens again, after fake_node_refuse() or fake_node_vanish(). */
void fake_node_listen(struct fake_node *node);

/* Closes all connections, with a reset if wanted. Connections not yet accepted are accepted
 * later. */
void fake_node_drop(struct fake_node *node, bool reset);

/* Like a crash and a restart without persistence: connections are reset, keys and scripts are gone,
 * run_id is another one, uptime begins at 0. */
void fake_node_restart(struct fake_node *node);

/* Between the two, connections are accepted and bytes are taken, as the kernel does for a stopped
 * process, but no command runs. After resume all of them run, late, including those of connections
 * that the peer has closed meanwhile. */
void fake_node_pause(struct fake_node *node);
void fake_node_resume(struct fake_node *node);

/* While true, nothing is read from any connection, so that the peer's writes fill the buffers. */
void fake_node_set_deaf(struct fake_node *node, bool deaf);

/* Every answer leaves in pieces of this many bytes, one piece per turn of the loop, so that the
 * peer reads each separately. 0: whole (the default). */
void fake_node_set_fragment(struct fake_node *node, size_t bytes);

/* Every connection is greeted with these bytes when it is accepted, and then closed if wanted.
 * NULL: not greeted (the default). */
void fake_node_set_greeting(struct fake_node *node, const char *bytes, bool then_close);

/* Writes bytes to every connection now, requested or not. */
void fake_node_send(struct fake_node *node, const void *bytes, size_t length);

/* The same for the connections that listen to a channel. */
void fake_node_send_listeners(struct fake_node *node, const void *bytes, size_t length);

/* Ends the connections that listen to a channel. */
void fake_node_drop_listeners(struct fake_node *node, bool reset);

/* Publishes a message, as another client would. Returns how many connections receive it. */
size_t fake_node_publish(struct fake_node *node, const char *channel, const char *payload);

/* As fake_node_send(), for a string repeated many times, e.g. "*1\r\n" 400,000 times. */
void fake_node_send_repeated(struct fake_node *node, const char *text, size_t times);

/* Sets the node's clock forward; keys expire by it. */
void fake_node_step_clock(struct fake_node *node, uint64_t ms);

/* -- What has happened -- */

size_t fake_node_accepted(const struct fake_node *node);    /* connections since the start */
size_t fake_node_connections(const struct fake_node *node); /* open now */
size_t fake_node_listeners(const struct fake_node *node,
                           const char *channel); /* that listen; NULL: to any channel */
/* Live keys in all databases, without reservations, which have no owner and expire, and without the
 * node's own keys. */
size_t fake_node_keys(const struct fake_node *node);
size_t fake_node_lines(const struct fake_node *node); /* how many of them are lines: entries that a
                                                         lost LEAVE has left there expire */

/* The value of a key of database 0, or NULL. Valid until the loop runs. */
const char *fake_node_get(const struct fake_node *node, const char *key);

/* Plants a key into database 0, as if another client had set it. ttl_ms 0: no ttl. */
void fake_node_put(struct fake_node *node, const char *key, const char *value, uint64_t ttl_ms);

/* How many commands of this name came in (NULL: all), executed or not; or of this script. */
size_t fake_node_count(const struct fake_node *node, const char *command);

/* The log: the command that came in as number index, from 0, as one line of printable text ("SET
 * key token NX PX 1000"; a byte that is not printable is '.'), cut to FAKE_LOG_LINE - 1 bytes. ""
 * if there was none or it is further back than FAKE_LOG_LINES. */
#define FAKE_LOG_LINES 1024
#define FAKE_LOG_LINE 160
const char *fake_node_log(const struct fake_node *node, size_t index);

/* Bytes that the peers have received from this node. */
uint64_t fake_node_bytes_out(const struct fake_node *node);

#endif /* FAKE_NODE_H */
