/* See addon.h: a client, its way into JavaScript, and its end.
 *
 * The client's own handles do not keep the process alive (`background`). Its keeper does, a handle
 * that never has an event, while something is open, pending or held. So a program that has
 * released all its locks ends by itself, whether it closed the client or not; the cleanup hook then
 * closes it, and waits until the nodes have answered, no longer than node_timeout_ms. */
#include "addon.h"

#include <stdlib.h>
#include <string.h>

#define OPTION(name, kind, field) \
    { name, kind, offsetof(redlock_client_options, field) }

const struct node_option node_client_options[] = {
    OPTION("connectTimeout", NODE_MS, connect_timeout_ms),
    OPTION("nodeTimeout", NODE_MS, node_timeout_ms),
    OPTION("reconnectMin", NODE_MS, reconnect_min_ms),
    OPTION("reconnectMax", NODE_MS, reconnect_max_ms),
    OPTION("driftRatio", NODE_RATIO, drift_ratio),
    OPTION("drift", NODE_MS, drift_ms),
    OPTION("lostMargin", NODE_MS, lost_margin_ms),
    OPTION("clientName", NODE_TEXT, client_name),
    OPTION("fenceRetention", NODE_MS, fence_retention_ms),
    OPTION("guard", NODE_GUARD, guard),
    OPTION("maxTtl", NODE_MS, max_ttl_ms),
    OPTION("tlsCa", NODE_TEXT, tls_ca),
    OPTION("tlsCert", NODE_TEXT, tls_cert),
    OPTION("tlsKey", NODE_TEXT, tls_key),
    OPTION("tlsServerName", NODE_TEXT, tls_server_name),
    OPTION("tlsInsecureSkipVerify", NODE_FLAG, tls_insecure_skip_verify),
    OPTION("configId", NODE_TEXT, config_id),
    {NULL, NODE_MS, 0},
};

/* -- Entries -- */

static void keep(struct node_client *client) {
    if (client->busy++ == 0) {
        uv_ref((uv_handle_t *)&client->keeper);
    }
}

static void let_go(struct node_client *client) {
    if (--client->busy == 0) {
        uv_unref((uv_handle_t *)&client->keeper);
    }
}

