/* See server.h. Connections are a list in order of arrival, so that every loop over them runs in
 * the same order. */
#include "server/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_parts.h"

static void *make(size_t size) {
    void *made = calloc(1, size);
    if (made == NULL) {
        abort();
    }
    return made;
}

/* -- The server -- */

void server_make_id(char text[SERVER_ID_SIZE], uint64_t id) {
    static const char digits[] = "0123456789abcdef";
    uint64_t state = id, bits = 0;
    for (size_t i = 0; i < SERVER_ID_SIZE - 1; i++) {
        if (i % 16 == 0) {
            bits = next_random(&state);
        }
        text[i] = digits[bits >> (4 * (i % 16)) & 15];
    }
    text[SERVER_ID_SIZE - 1] = '\0';
}

struct server *server_new(uint64_t id, uint64_t now_us) {
    struct server *server = make(sizeof *server);
    server->policy = "noeviction";
    server->started_us = now_us;
    server->random = id;
    server_make_id(server->run_id, id);
    server_make_id(server->replid, ~id);
    make_default_user(server);
    return server;
}

void server_free(struct server *server) {
    assert(server->first == NULL);
    server_keys_free(&server->keys);
    free_users(server);
    free_info(server);
    bytes_free(&server->loaded);
    free(server);
}

void server_restart(struct server *server, uint64_t id, uint64_t now_us,
                    const struct server_keys *kept) {
    for (struct server_connection *c = server->first; c != NULL; c = c->next) {
        c->ended = true;
        c->output.length = c->input.length = 0;
        drop_channels(c);
    }
    server_make_id(server->run_id, id);
    server->started_us = now_us;
    server_forget_scripts(server);
    if (kept == NULL) {
        server_forget_keys(server);
    } else if (kept != &server->keys) {
        server_keys_copy(&server->keys, kept);
    }
}

void server_forget_keys(struct server *server) {
    server_keys_clear(&server->keys);
}

void server_forget_scripts(struct server *server) {
    server->loaded.length = 0;
}

/* -- Keys, from outside -- */

bool server_has_expired(const struct server *server, const struct server_key *key,
                        uint64_t now_us) {
    uint64_t now_ms = now_us / 1000 + (server->ends_early ? 1 : 0);
    uint64_t late = is_set(server, SERVER_BREAK_LATE_EXPIRY) ? 1 : 0;
    return !server->is_loading && key->expires_ms != SERVER_NEVER_MS &&
           now_ms > key->expires_ms + late;
}

const struct server_key *server_get(const struct server *server, uint32_t db, const void *name,
                                    size_t length, uint64_t now_us) {
    const struct server_key *key = server_keys_find(&server->keys, db, name, length);
    return key != NULL && !server_has_expired(server, key, now_us) ? key : NULL;
}

void server_put(struct server *server, uint32_t db, const void *name, size_t length,
                const void *value, size_t value_length, uint64_t expires_ms) {
    struct resp_arg arg = {name, length};
    assert(db < SERVER_DATABASES);
    struct server_key *key = keys_put(&server->keys, db, &arg);
    bytes_set(&key->value, value, value_length);
    key->expires_ms = expires_ms;
    key->elements = 0;
    key->is_line = false;
    key->writer = 0;
    key->written_us = 0;
}

void server_remove(struct server *server, uint32_t db, const void *name, size_t length) {
    struct resp_arg arg = {name, length};
    struct server_key *key = keys_find(&server->keys, db, &arg);
    if (key != NULL) {
        keys_remove(&server->keys, key);
    }
}

size_t server_count(const struct server *server, uint64_t now_us) {
    size_t count = 0;
    uint32_t at = 0;
    const struct server_key *key;
    while ((key = server_keys_next(&server->keys, &at)) != NULL) {
        count += !server_has_expired(server, key, now_us);
    }
    return count;
}

/* -- Connections -- */

struct server_connection *server_connect(struct server *server, void *owner) {
    struct server_connection *connection = make(sizeof *connection);
    connection->server = server;
    connection->owner = owner;
    connection->id = ++server->connections;
    connection->user = user_without_password(server);
    connection->previous = server->last;
    if (server->last != NULL) {
        server->last->next = connection;
    } else {
        server->first = connection;
    }
    server->last = connection;
    server->n_connections++;
    return connection;
}

void server_disconnect(struct server_connection *connection) {
    struct server *server = connection->server;
    if (connection->next != NULL) {
        connection->next->previous = connection->previous;
    } else {
        server->last = connection->previous;
    }
    if (connection->previous != NULL) {
        connection->previous->next = connection->next;
    } else {
        server->first = connection->next;
    }
    server->n_connections--;
    drop_channels(connection);
    for (uint32_t i = 0; i < connection->channels_size; i++) {
        bytes_free(&connection->channels[i].name);
    }
    free(connection->channels);
    bytes_free(&connection->name);
    bytes_free(&connection->input);
    bytes_free(&connection->output);
    free(connection);
}

/* Runs the complete commands in these bytes. Returns how many bytes are used up. */
static size_t run_whole(struct server_connection *connection, const char *bytes, size_t length,
                        uint64_t now_us) {
    struct resp_command command;
    size_t used = 0;
    while (used < length && !connection->ended) {
        bool is_stranger = connection->user == NULL;
        ssize_t n = resp_parse(bytes + used, length - used, is_stranger, &command);
        if (n < 0) {
            bytes_append_format(&connection->output, "-ERR Protocol error: %s\r\n", command.error);
            connection->ended = true;
        }
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
        if (command.count > 0) {
            server_execute(connection, &command, now_us);
        }
    }
    return connection->ended ? length : used;
}

void server_receive(struct server_connection *connection, const void *bytes, size_t length,
                    uint64_t now_us) {
    if (connection->ended) {
        return;
    }
    if (connection->input.length == 0) { /* the common case: nothing is copied */
        size_t used = run_whole(connection, bytes, length, now_us);
        bytes_append(&connection->input, (const char *)bytes + used, length - used);
        return;
    }
    bytes_append(&connection->input, bytes, length);
    size_t used = run_whole(connection, connection->input.data, connection->input.length, now_us);
    bytes_consume(&connection->input, used);
}
