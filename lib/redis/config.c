/* See config.h. */
#include "redis/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/home.h"

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

static struct rl_config_sets *sets_of(struct rl_config *config, enum rl_config_side side) {
    return side == RL_CONFIG_OLD && config->is_joint ? &config->old_sets : &config->new_sets;
}

static uint8_t *set_in(struct rl_config_member *member, enum rl_config_side side) {
    return side == RL_CONFIG_OLD ? &member->old_set : &member->new_set;
}

static const char *read_nodes(struct rl_config *config, struct part urls, enum rl_config_side side,
                              uint32_t set) {
    uint32_t count = 0;
    if (urls.length > 0 && urls.at[urls.length - 1] == ' ') {
        return "has a bad list of nodes";
    }
    while (urls.length > 0) {
        struct part url = take(&urls, ' ');
        if (!is_url(url) || ++count > RL_CONFIG_SIDE_MAX) {
            return "has a bad list of nodes";
        }
        const uint32_t i = find(config, url);
        if (i == RL_CONFIG_MEMBERS_MAX) {
            return "has too many nodes";
        }
        struct rl_config_member *member = &config->members[i];
        if (i == config->n) {
            memcpy(member->url, url.at, url.length);
            member->url[url.length] = '\0';
            member->sides = 0;
            config->n++;
        } else if (member->sides & side) {
            return "names a node twice";
        }
        member->sides |= (uint8_t)side;
        *set_in(member, side) = (uint8_t)set;
    }
    return count > 0 ? NULL : "names no nodes";
}

/* A set with its name and its nodes. */
static const char *read_set(struct rl_config *config, struct part value, enum rl_config_side side) {
    struct rl_config_sets *sets = sets_of(config, side);
    const struct part name = take(&value, ' ');
    if (!rl_config_is_name(name.at, name.length)) {
        return "has a bad name of a set";
    }
    if (sets->n == RL_CONFIG_SETS_MAX) {
        return "has too many sets";
    }
    for (uint32_t i = 0; i < sets->n; i++) {
        if (is(name, sets->names[i])) {
            return "names a set twice";
        }
    }
    memcpy(sets->names[sets->n], name.at, name.length);
    sets->names[sets->n][name.length] = '\0';
    return read_nodes(config, value, side, sets->n++);
}

/* One line. Each may occur once. */
static const char *read_line(struct rl_config *config, const char *name, struct part value) {
    uint64_t number;
    if (strcmp(name, "id") == 0) {
        return read_hex(value, config->key.id, RL_CONFIG_ID_LEN) ? NULL : "has a bad id";
    }
    if (strcmp(name, "epoch") == 0) {
        return read_number(value, EPOCH_MAX, &config->key.epoch) ? NULL : "has a bad epoch";
    }
    if (strcmp(name, "change") == 0) {
        return read_hex(value, config->key.change, RL_CONFIG_CHANGE_LEN) ? NULL
                                                                         : "has a bad change";
    }
    if (strcmp(name, "max_ttl") == 0) {
        if (!read_number(value, MAX_TTL_MS, &number)) {
            return "has a bad max_ttl";
        }
        config->max_ttl_ms = (uint32_t)number;
        return NULL;
    }
    assert(strcmp(name, "self") == 0);
    config->self = find(config, value);
    return config->self < config->n ? NULL : "is of a node that it does not name";
}

/* The next line, if it has this name. */
static bool take_line(struct part *rest, const char *name, struct part *value) {
    struct part after = *rest;
    *value = take(&after, '\n');
    const bool has_name = is(take(value, ' '), name);
    *rest = has_name ? after : *rest;
    return has_name;
}

/* Whether a line of old nodes begins with the name of a set: a URL has a colon. */
static bool has_name(struct part value) {
    const struct part first = take(&value, ' ');
    return first.length > 0 && memchr(first.at, ':', first.length) == NULL && value.length > 0;
}

/* The lines of one side: its nodes, or its sets. */
static const char *read_side(struct rl_config *config, struct part *rest,
                             enum rl_config_side side) {
    const bool is_old = side == RL_CONFIG_OLD;
    struct part value, before = *rest;
    const char *problem = "lacks a line, or has one too many";
    if (take_line(rest, is_old ? "old" : "nodes", &value) && !(is_old && has_name(value))) {
        return read_nodes(config, value, side, 0);
    }
    *rest = before;
    while (take_line(rest, is_old ? "old" : "set", &value)) {
        problem = read_set(config, value, side);
        if (problem != NULL) {
            break;
        }
    }
    return problem;
}

static const char *parse(struct rl_config *config, struct part rest) {
    static const char *const names[] = {"id", "epoch", "change", "max_ttl", "old", "self"};
    const char *problem = NULL;
    struct part value;
    if (!is(take(&rest, '\n'), "libredlock-config 1")) {
        return "is not of a version that this one knows";
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && problem == NULL; i++) {
        if (strcmp(names[i], "old") == 0) {
            struct part ahead = rest;
            config->is_joint = take_line(&ahead, "old", &value);
            problem = config->is_joint ? read_side(config, &rest, RL_CONFIG_OLD) : NULL;
            problem = problem == NULL ? read_side(config, &rest, RL_CONFIG_NEW) : problem;
        } else if (take_line(&rest, names[i], &value)) {
            problem = read_line(config, names[i], value);
        } else {
            problem = "lacks a line, or has one too many";
        }
    }
    return problem == NULL && rest.length > 0 ? "goes on after its end" : problem;
}

bool rl_config_parse(struct rl_config *config, const char *text, size_t length) {
    *config = (struct rl_config){.n = 0};
    config->problem = parse(config, (struct part){text, length});
    return config->problem == NULL;
}

