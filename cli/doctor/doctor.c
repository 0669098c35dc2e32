/* redlock doctor: what an operator must know about the nodes before trusting them with locks.
 *
 *     ask (ask.c)              every node at once, a thread each: facts
 *     judge (judge_node.c,     facts become findings: what was checked, how bad it is, and what
 *            judge_nodes.c)    to do about it
 *     show (show.c)            findings, as a screen or as JSON; the worst is the exit status
 *
 * With --acl it asks no node, and prints the ACL line that makes a user.
 *
 * The line covers everything: locks of one and of several keys, watchdog, fences, waiting in turn,
 * releases that are announced, queries, the guard, elections, and doctor itself. docs/nodes.md
 * says what may be left out. test/cli/acl_test.sh checks on nodes that the line is sufficient, and
 * that every part of it is needed.
 *
 * Failure modes: a name or a prefix that does not fit into an ACL is refused with a sentence. A
 * node that does not answer is a finding, not an end; so is a command that the node forbids.
 * Nothing waits longer than the timeouts of the command line, even if an answer never ends; only
 * the system's look-up of a host name may.
 *
 * This folder uses three internal headers of the library: the commands, INFO and the classes of
 * errors (redis/command.h, info.h, reply.h). doctor tries what the library sends, and sees what it
 * sees: a second list of its scripts would one day differ. wire/wire.c says what the neighbouring
 * folders use. */
#include "commands.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/room.h"
#include "exits.h"
#include "redis/command.h"
#include "redis/config.h"
#include "redis/url.h"
#include "say.h"
#include "tool/json.h"
#include "wire/room.h"

#define PREFIX_MAX 200

static const char commands[] =
    /* connecting; INFO is for the guard */
    "+ping +select +client|setname +hello +client|tracking +info "
    /* a lock, and what its scripts do */
    "+set +eval +evalsha +get +del +pttl +pexpire +exists "
    /* who holds it; releases that are announced */
    "+type +getrange +publish +subscribe +unsubscribe "
    /* the line of waiting clients; doctor needs TIME, too */
    "+zadd +zrem +zrange +zrank +zcard +zpopmin +pubsub|numsub +time "
    /* readers, besides */
    "+zscore +zcount +zrangebyscore +zremrangebyscore +pexpireat "
    /* semaphores, besides */
    "+mget "
    /* redlock ls and top */
    "+scan "
    /* doctor */
    "+config|get";

/* Only what redlock ls and top use: none of them changes anything. */
static const char reading_commands[] =
    "+ping +select +info +time +scan +getrange +pttl +type +zcard +zrange";

/* Printable, and no word ends there. */
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

/* Prints what a user of the nodes needs. Returns the exit status. */
static int print_acl(const struct rl_args *args) {
    char prefix[PREFIX_MAX], keys[3 * PREFIX_MAX + 64], line[1280];
    if (!is_name(args->acl)) {
        return rl_fail(RL_EXIT_USAGE,
                       "--acl: the name of a user is printable characters without spaces and "
                       "quotes, at most %d",
                       RL_URL_USER_MAX);
    }
    if (!escape(args->key_prefix != NULL ? args->key_prefix : "", prefix, sizeof prefix)) {
        return rl_fail(RL_EXIT_USAGE,
                       "--key-prefix: for an ACL it is printable characters without spaces and "
                       "quotes, not more than 100");
    }
    /* All keys that the library keeps beside a resource have its name in braces, except its
     * counter. The node's secret, and the configuration of its set, belong to no resource. */
    int length = prefix[0] == '\0'
                     ? snprintf(keys, sizeof keys, "~*")
                     : snprintf(keys, sizeof keys,
                                "~%s* ~" RL_COMMAND_COUNTER_PREFIX "%s* ~" RL_COMMAND_PREFIX
                                "*:{%s* ~" RL_COMMAND_SECRET " ~" RL_CONFIG_KEY,
                                prefix, prefix, prefix);
    assert(length > 0 && (size_t)length < sizeof keys);
    length = args->read_only ? snprintf(line, sizeof line,
                                        "ACL SETUSER %s reset on >PASSWORD %s resetchannels %s",
                                        args->acl, keys, reading_commands)
                             : snprintf(line, sizeof line,
                                        "ACL SETUSER %s reset on >PASSWORD %s &redlock:%s* "
                                        "&" RL_COMMAND_CLIENT_CHANNEL "* %s",
                                        args->acl, keys, prefix, commands);
    assert(length > 0 && (size_t)length < sizeof line);
    (void)length;
    if (args->json) {
        tool_json_line(stdout, JSON_TEXT("acl", line));
    } else {
        printf("%s\n", line);
    }
    return RL_EXIT_OK;
}

static int examine(struct rl_facts *facts, struct rl_wires *wires) {
    struct rl_findings findings = {0};
    rl_doctor_ask(facts, wires);
    for (size_t i = 0; i < wires->n; i++) {
        rl_doctor_judge_node(&findings, &facts[i], (int)i);
    }
    int64_t wait_s = rl_doctor_judge_nodes(&findings, facts, wires);
    int status = rl_doctor_show(&findings, facts, wires, wait_s);
    rl_findings_free(&findings);
    return status;
}

int rl_cmd_doctor(struct rl_args *args) {
    if (args->acl != NULL) {
        return print_acl(args);
    }
    struct rl_wires wires;
    int status = rl_wires_open(&wires, args, rl_wires_answer_ms(args));
    if (status == 0) {
        struct rl_facts *facts = rl_must_alloc(REDLOCK_NODES_MAX, sizeof *facts);
        status = examine(facts, &wires);
        free(facts);
    }
    rl_wires_close(&wires);
    return status;
}
