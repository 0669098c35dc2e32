/* Reports what redlock waits for, so that it does not seem to hang.
 *
 * Happy path: rl_waiting_begin() when an acquire begins. If it has not ended after a moment, the
 * nodes are asked for the holder, which is reported once; on a terminal, a status line shows it, is
 * kept up to date, and is cleared at the end. Meanwhile each node that goes down or comes back is
 * reported, with how many nodes can vote and how many are needed. With --json these are events.
 * --quiet silences all of it.
 *
 * Failure modes: too few nodes answer: it reports that instead. The terminal is too narrow: the
 * line is cut, and never wraps; it is resized: the line is redrawn. The cursor stays at the
 * beginning of the line, so that the part that a narrowed terminal wraps is after the cursor, and
 * cleared. In the background, a sentence replaces the status line. Ctrl-Z clears the line before it
 * stops redlock. */
#include "session/room.h"

#include <signal.h>
#include <stdio.h>

#include "say.h"
#include "tool/json.h"

#define FIRST_MS 200 /* a lock granted sooner needs no report */
#define LINE_MS 1000
#define NODES_MS 20 /* batches events of several nodes */

/* The nodes that decide about the key. */
struct voters {
    size_t nodes, voting, needed;
    bool are_few;
};

static struct voters voters_of(const struct rl_waiting *waiting) {
    struct voters voters = {0};
    /* The other keys are of the same set, or with --any one of them is enough. */
    for (size_t i = 0; i < waiting->keys.count && (i == 0 || voters.are_few); i++) {
        const redlock_bytes key = waiting->keys.items[i];
        voters.are_few = redlock_client_lacks(waiting->client, key.data, key.length, &voters.nodes,
                                              &voters.voting, &voters.needed) > 0;
    }
    return voters;
}

/* On stderr: acquire has its one line on stdout. */
#define EVENT(waiting, voters, event, ...)                                                \
    tool_json_line(stderr, JSON_TEXT("event", event), JSON_TEXT("key", (waiting)->label), \
                   __VA_ARGS__, JSON_INT("nodes_voting", (voters).voting),                \
                   JSON_INT("quorum", (voters).needed))

/* -- The nodes -- */

static void look_at_nodes(struct rl_waiting *waiting, bool is_said) {
    const struct voters voters = voters_of(waiting);
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    for (size_t i = 0; redlock_client_node(waiting->client, i, &info) == 0; i++) {
        int before = waiting->states[i], now = info.up + info.voting;
        waiting->states[i] = now;
        if (!is_said || before == now) {
            continue;
        }
        if (waiting->args->json) {
            EVENT(waiting, voters, "node", JSON_TEXT("node", info.node),
                  JSON_BOOL("up", info.up != 0), JSON_BOOL("voting", info.voting != 0),
                  JSON_TEXT("status", redlock_err_name(info.reason)),
                  JSON_INT("votes_in_ms", info.votes_in_ms));
        } else {
            rl_say_of(waiting->label,
                      "waiting: node %s %s; %zu of %zu nodes can vote, %zu are needed", info.node,
                      rl_look_state(&info, before == 0 ? "is up" : "votes again"), voters.voting,
                      voters.nodes, voters.needed);
        }
    }
}

static void on_nodes(uv_timer_t *timer) {
    struct rl_waiting *waiting = timer->data;
    if (waiting->is_waiting) {
        look_at_nodes(waiting, true);
        rl_waiting_redraw(waiting);
    }
}

void rl_waiting_on_event(struct rl_waiting *waiting, const redlock_event *event) {
    bool is_of_node =
        event->type == REDLOCK_EVENT_NODE_UP || event->type == REDLOCK_EVENT_NODE_DOWN ||
        event->type == REDLOCK_EVENT_NODE_QUARANTINED || event->type == REDLOCK_EVENT_NODE_VOTES;
    if (waiting->is_waiting && is_of_node && !uv_is_active((uv_handle_t *)&waiting->node_timer)) {
        uv_timer_start(&waiting->node_timer, on_nodes, NODES_MS, 0);
    }
}

/* -- Who holds it -- */

/* What the acquire waits for. */
static const char *say_why(const struct rl_waiting *waiting, const struct voters *voters) {
    if (voters->are_few) {
        return rl_text("for nodes: %zu of %zu can vote, %zu are needed", voters->voting,
                       voters->nodes, voters->needed);
    }
    if (waiting->found.look.is_held) {
        return rl_look_say(&waiting->found.look, uv_now(waiting->timer.loop) - waiting->looked_ms);
    }
    return waiting->who[0] != '\0' ? waiting->who : "no client has a quorum yet";
}

static void say_once(struct rl_waiting *waiting) {
    char sentence[REDLOCK_MESSAGE_MAX];
    const struct rl_look *look = &waiting->found.look;
    const struct voters voters = voters_of(waiting);
    const char *why = say_why(waiting, &voters);
    waiting->is_said = true;
    if (waiting->args->json) {
        EVENT(waiting, voters, "waiting",
              JSON_TEXT("holder", look->is_held && !look->is_shared ? look->holder : NULL),
              JSON_IF(look->is_held, JSON_INT("remaining_ms", look->remaining_ms)),
              JSON_TEXT("message", why), JSON_BOOL("shared", look->is_shared));
    } else if (voters.are_few) {
        rl_say_of(waiting->label, "waiting for nodes: %s",
                  redlock_client_message(waiting->client, sentence, sizeof sentence));
    } else {
        rl_say_of(waiting->label, "waiting: %s", why);
    }
}

