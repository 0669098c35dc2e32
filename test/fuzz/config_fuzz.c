/* libFuzzer: any bytes as the configuration that a node keeps.
 *
 * A client reads it before it trusts the node. What must hold: a text without a problem is written
 * again as a text that means the same, and each resource belongs to one of its sets, all of whose
 * nodes are members. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redis/config.h"

/* An assertion that NDEBUG does not remove. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static void check_set_of(const struct rl_config *config, enum rl_config_side side,
                         const uint8_t *resource, size_t length) {
    const uint32_t set = rl_config_set_of(config, side, resource, length);
    uint32_t members = 0;
    demand(set < rl_config_count(config, side));
    demand(memchr(rl_config_name(config, side, set), '\0', RL_CONFIG_NAME_MAX + 1) != NULL);
    for (uint32_t i = 0; i < config->n; i++) {
        members += rl_config_is_in(config, i, side, set);
    }
    demand(members > 0 && members <= RL_CONFIG_SIDE_MAX);
}

static void check_written(const struct rl_config *config) {
    static struct rl_config again;
    static char text[RL_CONFIG_TEXT_MAX];
    const size_t length = rl_config_format(config, config->self, text);
    demand(length > 0 && length == strlen(text));
    demand(rl_config_parse(&again, text, length));
    demand(rl_config_compare(&config->key, &again.key) == RL_CONFIG_SAME);
    demand(again.max_ttl_ms == config->max_ttl_ms && again.is_joint == config->is_joint);
    demand(again.n == config->n);
    demand(strcmp(again.members[again.self].url, config->members[config->self].url) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct rl_config config;
    const bool is_good = rl_config_parse(&config, (const char *)data, size);
    demand(is_good == (config.problem == NULL));
    if (is_good) {
        demand(config.n > 0 && config.n <= RL_CONFIG_MEMBERS_MAX && config.self < config.n);
        check_set_of(&config, RL_CONFIG_OLD, data, size);
        check_set_of(&config, RL_CONFIG_NEW, data, size);
        check_written(&config);
    }
    return 0;
}
