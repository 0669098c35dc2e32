/* See users.h. */
#include "users.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "redlock/redlock.h"

#define TIMEOUT_S 2
#define URL_SIZE 64

struct rl_bench_users {
    char texts[REDLOCK_NODES_MAX][URL_SIZE];
    const char *urls[REDLOCK_NODES_MAX];
};

/* Whether the node accepted the rule; it does not if it does not know the command. */
static bool make_one(redisContext *node, const char *name, const char *denied) {
    redisReply *reply =
        redisCommand(node, "ACL SETUSER %s on >bench ~* &* +@all -%s", name, denied);
    bool is_made = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return is_made;
}

static bool make_at(int port, const char *name, bool by_script, char *error, size_t error_size) {
    redisContext *node =
        redisConnectWithTimeout("127.0.0.1", port, (struct timeval){.tv_sec = TIMEOUT_S});
    bool is_up = node != NULL && node->err == 0;
    bool is_made =
        is_up && (by_script ? make_one(node, name, "delifeq") || make_one(node, name, "delex")
                            : make_one(node, name, "flushall"));
    if (!is_made) {
        snprintf(error, error_size, "--release: the node on port %d %s", port,
                 !is_up      ? "cannot be asked"
                 : by_script ? "has no command for a release, it has a script alone; Valkey 9 and "
                               "Redis 8.4 have one (--redis-server)"
                             : "takes no users");
    }
    if (node != NULL) {
        redisFree(node);
    }
    return is_made;
}

struct rl_bench_users *rl_bench_users_make(const struct rl_local_nodes *local, bool by_script,
                                           char *error, size_t error_size) {
    const char *name = by_script ? "script" : "native";
    struct rl_bench_users *users = calloc(1, sizeof(*users));
    if (users == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    assert(local != NULL && rl_local_nodes_count(local) <= REDLOCK_NODES_MAX);
    for (size_t i = 0; i < rl_local_nodes_count(local); i++) {
        int port = rl_local_nodes_port(local, i);
        if (!make_at(port, name, by_script, error, error_size)) {
            free(users);
            return NULL;
        }
        snprintf(users->texts[i], URL_SIZE, "redis://%s:bench@127.0.0.1:%d", name, port);
        users->urls[i] = users->texts[i];
    }
    return users;
}

const char *const *rl_bench_users_urls(const struct rl_bench_users *users) {
    return users->urls;
}

void rl_bench_users_free(struct rl_bench_users *users) {
    free(users);
}
