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
 * Happy path: the nodes are asked for the line (found.h), and each node that has one is asked which
 * of its clients still listen: a waiting client does, since its turn comes as a message.
 *
 * Failure modes: the home of the line does not answer, or another node keeps it for now, or clients
 * stand in lines of several nodes: each has a sentence. Whether a place's client still listens may
 * not be known (a user without the right, a node that has gone down since): then nothing is shown.
 * Fewer nodes answer than a quorum: RL_EXIT_NO_QUORUM. A client that was stopped still listens. */
#include "commands.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask_keys.h"
#include "exits.h"
#include "found.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"
#include "wire/room.h"

/* -- Clients that still listen -- */

/* Finds out whether the clients in a line still listen for their turn: asks the node that has the
 * line, over a separate connection, for PUBSUB NUMSUB of each client's channel.
 *
 * Failure modes: the node does not answer, or forbids it: its places stay unknown. A process that
 * was stopped still listens; one whose machine is gone does until the node's tcp-keepalive finds
 * out. */
#define CHANNEL "libredlock:client:"
#define CHANNEL_MAX (sizeof CHANNEL + 32)
#define PLACES_MAX (2 * RL_LINE_MAX)

struct question {
    struct rl_wire *wire;
    struct rl_line *line;
    size_t at[PLACES_MAX]; /* the places of this node whose client is known */
    size_t n;
};

static redisReply *ask_node(struct question *question) {
    char channels[PLACES_MAX][CHANNEL_MAX];
    const char *argv[2 + PLACES_MAX] = {"PUBSUB", "NUMSUB"};
    for (size_t i = 0; i < question->n; i++) {
        snprintf(channels[i], sizeof channels[i], CHANNEL "%s",
                 question->line->places[question->at[i]].client);
        argv[2 + i] = channels[i];
    }
    struct rl_wire *wire = question->wire;
    rl_wire_ask_argv(wire, 2 + question->n, argv, NULL);
    return rl_wire_checked(wire, rl_wire_reply(wire));
}

/* A channel and how many listen to it, for each of those that were asked for. */
static void take_answer(const struct question *question, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 * question->n) {
        return;
    }
    for (size_t i = 0; i < question->n; i++) {
        const redisReply *count = reply->element[2 * i + 1];
        if (count->type == REDIS_REPLY_INTEGER) {
            question->line->places[question->at[i]].listens =
                count->integer > 0 ? RL_LISTENS_YES : RL_LISTENS_NO;
        }
    }
}

static void find_places(struct question *question) {
    for (size_t i = 0; i < question->line->n; i++) {
        assert(i < PLACES_MAX);
        if (question->line->places[i].client[0] != '\0' &&
            strcmp(question->line->places[i].node, question->wire->url.name) == 0) {
            question->at[question->n++] = i;
        }
    }
}

/* A node without places is asked for the nodes of its set alone. */
static void ask(void *data) {
    struct question *question = data;
    redisReply *reply = NULL;
    find_places(question);
    if (rl_wire_connect(question->wire) && rl_wire_hello(question->wire) && question->n > 0) {
        reply = ask_node(question);
    }
    if (reply != NULL) {
        take_answer(question, reply);
        freeReplyObject(reply);
    }
    rl_wire_disconnect(question->wire);
}

static void look_for_listeners(struct rl_line *line, const struct rl_args *args) {
    struct rl_wires wires;
    if (line->n == 0) {
        return;
    }
    if (rl_wires_open(&wires, args, args->node_timeout_ms) == 0) {
        struct question *questions = rl_must_alloc(REDLOCK_NODES_MAX, sizeof *questions);
        for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
            questions[i].line = line;
        }
        rl_wires_each(&wires, questions, sizeof *questions, ask);
        free(questions);
    }
    rl_wires_close(&wires);
}

#define PLACE_WIDTH 7
#define WANTS_WIDTH 12
#define WAITED_WIDTH 9
#define SINCE_WIDTH 21
#define WHO_WIDTH_MAX 40

/* Where the line is. */
struct home {
    int now, usual; /* nodes by number; now: negative if none may vote */
    const redlock_client *client;
};

static struct home home_of(const redlock_client *client, redlock_bytes key) {
    return (struct home){.now = redlock_client_home(client, key.data, key.length, 0),
                         .usual = redlock_client_home(client, key.data, key.length, 1),
                         .client = client};
}

