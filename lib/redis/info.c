/* See info.h. */
#include "redis/info.h"

#include <assert.h>
#include <string.h>

enum field {
    RUN_ID,
    REPLID,
    UPTIME,
    ROLE,
    LOADING,
    MAXMEMORY,
    POLICY,
    NEEDED, /* the number of required fields */
    REDIS = NEEDED,
    VALKEY,
    FIELDS
};

static_assert(FIELDS <= sizeof(unsigned) * 8, "which were seen is a mask");

static const char *const names[FIELDS] = {
    [RUN_ID] = "run_id",
    [REPLID] = "master_replid",
    [UPTIME] = "uptime_in_seconds",
    [ROLE] = "role",
    [LOADING] = "loading",
    [MAXMEMORY] = "maxmemory",
    [POLICY] = "maxmemory_policy",
    [REDIS] = "redis_version",
    [VALKEY] = "valkey_version",
};

/* -- Lines -- */

static const char *end_of_line(const char *at, const char *end) {
    while (at < end && *at != '\r' && *at != '\n') {
        at++;
    }
    return at;
}

bool rl_info_next(const char **at, const char *end, struct rl_info_line *line) {
    assert(*at <= end);
    while (*at < end) {
        const char *begin = *at;
        const char *stop = end_of_line(begin, end);
        const char *colon = memchr(begin, ':', (size_t)(stop - begin));
        *at = stop < end ? stop + 1 : end;
        if (colon != NULL && colon > begin) {
            *line = (struct rl_info_line){begin, colon + 1, (size_t)(colon - begin),
                                          (size_t)(stop - colon - 1)};
            assert(line->value + line->value_length == stop && stop <= *at);
            return true;
        }
    }
    assert(*at == end);
    return false;
}

static enum field field_of(const struct rl_info_line *line) {
    enum field field = RUN_ID;
    while (field < FIELDS && (strlen(names[field]) != line->name_length ||
                              memcmp(names[field], line->name, line->name_length) != 0)) {
        field++;
    }
    return field;
}

/* -- Values -- */

static bool is_text(const struct rl_info_line *line, const char *text) {
    return line->value_length == strlen(text) && memcmp(line->value, text, strlen(text)) == 0;
}

