/* redlock doctor: what an operator must know about the nodes before trusting them with locks.
 *
 *     ask                      every node at once, a thread each: facts
 *     judge (judge_node.c,     facts become findings: what was checked, how bad it is, and what
 *            judge_nodes.c)    to do about it
 *     show (show.c)            findings, as a screen or as JSON; the worst is the exit status
 *
 * With --acl it contacts no node, and prints the ACL line that creates a user.
 *
 * The line covers everything: locks of one and of several keys, watchdog, fences, waiting in turn,
 * announced releases, queries, the guard, elections, and doctor itself. docs/nodes.md says which
 * parts may be left out. test/cli/acl_test.sh checks on nodes that the line is sufficient, and that
 * every part of it is needed.
 *
 * Failure modes: a name or a prefix that does not fit into an ACL is refused with a sentence. A
 * node that does not answer is a finding and does not end doctor; so is a command that the node
 * forbids. No wait exceeds the timeouts of the command line, even if an answer never ends; only the
 * system's look-up of a host name may take longer.
 *
 * This folder uses three internal headers of the library: the commands, INFO and the classes of
 * errors (redis/command.h, info.h, reply.h). doctor tries what the library sends, and judges the
 * answers as it does: a second list of its scripts would sooner or later differ. wire/wire.c lists
 * the headers that the neighbouring folders use. */
#include "commands.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/room.h"
#include "redis/command.h"
#include "redis/config.h"
#include "redis/reply.h"
#include "redis/url.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"
#include "wire/room.h"

/* -- Asking -- */

/* Asks every node at once, in a thread each, over hiredis and without the library's client: its
 * findings are independent of that.
 *
 * Failure modes: a failed step, or the end of the connection, records why and ends the questions to
 * that node; a forbidden question (INFO, CONFIG, TIME) leaves its facts unknown, and the next one
 * follows. */

/* Finds out what is behind a port that accepts connections but does not speak Redis: TLS, or
 * another server.
 *
 * It goes by the server's first bytes; if there are none, by its answer to a ClientHello on a
 * separate connection.
 *
 * Failure modes: of any other answer, the first bytes are shown as printable text. A server that
 * sends nothing in either case stays unknown: it may be a Redis that hangs. */
#define PROBE_MS 500

/* A ClientHello of TLS 1.2 without extensions, for common ciphers. A server with other ciphers
 * answers with an alert, which is just as conclusive. */
static const char client_hello[] =
    "\x16\x03\x01\x00\x33"             /* handshake, 51 bytes */
    "\x01\x00\x00\x2f\x03\x03"         /* ClientHello, 47 bytes, TLS 1.2 */
    "redlock-doctor asks: who's there" /* random: 32 bytes */
    "\x00"                             /* no session */
    "\x00\x08\xc0\x2f\xc0\x30\xc0\x2b\x00\x9c"
    "\x01"; /* compression: none, by the zero that ends the string */
static_assert(sizeof client_hello == 5 + 51, "as it says of itself");

static void probe(struct rl_facts *facts) {
    struct rl_wire *wire = facts->wire;
    if (wire->socket.first_length == 0) {
        const struct rl_wire before = *wire; /* the findings of the first connection stay */
        if (rl_wire_connect(wire)) {
            rl_socket_put(&wire->socket, client_hello, sizeof client_hello);
            rl_socket_hear_first(&wire->socket, PROBE_MS);
        }
        rl_wire_disconnect(wire);
        wire->failed_at = before.failed_at;
        memcpy(wire->failure, before.failure, sizeof wire->failure);
    }
    const char *answer = wire->socket.first;
    const size_t length = wire->socket.first_length;
    if (length == 0 || answer[0] == '+' || answer[0] == '-') { /* nothing, or Redis after all */
        return;
    }
    const char *stranger = rl_reply_stranger(answer, length);
    if (stranger != NULL) {
        facts->wants_tls = strcmp(stranger, RL_REPLY_TLS) == 0;
        snprintf(facts->other, sizeof facts->other, "%s", stranger);
        return;
    }
    snprintf(facts->other, sizeof facts->other, "a server that answers PING with \"%s\"",
             rl_text_bytes(answer, length < 24 ? length : 24, 32));
}

/* -- Single questions -- */

/* The answer; or NULL, with the reason in why. */
static redisReply *question(struct rl_facts *facts, char why[RL_FACT_MAX], const char *command) {
    redisReply *reply = rl_wire_checked(facts->wire, rl_wire_command(facts->wire, command));
    memcpy(why, facts->wire->failure, RL_FACT_MAX);
    return reply;
}

static void ask_info(struct rl_facts *facts) {
    redisReply *reply = question(facts, facts->no_info, "INFO");
    if (reply != NULL && reply->str != NULL) {
        rl_wire_info_read(reply->str, &facts->info);
    }
    freeReplyObject(reply);
}

/* Reads one setting. False: not allowed, or the server does not have it. */
static bool ask_setting(struct rl_facts *facts, const char *command, char out[RL_FACT_MAX]) {
    char why[RL_FACT_MAX];
    redisReply *reply = question(facts, why, command);
    bool found = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                 reply->element[1]->str != NULL;
    if (found) {
        tool_utf8_clean(reply->element[1]->str, reply->element[1]->len, out, RL_FACT_MAX);
    }
    freeReplyObject(reply);
    return found;
}

static void ask_set(struct rl_facts *facts) {
    redisReply *reply = question(facts, facts->no_set, "GET " RL_CONFIG_KEY);
    if (reply != NULL && reply->type == REDIS_REPLY_STRING &&
        !rl_config_parse(&facts->set, reply->str, reply->len)) {
        facts->set.key.epoch = 0;
    }
    freeReplyObject(reply);
}