static redlock_node_info node_of(const struct home *home, int index) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    redlock_client_node(home->client, (size_t)index, &info);
    return info;
}

static const char *wants_of(const struct rl_line *line, size_t index, char out[32]) {
    const uint32_t take = line->places[index].take;
    if (take > 0) {
        snprintf(out, 32, "%" PRIu32 " permit%s", take, take == 1 ? "" : "s");
    } else {
        snprintf(out, 32, "%s", index < line->writing ? "exclusive" : "to read");
    }
    return out;
}

static int64_t since_ms(const struct rl_line_place *place) {
    return rl_when_now_ms() - place->waited_ms;
}

/* -- Its screen -- */

static void print_holder(const struct rl_found *found) {
    char key[256], held[RL_LOOK_TEXT_MAX];
    const struct rl_look *look = &found->look;
    tool_utf8_clean(look->key.data, look->key.length, key, sizeof key);
    if (!look->is_answered) {
        printf("%s: not known, %zu of %zu nodes answer (%zu needed)\n", key, look->answered,
               look->n, look->needed);
        for (size_t i = 0; i < look->n; i++) {
            if (look->node_holders[i].s.status != 0) {
                printf("  %s: %s\n", look->node_holders[i].s.node, look->node_holders[i].why);
            }
        }
    } else if (rl_look_say(look, held)) {
        printf("%s: %s\n", key, held);
    } else if (rl_found_has_permits(found) && found->permits.permits > 0) {
        printf("%s: %zu of %" PRId32 " permits held, %zu free\n", key, found->permits.held,
               found->permits.permits, found->permits.free);
    } else {
        printf("%s: no client holds it\n", key);
    }
}

/* Whether the node has said who stands there. */
static bool has_answered(const struct rl_line *line, const char *node) {
    const struct rl_look *look = &line->found->look;
    for (size_t i = 0; i < look->n; i++) {
        if (strcmp(look->node_holders[i].s.node, node) == 0) {
            return !line->unanswered[i];
        }
    }
    return false;
}

/* A sentence for each oddity of where the line is. */
static void print_home(const struct rl_line *line, const struct home *home) {
    const bool has_moved = home->now != home->usual;
    const redlock_node_info usual = node_of(home, home->usual);
    size_t elsewhere = 0;
    char sentence[512], why[RL_LOOK_WHY_MAX];
    if (has_moved || !has_answered(line, usual.node)) {
        snprintf(sentence, sizeof sentence, "its home %s %s (%s)%s%s%s", usual.node,
                 usual.up ? "does not vote" : "cannot be reached", rl_look_why(&usual, why),
                 home->now < 0 ? "" : ": until it is back clients that wait stand in line at ",
                 home->now < 0 ? "" : node_of(home, home->now).node,
                 line->n > 0 ? "" : ", and those that waited there come to it by themselves");
        printf("  ");
        rl_say_wrapped(sentence, 2);
    }
    for (size_t i = 0; i < line->n && home->now >= 0; i++) {
        elsewhere += strcmp(line->places[i].node, node_of(home, home->now).node) != 0;
    }
    if (elsewhere > 0) {
        snprintf(sentence, sizeof sentence,
                 "%zu of them %s in line at another node than %s, which is the home now: they come "
                 "to it by themselves within a ttl, or were left behind",
                 elsewhere, elsewhere == 1 ? "stands" : "stand", node_of(home, home->now).node);
        printf("  ");
        rl_say_wrapped(sentence, 2);
    }
}

static void print_row(const struct rl_line *line, size_t index, int who_width) {
    const struct rl_line_place *place = &line->places[index];
    char number[32] = "-", wants[32], waited[32], since[RL_WHEN_MAX], who[RL_LINE_WHO_MAX];
    if (place->take > 0 || index < line->writing) { /* readers are served together */
        snprintf(number, sizeof number, "%zu", index + 1);
    }
    printf("  %-*s%-*s%-*s%-*s", PLACE_WIDTH, number, WANTS_WIDTH, wants_of(line, index, wants),
           WAITED_WIDTH, rl_say_duration((double)place->waited_ms, waited, sizeof waited),
           SINCE_WIDTH, rl_when_show(since_ms(place), false, since));
    const bool is_elsewhere = place->node != line->places[0].node;
    const bool is_gone = place->listens == RL_LISTENS_NO;
    rl_say_painted(RL_PAINT_NONE, rl_line_who(place, who), is_elsewhere || is_gone ? who_width : 0);
    if (is_gone) {
        rl_say_painted(RL_PAINT_WARN, "gone", 0);
    }
    printf("%s%s%s\n", is_gone && is_elsewhere ? ", " : "", is_elsewhere ? "at " : "",
           is_elsewhere ? place->node : "");
}

