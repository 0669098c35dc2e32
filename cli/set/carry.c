/* Copies the data that outlives locks to the new nodes of a set: counters of fences, and numbers of
 * permits.
 *
 * Happy path: it reads the keys of each old node that has met the joint text by SCAN, and writes
 * them to every node of the new set of their resource: a counter if it is larger than the node's
 * own, a number of permits if the node has none; the longer ttl applies. Resources whose old and
 * new nodes are the same are left out.
 *
 * Does a fence stay larger than all earlier ones? A fence that the old nodes alone have granted is
 * on a majority of them, and was written before the cut: each majority that has met the joint text
 * has a node with it. All new nodes get it, even those that were old nodes: of three nodes that
 * stay out of five, a majority may lack it. Later fences are granted by both sides. So once a
 * majority of the new nodes has it, each majority of them includes a node with it. All this applies
 * to the old and the new set of one resource. A node that has left a resource's set may still have
 * its counter, which is smaller.
 *
 * Failure modes: a node that fails meanwhile, or whose user lacks a right, does not count. */
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

/* KEYS: a counter, or a number of permits. ARGV: its value, and its ttl in ms. */
static const char script[] =
    "local value, life = ARGV[1], tonumber(ARGV[2])\n"
    "local own = redis.pcall('get', KEYS[1])\n"
    "local left = redis.call('pttl', KEYS[1])\n"
    "local is_counter = string.find(KEYS[1], '" RL_COMMAND_COUNTER_PREFIX
    "', 1, true) == 1\n"
    "if type(own) == 'table' then\n" /* not a string */
    "elseif not own or is_counter and (tonumber(own) or 0) < tonumber(value) then\n"
    "    redis.call('set', KEYS[1], value, 'PX', math.max(life, left))\n"
    "elseif left >= 0 and left < life then\n"
    "    redis.call('pexpire', KEYS[1], life)\n"
    "end\n"
    "return 1\n";

/* Some keys of one node. */
struct slice {
    const struct rl_set *set;
    redisReply *scanned;
    size_t n;
    struct item {
        const redisReply *key;
        redisReply *value;
        long long life_ms;
        rl_mask to; /* the nodes to write it to */
    } * items;
};

static void free_slice(struct slice *slice) {
    for (size_t i = 0; i < slice->n; i++) {
        freeReplyObject(slice->items[i].value);
    }
    freeReplyObject(slice->scanned);
    free(slice->items);
}

static bool is_number(const redisReply *value) {
    return value->type == REDIS_REPLY_STRING && value->len > 0 && value->len < NUMBER_MAX &&
           strspn(value->str, "0123456789") == value->len;
}

/* The nodes of a key's new set; 0 if this node is not in the key's old set, or both sets have the
 * same nodes. */
static rl_mask new_nodes_of(const struct rl_set *set, const struct rl_config *joint, size_t from,
                            const redisReply *name) {
    struct rl_key key;
    rl_key_read(name->str, name->len, &key);
    const uint32_t old = rl_config_set_of(joint, RL_CONFIG_OLD, key.resource, key.length);
    const uint32_t new = rl_config_set_of(joint, RL_CONFIG_NEW, key.resource, key.length);
    const rl_mask old_nodes = rl_set_members_of(set, joint, RL_CONFIG_OLD, old);
    const rl_mask new_nodes = rl_set_members_of(set, joint, RL_CONFIG_NEW, new);
    const bool is_its = old_nodes & rl_bit((uint32_t)from);
    return is_its && old_nodes != new_nodes ? new_nodes : 0;
}

/* Reads the values of the keys. Only numbers with a ttl are copied. False: node->why says why
 * not. */
