/* See carry.h. */
#include "set/carry.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "redis/command.h"
#include "say.h"
#include "set/texts.h"

#define COUNT "250"
#define NUMBER_MAX 24

/* KEYS: counters and numbers of permits. ARGV: of each the value, and its life in ms. */
static const char script[] =
    "for i, key in ipairs(KEYS) do\n"
    "    local value, life = ARGV[2 * i - 1], tonumber(ARGV[2 * i])\n"
    "    local own = redis.pcall('get', key)\n"
    "    local left = redis.call('pttl', key)\n"
    "    local is_counter = string.find(key, '" RL_COMMAND_COUNTER_PREFIX
    "', 1, true) == 1\n"
    "    if type(own) == 'table' then\n" /* not a string */
    "    elseif not own or is_counter and (tonumber(own) or 0) < tonumber(value) then\n"
    "        redis.call('set', key, value, 'PX', math.max(life, left))\n"
    "    elseif left >= 0 and left < life then\n"
    "        redis.call('pexpire', key, life)\n"
    "    end\n"
    "end\n"
    "return #KEYS\n";

/* Some keys of one node, as the arguments of EVAL. */
struct slice {
    size_t n;           /* keys */
    size_t words, room; /* of the command */
    const char **argv;
    size_t *lengths;
    char count[NUMBER_MAX];
    char (*lives)[NUMBER_MAX];
    redisReply *keys;    /* of SCAN, which argv points into */
    redisReply **values; /* of GET */
};

static void free_slice(struct slice *slice) {
    const size_t n = slice->values != NULL ? slice->keys->element[1]->elements : 0;
    for (size_t i = 0; i < n; i++) {
        freeReplyObject(slice->values[i]);
    }
    freeReplyObject(slice->keys);
    free(slice->values);
    free(slice->lives);
    free(slice->argv);
    free(slice->lengths);
}

static bool is_number(const redisReply *value) {
    return value->type == REDIS_REPLY_STRING && value->len > 0 && value->len < NUMBER_MAX &&
           strspn(value->str, "0123456789") == value->len;
}

static void put_word(struct slice *slice, const char *text, size_t length) {
    assert(slice->words < slice->room);
    slice->argv[slice->words] = text;
    slice->lengths[slice->words++] = length;
}

/* The command, of those keys that have a number and end some day. */
static void set_command(struct slice *slice, const long long *lives) {
    const redisReply *keys = slice->keys->element[1];
    slice->room = 3 + 3 * keys->elements;
    slice->argv = rl_must_alloc(slice->room, sizeof slice->argv[0]);
    slice->lengths = rl_must_alloc(slice->room, sizeof slice->lengths[0]);
    slice->lives = rl_must_alloc(keys->elements, sizeof slice->lives[0]);
    put_word(slice, "EVAL", 4);
    put_word(slice, script, sizeof script - 1);
    put_word(slice, slice->count, 0);
    for (size_t i = 0; i < keys->elements; i++) {
        if (is_number(slice->values[i]) && lives[i] > 0) {
            put_word(slice, keys->element[i]->str, keys->element[i]->len);
            slice->n++;
        }
    }
    for (size_t i = 0; i < keys->elements; i++) {
        if (is_number(slice->values[i]) && lives[i] > 0) {
            snprintf(slice->lives[i], NUMBER_MAX, "%lld", lives[i]);
            put_word(slice, slice->values[i]->str, slice->values[i]->len);
            put_word(slice, slice->lives[i], strlen(slice->lives[i]));
        }
    }
    slice->lengths[2] = (size_t)snprintf(slice->count, NUMBER_MAX, "%zu", slice->n);
}

