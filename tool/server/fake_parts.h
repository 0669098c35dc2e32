/* What fake_node.c, fake_conn.c and fake_rule.c share. Tests include fake_node.h only. */
#ifndef FAKE_PARTS_H
#define FAKE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/bytes.h"
#include "server/fake_node.h"
#include "server/resp.h"
#include "server/server.h"

#define FAKE_RULES_MAX 64
#define FAKE_NAMES_MAX 48

struct fake_conn;

/* The listening socket. Made anew each time, so that no handle is used again while closing. */
struct fake_listener {
    uv_poll_t poll;
    int fd;
};

struct fake_count { /* commands of one name */
    char name[24];
    size_t count;
};

struct fake_node {
    uv_loop_t *loop;
    uv_timer_t timer; /* the earliest answer that has to wait */
    uv_idle_t turn;   /* runs once per turn of the loop, while pieces are to be written */
    int handles;      /* not closed yet: timer, turn, listeners, connections */
    bool closing;
    bool paused, deaf, listening;
    struct fake_listener *listener; /* NULL while nothing is bound */
    int fillers[4];                 /* sockets that fill the queue of a vanished node; -1: none */
    struct fake_conn *conns;
    struct server *server;
    bool borrows; /* the server is another node's */
    struct server_hooks hooks;
    struct fake_watch watch;
    uint64_t clock_ahead_ns;
    size_t fragment;
    struct bytes greeting;
    bool greeting_close;
    struct fake_rule rules[FAKE_RULES_MAX]; /* their bytes are copies */
    size_t n_rules;
    struct fake_count counts[FAKE_NAMES_MAX];
    size_t n_counts;
    size_t accepted, commands;
    uint64_t bytes_out;
    char (*log)[FAKE_LOG_LINE];
    uint16_t port; /* 0: a socket path */
    char name[128], url[160];
};

/* Prints and ends the program unless truth: for conditions without which a test cannot go on. */
void fake_demand(bool truth, const char *what);

/* A handle of the node has been closed: the last one frees the node. */
void fake_handle_closed(struct fake_node *node);

/* -- fake_rule.c -- */

/* The rule for the nth command of a connection, used up by this. False if there is none. Its bytes
 * are appended to *bytes, and taken->bytes is NULL. */
bool fake_rule_take(struct fake_node *node, const struct resp_command *command, unsigned nth,
                    struct bytes *bytes, struct fake_rule *taken);

/* Counts a command and writes it into the log. */
void fake_rule_note(struct fake_node *node, const struct resp_command *command);

/* -- fake_conn.c -- */

/* Takes over an accepted socket. */
void fake_conn_open(struct fake_node *node, int fd);

/* Runs the commands that have come in, if the node is not paused. */
void fake_conn_run(struct fake_conn *conn);

/* Queues bytes behind the waiting ones. */
void fake_conn_send(struct fake_conn *conn, const void *bytes, size_t length);

/* The server's hook: a listening connection was sent a message. */
void fake_conn_told(void *owner, struct server_connection *connection);

/* Closes now. */
void fake_conn_close(struct fake_conn *conn, bool reset);

/* The node's settings have changed: read or do not read. */
void fake_conn_watch(struct fake_conn *conn);

/* Writes the due bytes: all of them, or one piece if the node writes in pieces. Returns when to
 * call it again: a time, 0 for the next turn, UINT64_MAX for not before something happens. */
uint64_t fake_conn_pump(struct fake_conn *conn);

struct fake_conn *fake_conn_next(const struct fake_conn *conn);

/* Call this when something was queued or has become due: it arranges the writing. */
void fake_node_pump(struct fake_node *node);

#endif /* FAKE_PARTS_H */
