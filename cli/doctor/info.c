/* See info.h. */
#include "doctor/info.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "wire/info.h"

#define TEXT(name, field) \
    { name, offsetof(struct rl_facts, field), false }
#define NUMBER(name, field) \
    { name, offsetof(struct rl_facts, field), true }

static const struct {
    const char *name;
    size_t offset;
    bool is_number;
} fields[] = {
    TEXT("redis_mode", mode), /* of Valkey server_mode, see below */
    TEXT("run_id", run_id),
    TEXT("master_replid", replid),
    TEXT("role", role),
    TEXT("maxmemory_policy", policy),
    TEXT("aof_last_write_status", aof_write),
    TEXT("rdb_last_bgsave_status", bgsave),
    NUMBER("connected_slaves", replicas),
    NUMBER("uptime_in_seconds", uptime_s),
    NUMBER("maxmemory", maxmemory),
    NUMBER("used_memory", used_memory),
    NUMBER("aof_enabled", aof_enabled),
    NUMBER("loading", loading),
    NUMBER("evicted_keys", evicted),
};

void rl_doctor_read_info(struct rl_facts *facts, const char *info) {
    char host[RL_FACT_MAX], port[RL_FACT_MAX];
    assert(info != NULL);
    rl_info_read(&facts->judged, info, strlen(info));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char *field = (char *)facts + fields[i].offset;
        if (fields[i].is_number) {
            *(int64_t *)(void *)field = rl_wire_info_number(info, fields[i].name);
        } else {
            rl_wire_info_text(info, fields[i].name, field);
        }
    }
    rl_wire_info_text(info, "master_host", host);
    rl_wire_info_text(info, "master_port", port);
    snprintf(facts->master, sizeof facts->master, "%s%s%s", host, host[0] != '\0' ? ":" : "", port);
    if (facts->mode[0] == '\0') {
        rl_wire_info_text(info, "server_mode", facts->mode);
    }
    rl_wire_info_server(info, facts->server, facts->version);
}

int64_t rl_doctor_quarantine_s(const struct rl_facts *facts) {
    const struct rl_args *args = facts->wire->args;
    /* A second of the node's uptime may have only begun, so clients count one less. */
    int64_t quarantine_ms = args->max_ttl_ms + rl_args_drift_ms(args->max_ttl_ms);
    int64_t left_s = (quarantine_ms + 999) / 1000 + 1 - facts->uptime_s;
    return args->guard == REDLOCK_GUARD_STRICT && left_s > 0 ? left_s : 0;
}
