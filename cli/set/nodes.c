/* The nodes of a set, for `redlock set`: the ones named on the command line, and the ones that
 * their configurations name. Each has one connection, which is kept.
 *
 * Happy path: rl_set_open(), rl_set_each() for the questions of texts.c, rl_set_close().
 *
 * A node is a bit in a mask, by its index in the array. Each node is asked in its own thread.
 *
 * Failure modes: a node is down, or refuses a command: is_known is false, and `why` says why. A
 * connection that was cut (by another administrator's CLIENT KILL) is reopened once. A node that
 * has restarted since its connections were cut no longer counts as having met the text (cut_ns). */
#include "set/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "redlock/redlock.h"
#include "say.h"

/* -- The list -- */

static void set_url(const struct rl_url *url, char out[RL_CONFIG_URL_MAX + 1]) {
    const char *text = rl_text("%s://%s", url->is_tls ? "rediss" : "redis", url->name);
    assert(strlen(text) <= RL_CONFIG_URL_MAX);
    snprintf(out, RL_CONFIG_URL_MAX + 1, "%s", text);
}

/* host:port is enough: the first node's scheme is used. */
static const char *with_scheme(const struct rl_set *set, const char *text, char *room,
                               size_t size) {
    if (strstr(text, "://") != NULL) {
        return text;
    }
    const bool is_tls = set->n > 0 && set->nodes[0].wire->url.is_tls;
    snprintf(room, size, "%s://%s", is_tls ? "rediss" : "redis", text);
    return room;
}

static int check_kind(const struct rl_url *url, const char *from) {
    return url->kind == RL_URL_TCP
               ? 0
               : rl_usage("%s: %s: a set is reached from other machines; name its host and port",
                          from, url->name);
}

int rl_set_url(const struct rl_set *set, const char *text, const char *from,
               char out[RL_CONFIG_URL_MAX + 1]) {
    char error[REDLOCK_MESSAGE_MAX], room[RL_URL_PASSWORD_MAX + RL_CONFIG_URL_MAX];
    struct rl_url url;
    struct rl_url_tls tls;
    if (rl_url_parse_tls(with_scheme(set, text, room, sizeof room), &url, &tls, error,
                         sizeof error) != 0) {
        return rl_usage("%s: %s", from, error);
    }
    int status = check_kind(&url, from);
    if (status == 0) {
        set_url(&url, out);
    }
    explicit_bzero(&url, sizeof url);
    explicit_bzero(room, sizeof room);
    return status;
}

size_t rl_set_find(const struct rl_set *set, const char *url) {
    size_t i = 0;
    while (i < set->n && strcmp(set->nodes[i].url, url) != 0 &&
           strcmp(set->nodes[i].alias, url) != 0) {
        i++;
    }
    return i;
}

static int open_wire(struct rl_set *set, struct rl_set_node *node, const char *text) {
    node->wire = rl_must_alloc(1, sizeof *node->wire);
    int status = rl_wire_open(node->wire, set->args, text, set->n > 0 ? set->nodes[0].wire : NULL);
    return status == 0 ? check_kind(&node->wire->url, set->args->nodes_from) : status;
}

static void close_node(struct rl_set_node *node) {
    rl_wire_close(node->wire);
    free(node->wire);
}

int rl_set_add(struct rl_set *set, const char *given) {
    char room[RL_URL_PASSWORD_MAX + RL_CONFIG_URL_MAX];
    const char *text = with_scheme(set, given, room, sizeof room);
    if (set->n == REDLOCK_NODES_MAX) {
        return rl_usage("too many nodes; at most %d", REDLOCK_NODES_MAX);
    }
    struct rl_set_node *node = &set->nodes[set->n];
    memset(node, 0, sizeof *node);
    int status = open_wire(set, node, text);
    if (status != 0) {
        close_node(node);
        return status;
    }
    set_url(&node->wire->url, node->url);
    if (rl_set_find(set, node->url) < set->n) {
        close_node(node);
        return 0;
    }
    set->n++;
    return 0;
}

