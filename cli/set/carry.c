/* What outlives a lock, and goes along to the new nodes of a set: counters of fences, and numbers
 * of permits.
 *
 * Happy path: the keys of each old node that the joint text has met are read by SCAN, and written
 * to every node of the new set of their resource: a counter where it is larger than the node's own,
 * a number of permits where there is none; their life is extended to the longer one. Resources
 * whose old and new nodes are the same are left out.
 *
 * Does a fence stay larger than all before? A fence that the old nodes alone have granted is on a
 * majority of them, and was written before the cut: each majority that has met the joint text has
 * a node with it. All of the new nodes get it, also those that were old ones: of three nodes that
 * stay of five, a majority may lack it. Fences that are granted later come from both sides. So
 * with a majority of the new nodes each majority of them has it. All this is so of the old and the
 * new set of one resource. A node that has left a resource's set may still have its counter, which
 * is smaller.
 *
 * Failure modes: a node fails meanwhile, or a user may not: it does not count. */
#include "set/room.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "redis/command.h"
#include "say.h"
#include "scan/room.h"

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

#define STAYS RL_CONFIG_SETS_MAX

/* Some keys of one node, and those of them that go to one set as the arguments of EVAL. */
struct slice {
    size_t n;     /* keys */
    size_t words; /* of the command */
    const char **argv;
    size_t *lengths;
    char count[NUMBER_MAX];
    redisReply *keys; /* of SCAN, which argv points into */
    struct item {
        uint32_t set; /* to which it goes; STAYS */
        redisReply *value;
        char life[NUMBER_MAX];
    } * items;
};

static void free_slice(struct slice *slice) {
    const size_t n = slice->items != NULL ? slice->keys->element[1]->elements : 0;
    for (size_t i = 0; i < n; i++) {
        freeReplyObject(slice->items[i].value);
    }
    freeReplyObject(slice->keys);
    free(slice->items);
    free(slice->argv);
    free(slice->lengths);
}

static bool is_number(const redisReply *value) {
    return value->type == REDIS_REPLY_STRING && value->len > 0 && value->len < NUMBER_MAX &&
           strspn(value->str, "0123456789") == value->len;
}

static void put_word(struct slice *slice, const char *text, size_t length) {
    slice->argv[slice->words] = text;
    slice->lengths[slice->words++] = length;
}

/* The command, of those keys that go to this set. */
static void set_command(struct slice *slice, uint32_t set) {
    const redisReply *keys = slice->keys->element[1];
    slice->n = slice->words = 0;
    put_word(slice, "EVAL", 4);
    put_word(slice, script, sizeof script - 1);
    put_word(slice, slice->count, 0);
    for (size_t i = 0; i < keys->elements; i++) {
        if (slice->items[i].set == set) {
            put_word(slice, keys->element[i]->str, keys->element[i]->len);
            slice->n++;
        }
    }
    for (size_t i = 0; i < keys->elements; i++) {
        const struct item *item = &slice->items[i];
        if (item->set == set) {
            put_word(slice, item->value->str, item->value->len);
            put_word(slice, item->life, strlen(item->life));
        }
    }
    slice->lengths[2] = (size_t)snprintf(slice->count, NUMBER_MAX, "%zu", slice->n);
}

/* To which new set a key of this node goes. */
static uint32_t set_of(const struct rl_set *set, const struct rl_config *joint, size_t from,
                       const redisReply *name) {
    struct rl_key key;
    rl_key_read(name->str, name->len, &key);
    const uint32_t old = rl_config_set_of(joint, RL_CONFIG_OLD, key.resource, key.length);
    const uint32_t new = rl_config_set_of(joint, RL_CONFIG_NEW, key.resource, key.length);
    const rl_mask old_nodes = rl_set_members_of(set, joint, RL_CONFIG_OLD, old);
    const bool is_its = old_nodes & rl_bit((uint32_t)from);
    const bool moves = old_nodes != rl_set_members_of(set, joint, RL_CONFIG_NEW, new);
    return is_its && moves ? new : STAYS;
}

/* Reads the values of the keys, of which those go that have a number and end some day. False:
 * node->why says why not. */
