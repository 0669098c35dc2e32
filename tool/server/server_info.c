/* INFO: the fields that the library reads, in the places where Redis has them, and some fields
 * around them. A section that is requested by name comes alone. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_parts.h"

struct server_info_line { /* set by server_set_info() */
    char *field, *value;
};

struct info {
    const struct server *server; /* whose it is */
    const struct server *host;   /* the server that answers, with values that a test has planted */
    struct bytes text;
    uint64_t now_us;
    uint64_t planted; /* which lines of the host have been written */
};

static void line(struct info *info, const char *field, const char *value) {
    for (uint32_t i = 0; i < info->host->n_info; i++) {
        if (strcmp(info->host->info[i].field, field) == 0) {
            value = info->host->info[i].value;
            info->planted |= UINT64_C(1) << i;
        }
    }
    bytes_append_text(&info->text, field);
    bytes_append(&info->text, ":", 1);
    bytes_append_text(&info->text, value);
    bytes_append(&info->text, "\r\n", 2);
}

static void number(struct info *info, const char *field, long long value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", value);
    line(info, field, text);
}

/* Whole seconds of a clock that may have been set back. */
static long long uptime_s(const struct info *info) {
    return (long long)(info->now_us / 1000000) - (long long)(info->server->started_us / 1000000);
}

static void put_server(struct info *info) {
    static const char *const versions[] = {"7.0.15", "8.0.2", "7.2.4"};
    const bool is_valkey = info->server->words == SERVER_VALKEY;
    const enum server_native native = info->server->native;
    line(info, "redis_version", native == SERVER_DELEX ? "8.6.3" : versions[info->server->words]);
    if (is_valkey) {
        line(info, "server_name", "valkey");
        line(info, "valkey_version", native == SERVER_DELIFEQ ? "9.1.2" : "8.1.1");
    }
    line(info, is_valkey ? "server_mode" : "redis_mode", "standalone");
    line(info, "arch_bits", info->server->has_32_bits ? "32" : "64");
    line(info, "run_id", info->server->run_id);
    number(info, "server_time_usec", (long long)info->now_us);
    number(info, "uptime_in_seconds", uptime_s(info));
    number(info, "uptime_in_days", uptime_s(info) / 86400);
}

static void put_clients(struct info *info) {
    number(info, "connected_clients", info->server->n_connections);
    number(info, "maxclients", 10000);
}

static void put_memory(struct info *info) {
    number(info, "maxmemory", (long long)info->server->maxmemory);
    line(info, "maxmemory_policy", info->server->policy);
}

static void put_persistence(struct info *info) {
    number(info, "loading", info->server->is_loading);
    number(info, "aof_enabled", info->server->has_aof);
}

static void put_stats(struct info *info) {
    number(info, "total_connections_received", (long long)info->server->connections);
    number(info, "evicted_keys", (long long)info->server->evicted);
}

static void put_replication(struct info *info) {
    line(info, "role", info->server->is_replica ? "slave" : "master");
    number(info, "connected_slaves", 0);
    line(info, "master_replid", info->server->replid);
}

static void put_cluster(struct info *info) {
    number(info, "cluster_enabled", 0);
}

/* Expired keys count until they are looked up. */
static void put_keyspace(struct info *info) {
    for (uint32_t db = 0; db < SERVER_DATABASES; db++) {
        long long keys = 0, expires = 0;
        uint32_t at = 0;
        const struct server_key *key;
        while ((key = server_keys_next(&info->server->keys, &at)) != NULL) {
            keys += key->db == db;
            expires += key->db == db && key->expires_ms != SERVER_NEVER_MS;
        }
        char field[16], value[96];
        snprintf(field, sizeof field, "db%u", db);
        snprintf(value, sizeof value, "keys=%lld,expires=%lld,avg_ttl=0", keys, expires);
        if (keys > 0) {
            line(info, field, value);
        }
    }
}

static const struct {
    const char *name, *title;
    void (*put)(struct info *info);
} sections[] = {
    {"server", "Server", put_server},    {"clients", "Clients", put_clients},
    {"memory", "Memory", put_memory},    {"persistence", "Persistence", put_persistence},
    {"stats", "Stats", put_stats},       {"replication", "Replication", put_replication},
    {"cluster", "Cluster", put_cluster}, {"keyspace", "Keyspace", put_keyspace},
};

static bool is_wanted(const struct call *call, const char *section) {
    bool is = call->count == 1;
    for (size_t i = 1; i < call->count; i++) {
        const struct resp_arg *arg = &call->args[i];
        is = is || resp_is(arg, section) || resp_is(arg, "default") || resp_is(arg, "all") ||
             resp_is(arg, "everything");
    }
    return is;
}

void do_info(struct call *call) {
    const struct server *host = call->server;
    struct info info = {
        host->twin != NULL ? host->twin : host, host, {NULL, 0, 0}, call->now_us, 0};
    info.text = call->server->scratch;
    info.text.length = 0;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (is_wanted(call, sections[i].name)) {
            bytes_append_format(&info.text, "%s# %s\r\n", info.text.length > 0 ? "\r\n" : "",
                                sections[i].title);
            sections[i].put(&info);
        }
    }
    for (uint32_t i = 0; i < host->n_info && call->count == 1; i++) {
        if ((info.planted >> i & 1) == 0) {
            line(&info, host->info[i].field, host->info[i].value);
        }
    }
    reply_bulk(call, info.text.data, info.text.length);
    call->server->scratch = info.text;
}

/* -- Planted -- */

static char *copy_of(const char *text) {
    char *copy = strdup(text);
    if (copy == NULL) {
        abort();
    }
    return copy;
}

void server_set_info(struct server *server, const char *field, const char *value) {
    uint32_t at = 0;
    while (at < server->n_info && strcmp(server->info[at].field, field) != 0) {
        at++;
    }
    if (at < server->n_info) {
        free(server->info[at].field);
        free(server->info[at].value);
        server->info[at] = server->info[--server->n_info];
    }
    if (value == NULL) {
        return;
    }
    assert(server->n_info < 64);
    server->info = realloc(server->info, (server->n_info + 1) * sizeof server->info[0]);
    if (server->info == NULL) {
        abort();
    }
    server->info[server->n_info++] = (struct server_info_line){copy_of(field), copy_of(value)};
}

void free_info(struct server *server) {
    for (uint32_t i = 0; i < server->n_info; i++) {
        free(server->info[i].field);
        free(server->info[i].value);
    }
    free(server->info);
    bytes_free(&server->scratch);
}
