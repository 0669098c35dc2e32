/* Reads, writes and compares the texts of a set's nodes (redis/config.h), and their votes.
 *
 * Happy path: rl_set_look() reads the text of every node, and adds the nodes that it names; then
 * rl_set_write() and rl_set_vote(), whose outcome is in the nodes. */
#include "set/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "say.h"

/* KEYS: the text, the vote. ARGV: the new text, its id, its epoch, and the vote of a node that has
 * lost its text, or "". Returns the node's text afterwards.
 *
 * Why that vote? A node that has lost its text may have lost a vote as well: it must not vote
 * again, for the other end. */
static const char write_script[] =
    "local have = redis.call('get', KEYS[1])\n"
    "local id, epoch = string.match(have or '', '^libredlock%-config 1\\nid (%x+)\\nepoch "
    "(%d+)\\n')\n"
    "if not have and ARGV[4] ~= '' then redis.call('set', KEYS[2], ARGV[4]) end\n"
    "if not have or id == ARGV[2] and tonumber(epoch) < tonumber(ARGV[3]) then\n"
    "    redis.call('set', KEYS[1], ARGV[1])\n"
    "end\n"
    "return redis.call('get', KEYS[1])\n";

/* KEYS: the text, the vote. ARGV: the joint text of this node, its change, and "done" or "back".
 * Returns the node's vote, or "" if it has a different text. */
static const char vote_script[] =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return '' end\n"
    "local vote = redis.call('get', KEYS[2])\n"
    "if not vote or string.sub(vote, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then\n"
    "    vote = ARGV[2] .. ' ' .. ARGV[3]\n"
    "    redis.call('set', KEYS[2], vote)\n"
    "end\n"
    "return vote\n";

/* -- Reading -- */

static void take_text(struct rl_set_node *node, const redisReply *reply) {
    node->config = (struct rl_config){.n = 0};
    node->is_known = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_NIL;
    if (reply->type == REDIS_REPLY_STRING &&
        !rl_config_parse(&node->config, reply->str, reply->len)) {
        node->config.key.epoch = 0;
    }
    if (!node->is_known) {
        snprintf(node->why, sizeof node->why, "protocol error: unexpected reply");
    }
}

/* Takes the word of the vote, if the vote is on this change. */
static void take_vote(struct rl_set_node *node, const char *change, const redisReply *reply) {
    node->vote[0] = '\0';
    if (reply->type == REDIS_REPLY_STRING && change[0] != '\0' &&
        strncmp(reply->str, change, RL_CONFIG_CHANGE_LEN) == 0 &&
        reply->str[RL_CONFIG_CHANGE_LEN] == ' ') {
        snprintf(node->vote, sizeof node->vote, "%s", reply->str + RL_CONFIG_CHANGE_LEN + 1);
    }
}

static void read_one(struct rl_set_node *node, void *data) {
    (void)data;
    redisReply *text = rl_set_checked(node, rl_wire_command(node->wire, "GET " RL_CONFIG_KEY));
    if (text == NULL) {
        return;
    }
    redisReply *vote = rl_set_checked(node, rl_wire_command(node->wire, "GET " RL_SET_VOTE_KEY));
    if (vote != NULL) {
        take_text(node, text);
        take_vote(node, node->config.is_joint ? node->config.key.change : "", vote);
    }
    freeReplyObject(text);
    freeReplyObject(vote);
}

/* A node may be named on the command line by an alias that no text has: its own text gives its URL.
 * Returns false if the node is already in the list by that URL and must be dropped. */
static bool rename_node(struct rl_set *set, struct rl_set_node *node) {
    const struct rl_config *config = &node->config;
    if (!node->is_known || config->key.epoch == 0) {
        return true;
    }
    if (rl_set_member_at(config, node->url) < config->n) {
        return true;
    }
    const size_t other = rl_set_find(set, config->members[config->self].url);
    if (other < set->n) {
        set->nodes[other].is_given = true;
        memcpy(set->nodes[other].alias, node->url, sizeof node->url);
        return false;
    }
    memcpy(node->alias, node->url, sizeof node->alias);
    memcpy(node->url, config->members[config->self].url, sizeof node->url);
    return true;
}

static int add_named(struct rl_set *set) {
    int status = 0;
    for (size_t i = 0; i < set->n;) {
        if (rename_node(set, &set->nodes[i])) {
            i++;
        } else {
            rl_set_drop(set, i);
        }
    }
    const size_t n = set->n;
    for (size_t i = 0; i < n; i++) {
        const struct rl_config *config = &set->nodes[i].config;
        for (uint32_t j = 0; j < config->n && status == 0; j++) {
            if (config->key.epoch != 0 && rl_set_find(set, config->members[j].url) == set->n) {
                status = rl_set_add(set, config->members[j].url);
            }
        }
    }
    return status;
}

