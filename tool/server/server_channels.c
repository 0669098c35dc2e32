/* Subscribers and messages. The listeners of a channel get a message in the order in which they
 * connected; it is appended to the output of each. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_parts.h"

static uint32_t find(const struct server_connection *connection, const struct resp_arg *name) {
    uint32_t i = 0;
    while (i < connection->n_channels &&
           (connection->channels[i].name.length != name->length ||
            memcmp(connection->channels[i].name.data, name->data, name->length) != 0)) {
        i++;
    }
    return i;
}

static void add(struct server_connection *connection, const struct resp_arg *name) {
    if (find(connection, name) < connection->n_channels) {
        return;
    }
    if (connection->n_channels == connection->channels_size) {
        uint32_t size = 2 * connection->channels_size + 4;
        connection->channels = realloc(connection->channels, size * sizeof connection->channels[0]);
        if (connection->channels == NULL) {
            abort();
        }
        memset(connection->channels + connection->channels_size, 0,
               (size - connection->channels_size) * sizeof connection->channels[0]);
        connection->channels_size = size;
    }
    struct bytes *at = &connection->channels[connection->n_channels++].name;
    bytes_set(at, name->data, name->length);
}

static void take_away(struct server_connection *connection, const struct resp_arg *name) {
    uint32_t at = find(connection, name);
    if (at < connection->n_channels) {
        struct server_channel gone = connection->channels[at];
        connection->channels[at] = connection->channels[--connection->n_channels];
        connection->channels[connection->n_channels] = gone; /* its memory is reused */
    }
}

void drop_channels(struct server_connection *connection) {
    connection->n_channels = 0;
}

bool server_listens(const struct server_connection *connection, const void *channel,
                    size_t length) {
    struct resp_arg name = {channel, length};
    return find(connection, &name) < connection->n_channels;
}

/* -- Messages -- */

static void append_bulk(struct bytes *out, const void *data, size_t length) {
    bytes_append_number(out, '$', (long long)length);
    bytes_append(out, data, length);
    bytes_append(out, "\r\n", 2);
}

size_t server_publish(struct server *server, const void *channel, size_t length,
                      const void *payload, size_t payload_length) {
    size_t count = 0;
    if (is_set(server, SERVER_BREAK_MESSAGES)) {
        return 0;
    }
    for (struct server_connection *c = server->first; c != NULL; c = c->next) {
        if (c->n_channels == 0 || !server_listens(c, channel, length)) {
            continue;
        }
        bytes_append_text(&c->output, "*3\r\n$7\r\nmessage\r\n");
        append_bulk(&c->output, channel, length);
        append_bulk(&c->output, payload, payload_length);
        count++;
        if (server->hooks != NULL && server->hooks->told != NULL) {
            server->hooks->told(server->owner, c);
        }
    }
    return count;
}

void do_publish(struct call *call) {
    size_t count = server_publish(call->server, call->args[1].data, call->args[1].length,
                                  call->args[2].data, call->args[2].length);
    reply_number(call, (long long)count);
}

void do_pubsub_numsub(struct call *call) {
    reply_array(call, 2 * (call->count - 2));
    for (size_t i = 2; i < call->count; i++) {
        const struct resp_arg *name = &call->args[i];
        long long count = 0;
        for (const struct server_connection *c = call->server->first; c != NULL; c = c->next) {
            count += c->n_channels > 0 && server_listens(c, name->data, name->length);
        }
        reply_bulk(call, name->data, name->length);
        reply_number(call, count);
    }
}

/* -- Subscribing -- */

static void confirm(struct call *call, const char *word, const struct resp_arg *name) {
    reply_array(call, 3);
    reply_bulk(call, word, strlen(word));
    if (name != NULL) {
        reply_bulk(call, name->data, name->length);
    } else {
        reply_nil(call);
    }
    reply_number(call, call->connection->n_channels);
}

void do_subscribe(struct call *call) {
    for (size_t i = 1; i < call->count; i++) {
        add(call->connection, &call->args[i]);
        confirm(call, "subscribe", &call->args[i]);
    }
}

void do_unsubscribe(struct call *call) {
    struct server_connection *connection = call->connection;
    for (size_t i = 1; i < call->count; i++) {
        take_away(connection, &call->args[i]);
        confirm(call, "unsubscribe", &call->args[i]);
    }
    if (call->count > 1) {
        return;
    }
    if (connection->n_channels == 0) {
        confirm(call, "unsubscribe", NULL);
    }
    while (connection->n_channels > 0) {
        struct bytes *last = &connection->channels[connection->n_channels - 1].name;
        struct resp_arg name = {last->data, last->length};
        connection->n_channels--; /* the name does not move */
        confirm(call, "unsubscribe", &name);
    }
}
