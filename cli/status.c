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
#define VALUE_MAX 128       /* of a holder's name, or of a value that is not of our kind */
#define HOLDER_TEXT_MAX (VALUE_MAX + 48)
#define LEFT_WIDTH 9
#define LATENCY_WIDTH 10

/* One look at one key. The strings of the sights are copied, they end with the callback. */
struct look {
    struct rl_session *session;
    redlock_bytes key;
    size_t n;
    size_t answered, holding; /* nodes; that have the quorum's token */
    bool is_held;             /* by a quorum */
    char token[RL_TOKEN_TEXT_MAX];
    char holder[VALUE_MAX];
    bool is_foreign; /* held, by a client of another library: then holder is its value */
    int64_t remaining_ms;
    struct sight {
        redlock_sight s;
        char token[REDLOCK_TOKEN_LENGTH + 1];
        char holder[VALUE_MAX];
        bool votes;          /* it may be asked to grant a lock */
        int64_t votes_in_ms; /* if not, because it may have forgotten some: until it may */
    } sights[REDLOCK_NODES_MAX];
};

/* -- The look -- */

static void look_at_guard(struct sight *sight, const redlock_client *client, size_t index) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    int known = redlock_client_node(client, index, &info);
    assert(known == 0);
    (void)known;
    sight->votes = info.voting != 0;
    sight->votes_in_ms = info.votes_in_ms;
}

/* Whether a node has what the quorum has. */
static bool is_holding(const struct look *look, const struct sight *sight) {
    if (!look->is_held || sight->s.status != 0 || !sight->s.is_held) {
        return false;
    }
    return look->is_foreign ? sight->token[0] == '\0' && strcmp(sight->holder, look->holder) == 0
                            : strncmp(sight->token, look->token, REDLOCK_TOKEN_LENGTH) == 0;
}

static void on_query(redlock_query *query, int status, void *data) {
    struct look *look = data;
    const char *token = "", *holder = "";
    look->is_held = redlock_query_quorum(query, &token, &holder, &look->remaining_ms) == 1;
    look->is_foreign = look->is_held && token[0] == '\0';
    if (look->is_held) {
        if (!look->is_foreign) {
            rl_token_show(token, holder, look->token);
        }
        rl_say_clean(holder, strlen(holder), look->holder, sizeof look->holder);
    }
    for (size_t i = 0; i < look->n; i++) {
        struct sight *sight = &look->sights[i];
        sight->s = (redlock_sight)REDLOCK_SIGHT_INIT;
        int known = redlock_query_sight(query, i, &sight->s);
        assert(known == 0);
        (void)known;
        const char *text = sight->s.holder != NULL ? sight->s.holder : "";
        rl_say_clean(text, strlen(text), sight->holder, sizeof sight->holder);
        snprintf(sight->token, sizeof sight->token, "%s",
                 sight->s.token != NULL ? sight->s.token : "");
        look_at_guard(sight, look->session->client, i);
        look->answered += sight->s.status == 0;
        look->holding += is_holding(look, sight);
    }
    rl_session_done(look->session, status);
}

/* Returns the query's status. */
static int ask(struct look *look, struct rl_session *session, redlock_bytes key) {
    memset(look, 0, sizeof *look);
    look->session = session;
    look->key = key;
    look->n = session->args->n_nodes;
    int status = redlock_query_holder(session->client, key.data, key.length, on_query, look);
    return status == 0 ? rl_session_wait(session) : status;
}

/* Who holds it, by the quorum's word. */
static const char *name_holder(const struct look *look, char out[HOLDER_TEXT_MAX]) {
    if (look->is_foreign) {
        snprintf(out, HOLDER_TEXT_MAX, "another library's client (value \"%s\")", look->holder);
    } else {
        snprintf(out, HOLDER_TEXT_MAX, "%s",
                 look->holder[0] != '\0' ? look->holder : "somebody without a name");
    }
    return out;
}

/* Keys that are no locks of ours, and keep a quorum from being had. False: too few for that. */
static bool name_hindrance(const struct look *look, char *out, size_t size) {
    const struct sight *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < look->n; i++) {
        const struct sight *sight = &look->sights[i];
        bool hinders = sight->s.status == 0 && sight->s.is_held && sight->token[0] == '\0';
        first = hinders && first == NULL ? sight : first;
        count += hinders;
    }
    if (look->n - count >= look->n / 2 + 1) {
        return false;
    }
    snprintf(out, size, "the key holds what is not this library's lock on %zu of %zu nodes: %s",
             count, look->n, first->holder);
    return true;
}

bool rl_status_holder(struct rl_session *session, const char *keys_text, char *out, size_t size) {
    struct rl_keys keys;
    static struct look look;
    bool found = false;
    if (rl_keys_parse(&keys, keys_text) == NULL) {
        for (size_t i = 0; i < keys.count && !found; i++) {
            char left[32], name[HOLDER_TEXT_MAX];
            found = ask(&look, session, keys.items[i]) == 0 && look.is_held;
            if (found) {
                snprintf(out, size, "held by %s for another %s", name_holder(&look, name),
                         rl_say_duration((double)look.remaining_ms, left, sizeof left));
            } else {
                found = name_hindrance(&look, out, size);
            }
        }
    }
    rl_keys_free(&keys);
    return found;
}

/* -- Its screen -- */

static void print_head(const struct look *look) {
    char key[256], left[32], name[HOLDER_TEXT_MAX];
    size_t quorum = look->n / 2 + 1;
    size_t held = 0;
    for (size_t i = 0; i < look->n; i++) {
        held += look->sights[i].s.status == 0 && look->sights[i].s.is_held;
    }
    rl_say_clean(look->key.data, look->key.length, key, sizeof key);
    if (look->is_held) {
        printf("%s: held by %s for another %s, on %zu of %zu nodes (%zu needed)\n", key,
               name_holder(look, name),
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

static const char *holder_text(const struct look *look, const struct sight *sight,
                               char out[HOLDER_TEXT_MAX]) {
    if (sight->s.status != 0 || !sight->s.is_held) {
        return "-";
    }
    if (sight->token[0] != '\0') {
        return sight->holder[0] != '\0' ? sight->holder : "no name";
    }
    bool is_lock = look->is_foreign && is_holding(look, sight);
    int max = HOLDER_WIDTH_MAX - (is_lock ? 2 : (int)strlen("not a lock: "));
    bool is_cut = strlen(sight->holder) > (size_t)max;
    snprintf(out, HOLDER_TEXT_MAX, is_lock ? "\"%.*s%s\"" : "not a lock: %.*s%s",
             is_cut ? max - 3 : max, sight->holder, is_cut ? "..." : "");
    return out;
}

static void print_sight(const struct look *look, size_t index, int node_width, int holder_width) {
    const struct sight *sight = &look->sights[index];
    char left[32] = "", latency[32], votes_in[32], vote[64] = "", holder[HOLDER_TEXT_MAX];
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

static void print_screen(const struct look *look) {
    char holder[HOLDER_TEXT_MAX];
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

static void print_json(const struct look *look) {
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
        const struct sight *sight = &look->sights[i];
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
    static struct look look;
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