void rl_waiting_redraw(struct rl_waiting *waiting) {
    if (!waiting->is_waiting || !waiting->is_line || !waiting->is_said) {
        return;
    }
    const struct voters voters = voters_of(waiting);
    uint64_t waited_ms = uv_now(waiting->timer.loop) - waiting->began_ms;
    rl_say_line(rl_text("redlock: %s: waiting %s: %s", rl_text_clean(waiting->label, 128),
                        rl_say_ms((int64_t)(waited_ms / LINE_MS * LINE_MS)),
                        say_why(waiting, &voters)));
}

static void on_timer(uv_timer_t *timer);

static void show(struct rl_waiting *waiting) {
    bool is_for_nodes = voters_of(waiting).are_few;
    if (!waiting->is_said && (!waiting->is_line || is_for_nodes)) {
        say_once(waiting);
    }
    if (waiting->is_line) {
        waiting->is_said = true;
        rl_waiting_redraw(waiting);
        uv_timer_start(&waiting->timer, on_timer, LINE_MS, 0);
    }
}

static void on_looked(struct rl_found *answers, void *data) {
    struct rl_waiting *waiting = data;
    const struct rl_look *look = &answers->look;
    const int status = answers->status;
    waiting->is_looking = false;
    if (!waiting->is_waiting) {
        return;
    }
    const char *who = status == 0 ? rl_look_say(look, 0) : NULL;
    if (status == 0 && who == NULL && waiting->at + 1 < waiting->keys.count) {
        waiting->at++;
        uv_timer_start(&waiting->timer, on_timer, 0, 0);
        return;
    }
    if (status != 0) {
        who = rl_text("%zu of %zu nodes answer, %zu are needed", look->answered, look->n,
                      look->needed);
    }
    snprintf(waiting->who, sizeof waiting->who, "%s", who != NULL ? who : "");
    waiting->looked_ms = uv_now(waiting->timer.loop);
    waiting->at = 0;
    show(waiting);
}

static void on_timer(uv_timer_t *timer) {
    struct rl_waiting *waiting = timer->data;
    if (waiting->is_looking || !waiting->is_waiting) {
        return; /* a query of the previous wait is pending; its on_looked() will run */
    }
    if (waiting->keys.text == NULL) { /* an election reports the leader itself */
        if (voters_of(waiting).are_few) {
            say_once(waiting);
        }
        return;
    }
    if (waiting->args->permits != 0) { /* a lock with the same key does not block permits */
        snprintf(waiting->who, sizeof waiting->who, "%s",
                 rl_look_say_permits(waiting->args->permits, waiting->args->take));
        show(waiting);
        return;
    }
    waiting->is_looking =
        rl_found_ask(&waiting->found, waiting->client, waiting->keys.items[waiting->at],
                     (struct rl_found_parts){0}, on_looked, waiting) == 0;
    waiting->found.look.reads = waiting->args->shared;
}

/* -- The frame -- */

static void on_stop(uv_signal_t *handle, int signal_number) {
    rl_say_line(NULL);
    rl_terminal_stop_self(signal_number);
    rl_waiting_redraw(handle->data);
}

void rl_waiting_open(struct rl_waiting *waiting, uv_loop_t *loop, const struct rl_args *args) {
    *waiting = (struct rl_waiting){.args = args};
    uv_timer_init(loop, &waiting->timer);
    uv_timer_init(loop, &waiting->node_timer);
    uv_signal_init(loop, &waiting->stop);
    waiting->timer.data = waiting->node_timer.data = waiting->stop.data = waiting;
}

void rl_waiting_close(struct rl_waiting *waiting) {
    rl_waiting_end(waiting);
    uv_close((uv_handle_t *)&waiting->timer, NULL);
    uv_close((uv_handle_t *)&waiting->node_timer, NULL);
    uv_close((uv_handle_t *)&waiting->stop, NULL);
    rl_keys_free(&waiting->keys);
}

void rl_waiting_begin(struct rl_waiting *waiting, redlock_client *client, const char *keys) {
    if (waiting->args->quiet || waiting->is_waiting) {
        return;
    }
    waiting->client = client;
    waiting->label = keys;
    waiting->is_waiting = true;
    waiting->is_said = false;
    look_at_nodes(waiting, false);
    uv_update_time(waiting->timer.loop);
    waiting->began_ms = uv_now(waiting->timer.loop);
    if (waiting->keys.count == 0 && rl_keys_of(&waiting->keys, waiting->args, keys) != NULL) {
        rl_keys_free(&waiting->keys); /* the acquire reports the error */
    }
    waiting->at = 0;
    waiting->is_line = waiting->keys.text != NULL && !waiting->args->json && rl_say_has_line();
    uv_timer_start(&waiting->timer, on_timer, FIRST_MS, 0);
    if (waiting->is_line && !rl_signals_is_ignored(SIGTSTP)) {
        uv_signal_start(&waiting->stop, on_stop, SIGTSTP);
    }
}

void rl_waiting_end(struct rl_waiting *waiting) {
    if (waiting->is_waiting) {
        waiting->is_waiting = false;
        uv_timer_stop(&waiting->timer);
        uv_timer_stop(&waiting->node_timer);
        uv_signal_stop(&waiting->stop);
        rl_say_line(NULL);
    }
}
