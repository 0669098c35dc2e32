/* redlock queue: the clients that wait for a lock, or for permits of a semaphore, in order.
 *
 *     backup: held by vm:860 for another 27 s
 *       3 clients wait, in line at 127.0.0.1:7003
 *
 *       place  wants      waited   since                who
 *       1      exclusive  12 s     2026-11-23 02:31:07  vm:871
 *       2      exclusive  3.1 s    2026-11-23 02:31:16  web2:4148    gone
 *       -      to read    2.0 s    2026-11-23 02:31:17  web3:12
 *
 * Happy path: it asks the nodes for the line (found.c), and each node that has one, which of its
 * clients still listen: a waiting client listens, since a message tells it when its turn comes.
 *
 * Failure modes: the home of the line does not answer, or another node keeps the line for now, or
 * clients are in the lines of several nodes: a sentence reports each. It may be unknown whether a
 * client still listens (a user without the right, a node that has gone down since): then nothing is
 * shown. Fewer nodes answer than a quorum: RL_EXIT_NO_QUORUM. A client that was stopped still
 * listens. */
#include "commands.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "session/room.h"
#include "tool/json.h"
#include "wire/room.h"

/* -- Clients that still listen -- */

#define CHANNEL "libredlock:client:"
#define PLACES_MAX (2 * RL_LINE_MAX)

/* The answer has, for each requested channel, its name and its number of listeners. at: the places
 * of their clients. */
static void take_answer(struct rl_part *line, const size_t *at, size_t n,
                        const struct rl_wire_answer *answer) {
    const redisReply *reply = answer->reply;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 * n) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct rl_item *place = &line->items[at[i]];
        const redisReply *count = reply->element[2 * i + 1];
        if (count->type == REDIS_REPLY_INTEGER && strcmp(place->node, answer->node) == 0) {
            place->listens = count->integer > 0 ? RL_LISTENS_YES : RL_LISTENS_NO;
        }
    }
}

/* Finds out whether the clients in a line still listen for their turn: sends the nodes, over
 * separate connections, PUBSUB NUMSUB for each client's channel. The answer of the node that has
 * the line counts.
 *
 * Failure modes: the node does not answer, or forbids it: its places stay unknown. A stopped
 * process still listens; if its machine is gone, it does so until the node's tcp-keepalive
 * notices. */
static void look_for_listeners(struct rl_part *line, const struct rl_args *args) {
    char channels[PLACES_MAX][sizeof CHANNEL + 32];
    const char *argv[2 + PLACES_MAX] = {"PUBSUB", "NUMSUB"};
    size_t at[PLACES_MAX], n = 0;
    struct rl_wire_answer answers[REDLOCK_NODES_MAX];
    for (size_t i = 0; i < line->n; i++) {
        assert(i < PLACES_MAX);
        if (line->items[i].id[0] != '\0') {
            snprintf(channels[n], sizeof channels[n], CHANNEL "%.32s", line->items[i].id);
            argv[2 + n] = channels[n];
            at[n++] = i;
        }
    }
    const size_t asked =
        n > 0 ? rl_wires_ask(args, args->client.node_timeout_ms, 2 + n, argv, NULL, answers) : 0;
    for (size_t i = 0; i < asked; i++) {
        take_answer(line, at, n, &answers[i]);
        freeReplyObject(answers[i].reply);
    }
}

#define WHO_WIDTH_MAX 40

/* Where the line is. */
struct home {
    const char *now; /* NULL: no node may vote */
    redlock_node_info usual;
};

static struct home home_of(const redlock_client *client, redlock_bytes key) {
    redlock_node_info now = REDLOCK_NODE_INFO_INIT;
    struct home home = {.usual = REDLOCK_NODE_INFO_INIT};
    const int at = redlock_client_home(client, key.data, key.length, 0);
    const int usual = redlock_client_home(client, key.data, key.length, 1);
    redlock_client_node(client, (size_t)usual, &home.usual);
    if (at >= 0 && redlock_client_node(client, (size_t)at, &now) == 0) {
        home.now = now.node;
    }
    return home;
}

