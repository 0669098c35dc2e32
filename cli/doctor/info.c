/* See info.h. */
#include "doctor/info.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "tool/utf8.h"

#define TEXT(name, field) \
    { name, offsetof(struct rl_facts, field), false }
#define NUMBER(name, field) \
    { name, offsetof(struct rl_facts, field), true }

static const struct {
    const char *name;
    size_t offset;
    bool is_number;
} fields[] = {
    TEXT("redis_version", version),
    TEXT("redis_mode", mode), /* of Valkey server_mode, see below */
    TEXT("run_id", run_id),
    TEXT("master_replid", replid),
    TEXT("role", role),
    TEXT("maxmemory_policy", policy),
    TEXT("aof_last_write_status", aof_write),
    TEXT("rdb_last_bgsave_status", bgsave),
    TEXT("server_name", server),
    NUMBER("connected_slaves", replicas),
    NUMBER("uptime_in_seconds", uptime_s),
    NUMBER("maxmemory", maxmemory),
    NUMBER("used_memory", used_memory),
    NUMBER("aof_enabled", aof_enabled),
    NUMBER("loading", loading),
    NUMBER("evicted_keys", evicted),
};

/* The value of a line, or NULL. */
static const char *find(const char *info, const char *name, size_t *length) {
    struct rl_info_line line;
    const char *at = info;
    while (rl_info_next(&at, info + strlen(info), &line)) {
        if (line.name_length == strlen(name) && memcmp(line.name, name, line.name_length) == 0) {
            *length = line.value_length;
            return line.value;
        }
    }
    return NULL;
}

static void read_text(const char *info, const char *name, char *out) {
    size_t length = 0;
    const char *value = find(info, name, &length);
    tool_utf8_clean(value != NULL ? value : "", length, out, RL_FACT_MAX);
}

void rl_doctor_read_info(struct rl_facts *facts, const char *info) {
    char host[RL_FACT_MAX], port[RL_FACT_MAX];
    assert(info != NULL);
    rl_info_read(&facts->judged, info, strlen(info));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char *field = (char *)facts + fields[i].offset;
        char text[RL_FACT_MAX];
        read_text(info, fields[i].name, fields[i].is_number ? text : field);
        if (fields[i].is_number) {
            *(int64_t *)(void *)field = strtoll(text, NULL, 10);
        }
    }
    read_text(info, "master_host", host);
    read_text(info, "master_port", port);
    snprintf(facts->master, sizeof facts->master, "%s%s%s", host, host[0] != '\0' ? ":" : "", port);
    if (facts->mode[0] == '\0') {
        read_text(info, "server_mode", facts->mode);
    }
    bool is_valkey = strcmp(facts->server, "valkey") == 0;
    if (is_valkey) {
        read_text(info, "valkey_version", facts->version);
    }
    snprintf(facts->server, sizeof facts->server, is_valkey ? "Valkey" : "Redis");
}
