/* redlock status: who holds a lock, node by node, and whether anybody has a quorum.
 *
 * Happy path: every node is asked for every key; a table for each key, or one line of JSON.
 *
 * Failure modes: nodes that do not answer have their reason in the table; fewer answers than a
 * quorum end with RL_EXIT_NO_QUORUM, whatever those that answered say. What it shows is over
 * when it is shown. */
#include "status.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "exits.h"
#include "json.h"
#include "keys.h"
#include "say.h"
#include "token.h"

#define NODE_WIDTH_MAX 40
#define HOLDER_WIDTH_MAX 40 /* a UUID in quotes, and some */
#define LEFT_WIDTH 9
#define LATENCY_WIDTH 10

/* -- The look -- */

static void on_looked(struct rl_look *look, int status, void *data) {
    (void)look;
    rl_session_done(data, status);
}

/* Returns the query's status. */
static int ask(struct rl_look *look, struct rl_session *session, redlock_bytes key) {
    int status = rl_look_at(look, session->client, session->args->n_nodes, key, on_looked, session);
    return status == 0 ? rl_session_wait(session) : status;
}

bool rl_status_holder(struct rl_session *session, const char *keys_text,
                      char out[RL_LOOK_TEXT_MAX]) {
    struct rl_keys keys;
    static struct rl_look look;
    bool found = false;
    if (rl_keys_parse(&keys, keys_text) == NULL) {
        for (size_t i = 0; i < keys.count && !found; i++) {
            found = ask(&look, session, keys.items[i]) == 0 && rl_look_say(&look, out);
        }
    }
    rl_keys_free(&keys);
    return found;
}

/* -- Its screen -- */

static void print_head(const struct rl_look *look) {
    char key[256], left[32], name[RL_LOOK_NAME_MAX];
    size_t quorum = look->n / 2 + 1;
    size_t held = 0;
    for (size_t i = 0; i < look->n; i++) {
        held += look->sights[i].s.status == 0 && look->sights[i].s.is_held;
    }
    rl_say_clean(look->key.data, look->key.length, key, sizeof key);
    if (look->is_held) {
        printf("%s: held by %s for another %s, on %zu of %zu nodes (%zu needed)\n", key,
               rl_look_name(look, name),
               rl_say_duration((double)look->remaining_ms, left, sizeof left), look->holding,
               look->n, quorum);
    } else if (look->answered < quorum) {
        printf("%s: not known, %zu of %zu nodes answer (%zu needed)\n", key, look->answered,
               look->n, quorum);
    } else if (held == 0) {
        printf("%s: free\n", key);
    } else {
        printf("%s: nobody has a quorum; keys are left on %zu of %zu nodes\n", key, held, look->n);
    }
}

static const char *holder_text(const struct rl_look *look, const struct rl_look_sight *sight,
                               char out[RL_LOOK_NAME_MAX]) {
    if (sight->s.status != 0 || !sight->s.is_held) {
        return "-";
    }
    if (sight->token[0] != '\0') {
        return sight->holder[0] != '\0' ? sight->holder : "no name";
    }
    bool is_lock = look->is_foreign && rl_look_is_holding(look, sight);
    int max = HOLDER_WIDTH_MAX - (is_lock ? 2 : (int)strlen("not a lock: "));
    bool is_cut = strlen(sight->holder) > (size_t)max;
    snprintf(out, RL_LOOK_NAME_MAX, is_lock ? "\"%.*s%s\"" : "not a lock: %.*s%s",
             is_cut ? max - 3 : max, sight->holder, is_cut ? "..." : "");
    return out;
}

static void print_sight(const struct rl_look *look, size_t index, int node_width,
                        int holder_width) {
    const struct rl_look_sight *sight = &look->sights[index];
    char left[32] = "", latency[32], votes_in[32], vote[64] = "", holder[RL_LOOK_NAME_MAX];
    printf("  %-*s", node_width, sight->s.node);
    if (sight->s.status != 0) {
        rl_say_painted(RL_PAINT_BAD, redlock_strerror(sight->s.status), 0);
        printf("\n");
        return;
    }
    if (sight->s.is_held) {
        rl_say_duration(sight->s.remaining_ms > 0 ? (double)sight->s.remaining_ms : 0, left,
                        sizeof left);
    }
    rl_say_duration(sight->s.latency_us / 1e3, latency, sizeof latency);
    printf("%-*s%-*s", holder_width, holder_text(look, sight, holder), LEFT_WIDTH,
           sight->s.is_held && sight->s.remaining_ms < 0 ? "for ever" : left);
    if (sight->votes_in_ms > 0) {
        printf("%-*s", LATENCY_WIDTH, latency);
        snprintf(vote, sizeof vote, "votes in %s",
                 rl_say_duration((double)sight->votes_in_ms, votes_in, sizeof votes_in));
        rl_say_painted(RL_PAINT_WARN, vote, 0);
    } else {
        printf("%s", latency);
    }
    printf("\n");
}