static bool read_values(struct rl_set *set, const struct rl_config *joint, size_t from,
                        struct slice *slice) {
    struct rl_set_node *node = &set->nodes[from];
    const redisReply *keys = slice->keys->element[1];
    const size_t n = keys->elements;
    bool is_good = true;
    slice->items = rl_must_alloc(n + 1, sizeof slice->items[0]);
    slice->argv = rl_must_alloc(3 + 3 * n, sizeof slice->argv[0]);
    slice->lengths = rl_must_alloc(3 + 3 * n, sizeof slice->lengths[0]);
    for (size_t i = 0; i < n; i++) {
        rl_wire_ask(node->wire, "GET %b", keys->element[i]->str, keys->element[i]->len);
        rl_wire_ask(node->wire, "PTTL %b", keys->element[i]->str, keys->element[i]->len);
    }
    for (size_t i = 0; i < n && is_good; i++) {
        struct item *item = &slice->items[i];
        item->value = rl_wire_reply(node->wire); /* an error is no number */
        redisReply *life = rl_set_checked(node, rl_wire_reply(node->wire));
        is_good = item->value != NULL && life != NULL && life->type == REDIS_REPLY_INTEGER;
        const bool goes = is_good && is_number(item->value) && life->integer > 0;
        snprintf(item->life, NUMBER_MAX, "%lld", goes ? life->integer : 0);
        item->set = goes ? set_of(set, joint, from, keys->element[i]) : STAYS;
        freeReplyObject(life);
    }
    return is_good;
}

static void write_slice(struct rl_set_node *node, void *data) {
    const struct slice *slice = data;
    rl_wire_ask_argv(node->wire, slice->words, slice->argv, slice->lengths);
    redisReply *reply = rl_set_checked(node, rl_wire_reply(node->wire));
    node->is_known = reply != NULL;
    freeReplyObject(reply);
}

/* Returns how many keys there were. */
static long write_all(struct rl_set *set, const struct rl_config *joint, struct slice *slice,
                      rl_mask *to) {
    long keys = 0;
    for (uint32_t s = 0; s < rl_config_count(joint, RL_CONFIG_NEW); s++) {
        const rl_mask its = rl_set_members_of(set, joint, RL_CONFIG_NEW, s);
        set_command(slice, s);
        if (slice->n > 0) {
            rl_set_each(set, *to & its, write_slice, slice);
            *to &= rl_set_known(set) | ~its;
            keys += (long)slice->n;
        }
    }
    return keys;
}

/* From one node to those of `to`, from which those are taken that failed. Returns how many keys;
 * negative: it could not be read. */
static long copy(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
                 size_t from, const char *pattern, rl_mask *to) {
    struct rl_set_node *node = &set->nodes[from];
    char cursor[RL_WIRE_CURSOR_MAX] = "0";
    long keys = 0;
    do {
        struct slice slice = {.n = 0};
        slice.keys = rl_set_checked(
            node, rl_wire_command(node->wire, "SCAN %s MATCH %s COUNT " COUNT, cursor, pattern));
        bool is_good = slice.keys != NULL && rl_wire_is_scan(slice.keys) &&
                       read_values(set, joint, from, &slice);
        const long more = is_good ? write_all(set, joint, &slice, to) : 0;
        if (is_good) {
            snprintf(cursor, sizeof cursor, "%s", slice.keys->element[0]->str);
            keys += more;
        }
        if (more > 0) {
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
              rl_mask from) {
    static const char *const patterns[] = {RL_COMMAND_COUNTER_PREFIX "*",
                                           RL_COMMAND_PERMITS_PREFIX "*"};
    rl_mask to = rl_set_having(set, joint, rl_set_members(set, joint, RL_CONFIG_NEW));
    rl_mask read = 0;
    long carried = 0, most[RL_CONFIG_SETS_MAX] = {0}; /* of any node of the old set */
    for (uint32_t m = 0; m < joint->n; m++) {
        const size_t i = rl_set_find(set, joint->members[m].url);
        long keys = 0, *most_of_set = &most[joint->members[m].old_set];
        if (i == set->n || !(from & rl_bit((uint32_t)i))) {
            continue;
        }
        for (int j = 0; j < 2 && keys >= 0; j++) {
            const long more = copy(set, steps, joint, i, patterns[j], &to);
            keys = more < 0 ? more : keys + more;
        }
        read |= keys >= 0 ? rl_bit((uint32_t)i) : 0;
        carried += keys > *most_of_set ? keys - *most_of_set : 0;
        *most_of_set = keys > *most_of_set ? keys : *most_of_set;
    }
    if (!rl_set_is_majority(set, joint, RL_CONFIG_OLD, read) ||
        !rl_set_is_majority(set, joint, RL_CONFIG_NEW, to)) {
        return false;
    }
    rl_steps_done(steps, "carried", "carried: %ld counter%s of fences and permits", carried,
                  rl_say_plural((uint64_t)carried));
    return true;
}