static int check_one_set(const struct rl_set *set) {
    const struct rl_set_node *first = NULL;
    for (size_t i = 0; i < set->n; i++) {
        const struct rl_set_node *node = &set->nodes[i];
        if (!node->is_known || node->config.key.epoch == 0) {
            continue;
        }
        if (first != NULL && strcmp(first->config.key.id, node->config.key.id) != 0) {
            return rl_usage(
                "%s belongs to set %s, and %s to %s: name the nodes of one. A node that has left "
                "its set for good is free again by DEL " RL_CONFIG_KEY,
                rl_set_name(first), first->config.key.id, rl_set_name(node), node->config.key.id);
        }
        first = first == NULL ? node : first;
    }
    return 0;
}

/* The nodes that have not been asked yet. */
static rl_mask unasked(const struct rl_set *set) {
    rl_mask which = 0;
    for (size_t i = 0; i < set->n; i++) {
        which |= set->nodes[i].is_asked ? 0 : rl_bit((uint32_t)i);
    }
    return which;
}

int rl_set_look(struct rl_set *set) {
    int status = 0;
    for (size_t i = 0; i < set->n; i++) {
        set->nodes[i].is_asked = false;
    }
    while (status == 0 && unasked(set) != 0) {
        rl_set_each(set, unasked(set), read_one, NULL);
        status = add_named(set);
    }
    return status != 0 ? status : check_one_set(set);
}

/* -- What was read -- */

uint32_t rl_set_member_at(const struct rl_config *config, const char *url) {
    uint32_t i = 0;
    while (i < config->n && strcmp(config->members[i].url, url) != 0) {
        i++;
    }
    return i;
}

bool rl_set_has(const struct rl_set_node *node, const struct rl_config *config) {
    return node->is_known && node->config.key.epoch != 0 &&
           rl_config_compare(&config->key, &node->config.key) == RL_CONFIG_SAME &&
           node->config.is_joint == config->is_joint &&
           node->config.self == rl_set_member_at(&node->config, node->url);
}

bool rl_set_has_met(const struct rl_set_node *node, const struct rl_config *config) {
    return rl_set_has(node, config) && node->cut_ns != 0 && node->cut_epoch == config->key.epoch;
}

rl_mask rl_set_members(const struct rl_set *set, const struct rl_config *config, int sides) {
    rl_mask which = 0;
    for (size_t i = 0; i < set->n; i++) {
        const uint32_t at = rl_set_member_at(config, set->nodes[i].url);
        if (at < config->n && config->members[at].sides & sides) {
            which |= rl_bit((uint32_t)i);
        }
    }
    return which;
}

rl_mask rl_set_members_of(const struct rl_set *set, const struct rl_config *config,
                          enum rl_config_side side, uint32_t which) {
    rl_mask nodes = 0;
    for (uint32_t i = 0; i < config->n; i++) {
        const size_t at = rl_set_find(set, config->members[i].url);
        if (at < set->n && rl_config_is_in(config, i, side, which)) {
            nodes |= rl_bit((uint32_t)at);
        }
    }
    return nodes;
}

static rl_mask filter(const struct rl_set *set, const struct rl_config *config, rl_mask which,
                      bool (*is_one)(const struct rl_set_node *, const struct rl_config *)) {
    rl_mask found = 0;
    for (size_t i = 0; i < set->n; i++) {
        found |= is_one(&set->nodes[i], config) ? rl_bit((uint32_t)i) : 0;
    }
    return found & which;
}

rl_mask rl_set_having(const struct rl_set *set, const struct rl_config *config, rl_mask which) {
    return filter(set, config, which, rl_set_has);
}

rl_mask rl_set_met(const struct rl_set *set, const struct rl_config *config, rl_mask which) {
    return filter(set, config, which, rl_set_has_met);
}

bool rl_set_is_majority(const struct rl_set *set, const struct rl_config *config,
                        enum rl_config_side side, rl_mask which) {
    bool is_majority = true;
    for (uint32_t s = 0; s < rl_config_count(config, side) && is_majority; s++) {
        const rl_mask having = rl_set_members_of(set, config, side, s) & which;
        int n = 0;
        for (uint32_t i = 0; i < config->n; i++) {
            n += rl_config_is_in(config, i, side, s);
        }
        is_majority = (int)rl_bits_count(having) >= n / 2 + 1;
    }
    return is_majority;
}

