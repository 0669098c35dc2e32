/* A test is the administrator of a set: it writes the configuration to the nodes, and cuts
 * connections as a change does. */
#ifndef LIVE_SET_SCENE_H
#define LIVE_SET_SCENE_H

#include "live/live.h"
#include "messages.h"
#include "redis/config.h"

#define ID "6f1c02d7a9b34e55"
#define OTHER_ID "02aa17c4e0d95b3f"

/* -- The administrator -- */

struct set {
    const char *id;
    unsigned epoch;
    uint32_t old, nodes; /* masks; old: 0, unless joint */
    unsigned max_ttl_ms; /* 0: 30000 */
};

static inline bool is_in(uint32_t mask, size_t i) {
    return (mask >> i & 1) != 0;
}

static inline struct rl_config describe(const struct live *live, const struct set *set) {
    struct rl_config config = {.key = {.epoch = set->epoch},
                               .max_ttl_ms = set->max_ttl_ms != 0 ? set->max_ttl_ms : 30000,
                               .is_joint = set->old != 0};
    snprintf(config.key.id, sizeof config.key.id, "%s", set->id);
    snprintf(config.key.change, sizeof config.key.change, "%08x", set->epoch);
    for (size_t i = 0; i < live->n; i++) {
        if (is_in(set->old | set->nodes, i)) {
            struct rl_config_member *member = &config.members[config.n++];
            snprintf(member->url, sizeof member->url, "%s", live->urls[i]);
            member->sides = (uint8_t)((is_in(set->old, i) ? RL_CONFIG_OLD : 0) |
                                      (is_in(set->nodes, i) ? RL_CONFIG_NEW : 0));
        }
    }
    return config;
}

static inline void cut(const struct live *live, size_t i) {
    live_tell(live, i, "CLIENT KILL TYPE normal");
    live_tell(live, i, "CLIENT KILL TYPE pubsub");
}

/* Writes it to these of its nodes. */
static inline void write_to(const struct live *live, const struct set *set, uint32_t to) {
    const struct rl_config config = describe(live, set);
    char text[RL_CONFIG_TEXT_MAX];
    uint32_t self = 0;
    for (size_t i = 0; i < live->n; i++) {
        if (!is_in(set->old | set->nodes, i)) {
            continue;
        }
        rl_config_format(&config, self++, text);
        if (is_in(to, i)) {
            live_tell(live, i, "SET %s %s", RL_CONFIG_KEY, text);
            cut(live, i);
        }
    }
}

static inline void write_all(const struct live *live, const struct set *set) {
    write_to(live, set, UINT32_MAX);
}

/* -- Clients of parts of the nodes -- */

static inline redlock_client *open_part(struct live *live, uint32_t mask, const char *id,
                                        int wanted) {
    const char *urls[LIVE_NODES_MAX];
    redlock_client_options options = live_options(live);
    redlock_client *client;
    options.nodes = urls;
    options.n_nodes = 0;
    options.config_id = id;
    for (size_t i = 0; i < live->n; i++) {
        if (is_in(mask, i)) {
            urls[options.n_nodes++] = live->urls[i];
        }
    }
    LIVE_STATUS(live_open(live, &options, &client), wanted);
    return client;
}

static inline int try_once(struct live *live, redlock_lock *lock) {
    const redlock_acquire_options options = live_once(30000);
    return live_acquire(live, lock, &options);
}

static inline void check_message(const char *message, const char *wanted) {
    assert_contains(message, wanted);
}

#endif
