/* A fake Redis as the test sees it: made, planted with keys, asked what it has. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake_redis_parts.h"

struct fake_redis *fake_redis_new(void) {
    static const char *const info[][2] = {
        {"redis_version", "7.0.15"},
        {"run_id", "0123456789abcdef0123456789abcdef01234567"},
        {"uptime_in_seconds", "1000000"},
        {"loading", "0"},
        {"aof_enabled", "1"},
        {"role", "master"},
        {"master_replid", "fedcba9876543210fedcba9876543210fedcba98"},
        {"maxmemory_policy", "noeviction"},
    };
    struct fake_redis *redis = calloc(1, sizeof(*redis));
    if (redis == NULL) {
        abort();
    }
    for (size_t i = 0; i < sizeof(info) / sizeof(info[0]); i++) {
        fake_redis_set_info(redis, info[i][0], info[i][1]);
    }
    return redis;
}

void fake_redis_free(struct fake_redis *redis) {
    fake_redis_forget_keys(redis);
    free(redis);
}

void fake_redis_on_publish(struct fake_redis *redis, fake_publish *carry, void *data) {
    redis->publish = carry;
    redis->publish_data = data;
}

void fake_redis_set_password(struct fake_redis *redis, const char *user, const char *password) {
    snprintf(redis->user, sizeof(redis->user), "%s", user != NULL ? user : "");
    snprintf(redis->password, sizeof(redis->password), "%s", password != NULL ? password : "");
}

void fake_redis_set_info(struct fake_redis *redis, const char *field, const char *value) {
    struct info *info = redis->info;
    while (info < redis->info + redis->n_info && strcmp(info->field, field) != 0) {
        info++;
    }
    if (info == redis->info + redis->n_info) {
        assert(redis->n_info < INFO_MAX);
        redis->n_info++;
    }
    snprintf(info->field, sizeof(info->field), "%s", field);
    snprintf(info->value, sizeof(info->value), "%s", value);
}

size_t fake_redis_keys(const struct fake_redis *redis, uint64_t now_ns) {
    return fake_keys_count(&redis->keys, now_ns);
}

const char *fake_redis_get(const struct fake_redis *redis, uint32_t db, const void *key,
                           size_t length, uint64_t now_ns) {
    struct resp_arg name = {key, length};
    const struct fake_key *found = fake_keys_find(&redis->keys, db, &name, now_ns);
    return found != NULL ? found->value.data : NULL;
}

void fake_redis_put(struct fake_redis *redis, uint32_t db, const void *key, size_t length,
                    const char *value, uint64_t expires_ns) {
    assert(db < FAKE_REDIS_DATABASES);
    struct resp_arg name = {key, length};
    struct resp_arg content = {value, strlen(value)};
    fake_keys_put(&redis->keys, db, &name, &content, expires_ns);
}

void fake_redis_forget_keys(struct fake_redis *redis) {
    fake_keys_clear(&redis->keys);
}

void fake_redis_forget_scripts(struct fake_redis *redis) {
    redis->n_scripts = 0;
}