const struct rl_config *rl_set_latest(const struct rl_set *set) {
    const struct rl_config *latest = NULL;
    int most = 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct rl_config *config = &set->nodes[i].config;
        if (!set->nodes[i].is_known || config->key.epoch == 0) {
            continue;
        }
        const int side = config->is_joint ? RL_CONFIG_OLD : RL_CONFIG_NEW;
        const int having =
            (int)rl_bits_count(rl_set_having(set, config, rl_set_members(set, config, side)));
        const bool is_later = latest == NULL || config->key.epoch > latest->key.epoch;
        if (is_later || (config->key.epoch == latest->key.epoch && having > most)) {
            latest = config;
            most = having;
        }
    }
    return latest;
}

/* -- Writing -- */

static bool is_done(struct rl_set_node *node, const char *command) {
    redisReply *reply = rl_set_checked(node, rl_wire_command(node->wire, command));
    const bool done = reply != NULL;
    freeReplyObject(reply);
    return done;
}

/* Cuts the connections, so that a client that has read an earlier text no longer counts this node's
 * votes. */
static bool cut(struct rl_set_node *node) {
    return is_done(node, "CLIENT KILL TYPE normal SKIPME yes") &&
           is_done(node, "CLIENT KILL TYPE pubsub SKIPME yes");
}

static void probe_one(struct rl_set_node *node, void *data) {
    (void)data;
    /* No connection has this address, so this checks only the right. */
    node->is_known = is_done(node, "CLIENT KILL ADDR 0.0.0.0:0");
}

int rl_set_check_rights(struct rl_set *set) {
    const rl_mask known = rl_set_known(set);
    rl_set_each(set, known, probe_one, NULL);
    for (size_t i = 0; i < set->n; i++) {
        const struct rl_set_node *node = &set->nodes[i];
        if (known & ~rl_set_known(set) & rl_bit((uint32_t)i)) {
            return rl_fail(RL_EXIT_NO_QUORUM,
                           "%s: %s; nothing was done. Use a user with the rights of the clients' "
                           "and +client|kill",
                           rl_set_name(node), node->why);
        }
    }
    return 0;
}

static void write_one(struct rl_set_node *node, void *data) {
    const struct rl_config *config = data;
    char text[RL_CONFIG_TEXT_MAX], forgot[RL_CONFIG_CHANGE_LEN + 16] = "";
    char epoch[24];
    const uint32_t self = rl_set_member_at(config, node->url);
    assert(self < config->n);
    const size_t length = rl_config_format(config, self, text);
    snprintf(epoch, sizeof epoch, "%" PRIu64, config->key.epoch);
    if (config->is_joint && config->members[self].sides & RL_CONFIG_OLD) {
        snprintf(forgot, sizeof forgot, "%s forgot", config->key.change);
    }
    node->cut_ns = 0;
    redisReply *reply = rl_set_checked(
        node,
        rl_wire_command(node->wire, "EVAL %s 2 " RL_CONFIG_KEY " " RL_SET_VOTE_KEY " %b %s %s %s",
                        write_script, text, length, config->key.id, epoch, forgot));
    if (reply == NULL) {
        return;
    }
    take_text(node, reply);
    freeReplyObject(reply);
    if (!rl_set_has(node, config)) {
        return;
    }
    if (cut(node)) {
        node->cut_ns = redlock_now_ns();
        node->cut_epoch = config->key.epoch;
    } else {
        node->is_known = false;
    }
}

void rl_set_write(struct rl_set *set, rl_mask which, const struct rl_config *config) {
    struct rl_config copy = *config; /* it may belong to a node, whose text is read again */
    rl_set_each(set, which & rl_set_members(set, config, RL_CONFIG_OLD | RL_CONFIG_NEW), write_one,
                &copy);
}

struct ballot {
    const struct rl_config *joint;
    const char *wish;
};

static void vote_one(struct rl_set_node *node, void *data) {
    const struct ballot *ballot = data;
    const struct rl_config *joint = ballot->joint;
    char text[RL_CONFIG_TEXT_MAX];
    const size_t length = rl_config_format(joint, rl_set_member_at(joint, node->url), text);
    redisReply *reply = rl_set_checked(
        node,
        rl_wire_command(node->wire, "EVAL %s 2 " RL_CONFIG_KEY " " RL_SET_VOTE_KEY " %b %s %s",
                        vote_script, text, length, joint->key.change, ballot->wish));
    if (reply != NULL) {
        take_vote(node, joint->key.change, reply);
        node->is_known = true;
        freeReplyObject(reply);
    }
}

void rl_set_vote(struct rl_set *set, size_t i, const struct rl_config *joint, const char *wish) {
    struct ballot ballot = {joint, wish};
    set->nodes[i].vote[0] = '\0';
    rl_set_each(set, rl_bit((uint32_t)i), vote_one, &ballot);
}
