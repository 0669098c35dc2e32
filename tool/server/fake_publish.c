/* The connections of a fake node that listen to channels, and their messages. See fake_node.h.
 * Failure mode: a connection that has ended is not in the node's list any more. */
#include <string.h>

#include "server/fake_parts.h"

size_t fake_node_listeners(const struct fake_node *node, const char *channel) {
    struct resp_arg name = {channel, channel != NULL ? strlen(channel) : 0};
    size_t count = 0;
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = fake_conn_next(conn)) {
        count += fake_conn_listens(conn, channel != NULL ? &name : NULL);
    }
    return count;
}

void fake_node_send_listeners(struct fake_node *node, const void *bytes, size_t length) {
    for (struct fake_conn *conn = node->conns; conn != NULL; conn = fake_conn_next(conn)) {
        if (fake_conn_listens(conn, NULL)) {
            fake_conn_send(conn, bytes, length);
        }
    }
    fake_node_pump(node);
}

void fake_node_drop_listeners(struct fake_node *node, bool reset) {
    struct fake_conn *conn = node->conns;
    while (conn != NULL) {
        struct fake_conn *next = fake_conn_next(conn);
        if (fake_conn_listens(conn, NULL)) {
            fake_conn_close(conn, reset);
        }
        conn = next;
    }
}

void fake_publish_told(void *owner, struct server_connection *connection) {
    (void)owner;
    fake_conn_send(connection->owner, connection->output.data, connection->output.length);
    connection->output.length = 0;
}

size_t fake_node_publish(struct fake_node *node, const char *channel, const char *payload) {
    size_t count = server_publish(node->server, channel, strlen(channel), payload, strlen(payload));
    fake_node_pump(node);
    return count;
}