/* -- One node, all nodes -- */

static void ask(void *data) {
    struct rl_facts *facts = data;
    struct rl_wire *wire = facts->wire;
    if (rl_wire_connect(wire)) {
        facts->is_reachable = rl_wire_hello(wire);
        if (!facts->is_reachable && strcmp(wire->failed_at, "connect") == 0) {
            rl_wire_disconnect(wire);
            probe(facts); /* the connection was accepted, but the command not answered */
        }
    }
    if (facts->is_reachable) {
        ask_info(facts);
        facts->has_config =
            ask_setting(facts, "CONFIG GET appendfsync", facts->appendfsync) &&
            ask_setting(facts, "CONFIG GET no-appendfsync-on-rewrite", facts->no_fsync) &&
            ask_setting(facts, "CONFIG GET save", facts->save);
        ask_set(facts);
        rl_wire_clock(wire, RL_WIRE_SAMPLES, &facts->clock);
        facts->is_reachable = rl_doctor_try(facts);
        if (!facts->is_reachable) {
            rl_wire_checked(wire, NULL); /* notes why */
            wire->failed_at = "connect";
        }
    }
    rl_wire_disconnect(wire);
}

/* -- The ACL -- */

#define PREFIX_MAX 200

static const char commands[] =
    /* connecting; INFO is for the guard */
    "+ping +select +client|setname +hello +client|tracking +info "
    /* a lock, and what its scripts do */
    "+set +eval +evalsha +get +del +pttl +pexpire +exists "
    /* who holds it; announced releases */
    "+type +getrange +publish +subscribe +unsubscribe "
    /* the line of waiting clients; doctor needs TIME, too */
    "+zadd +zrem +zrange +zrank +zcard +zpopmin +pubsub|numsub +time "
    /* readers, in addition */
    "+zscore +zcount +zrangebyscore +zremrangebyscore +pexpireat "
    /* semaphores, in addition */
    "+mget "
    /* redlock ls and top */
    "+scan "
    /* doctor */
    "+config|get";

/* The commands that redlock ls and top use: none of them changes anything. */
static const char reading_commands[] =
    "+ping +select +info +time +scan +getrange +pttl +type +zcard +zrange";

/* Whether the character is printable and does not end a word. */
static bool is_plain(char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\'';
}

/* Escapes it into a pattern that matches nothing else. False: it does not fit. */
static bool escape(const char *prefix, char *out, size_t size) {
    size_t used = 0;
    for (const char *at = prefix; *at != '\0'; at++) {
        if (!is_plain(*at) || used + 3 > size) {
            return false;
        }
        if (strchr("*?[]\\", *at) != NULL) {
            out[used++] = '\\';
        }
        out[used++] = *at;
    }
    out[used] = '\0';
    return true;
}

static bool is_name(const char *name) {
    size_t length = 0;
    while (is_plain(name[length])) {
        length++;
    }
    return name[length] == '\0' && length > 0 && length <= RL_URL_USER_MAX;
}

/* Prints the ACL line that a user of the nodes needs. Returns the exit status. */
static int print_acl(const struct rl_args *args) {
    char prefix[PREFIX_MAX];
    if (!is_name(args->acl)) {
        return rl_usage(
            "--acl: the name of a user is printable characters without spaces and quotes, at most "
            "%d",
            RL_URL_USER_MAX);
    }
    if (!escape(args->key_prefix != NULL ? args->key_prefix : "", prefix, sizeof prefix)) {
        return rl_usage(
            "--key-prefix: for an ACL it is printable characters without spaces and quotes, not "
            "more than 100");
    }
    /* All keys that the library keeps for a resource have its name in braces, except the counter.
     * The node's secret, and the configuration of its set, belong to no resource. */
    const char *keys = prefix[0] == '\0'
                           ? "~*"
                           : rl_text("~%s* ~" RL_COMMAND_COUNTER_PREFIX "%s* ~" RL_COMMAND_PREFIX
                                     "*:{%s* ~" RL_COMMAND_SECRET " ~" RL_CONFIG_KEY,
                                     prefix, prefix, prefix);
    const char *rights =
        args->read_only
            ? rl_text("resetchannels %s", reading_commands)
            : rl_text("&redlock:%s* &" RL_COMMAND_CLIENT_CHANNEL "* %s", prefix, commands);
    const char *line = rl_text("ACL SETUSER %s reset on >PASSWORD %s %s", args->acl, keys, rights);
    if (args->json) {
        tool_json_line(stdout, JSON_TEXT("acl", line));
    } else {
        printf("%s\n", line);
    }
    return RL_EXIT_OK;
}

int rl_cmd_doctor(struct rl_args *args) {
    if (args->acl != NULL) {
        return print_acl(args);
    }
    struct rl_wires wires;
    struct rl_findings findings = {0};
    int status = rl_wires_open(&wires, args);
    if (status == 0) {
        struct rl_facts *facts = rl_must_alloc(REDLOCK_NODES_MAX, sizeof *facts);
        rl_wires_each(&wires, facts, sizeof *facts, ask); /* also those that configurations name */
        for (size_t i = 0; i < wires.n; i++) {
            rl_doctor_judge_node(&findings, &facts[i], (int)i);
        }
        const int64_t wait_s = rl_doctor_judge_nodes(&findings, facts, &wires);
        status = rl_doctor_show(&findings, facts, &wires, wait_s);
        free(findings.items);
        free(facts);
    }
    rl_wires_close(&wires);
    return status;
}