static const char *wants_of(const struct rl_item *place) {
    return place->kind == RL_ITEM_WAITS           ? "exclusive"
           : place->kind == RL_ITEM_WAITS_TO_READ ? "to read"
                                                  : rl_say_count(place->number, "permit");
}

static int64_t since_ms(const struct rl_item *place) {
    return rl_when_now_ms() - place->waited_ms;
}

/* -- Its screen -- */

static void print_holder(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    const char *held = rl_look_say(look, 0);
    const char *key = look->shown;
    if (!look->is_answered) {
        printf("%s: not known, %zu of %zu nodes answer (%zu needed)\n", key, look->answered,
               look->n, look->needed);
        for (size_t i = 0; i < look->n; i++) {
            if (look->node_holders[i].s.status != 0) {
                printf("  %s: %s\n", look->node_holders[i].s.node, look->node_holders[i].why);
            }
        }
    } else if (held != NULL) {
        printf("%s: %s\n", key, held);
    } else if (rl_found_has_permits(found) && found->permits > 0) {
        printf("%s: %zu of %" PRId32 " permits held, %zu free\n", key, found->slots.held,
               found->permits, found->free);
    } else {
        printf("%s: no client holds it\n", key);
    }
}

/* Whether the node has answered who waits there. */
static bool has_answered(const struct rl_part *line, const char *node) {
    const struct rl_look *look = &line->found->look;
    for (size_t i = 0; i < look->n; i++) {
        if (strcmp(look->node_holders[i].s.node, node) == 0) {
            return !line->unanswered[i];
        }
    }
    return false;
}

/* Prints a sentence for everything unusual about the line's location. */
static void print_home(const struct rl_part *line, const struct home *home) {
    const redlock_node_info *usual = &home->usual;
    const bool has_moved = home->now == NULL || strcmp(home->now, usual->node) != 0;
    size_t elsewhere = 0;
    if (has_moved || !has_answered(line, usual->node)) {
        const char *until =
            home->now == NULL
                ? ""
                : rl_text(": until it is back clients that wait stand in line at %s", home->now);
        printf("  ");
        rl_say_wrapped(
            rl_text("its home %s %s (%s)%s%s", usual->node,
                    usual->up ? "does not vote" : "cannot be reached", rl_look_why(usual), until,
                    line->n > 0 ? "" : ", and those that waited there come to it by themselves"),
            2);
    }
    for (size_t i = 0; i < line->n && home->now != NULL; i++) {
        elsewhere += strcmp(line->items[i].node, home->now) != 0;
    }
    if (elsewhere > 0) {
        printf("  ");
        rl_say_wrapped(
            rl_text("%zu of them %s in line at another node than %s, which is the home now: they "
                    "come to it by themselves within a ttl, or were left behind",
                    elsewhere, elsewhere == 1 ? "stands" : "stand", home->now),
            2);
    }
}

static void print_table(const struct rl_part *line) {
    struct rl_table table = {.heads = "place\twants     \twaited \tsince              \twho\t?",
                             .indent = 2,
                             .max = WHO_WIDTH_MAX};
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_item *place = &line->items[i];
        const bool is_elsewhere = place->node != line->items[0].node;
        const bool is_gone = place->listens == RL_LISTENS_NO;
        const bool reads = place->kind == RL_ITEM_WAITS_TO_READ; /* readers are served together */
        rl_table_row(&table, "%s\t%s\t%s\t%s\t%s\t%s%s%s%s", reads ? "-" : rl_text("%zu", i + 1),
                     wants_of(place), rl_say_ms(place->waited_ms),
                     rl_when_show(since_ms(place), false), rl_item_who(place),
                     is_gone ? RL_CELL_WARN "gone" : "", is_gone && is_elsewhere ? ", " : "",
                     is_elsewhere ? "at " : "", is_elsewhere ? place->node : "");
    }
    printf("\n");
    rl_table_print(&table);
    if (line->total > line->n) {
        printf("  and %zu more\n", line->total - line->n);
    }
}

