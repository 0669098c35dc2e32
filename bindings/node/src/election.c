/* See addon.h: elections, one entry each, from elect() to the end of resign(). */
#include "addon.h"

#define OPTION(name, kind, field) \
    { name, kind, offsetof(redlock_election_options, field) }

const struct node_option node_election_options[] = {
    OPTION("candidate", NODE_TEXT, candidate),
    OPTION("ttl", NODE_MS, ttl_ms),
    OPTION("renew", NODE_MS, renew_ms),
    OPTION("poll", NODE_MS, poll_ms),
    OPTION("fencing", NODE_FLAG, fencing),
    OPTION("maxSilence", NODE_MS, max_silence_ms),
    {NULL, NODE_MS, 0},
};

static void on_elected(redlock_election *election, int status, void *data) {
    const struct node_entry *entry = data;
    (void)status; /* 0 */
    node_deliver(entry->client, &(struct node_event){.type = NODE_elected,
                                                     .id = entry->id,
                                                     .number = redlock_election_fence(election)});
}

/* These two statuses mean that the candidacy is over. */
static void on_deposed(redlock_election *election, int status, void *data) {
    struct node_entry *entry = data;
    struct node_client *client = entry->client;
    char text[REDLOCK_MESSAGE_MAX];
    const bool is_over = status == REDLOCK_ERR_SYSTEM || status == REDLOCK_ERR_INVALID;
    struct node_event event = {
        .type = NODE_deposed, .id = entry->id, .status = status, .number = is_over};
    event.text = redlock_election_message(election, text, sizeof text);
    if (is_over) {
        redlock_election_free(election);
        node_entry_drop(entry);
    }
    node_deliver(client, &event);
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    const struct node_entry *entry = data;
    (void)election;
    node_deliver(entry->client,
                 &(struct node_event){
                     .type = NODE_leader, .id = entry->id, .name = leader != NULL ? leader : ""});
}

static void on_resigned(redlock_election *election, int status, void *data) {
    struct node_entry *entry = data;
    struct node_client *client = entry->client;
    char text[REDLOCK_MESSAGE_MAX];
    struct node_event event = {.type = NODE_resigned, .id = entry->id, .status = status};
    event.text = redlock_election_message(election, text, sizeof text);
    redlock_election_free(election);
    node_entry_drop(entry);
    node_deliver(client, &event);
}

static napi_value elect(napi_env env, struct node_client *client,
                        redlock_election_options *options) {
    char text[REDLOCK_MESSAGE_MAX] = "out of memory";
    struct node_entry *entry = node_entry_take(client);
    if (entry == NULL) {
        return node_throw(env, REDLOCK_ERR_NOMEM, text);
    }
    options->on_elected = on_elected;
    options->on_lost = on_deposed;
    options->on_leader = on_leader;
    options->data = entry;
    int status = redlock_election_new(client->client, options, &entry->election, text, sizeof text);
    if (status == 0) {
        status = redlock_election_campaign(entry->election);
    }
    if (status != 0) {
        redlock_election_free(entry->election);
        node_entry_drop(entry);
        return node_throw(env, status, text);
    }
    return node_number(env, entry->id);
}

/* (client, name, options): an entry's number */
static napi_value node_elect(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX], id = NULL;
    redlock_election_options options = REDLOCK_ELECTION_OPTIONS_INIT;
    struct node_texts texts = {0};
    node_args(env, info, argv);
    struct node_client *client = node_read_client(env, argv[0]);
    if (client->is_closing) {
        return node_throw(env, REDLOCK_ERR_CLOSED, redlock_strerror(REDLOCK_ERR_CLOSED));
    }
    options.name = node_read_text(env, argv[1], "name", &options.name_length, &texts);
    if (options.name != NULL &&
        node_read_options(env, argv[2], node_election_options, &options, &texts)) {
        id = elect(env, client, &options);
    }
    node_texts_free(&texts);
    return id;
}

/* (client, id) */
static napi_value node_resign(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    int status = entry != NULL ? redlock_election_resign(entry->election, on_resigned, entry) : 0;
    return status != 0 ? node_throw(env, status, redlock_strerror(status)) : NULL;
}

/* (client, id) */
static napi_value node_lead_alive(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    int status = entry != NULL ? redlock_election_alive(entry->election) : 0;
    return status != 0 ? node_throw(env, status, redlock_strerror(status)) : NULL;
}

/* (client, id) */
static napi_value node_is_leader(napi_env env, napi_callback_info info) {
    napi_value is_leader = NULL;
    struct node_entry *entry = node_read_entry(env, info, NULL);
    if (entry != NULL) {
        napi_get_boolean(env, redlock_election_is_leader(entry->election) != 0, &is_leader);
    }
    return is_leader;
}

const node_function node_election_functions[] = {{"elect", node_elect},
                                                 {"resign", node_resign},
                                                 {"isLeader", node_is_leader},
                                                 {"leadAlive", node_lead_alive},
                                                 {NULL, NULL}};
