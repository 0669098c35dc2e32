/* The commands on a ZSET that the library's scripts call, with the options that they use. Removing
 * the last member removes the ZSET. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_line.h"
#include "server/server_parts.h"

/* -- Helpers -- */

/* The ZSET under the first argument, or NULL: there is none, or it is something else, and then the
 * call has failed. */
static struct server_key *find_zset(struct call *call) {
    struct server_key *key = find_key(call, &call->args[1]);
    if (key != NULL && !key->is_line) {
        reply_error(call, WRONGTYPE_TEXT);
        return NULL;
    }
    return key;
}

static void remove_member(struct call *call, struct server_key *key, uint32_t rank) {
    line_remove(key, rank);
    if (key->elements == 0) {
        keys_remove(&call->server->keys, key);
    }
}

/* A number in C's syntax; it must be the whole text. */
static bool read_double(const char *text, size_t length, double *out) {
    char copy[64];
    char *end = copy;
    if (length == 0 || length >= sizeof copy || text[0] == ' ') {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    *out = strtod(copy, &end);
    return end == copy + length && !isnan(*out);
}

static void reply_score(struct call *call, double score) {
    char text[40];
    int length = isinf(score) ? snprintf(text, sizeof text, "%s", score > 0 ? "inf" : "-inf")
                              : snprintf(text, sizeof text, "%.17g", score);
    reply_bulk(call, text, (size_t)length);
}

static void reply_member(struct call *call, const struct server_member *member, bool with_score) {
    reply_bulk(call, member->name.data, member->name.length);
    if (with_score) {
        reply_score(call, member->score);
    }
}

/* From rank `from` on, so many. */
static void reply_members(struct call *call, const struct server_key *key, uint32_t from,
                          uint32_t count, bool with_scores) {
    struct server_member member;
    size_t at = 0;
    reply_array(call, with_scores ? 2 * (size_t)count : count);
    for (uint32_t rank = 0; rank < from + count && count > 0; rank++) {
        at = line_read(key, at, &member);
        if (rank >= from) {
            reply_member(call, &member, with_scores);
        }
    }
}

/* -- Scores from .. to -- */

struct range {
    double min, max;
    bool without_min, without_max;
};

static bool read_bound(const struct resp_arg *arg, double *out, bool *without) {
    *without = arg->length > 0 && arg->data[0] == '(';
    *out = 0;
    return arg->length == *without || /* nothing is 0 here */
           read_double(arg->data + *without, arg->length - *without, out);
}

/* False: the call has failed. */
static bool read_range(struct call *call, struct range *range) {
    bool is_good = read_bound(&call->args[2], &range->min, &range->without_min) &&
                   read_bound(&call->args[3], &range->max, &range->without_max);
    if (!is_good) {
        reply_error(call, "ERR min or max is not a float");
    }
    return is_good;
}

/* How many members are in the range, and the rank of the first. */
static uint32_t find_range(const struct server_key *key, const struct range *range,
                           uint32_t *from) {
    struct server_member member;
    uint32_t count = 0;
    size_t at = 0;
    *from = 0;
    for (uint32_t rank = 0; key != NULL && rank < key->elements; rank++) {
        at = line_read(key, at, &member);
        bool is_below = range->without_min ? member.score <= range->min : member.score < range->min;
        bool is_above = range->without_max ? member.score >= range->max : member.score > range->max;
        *from += is_below;
        count += !is_below && !is_above;
    }
    return count;
}

/* -- The commands -- */

/* NX is the only option that is known here. */
void do_zadd(struct call *call) {
    const bool only_new = resp_is(&call->args[2], "NX");
    const size_t first = only_new ? 3 : 2;
    double score = 0;
    long long added = 0;
    if (first == call->count || (call->count - first) % 2 != 0) {
        reply_error(call, "ERR syntax error");
        return;
    }
    for (size_t i = first; i < call->count; i += 2) {
        if (!read_double(call->args[i].data, call->args[i].length, &score)) {
            reply_error(call, "ERR value is not a valid float");
            return;
        }
    }
    struct server_key *key = find_zset(call);
    if (call->failed) {
        return;
    }
    if (key == NULL) {
        key = keys_put(&call->server->keys, call->connection->db, &call->args[1]);
        key->is_line = true;
    }
    for (size_t i = first; i < call->count; i += 2) {
        struct server_member member = {.name = call->args[i + 1]};
        read_double(call->args[i].data, call->args[i].length, &member.score);
        const uint32_t rank = server_line_rank(key, &member.name);
        const bool is_there = rank < key->elements;
        if (is_there && !only_new) {
            line_remove(key, rank);
        }
        if (!is_there || !only_new) {
            line_add(key, &member);
        }
        added += !is_there;
    }
    reply_number(call, added);
}

void do_zcard(struct call *call) {
    const struct server_key *key = find_zset(call);
    if (!call->failed) {
        reply_number(call, key != NULL ? key->elements : 0);
    }
}

void do_zcount(struct call *call) {
    struct range range;
    uint32_t from = 0;
    const struct server_key *key = read_range(call, &range) ? find_zset(call) : NULL;
    if (!call->failed) {
        reply_number(call, find_range(key, &range, &from));
    }
}

void do_zpopmin(struct call *call) {
    long long wanted = 1;
    struct server_member member;
    if (call->count > 3) {
        reply_error(call, "ERR syntax error");
    } else if (call->count == 3 && (!resp_number(&call->args[2], &wanted) || wanted < 0)) {
        reply_error(call, "ERR value is out of range, must be positive");
    }
    struct server_key *key = call->failed ? NULL : find_zset(call);
    if (call->failed) {
        return;
    }
    const uint32_t there = key != NULL ? key->elements : 0;
    const uint32_t count = wanted < there ? (uint32_t)wanted : there;
    reply_array(call, 2 * (size_t)count);
    for (uint32_t i = 0; i < count; i++) {
        server_line_at(key, 0, &member);
        reply_member(call, &member, true);
        remove_member(call, key, 0);
    }
}

/* By rank, and only with WITHSCORES. */
void do_zrange(struct call *call) {
    const bool with_scores = call->count == 5 && resp_is(&call->args[4], "WITHSCORES");
    long long from = 0, to = 0;
    if (call->count > 4 && !with_scores) {
        reply_error(call, "ERR syntax error");
    } else if (!resp_number(&call->args[2], &from) || !resp_number(&call->args[3], &to)) {
        reply_error(call, NO_INTEGER_TEXT);
    }
    const struct server_key *key = call->failed ? NULL : find_zset(call);
    if (call->failed) {
        return;
    }
    const long long count = key != NULL ? key->elements : 0;
    from = from < 0 ? from + count : from;
    to = to < 0 ? to + count : to;
    from = from < 0 ? 0 : from;
    to = to >= count ? count - 1 : to;
    reply_members(call, key, (uint32_t)from, from <= to ? (uint32_t)(to - from + 1) : 0,
                  with_scores);
}

void do_zrangebyscore(struct call *call) {
    long long skipped = 0, most = -1;
    bool with_scores = false;
    struct range range;
    for (size_t i = 4; i < call->count && !call->failed; i++) {
        if (resp_is(&call->args[i], "WITHSCORES")) {
            with_scores = true;
        } else if (!resp_is(&call->args[i], "LIMIT") || i + 2 >= call->count) {
            reply_error(call, "ERR syntax error");
        } else if (!resp_number(&call->args[i + 1], &skipped) ||
                   !resp_number(&call->args[i + 2], &most)) {
            reply_error(call, NO_INTEGER_TEXT);
        } else {
            i += 2;
        }
    }
    const struct server_key *key =
        !call->failed && read_range(call, &range) ? find_zset(call) : NULL;
    if (call->failed) {
        return;
    }
    uint32_t from = 0, count = find_range(key, &range, &from);
    if (skipped < 0 || skipped > count) {
        skipped = count;
    }
    from += (uint32_t)skipped;
    count -= (uint32_t)skipped;
    reply_members(call, key, from, most >= 0 && most < count ? (uint32_t)most : count, with_scores);
}

void do_zrank(struct call *call) {
    const struct server_key *key = find_zset(call);
    const uint32_t rank = key != NULL ? server_line_rank(key, &call->args[2]) : 0;
    if (call->failed) {
        return;
    }
    if (key == NULL || rank == key->elements) {
        reply_nil(call);
    } else {
        reply_number(call, rank);
    }
}

void do_zrem(struct call *call) {
    const struct server_key *key = find_zset(call);
    long long removed = 0;
    for (size_t i = 2; i < call->count && key != NULL; i++) {
        struct server_key *left = find_key(call, &call->args[1]);
        const uint32_t rank = left != NULL ? server_line_rank(left, &call->args[i]) : 0;
        if (left != NULL && rank < left->elements) {
            remove_member(call, left, rank);
            removed++;
        }
    }
    if (!call->failed) {
        reply_number(call, removed);
    }
}

void do_zremrangebyscore(struct call *call) {
    struct range range;
    uint32_t from = 0;
    struct server_key *key = read_range(call, &range) ? find_zset(call) : NULL;
    if (call->failed) {
        return;
    }
    const uint32_t count = find_range(key, &range, &from);
    for (uint32_t i = 0; i < count; i++) {
        remove_member(call, key, from);
    }
    reply_number(call, count);
}

void do_zscore(struct call *call) {
    const struct server_key *key = find_zset(call);
    struct server_member member;
    if (call->failed) {
        return;
    }
    if (key != NULL && server_line_at(key, server_line_rank(key, &call->args[2]), &member)) {
        reply_score(call, member.score);
    } else {
        reply_nil(call);
    }
}