static bool read_values(struct rl_set *set, const struct rl_config *joint, size_t from,
                        struct slice *slice) {
    struct rl_set_node *node = &set->nodes[from];
    const redisReply *keys = slice->scanned->element[1];
    bool is_good = true;
    slice->n = keys->elements;
    slice->items = rl_must_alloc(slice->n + 1, sizeof slice->items[0]);
    for (size_t i = 0; i < slice->n; i++) {
        slice->items[i].key = keys->element[i];
        rl_wire_ask(node->wire, "GET %b", keys->element[i]->str, keys->element[i]->len);
        rl_wire_ask(node->wire, "PTTL %b", keys->element[i]->str, keys->element[i]->len);
    }
    for (size_t i = 0; i < slice->n && is_good; i++) {
        struct item *item = &slice->items[i];
        item->value = rl_wire_reply(node->wire); /* an error is not a number */
        redisReply *life = rl_set_checked(node, rl_wire_reply(node->wire));
        is_good = item->value != NULL && life != NULL && life->type == REDIS_REPLY_INTEGER;
        item->life_ms = is_good ? life->integer : 0;
        if (item->life_ms > 0 && is_number(item->value)) {
            item->to = new_nodes_of(set, joint, from, item->key);
        }
        freeReplyObject(life);
    }
    if (!is_good && node->is_up) { /* the remaining answers must not be taken for later ones */
        rl_wire_disconnect(node->wire);
        node->is_up = false;
    }
    return is_good;
}

static void write_slice(struct rl_set_node *node, void *data) {
    const struct slice *slice = data;
    const rl_mask bit = rl_bit((uint32_t)(node - slice->set->nodes));
    size_t asked = 0;
    for (size_t i = 0; i < slice->n; i++) {
        const struct item *item = &slice->items[i];
        if (item->to & bit) {
            rl_wire_ask(node->wire, "EVAL %s 1 %b %s %lld", script, item->key->str, item->key->len,
                        item->value->str, item->life_ms);
            asked++;
        }
    }
    node->is_known = true;
    for (; asked > 0 && node->is_up; asked--) {
        redisReply *reply = rl_set_checked(node, rl_wire_reply(node->wire));
        node->is_known = node->is_known && reply != NULL;
        freeReplyObject(reply);
    }
}

/* Writes the slice's keys to their nodes, and removes from *to the nodes that failed. Returns how
 * many keys there were. */
static long write_all(struct rl_set *set, struct slice *slice, rl_mask *to) {
    rl_mask all = 0;
    long keys = 0;
    for (size_t i = 0; i < slice->n; i++) {
        all |= slice->items[i].to;
        keys += slice->items[i].to != 0;
    }
    rl_set_each(set, *to & all, write_slice, slice);
    *to &= rl_set_known(set) | ~all;
    return keys;
}

/* Copies the keys of one node to the nodes of *to, and removes those that failed from it. Returns
 * how many keys; negative: the node could not be read. */
static long copy(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
                 size_t from, const char *pattern, rl_mask *to) {
    struct rl_set_node *node = &set->nodes[from];
    char cursor[RL_WIRE_CURSOR_MAX] = "0";
    long keys = 0;
    do {
        struct slice slice = {.set = set};
        slice.scanned = rl_set_checked(
            node, rl_wire_command(node->wire, "SCAN %s MATCH %s COUNT " COUNT, cursor, pattern));
        bool is_good = slice.scanned != NULL && rl_wire_is_scan(slice.scanned) &&
                       read_values(set, joint, from, &slice);
        const long more = is_good ? write_all(set, &slice, to) : 0;
        if (is_good) {
            snprintf(cursor, sizeof cursor, "%s", slice.scanned->element[0]->str);
            keys += more;
        }
        if (more > 0) {
            rl_steps_wait(steps, 0, rl_text("carries fences: %ld of %s", keys, rl_set_name(node)));
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
    long carried = 0, most[RL_CONFIG_SETS_MAX] = {0}; /* the most of any node of the old set */
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
    rl_steps_done(
        steps, "carried",
        rl_text("carried: %s of fences and permits", rl_say_count((uint64_t)carried, "counter")));
    return true;
}