void rl_config_unread(struct rl_config_read *read, const char *problem) {
    rl_free(read->memory, read->config);
    read->config = NULL;
    read->problem = problem;
}

void rl_config_read(struct rl_config_read *read, const char *text, size_t length) {
    rl_config_unread(read, NULL);
    read->config = rl_alloc(read->memory, 1, sizeof *read->config);
    if (read->config == NULL) {
        read->problem = "cannot be read: there is no memory";
    } else if (!rl_config_parse(read->config, text, length)) {
        rl_config_unread(read, read->config->problem);
    }
}

/* -- Writing -- */

/* Appends; *used stays where there is no room. */
__attribute__((format(printf, 3, 4))) static void put(char *text, size_t *used, const char *format,
                                                      ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text + *used, RL_CONFIG_TEXT_MAX - *used, format, arguments);
    va_end(arguments);
    *used = length >= 0 && (size_t)length < RL_CONFIG_TEXT_MAX - *used ? *used + (size_t)length
                                                                       : RL_CONFIG_TEXT_MAX;
}

static void put_side(const struct rl_config *config, enum rl_config_side side, char *text,
                     size_t *used) {
    for (uint32_t set = 0; set < rl_config_count(config, side); set++) {
        const char *name = rl_config_name(config, side, set);
        const char *stable = name[0] == '\0' ? "nodes" : "set";
        put(text, used, "%s%s%s", side == RL_CONFIG_OLD ? "old" : stable,
            name[0] != '\0' ? " " : "", name);
        for (uint32_t i = 0; i < config->n; i++) {
            if (rl_config_is_in(config, i, side, set)) {
                put(text, used, " %s", config->members[i].url);
            }
        }
        put(text, used, "\n");
    }
}

size_t rl_config_format(const struct rl_config *config, uint32_t self,
                        char text[RL_CONFIG_TEXT_MAX]) {
    size_t used = 0;
    assert(config->n > 0 && config->n <= RL_CONFIG_MEMBERS_MAX && self < config->n);
    put(text, &used, "libredlock-config 1\nid %s\nepoch %llu\nchange %s\nmax_ttl %u\n",
        config->key.id, (unsigned long long)config->key.epoch, config->key.change,
        (unsigned)config->max_ttl_ms);
    if (config->is_joint) {
        put_side(config, RL_CONFIG_OLD, text, &used);
    }
    put_side(config, RL_CONFIG_NEW, text, &used);
    put(text, &used, "self %s\n", config->members[self].url);
    return used < RL_CONFIG_TEXT_MAX ? used : 0;
}

/* -- Sets -- */

bool rl_config_is_name(const char *name, size_t length) {
    bool is_name = length >= 1 && length <= RL_CONFIG_NAME_MAX;
    for (size_t i = 0; is_name && i < length; i++) {
        const bool is_letter =
            (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z');
        const bool is_digit = name[i] >= '0' && name[i] <= '9';
        is_name = is_letter || is_digit || name[i] == '.' || name[i] == '_' || name[i] == '-';
    }
    return is_name;
}

static const struct rl_config_sets *sets_on(const struct rl_config *config,
                                            enum rl_config_side side) {
    return side == RL_CONFIG_OLD && config->is_joint ? &config->old_sets : &config->new_sets;
}

uint32_t rl_config_count(const struct rl_config *config, enum rl_config_side side) {
    const struct rl_config_sets *sets = sets_on(config, side);
    return sets->n > 0 ? sets->n : 1;
}

const char *rl_config_name(const struct rl_config *config, enum rl_config_side side, uint32_t set) {
    const struct rl_config_sets *sets = sets_on(config, side);
    assert(set < rl_config_count(config, side));
    return sets->n > 0 ? sets->names[set] : "";
}

bool rl_config_is_in(const struct rl_config *config, uint32_t member, enum rl_config_side side,
                     uint32_t set) {
    const struct rl_config_member *one = &config->members[member];
    const enum rl_config_side there = config->is_joint ? side : RL_CONFIG_NEW;
    assert(member < config->n);
    return one->sides & there && (there == RL_CONFIG_OLD ? one->old_set : one->new_set) == set;
}

size_t rl_config_part(const void *resource, size_t length, const char **part) {
    const char *name = resource, *open = memchr(name, '{', length);
    const size_t left = open != NULL ? length - (size_t)(open + 1 - name) : 0;
    const char *close = left > 0 ? memchr(open + 1, '}', left) : NULL;
    const bool has_part = close != NULL && close > open + 1;
    *part = has_part ? open + 1 : name;
    return has_part ? (size_t)(close - *part) : length;
}

uint32_t rl_config_choose(const uint64_t *names, uint32_t n, const void *resource, size_t length) {
    const char *part;
    const size_t part_length = rl_config_part(resource, length, &part);
    assert(n >= 1 && n <= RL_CONFIG_SETS_MAX);
    return n > 1 ? rl_home_node(rl_home_hash(part, (uint32_t)part_length), names,
                                UINT32_MAX >> (32 - n))
                 : 0;
}

uint32_t rl_config_set_of(const struct rl_config *config, enum rl_config_side side,
                          const void *resource, size_t length) {
    uint64_t names[RL_CONFIG_SETS_MAX];
    const uint32_t n = rl_config_count(config, side);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = rl_config_name(config, side, i);
        names[i] = rl_home_hash(name, (uint32_t)strlen(name));
    }
    return rl_config_choose(names, n, resource, length);
}

bool rl_config_fits(const struct rl_config *config) {
    return config->n <= RL_CONFIG_CLIENT_MAX;
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
