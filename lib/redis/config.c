/* See config.h. */
#include "redis/config.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_TTL_MS 86400000u
#define EPOCH_MAX UINT64_C(9007199254740991) /* what a script can compare exactly */

/* A part of the text. */
struct part {
    const char *at;
    size_t length;
};

/* Takes what is before the separator, or everything. */
static struct part take(struct part *rest, char separator) {
    const char *end = rest->length > 0 ? memchr(rest->at, separator, rest->length) : NULL;
    struct part part = {rest->at, end != NULL ? (size_t)(end - rest->at) : rest->length};
    const size_t used = part.length + (end != NULL);
    rest->at += used;
    rest->length -= used;
    return part;
}

static bool is(struct part part, const char *word) {
    return part.length == strlen(word) && memcmp(part.at, word, part.length) == 0;
}

static bool read_hex(struct part part, char *out, size_t length) {
    for (size_t i = 0; i < part.length; i++) {
        if (strchr("0123456789abcdef", part.at[i]) == NULL || part.at[i] == '\0') {
            return false;
        }
    }
    if (part.length != length) {
        return false;
    }
    memcpy(out, part.at, length);
    out[length] = '\0';
    return true;
}

static bool read_number(struct part part, uint64_t max, uint64_t *out) {
    uint64_t number = 0;
    if (part.length == 0 || part.length > 16) {
        return false;
    }
    for (size_t i = 0; i < part.length; i++) {
        if (part.at[i] < '0' || part.at[i] > '9') {
            return false;
        }
        number = 10 * number + (uint64_t)(part.at[i] - '0');
    }
    *out = number;
    return number > 0 && number <= max;
}

static uint32_t find(const struct rl_config *config, struct part url) {
    uint32_t i = 0;
    while (i < config->n && !is(url, config->members[i].url)) {
        i++;
    }
    return i;
}

static bool is_url(struct part url) {
    bool is_printable = true;
    for (size_t i = 0; i < url.length; i++) {
        is_printable = is_printable && url.at[i] > ' ' && url.at[i] <= '~';
    }
    return is_printable && url.length > 0 && url.length <= RL_CONFIG_URL_MAX;
}

static const char *read_side(struct rl_config *config, struct part urls, enum rl_config_side side) {
    uint32_t count = 0;
    if (urls.length > 0 && urls.at[urls.length - 1] == ' ') {
        return "has a bad list of nodes";
    }
    while (urls.length > 0) {
        struct part url = take(&urls, ' ');
        if (!is_url(url) || ++count > RL_CONFIG_SIDE_MAX) {
            return "has a bad list of nodes";
        }
        struct rl_config_member *member = &config->members[find(config, url)];
        if (member == &config->members[config->n]) {
            memcpy(member->url, url.at, url.length);
            member->url[url.length] = '\0';
            member->sides = 0;
            config->n++;
        } else if (member->sides & side) {
            return "names a node twice";
        }
        member->sides |= (uint8_t)side;
    }
    return count > 0 ? NULL : "names no nodes";
}

/* One line. Each may occur once. */
static const char *read_line(struct rl_config *config, struct part name, struct part value) {
    uint64_t number;
    if (is(name, "id")) {
        return read_hex(value, config->key.id, RL_CONFIG_ID_LEN) ? NULL : "has a bad id";
    }
    if (is(name, "epoch")) {
        return read_number(value, EPOCH_MAX, &config->key.epoch) ? NULL : "has a bad epoch";
    }
    if (is(name, "change")) {
        return read_hex(value, config->key.change, RL_CONFIG_CHANGE_LEN) ? NULL
                                                                         : "has a bad change";
    }
    if (is(name, "max_ttl")) {
        if (!read_number(value, MAX_TTL_MS, &number)) {
            return "has a bad max_ttl";
        }
        config->max_ttl_ms = (uint32_t)number;
        return NULL;
    }
    if (is(name, "old")) {
        config->is_joint = true;
        return read_side(config, value, RL_CONFIG_OLD);
    }
    if (is(name, "nodes")) {
        return read_side(config, value, RL_CONFIG_NEW);
    }
    if (is(name, "self")) {
        config->self = find(config, value);
        return config->self < config->n ? NULL : "is of a node that it does not name";
    }
    return "has a line that this version does not know";
}

static const char *parse(struct rl_config *config, struct part rest) {
    static const char *const names[] = {"id", "epoch", "change", "max_ttl", "old", "nodes", "self"};
    if (!is(take(&rest, '\n'), "libredlock-config 1")) {
        return "is not of a version that this one knows";
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct part line = rest, value = take(&line, '\n');
        struct part name = take(&value, ' ');
        if (strcmp(names[i], "old") == 0 && is(name, "nodes")) {
            continue; /* not joint */
        }
        if (!is(name, names[i])) {
            return "lacks a line, or has one too many";
        }
        const char *problem = read_line(config, name, value);
        if (problem != NULL) {
            return problem;
        }
        rest = line;
    }
    return rest.length == 0 ? NULL : "goes on after its end";
}

bool rl_config_parse(struct rl_config *config, const char *text, size_t length) {
    *config = (struct rl_config){.n = 0};
    config->problem = parse(config, (struct part){text, length});
    return config->problem == NULL;
}

size_t rl_config_format(const struct rl_config *config, uint32_t self,
                        char text[RL_CONFIG_TEXT_MAX]) {
    static const struct {
        const char *name;
        uint8_t side;
    } sides[] = {{"old", RL_CONFIG_OLD}, {"nodes", RL_CONFIG_NEW}};
    assert(config->n > 0 && config->n <= RL_CONFIG_MEMBERS_MAX && self < config->n);
    int used = snprintf(text, RL_CONFIG_TEXT_MAX,
                        "libredlock-config 1\nid %s\nepoch %llu\nchange %s\nmax_ttl %u\n",
                        config->key.id, (unsigned long long)config->key.epoch, config->key.change,
                        (unsigned)config->max_ttl_ms);
    for (int s = config->is_joint ? 0 : 1; s < 2; s++) {
        used += snprintf(text + used, RL_CONFIG_TEXT_MAX - (size_t)used, "%s", sides[s].name);
        for (uint32_t i = 0; i < config->n; i++) {
            if (config->members[i].sides & sides[s].side) {
                used += snprintf(text + used, RL_CONFIG_TEXT_MAX - (size_t)used, " %s",
                                 config->members[i].url);
            }
        }
        used += snprintf(text + used, RL_CONFIG_TEXT_MAX - (size_t)used, "\n");
    }
    used += snprintf(text + used, RL_CONFIG_TEXT_MAX - (size_t)used, "self %s\n",
                     config->members[self].url);
    assert(used > 0 && used < RL_CONFIG_TEXT_MAX);
    return (size_t)used;
}

enum rl_config_order rl_config_compare(const struct rl_config_key *ours,
                                       const struct rl_config_key *theirs) {
    if (ours->epoch == 0) {
        return theirs->epoch == 0 ? RL_CONFIG_SAME : RL_CONFIG_NEWER;
    }
    if (theirs->epoch == 0) {
        return RL_CONFIG_OLDER;
    }
    if (strcmp(ours->id, theirs->id) != 0) {
        return RL_CONFIG_FOREIGN;
    }
    if (ours->epoch != theirs->epoch) {
        return theirs->epoch > ours->epoch ? RL_CONFIG_NEWER : RL_CONFIG_OLDER;
    }
    return strcmp(ours->change, theirs->change) == 0 ? RL_CONFIG_SAME : RL_CONFIG_RIVAL;
}