/* Doubles the entries; the new ones are free. */
static bool grow(struct node_client *client) {
    const uint32_t n = client->n_entries == 0 ? 16 : client->n_entries * 2;
    struct node_entry **entries = realloc(client->entries, n * sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    client->entries = entries;
    while (client->n_entries < n) {
        struct node_entry *entry = calloc(1, sizeof *entry);
        if (entry == NULL) {
            return client->first_free < client->n_entries;
        }
        entry->client = client;
        entry->id = client->n_entries;
        entry->next_free = ++client->n_entries;
        entries[entry->id] = entry;
    }
    return true;
}

struct node_entry *node_entry_take(struct node_client *client) {
    if (client->first_free == client->n_entries && !grow(client)) {
        return NULL;
    }
    struct node_entry *entry = client->entries[client->first_free];
    client->first_free = entry->next_free;
    entry->is_extending = entry->is_lost = false;
    keep(client);
    return entry;
}

void node_entry_drop(struct node_entry *entry) {
    struct node_client *client = entry->client;
    entry->lock = NULL;
    entry->election = NULL;
    entry->next_free = client->first_free;
    client->first_free = entry->id;
    let_go(client);
}

/* -- Numbers -- */

/* JavaScript has a number for a client, not a pointer. A pointer would need a finalizer, and one
 * that is still queued at the end crashes Node.js 18: it runs after its environment was freed. */
static _Thread_local struct node_client *clients; /* open ones, latest used first */
static _Thread_local uint32_t last_number;
static struct node_client closed_client = {.is_closing = true};

static struct node_client **place_of(uint32_t number) {
    struct node_client **place = &clients;
    while (*place != NULL && (*place)->number != number) {
        place = &(*place)->next;
    }
    return place;
}

static void list_first(struct node_client *client) {
    client->next = clients;
    clients = client;
}

struct node_client *node_read_client(napi_env env, napi_value value) {
    uint32_t number = 0;
    napi_get_value_uint32(env, value, &number);
    struct node_client **place = place_of(number), *client = *place;
    if (client == NULL) {
        return &closed_client;
    }
    *place = client->next;
    list_first(client);
    return client;
}

/* -- Events -- */

/* An exception in that JavaScript is the program's, as in any other callback. */
void node_deliver(struct node_client *client, const struct node_event *event) {
    napi_env env = client->env;
    napi_handle_scope scope;
    napi_value function, receiver, exception, argv[5];
    if (client->is_ending || napi_open_handle_scope(env, &scope) != napi_ok) {
        return;
    }
    napi_get_reference_value(env, client->deliver, &function);
    napi_get_global(env, &receiver);
    napi_create_uint32(env, event->type, &argv[0]);
    napi_create_uint32(env, event->id, &argv[1]);
    argv[2] = node_text(env, event->status != 0 ? redlock_err_name(event->status) : NULL);
    argv[3] = node_text(env, event->text);
    argv[4] =
        event->name != NULL ? node_text(env, event->name) : node_number(env, (double)event->number);
    if (napi_make_callback(env, client->context, receiver, function, 5, argv, NULL) ==
            napi_pending_exception &&
        napi_get_and_clear_last_exception(env, &exception) == napi_ok && !client->is_ending) {
        napi_fatal_exception(env, exception);
    }
    napi_close_handle_scope(env, scope);
}

/* -- The end -- */

static void keeper_closed(uv_handle_t *keeper) {
    struct node_client *client = keeper->data;
    node_deliver(client, &(struct node_event){.type = NODE_closed});
    napi_delete_reference(client->env, client->deliver);
    napi_async_destroy(client->env, client->context);
    napi_remove_async_cleanup_hook(client->cleanup);
    *place_of(client->number) = client->next;
    for (uint32_t i = 0; i < client->n_entries; i++) {
        free(client->entries[i]);
    }
    free(client->entries);
    free(client);
}

/* The library frees its locks and elections. */
static void on_close(redlock_client *closed, int status, void *data) {
    struct node_client *client = data;
    (void)closed;
    (void)status;
    client->client = NULL;
    for (uint32_t i = 0; i < client->n_entries; i++) {
        client->entries[i]->lock = NULL;
        client->entries[i]->election = NULL;
    }
    uv_close((uv_handle_t *)&client->keeper, keeper_closed);
}

static int close_client(struct node_client *client) {
    if (client->is_closing) {
        return REDLOCK_ERR_CLOSED;
    }
    client->is_closing = true;
    keep(client);
    return redlock_client_close(client->client, on_close, client);
}

/* Runs when the process, or the worker thread, ends. */
static void cleanup(napi_async_cleanup_hook_handle handle, void *data) {
    struct node_client *client = data;
    (void)handle; /* removed when the keeper is closed */
    client->is_ending = true;
    close_client(client);
}

/* -- Functions -- */

static void on_open(redlock_client *opened, int status, void *data) {
    struct node_client *client = data;
    char text[REDLOCK_MESSAGE_MAX];
    redlock_client_message(opened, text, sizeof text);
    let_go(client);
    node_deliver(client, &(struct node_event){.type = NODE_opened, .status = status, .text = text});
}

static void never_opened(uv_handle_t *keeper) {
    free(keeper->data);
}

static struct node_client *make(napi_env env) {
    struct node_client *client = calloc(1, sizeof *client);
    uv_loop_t *loop = NULL;
    if (client == NULL || napi_get_uv_event_loop(env, &loop) != napi_ok ||
        uv_async_init(loop, &client->keeper, NULL) != 0) {
        free(client);
        return NULL;
    }
    client->env = env;
    client->keeper.data = client;
    client->number = ++last_number;
    client->busy = 1; /* until on_open() */
    return client;
}

static napi_value open_client(napi_env env, redlock_client_options *options, napi_value deliver) {
    napi_value number;
    struct node_client *client = make(env);
    if (client == NULL) {
        return node_throw(env, REDLOCK_ERR_NOMEM, "out of memory");
    }
    int status =
        redlock_client_open(&client->client, client->keeper.loop, options, on_open, client);
    if (status != 0) {
        uv_close((uv_handle_t *)&client->keeper, never_opened);
        return node_throw(env, status, options->error);
    }
    napi_create_reference(env, deliver, 1, &client->deliver);
    napi_async_init(env, NULL, node_text(env, "redlock"), &client->context);
    napi_add_async_cleanup_hook(env, cleanup, client, &client->cleanup);
    list_first(client);
    napi_create_uint32(env, client->number, &number);
    return number;
}

/* (nodes, options, deliver): a client's number */
static napi_value node_open(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX], client = NULL;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_bytes urls[REDLOCK_NAMED_MAX];
    const char *nodes[REDLOCK_NAMED_MAX];
    char error[REDLOCK_MESSAGE_MAX] = "";
    struct node_texts texts = {0};
    uint32_t n;
    bool has_zero = false;
    node_args(env, info, argv);
    if (node_read_list(env, argv[0], "nodes", REDLOCK_NAMED_MAX, &n, urls, &texts) &&
        node_read_options(env, argv[1], node_client_options, &options, &texts)) {
        for (uint32_t i = 0; i < n; i++) {
            nodes[i] = urls[i].data;
            has_zero = has_zero || strlen(nodes[i]) != urls[i].length;
        }
        options.nodes = nodes;
        options.n_nodes = n;
        options.background = 1;
        options.error = error;
        options.error_size = sizeof error;
        client = has_zero ? node_throw(env, REDLOCK_ERR_INVALID, "nodes: has a zero byte")
                          : open_client(env, &options, argv[2]);
    }
    node_texts_free(&texts);
    return client;
}

/* (client) */
static napi_value node_close(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX];
    node_args(env, info, argv);
    close_client(node_read_client(env, argv[0]));
    return NULL;
}

/* (client): how the nodes are */
static napi_value node_message(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX];
    char text[REDLOCK_MESSAGE_MAX];
    node_args(env, info, argv);
    const redlock_client *client = node_read_client(env, argv[0])->client;
    return node_text(env, client != NULL ? redlock_client_message(client, text, sizeof text)
                                         : redlock_strerror(REDLOCK_ERR_CLOSED));
}

/* (client, user, password): of all nodes */
static napi_value node_set_credentials(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX];
    struct node_texts texts = {0};
    node_args(env, info, argv);
    const char *user = node_read_text(env, argv[1], "user", NULL, &texts);
    const char *password =
        user != NULL ? node_read_text(env, argv[2], "password", NULL, &texts) : NULL;
    if (password != NULL) {
        redlock_client *client = node_read_client(env, argv[0])->client;
        int status = client == NULL ? REDLOCK_ERR_CLOSED
                                    : redlock_client_set_credentials(client, REDLOCK_ALL_NODES,
                                                                     user, password);
        if (status != 0) {
            node_throw(env, status, redlock_strerror(status));
        }
    }
    node_texts_free(&texts);
    return NULL;
}

const node_function node_client_functions[] = {{"open", node_open},
                                               {"close", node_close},
                                               {"message", node_message},
                                               {"setCredentials", node_set_credentials},
                                               {NULL, NULL}};