/* Reads the values of the keys. False: node->why says why not. */
static bool read_values(struct rl_set_node *node, struct slice *slice) {
    const redisReply *keys = slice->keys->element[1];
    const size_t n = keys->elements;
    long long *lives = rl_must_alloc(n + 1, sizeof lives[0]);
    bool is_good = true;
    slice->values = rl_must_alloc(n + 1, sizeof slice->values[0]);
    for (size_t i = 0; i < n; i++) {
        rl_wire_ask(node->wire, "GET %b", keys->element[i]->str, keys->element[i]->len);
        rl_wire_ask(node->wire, "PTTL %b", keys->element[i]->str, keys->element[i]->len);
    }
    for (size_t i = 0; i < n && is_good; i++) {
        slice->values[i] = rl_wire_reply(node->wire); /* an error is no number */
        redisReply *life = rl_set_checked(node, rl_wire_reply(node->wire));
        is_good = slice->values[i] != NULL && life != NULL && life->type == REDIS_REPLY_INTEGER;
        lives[i] = is_good ? life->integer : 0;
        freeReplyObject(life);
    }
    if (is_good) {
        set_command(slice, lives);
    }
    free(lives);
    return is_good;
}

static void write_slice(struct rl_set_node *node, void *data) {
    const struct slice *slice = data;
    rl_wire_ask_argv(node->wire, slice->words, slice->argv, slice->lengths);
    redisReply *reply = rl_set_checked(node, rl_wire_reply(node->wire));
    node->is_known = reply != NULL;
    freeReplyObject(reply);
}

static bool is_scan(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING && reply->element[0]->len < NUMBER_MAX &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

/* From one node to all of `to`, from which those are taken that failed. Returns how many keys;
 * negative: it could not be read. */
static long copy(struct rl_set *set, struct rl_steps *steps, size_t from, const char *pattern,
                 uint32_t *to) {
    struct rl_set_node *node = &set->nodes[from];
    char cursor[NUMBER_MAX] = "0";
    long keys = 0;
    do {
        struct slice slice = {.n = 0};
        slice.keys = rl_set_checked(
            node, rl_wire_command(node->wire, "SCAN %s MATCH %s COUNT " COUNT, cursor, pattern));
        bool is_good = slice.keys != NULL && is_scan(slice.keys) && read_values(node, &slice);
        if (is_good) {
            snprintf(cursor, sizeof cursor, "%s", slice.keys->element[0]->str);
            keys += (long)slice.n;
        }
        if (is_good && slice.n > 0) {
            rl_set_each(set, *to, write_slice, &slice);
            *to &= rl_set_known(set);
            rl_steps_wait(steps, 0, "carries fences: %ld of %s", keys, rl_set_name(node));
        }
        free_slice(&slice);
        if (!is_good || rl_steps_caught(steps) != 0) {
            return -1;
        }
    } while (strcmp(cursor, "0") != 0);
    return keys;
}

bool rl_carry(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
              uint32_t from) {
    static const char *const patterns[] = {RL_COMMAND_COUNTER_PREFIX "*",
                                           RL_COMMAND_PERMITS_PREFIX "*"};
    uint32_t to = rl_set_having(set, joint, rl_set_members(set, joint, RL_CONFIG_NEW));
    uint32_t read = 0;
    long most = 0;
    for (size_t i = 0; i < set->n; i++) {
        long keys = 0;
        if (!(from & rl_bit((uint32_t)i))) {
            continue;
        }
        for (int j = 0; j < 2 && keys >= 0; j++) {
            const long more = copy(set, steps, i, patterns[j], &to);
            keys = more < 0 ? more : keys + more;
        }
        read |= keys >= 0 ? rl_bit((uint32_t)i) : 0;
        most = keys > most ? keys : most;
    }
    if (!rl_set_is_majority(set, joint, RL_CONFIG_OLD, read) ||
        !rl_set_is_majority(set, joint, RL_CONFIG_NEW, to)) {
        return false;
    }
    rl_steps_done(steps, "carried", "carried: %ld counter%s of fences and permits", most,
                  rl_say_plural((uint64_t)most));
    return true;
}