/* what: "" or " for permits". */
static void print_line(const struct rl_part *line, const struct home *home, const char *what) {
    if (!line->is_known) {
        printf("  who waits%s is not known: %s\n", what, redlock_strerror(line->refused));
    } else if (line->n == 0) {
        printf("  nobody waits%s%s\n", what,
               line->n_unanswered > 0 ? ", as far as the nodes that answer know" : "");
    } else {
        printf("  %s wait%s%s, in line at %s\n", rl_say_count(line->total, "client"),
               line->total == 1 ? "s" : "", what, line->items[0].node);
    }
    if (line->is_known) {
        print_home(line, home);
    }
    if (line->n > 0) {
        print_table(line);
    }
}

/* The client whose turn it is has already left the line. */
static void print_turn(const struct rl_look *look) {
    if (look->reserved > 0) {
        printf("  the key is reserved on %zu of %zu nodes, for a client whose turn it is\n",
               look->reserved, look->n);
    }
}

static void print_screen(const struct rl_found *found, const struct home *home) {
    const bool has_permits = rl_found_has_permits(found);
    const bool has_lock = !has_permits || rl_found_has_lock(found);
    print_holder(found);
    print_turn(&found->look);
    if (has_lock) {
        print_line(&found->line, home, "");
    }
    if (has_permits) {
        printf("%s", has_lock ? "\n" : "");
        print_line(&found->permits_line, home, " for permits");
    }
}

/* -- JSON -- */

static void places_json(struct tool_json *json, const struct rl_part *line) {
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_item *place = &line->items[i];
        const bool is_reader = place->kind == RL_ITEM_WAITS_TO_READ;
        const bool is_permit = place->kind == RL_ITEM_WAITS_FOR_PERMITS;
        tool_json_object(json, NULL, JSON_KNOWN(!is_reader, INT, "place", i + 1),
                         JSON_TEXT("wants", is_permit   ? "permits"
                                            : is_reader ? "shared"
                                                        : "exclusive"),
                         JSON_IF(is_permit, JSON_INT("permits", place->number)),
                         JSON_TEXT_OR_NULL("holder", place->who),
                         JSON_TEXT_OR_NULL("client", place->id),
                         JSON_TEXT("since", rl_when_utc(since_ms(place))),
                         JSON_INT("waited_ms", place->waited_ms), JSON_TEXT("node", place->node),
                         JSON_KNOWN(place->listens != RL_LISTENS_UNKNOWN, BOOL, "alive",
                                    place->listens == RL_LISTENS_YES));
    }
}

static void print_json(const struct rl_found *found, const struct home *home) {
    const struct rl_look *look = &found->look;
    const bool is_known = found->line.is_known && found->permits_line.is_known;
    struct tool_json json = tool_json_begin(
        stdout, JSON_BYTES("key", look->key.data, look->key.length),
        JSON_KNOWN(is_known, INT, "waiting", found->line.total + found->permits_line.total),
        JSON_TEXT("home", home->now), JSON_TEXT("usual_home", home->usual.node),
        JSON_INT("answered", look->answered), JSON_INT("quorum", look->needed),
        JSON_INT("reserved", look->reserved));
    tool_json_open(&json, "places", '[');
    places_json(&json, &found->line);
    places_json(&json, &found->permits_line);
    tool_json_end(&json);
    rl_output_flush();
}

/* -- The command -- */

static int show(struct rl_session *session, struct rl_found *found, bool is_first) {
    const struct home home = home_of(session->client, found->look.key);
    look_for_listeners(&found->line, session->args);
    look_for_listeners(&found->permits_line, session->args);
    if (session->args->json) {
        print_json(found, &home);
    } else {
        printf("%s", is_first ? "" : "\n");
        print_screen(found, &home);
    }
    const bool is_waited_for = found->line.n + found->permits_line.n > 0;
    return found->status != 0 ? RL_EXIT_NO_QUORUM : is_waited_for ? RL_EXIT_OK : RL_EXIT_HELD;
}

int rl_cmd_queue(struct rl_args *args) {
    return rl_ask_keys(args, show);
}