static int width_of(int width, const char *text, int max) {
    int columns = rl_say_columns(text);
    columns = columns > width ? columns : width;
    return columns < max ? columns : max;
}

static void print_screen(const struct rl_look *look) {
    char holder[RL_LOOK_NAME_MAX];
    int node_width = 4, holder_width = 10;
    for (size_t i = 0; i < look->n; i++) {
        node_width = width_of(node_width, look->sights[i].s.node, NODE_WIDTH_MAX);
        holder_width =
            width_of(holder_width, holder_text(look, &look->sights[i], holder), HOLDER_WIDTH_MAX);
    }
    node_width += 2;
    holder_width += 2;
    print_head(look);
    printf("\n  %-*s%-*s%-*s%s\n", node_width, "node", holder_width, "holder", LEFT_WIDTH, "left",
           "latency");
    for (size_t i = 0; i < look->n; i++) {
        print_sight(look, i, node_width, holder_width);
    }
}

/* -- JSON -- */

static void print_json(const struct rl_look *look) {
    struct rl_json json = {.file = stdout};
    rl_json_open(&json, NULL, '{');
    rl_json_bytes(&json, "key", look->key.data, look->key.length);
    rl_json_bool(&json, "held", look->is_held);
    rl_json_bool(&json, "foreign", look->is_foreign);
    rl_json_text(&json, "holder", look->is_held && look->holder[0] != '\0' ? look->holder : NULL);
    rl_json_text(&json, "token", look->token[0] != '\0' ? look->token : NULL);
    if (look->is_held) {
        rl_json_number(&json, "remaining_ms", look->remaining_ms);
    }
    rl_json_number(&json, "answered", (int64_t)look->answered);
    rl_json_number(&json, "quorum", (int64_t)(look->n / 2 + 1));
    rl_json_open(&json, "nodes", '[');
    for (size_t i = 0; i < look->n; i++) {
        const struct rl_look_sight *sight = &look->sights[i];
        rl_json_open(&json, NULL, '{');
        rl_json_text(&json, "node", sight->s.node);
        rl_json_text(&json, "status", redlock_err_name(sight->s.status));
        rl_json_bool(&json, "voting", sight->votes);
        rl_json_number(&json, "votes_in_ms", sight->votes_in_ms);
        if (sight->s.status == 0) {
            rl_json_bool(&json, "held", sight->s.is_held != 0);
            rl_json_real(&json, "latency_ms", sight->s.latency_us / 1e3);
        }
        if (sight->s.status == 0 && sight->s.is_held) {
            rl_json_text(&json, "token", sight->token[0] != '\0' ? sight->token : NULL);
            rl_json_text(&json, "holder", sight->holder[0] != '\0' ? sight->holder : NULL);
            rl_json_number(&json, "remaining_ms", sight->s.remaining_ms);
        }
        rl_json_close(&json, '}');
    }
    rl_json_close(&json, ']');
    rl_json_close(&json, '}');
    rl_json_end(&json);
}

/* -- The command -- */

/* All keys of one word. Returns the worst: NO_QUORUM, then free (1), then 0; or another error. */
static int show(struct rl_session *session, const char *word, bool is_first) {
    static struct rl_look look;
    struct rl_keys keys;
    int worst = RL_EXIT_OK;
    const char *why = rl_keys_parse(&keys, word);
    if (why != NULL) {
        worst = rl_fail(RL_EXIT_USAGE, "KEY: %s", why);
    }
    for (size_t i = 0; why == NULL && i < keys.count; i++) {
        int status = ask(&look, session, keys.items[i]);
        if (status != 0 && status != REDLOCK_ERR_NO_QUORUM) {
            worst = rl_fail(RL_EXIT_SYSTEM, "%s", redlock_strerror(status));
            break;
        }
        if (session->args->json) {
            print_json(&look);
        } else {
            printf("%s", is_first && i == 0 ? "" : "\n");
            print_screen(&look);
        }
        int exit_status = status != 0    ? RL_EXIT_NO_QUORUM
                          : look.is_held ? RL_EXIT_OK
                                         : RL_EXIT_HELD;
        worst = exit_status > worst ? exit_status : worst;
    }
    rl_keys_free(&keys);
    return worst;
}

int rl_cmd_status(struct rl_args *args) {
    static struct rl_session session;
    int worst = RL_EXIT_OK;
    if (args->n_words == 0 || args->child != NULL) {
        return rl_fail(RL_EXIT_USAGE, args->child != NULL
                                          ? "status: it runs no command; leave -- out"
                                          : "status: of which lock? redlock status KEY...");
    }
    int status = rl_session_open(&session, args);
    if (status != 0) {
        return status;
    }
    for (int i = 0; i < args->n_words && session.caught == 0; i++) {
        status = show(&session, args->words[i], i == 0);
        worst = status > worst ? status : worst;
    }
    int caught = session.caught;
    rl_session_close(&session);
    return caught != 0 ? RL_EXIT_SIGNAL + caught : worst;
}