int rl_set_open(struct rl_set *set, const struct rl_args *args) {
    int status = 0;
    assert(set->n == 0); /* the rest is already zero, and megabytes long */
    set->args = args;
    for (size_t i = 0; i < args->nodes.n && status == 0; i++) {
        status = rl_set_add(set, args->nodes.items[i]);
    }
    for (size_t i = 0; i < set->n; i++) {
        set->nodes[i].is_given = true;
    }
    return status;
}

void rl_set_close(struct rl_set *set) {
    for (size_t i = 0; i < set->n; i++) {
        close_node(&set->nodes[i]);
    }
    set->n = 0;
}

void rl_set_drop(struct rl_set *set, size_t at) {
    close_node(&set->nodes[at]);
    set->n--;
    memmove(&set->nodes[at], &set->nodes[at + 1], (set->n - at) * sizeof set->nodes[0]);
}

const char *rl_set_name(const struct rl_set_node *node) {
    return strstr(node->url, "://") + 3;
}

char *rl_set_names(const struct rl_set *set, rl_mask which) {
    char *names = rl_must_print("%s", "");
    for (size_t i = 0; i < set->n; i++) {
        if (which & rl_bit((uint32_t)i)) {
            names = rl_must_join(names, ", ", rl_set_name(&set->nodes[i]));
        }
    }
    return names;
}

/* -- Questions -- */

redisReply *rl_set_checked(struct rl_set_node *node, redisReply *reply) {
    struct rl_wire *wire = node->wire;
    reply = rl_wire_checked(wire, reply);
    if (reply == NULL) {
        snprintf(node->why, sizeof node->why, "%s", wire->failure);
        if (rl_socket_has_failed(&wire->socket)) {
            rl_wire_disconnect(wire);
            node->is_up = false;
        }
    }
    return reply;
}

static bool read_info(struct rl_set_node *node) {
    struct rl_wire_info info;
    redisReply *reply = rl_set_checked(node, rl_wire_command(node->wire, "INFO"));
    if (reply == NULL || reply->str == NULL) {
        freeReplyObject(reply);
        return false;
    }
    rl_wire_info_read(reply->str, &info);
    if (strcmp(info.run_id, node->info.run_id) != 0) { /* it has restarted */
        node->cut_ns = 0;
    }
    node->info = info;
    freeReplyObject(reply);
    return true;
}

static bool connect_node(struct rl_set_node *node) {
    struct rl_wire *wire = node->wire;
    if (node->is_up) {
        return true;
    }
    rl_wire_disconnect(wire);
    if (!rl_wire_connect(wire) || !rl_wire_hello(wire)) {
        snprintf(node->why, sizeof node->why, "%s", wire->failure);
        return false;
    }
    node->is_up = true;
    if (!read_info(node)) {
        rl_wire_disconnect(wire);
        node->is_up = false;
    }
    return node->is_up;
}

struct errand {
    struct rl_set_node *node;
    rl_set_ask *ask;
    void *data;
};

static void run(void *data) {
    const struct errand *errand = data;
    struct rl_set_node *node = errand->node;
    const bool was_up = node->is_up;
    if (connect_node(node)) {
        errand->ask(node, errand->data);
        if (!node->is_up && was_up && connect_node(node)) {
            errand->ask(node, errand->data);
        }
    }
}

void rl_set_each(struct rl_set *set, rl_mask which, rl_set_ask *ask, void *data) {
    struct errand errands[REDLOCK_NODES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (which & rl_bit((uint32_t)i)) {
            set->nodes[i].is_known = false;
            set->nodes[i].is_asked = true;
            errands[n++] = (struct errand){&set->nodes[i], ask, data};
        }
    }
    rl_threads_run(errands, sizeof errands[0], n, run);
}

rl_mask rl_set_known(const struct rl_set *set) {
    rl_mask which = 0;
    for (size_t i = 0; i < set->n; i++) {
        which |= set->nodes[i].is_known ? rl_bit((uint32_t)i) : 0;
    }
    return which;
}