static bool read_id(const struct rl_info_line *line, char id[RL_INFO_ID_LEN + 1]) {
    if (line->value_length != RL_INFO_ID_LEN) {
        return false;
    }
    for (size_t i = 0; i < RL_INFO_ID_LEN; i++) {
        char c = line->value[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    memcpy(id, line->value, RL_INFO_ID_LEN);
    id[RL_INFO_ID_LEN] = '\0';
    return true;
}

/* The largest number stands for all that are larger. */
static bool read_number(const struct rl_info_line *line, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < line->value_length; i++) {
        unsigned digit = (unsigned char)line->value[i] - (unsigned)'0';
        if (digit > 9) {
            return false;
        }
        bool is_too_large = *number > (UINT64_MAX - digit) / 10;
        *number = is_too_large ? UINT64_MAX : *number * 10 + digit;
    }
    return line->value_length > 0;
}

static bool read_flag(const struct rl_info_line *line, bool *flag) {
    uint64_t number;
    bool is_number = read_number(line, &number);
    *flag = number != 0;
    return is_number;
}

/* The server's wall clock may have been set back since it started. */
static bool read_uptime(const struct rl_info_line *line, uint64_t *uptime_s) {
    struct rl_info_line behind_sign = *line;
    if (line->value_length == 0 || line->value[0] != '-') {
        return read_number(line, uptime_s);
    }
    behind_sign.value++;
    behind_sign.value_length--;
    bool is_number = read_number(&behind_sign, uptime_s);
    *uptime_s = 0;
    return is_number;
}

static bool read_role(const struct rl_info_line *line, bool *is_replica) {
    *is_replica = !is_text(line, "master");
    return !*is_replica || is_text(line, "slave") || is_text(line, "replica");
}

/* "8.4.0": the first two numbers, or 0. An invalid version offers nothing. */
static uint32_t read_version(const struct rl_info_line *line) {
    uint32_t numbers[2] = {0, 0};
    size_t digits = 0, dots = 0;
    for (size_t i = 0; i < line->value_length && dots < 2; i++) {
        unsigned digit = (unsigned char)line->value[i] - (unsigned)'0';
        if (digit <= 9 && digits < 4) {
            numbers[dots] = 10 * numbers[dots] + digit;
            digits++;
        } else if (line->value[i] == '.' && digits > 0) {
            dots++;
            digits = 0;
        } else {
            return 0;
        }
    }
    assert(numbers[0] <= 9999 && numbers[1] <= 9999);
    return dots > 0 && digits + dots > 1 ? RL_INFO_VERSION(numbers[0], numbers[1]) : 0;
}

static bool read_value(struct rl_info *info, enum field field, const struct rl_info_line *line) {
    switch (field) {
        case RUN_ID:
            return read_id(line, info->run_id);
        case REPLID:
            return read_id(line, info->replid);
        case UPTIME:
            return read_uptime(line, &info->uptime_s);
        case ROLE:
            return read_role(line, &info->is_replica);
        case LOADING:
            return read_flag(line, &info->is_loading);
        case MAXMEMORY:
            return read_number(line, &info->maxmemory);
        case POLICY:
            info->evicts = !is_text(line, "noeviction");
            return line->value_length > 0;
        case REDIS:
            info->redis = read_version(line);
            return true;
        case VALKEY:
            info->valkey = read_version(line);
            return true;
        case FIELDS:
            break;
    }
    assert(false);
    return false;
}

/* -- All of it -- */

static void complain(struct rl_info *info, enum field field, const char *problem) {
    assert(field < FIELDS);
    if (info->problem == NULL) {
        info->field = names[field];
        info->problem = problem;
    }
}

void rl_info_init(struct rl_info *info) {
    memset(info, 0, sizeof *info);
    complain(info, RUN_ID, "is missing");
}

bool rl_info_read(struct rl_info *info, const char *text, size_t length) {
    const char *at = text, *end = text + length;
    struct rl_info_line line;
    unsigned seen = 0;
    bool is_odd = false;
    memset(info, 0, sizeof *info);
    while (rl_info_next(&at, end, &line)) {
        enum field field = field_of(&line);
        if (field == FIELDS) {
            continue;
        }
        if (seen & 1u << field && field >= NEEDED) {
            is_odd = true; /* it is ambiguous */
        } else if (seen & 1u << field) {
            complain(info, field, "appears twice");
        } else if (!read_value(info, field, &line)) {
            complain(info, field, "has an unexpected value");
        }
        seen |= 1u << field;
    }
    if (is_odd) {
        info->redis = info->valkey = 0;
    }
    for (enum field field = RUN_ID; field < NEEDED; field++) {
        if (!(seen & 1u << field)) {
            complain(info, field, "is missing");
        }
    }
    info->evicts = info->evicts && info->maxmemory > 0;
    assert(info->problem != NULL || (info->run_id[0] != '\0' && info->replid[0] != '\0'));
    assert(info->problem != NULL || (~seen & ((1u << NEEDED) - 1)) == 0);
    assert((info->problem == NULL) == (info->field == NULL));
    return info->problem == NULL;
}

uint64_t rl_info_flushes(const char *text, size_t length) {
    static const char *const commands[] = {"cmdstat_flushall", "cmdstat_flushdb", "cmdstat_swapdb"};
    static const char calls[] = "calls=";
    const char *at = text;
    struct rl_info_line line;
    uint64_t sum = 0, number;
    while (rl_info_next(&at, text + length, &line)) {
        const size_t before = sizeof calls - 1;
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
            if (line.name_length == strlen(commands[i]) && line.value_length > before &&
                memcmp(line.name, commands[i], line.name_length) == 0 &&
                memcmp(line.value, calls, before) == 0) {
                const char *comma = memchr(line.value, ',', line.value_length);
                line.value_length =
                    comma != NULL ? (size_t)(comma - line.value) : line.value_length;
                line.value += before;
                line.value_length -= before;
                sum += read_number(&line, &number) ? number : 0; /* it only has to change */
            }
        }
    }
    return sum;
}

bool rl_info_has_delifeq(const struct rl_info *info) {
    assert(info->valkey <= RL_INFO_VERSION(9999, 9999)); /* read_version() */
    return info->problem == NULL && info->valkey >= RL_INFO_VERSION(9, 0);
}

/* (Other servers that report a version of Redis have only `redis_version`, and an older one. A
 * wrong report costs a trial, see native.h.) */
bool rl_info_has_delex(const struct rl_info *info) {
    assert(info->redis <= RL_INFO_VERSION(9999, 9999));
    return info->problem == NULL && info->valkey == 0 && info->redis >= RL_INFO_VERSION(8, 4);
}