static void print_table(const struct rl_line *line) {
    int who_width = 3;
    char who[RL_LINE_WHO_MAX];
    for (size_t i = 0; i < line->n; i++) {
        who_width = rl_say_widen(who_width, rl_line_who(&line->places[i], who), WHO_WIDTH_MAX);
    }
    who_width += 2;
    printf("\n  %-*s%-*s%-*s%-*s%s\n", PLACE_WIDTH, "place", WANTS_WIDTH, "wants", WAITED_WIDTH,
           "waited", SINCE_WIDTH, "since", "who");
    for (size_t i = 0; i < line->n; i++) {
        print_row(line, i, who_width);
    }
    if (line->waiting > line->n) {
        printf("  and %zu more\n", line->waiting - line->n);
    }
}

/* what: "" or " for permits". */
static void print_line(const struct rl_line *line, const struct home *home, const char *what) {
    if (!line->is_known) {
        printf("  who waits%s is not known: %s\n", what, redlock_strerror(line->refused));
    } else if (line->n == 0) {
        printf("  nobody waits%s%s\n", what,
               line->n_unanswered > 0 ? ", as far as the nodes that answer know" : "");
    } else {
        printf("  %zu client%s wait%s%s, in line at %s\n", line->waiting,
               line->waiting == 1 ? "" : "s", line->waiting == 1 ? "s" : "", what,
               line->places[0].node);
    }
    if (line->is_known) {
        print_home(line, home);
    }
    if (line->n > 0) {
        print_table(line);
    }
}

static size_t count_reserved(const struct rl_look *look) {
    size_t reserved = 0;
    for (size_t i = 0; i < look->n; i++) {
        reserved += look->node_holders[i].s.status == 0 && look->node_holders[i].s.is_reserved;
    }
    return reserved;
}

/* The client whose turn it is has left the line. */
static void print_turn(const struct rl_look *look) {
    const size_t reserved = count_reserved(look);
    if (reserved > 0) {
        printf("  the key is reserved on %zu of %zu nodes, for a client whose turn it is\n",
               reserved, look->n);
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

static void places_json(struct tool_json *json, const struct rl_line *line) {
    char since[RL_WHEN_MAX];
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_line_place *place = &line->places[i];
        const bool is_reader = place->take == 0 && i >= line->writing;
        tool_json_object(json, NULL, JSON_KNOWN(!is_reader, INT, "place", i + 1),
                         JSON_TEXT("wants", place->take > 0 ? "permits"
                                            : is_reader     ? "shared"
                                                            : "exclusive"),
                         JSON_IF(place->take > 0, JSON_INT("permits", place->take)),
                         JSON_TEXT_OR_NULL("holder", place->who),
                         JSON_TEXT_OR_NULL("client", place->client),
                         JSON_TEXT("since", rl_when_utc(since_ms(place), since)),
                         JSON_INT("waited_ms", place->waited_ms), JSON_TEXT("node", place->node),
                         JSON_KNOWN(place->listens != RL_LISTENS_UNKNOWN, BOOL, "alive",
                                    place->listens == RL_LISTENS_YES));
    }
}

static void print_json(const struct rl_found *found, const struct home *home) {
    const struct rl_look *look = &found->look;
    const bool is_known = found->line.is_known && found->permits_line.is_known;
    struct tool_json json = {.file = stdout};
    tool_json_open(&json, NULL, '{');
    tool_json_put(
        &json, JSON_BYTES("key", look->key.data, look->key.length),
        JSON_KNOWN(is_known, INT, "waiting", found->line.waiting + found->permits_line.waiting),
        JSON_TEXT("home", home->now < 0 ? NULL : node_of(home, home->now).node),
        JSON_TEXT("usual_home", node_of(home, home->usual).node),
        JSON_INT("answered", look->answered), JSON_INT("quorum", look->needed),
        JSON_INT("reserved", count_reserved(look)));
    tool_json_open(&json, "places", '[');
    places_json(&json, &found->line);
    places_json(&json, &found->permits_line);
    tool_json_close(&json, ']');
    tool_json_close(&json, '}');
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
