/* The stage on which a story of `redlock conform` is played: five nodes, one or two clients, and a
 * list of what the nodes have seen.
 *
 * Happy path: a story is a function that sets up faults, sends requests to the clients, and checks
 * what comes of it:
 *
 *     rl_stage_plant(s, 3, 2, OTHER, 5000);
 *     MUST(s, rl_stage_acquire(s, 0, KEY, 5000, 1), "A6", "two nodes of five refused, and ...");
 *
 * MUST ends the story if the condition is false. The first verdict stays; without one it is PASS.
 *
 * Failure modes: a client that does not answer in time, ends, or writes anything but an answer
 * fails the story. All times are multiplied by s->scale, for slow machines and slow clients; a
 * client's speed matters only where a rule says so. */
#include "conform/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

#define ANSWER_MS 6000 /* for a request, with all its attempts */
#define READY_MS 20000
#define WARM_KEY "conform:warm-up"

void rl_stage_judge(struct rl_stage *s, enum rl_verdict verdict, const char *rule,
                    const char *text) {
    if (s->is_decided) {
        return;
    }
    s->is_decided = true;
    s->result.verdict = verdict;
    snprintf(s->result.rule, sizeof s->result.rule, "%s", rule);
    snprintf(s->result.text, sizeof s->result.text, "%s", text);
}

/* -- Time -- */

static void on_tick(uv_timer_t *tick) {
    (void)tick;
}

long long rl_stage_ms(const struct rl_stage *s, long long ms) {
    return ms * s->scale;
}

bool rl_stage_until(struct rl_stage *s, rl_stage_condition *condition, void *data, int64_t ms) {
    const uint64_t end_ns = uv_hrtime() + (uint64_t)rl_stage_ms(s, ms) * 1000000;
    bool holds = false;
    uv_timer_start(&s->tick, on_tick, 1, 1);
    for (;;) {
        holds = condition != NULL && condition(s, data);
        if (holds || uv_hrtime() >= end_ns) {
            break;
        }
        uv_run(&s->loop, UV_RUN_ONCE);
    }
    uv_timer_stop(&s->tick);
    return holds;
}

void rl_stage_run(struct rl_stage *s, int64_t ms) {
    rl_stage_until(s, NULL, NULL, ms);
}

/* -- What the nodes see -- */

static void copy_arg(char *to, size_t size, const void *data, size_t length) {
    size_t n = length < size - 1 ? length : size - 1;
    memcpy(to, data, n);
    to[n] = '\0';
}

static struct rl_event *add_event(struct rl_stage *s, enum rl_event_kind kind, int node) {
    if (s->n_events == RL_EVENTS_MAX) { /* the client sends commands without end */
        return NULL;
    }
    struct rl_event *event = &s->events[s->n_events++];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    event->node = node;
    event->at_ns = uv_hrtime();
    return event;
}

static bool is_script(const struct resp_command *command) {
    return resp_is(&command->args[0], "EVAL") || resp_is(&command->args[0], "EVALSHA");
}

/* The command's value: the argument after the key, or after a script's keys; NULL: none. */
static const struct resp_arg *value_of(const struct resp_command *command) {
    long long keys = 0;
    size_t at = 2;
    if (is_script(command)) {
        bool is_number = command->count > 2 && resp_number(&command->args[2], &keys);
        at = is_number && keys >= 0 ? 3 + (size_t)keys : command->count;
    } else if (resp_is(&command->args[0], "DELEX")) {
        at = 3;
    }
    return at < command->count ? &command->args[at] : NULL;
}

static bool is_of_key(const struct rl_stage *s, const struct resp_command *command) {
    bool is = false;
    for (size_t i = 1; i < command->count && !is; i++) {
        is = command->args[i].length == strlen(s->key) &&
             memcmp(command->args[i].data, s->key, command->args[i].length) == 0;
    }
    return is;
}

static void on_came(void *owner, const struct server_connection *connection,
                    const struct resp_command *command) {
    const struct rl_watched *watched = owner;
    struct rl_stage *s = watched->stage;
    (void)connection;
    if (!is_of_key(s, command)) {
        return;
    }
    struct rl_event *event = add_event(s, RL_EVENT_CAME, watched->node);
    if (event == NULL) {
        return;
    }
    event->by_script = is_script(command);
    const struct resp_arg *name = &command->args[0], *value = value_of(command);
    if (event->by_script && resp_is(name, "EVAL")) {
        server_sha1(command->args[1].data, command->args[1].length, event->shape);
    } else {
        name = event->by_script ? &command->args[1] : name;
        copy_arg(event->shape, sizeof event->shape, name->data, name->length);
    }
    if (value != NULL) {
        copy_arg(event->value, sizeof event->value, value->data, value->length);
    }
    const char *held = fake_node_get(s->nodes[watched->node], s->key);
    snprintf(event->held, sizeof event->held, "%s", held != NULL ? held : "");
}

static void on_done(void *owner, const struct resp_command *command) {
    const struct rl_watched *watched = owner;
    struct rl_stage *s = watched->stage;
    if (s->swaps && resp_is(&command->args[0], "GET") && is_of_key(s, command) &&
        rl_stage_count(s, watched->node, 1, OTHER) == 0) {
        rl_stage_plant(s, watched->node, 1, OTHER, 60000);
        s->swapped++;
    }
}

static void on_changed(void *owner, const struct server_key *key, enum server_change change,
                       const struct server_connection *by) {
    const struct rl_watched *watched = owner;
    struct rl_stage *s = watched->stage;
    const enum rl_event_kind kind = change == SERVER_SET      ? RL_EVENT_SET
                                    : change == SERVER_EXPIRY ? RL_EVENT_EXPIRY
                                                              : RL_EVENT_DELETED;
    bool is_ours =
        key->name.length == strlen(s->key) && memcmp(key->name.data, s->key, key->name.length) == 0;
    struct rl_event *event = by != NULL && is_ours ? add_event(s, kind, watched->node) : NULL;
    if (event == NULL) {
        return;
    }
    event->by_script = by->server->is_in_script;
    copy_arg(event->value, sizeof event->value, key->value.data, key->value.length);
    const uint64_t now_ms = fake_node_now_us(s->nodes[watched->node]) / 1000;
    event->life_ms =
        key->expires_ms == SERVER_NEVER_MS ? -1 : (int64_t)key->expires_ms - (int64_t)now_ms;
}

/* -- Opening and closing -- */

static const char *write_urls(const struct rl_stage *s, char *urls, size_t size) {
    size_t used = 0;
    for (int i = 0; i < RL_NODES; i++) {
        used += (size_t)snprintf(urls + used, size - used, "%s%s", i > 0 ? "," : "",
                                 fake_node_url(s->nodes[i]));
    }
    return urls;
}

void rl_stage_open(struct rl_stage *s) {
    uv_loop_init(&s->loop);
    uv_timer_init(&s->loop, &s->tick);
    s->events = rl_must_alloc(RL_EVENTS_MAX, sizeof *s->events);
    s->key = KEY;
    for (int i = 0; i < RL_NODES; i++) {
        s->watched[i] = (struct rl_watched){s, i};
        s->nodes[i] = fake_node_start(&s->loop);
        fake_node_watch(
            s->nodes[i],
            &(struct fake_watch){
                .owner = &s->watched[i], .came = on_came, .done = on_done, .changed = on_changed});
    }
}

static bool have_ended(struct rl_stage *s, void *data) {
    bool all = true;
    (void)data;
    for (int i = 0; i < RL_PLAYERS; i++) {
        all = all && (!s->players[i].is_started || s->players[i].has_ended);
    }
    return all;
}

void rl_stage_close(struct rl_stage *s) {
    for (int i = 0; i < RL_PLAYERS; i++) {
        rl_player_finish(&s->players[i]);
    }
    rl_stage_until(s, have_ended, NULL, 500);
    for (int i = 0; i < RL_PLAYERS; i++) {
        rl_player_close(&s->players[i]);
    }
    for (int i = RL_NODES - 1; i >= 0; i--) { /* a node that borrows a server before its owner */
        fake_node_close(s->nodes[i]);
    }
    uv_close((uv_handle_t *)&s->tick, NULL);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    free(s->events);
}

/* -- The clients -- */

static bool is_ready(struct rl_stage *s, void *data) {
    const struct rl_player *player = data;
    (void)s;
    return player->is_ready || player->problem[0] != '\0';
}

void rl_stage_start(struct rl_stage *s, int who) {
    char urls[RL_NODES * 64];
    struct rl_player *player = &s->players[who];
    if (s->is_decided) {
        return;
    }
    rl_player_start(player, &s->loop, s->command, write_urls(s, urls, sizeof urls), s->story->name,
                    s->shows_errors);
    if (!rl_stage_until(s, is_ready, player, READY_MS)) {
        rl_stage_decide(s, RL_VERDICT_FAIL, "P1",
                        "the client did not write \"ready\" within %lld s",
                        rl_stage_ms(s, READY_MS) / 1000);
    } else if (!player->is_ready) {
        rl_stage_decide(s, RL_VERDICT_FAIL, "P1", "%s", rl_player_why(player));
    }
}

bool rl_stage_has_heard(const struct rl_stage *s, int who) {
    return s->players[who].answered || s->players[who].problem[0] != '\0';
}

static bool has_heard(struct rl_stage *s, void *data) {
    return rl_stage_has_heard(s, *(int *)data);
}

static void ask(struct rl_stage *s, int who, const char *request) {
    if (!s->is_decided) {
        rl_player_ask(&s->players[who], request);
    }
}

void rl_stage_tell_acquire(struct rl_stage *s, int who, const char *key, int64_t ttl_ms,
                           int tries) {
    ask(s, who, rl_text("acquire %s %lld %d", key, rl_stage_ms(s, ttl_ms), tries));
}

bool rl_stage_hear(struct rl_stage *s, int who) {
    const struct rl_player *player = &s->players[who];
    if (s->is_decided) {
        return false;
    }
    if (!rl_stage_until(s, has_heard, &who, ANSWER_MS)) {
        rl_stage_decide(
            s, RL_VERDICT_FAIL, "A10",
            "the client has not answered \"%.200s\" after %lld s: a program that uses it hangs",
            player->request, rl_stage_ms(s, ANSWER_MS) / 1000);
    } else if (!player->answered) {
        rl_stage_decide(s, RL_VERDICT_FAIL, "P1", "%s", rl_player_why(player));
    }
    return !s->is_decided && player->answer.is_yes;
}

const struct rl_answer *rl_stage_answer(const struct rl_stage *s, int who) {
    return &s->players[who].answer;
}

bool rl_stage_acquire(struct rl_stage *s, int who, const char *key, int64_t ttl_ms, int tries) {
    rl_stage_tell_acquire(s, who, key, ttl_ms, tries);
    return rl_stage_hear(s, who);
}

bool rl_stage_extend(struct rl_stage *s, int who, const char *key, int64_t ttl_ms) {
    ask(s, who, rl_text("extend %s %lld", key, rl_stage_ms(s, ttl_ms)));
    return rl_stage_hear(s, who);
}

bool rl_stage_release(struct rl_stage *s, int who, const char *key) {
    ask(s, who, rl_text("release %s", key));
    return rl_stage_hear(s, who);
}

long long rl_stage_validity_ms(long long ttl_ms, long long elapsed_ms) {
    return ttl_ms - elapsed_ms - (ttl_ms / 100 + 2);
}

void rl_stage_enter(struct rl_stage *s, int who) {
    rl_stage_start(s, who);
    bool works = rl_stage_acquire(s, who, WARM_KEY, 8000, 3);
    works = works && rl_stage_release(s, who, WARM_KEY);
    if (!works) {
        rl_stage_decide(s, RL_VERDICT_FAIL, "A6",
                        "before the story began: it could not acquire and release a free key on "
                        "five nodes, but said \"%.200s\"",
                        rl_stage_answer(s, who)->line);
    }
    s->n_events = 0;
}

/* -- The nodes -- */

void rl_stage_plant(struct rl_stage *s, int first, int count, const char *value, int64_t life_ms) {
    for (int i = first; i < first + count; i++) {
        fake_node_put(s->nodes[i], s->key, value, (uint64_t)rl_stage_ms(s, life_ms));
    }
}

void rl_stage_uproot(struct rl_stage *s, int first, int count) {
    for (int i = first; i < first + count; i++) {
        server_remove(fake_node_server(s->nodes[i]), 0, s->key, strlen(s->key));
    }
}

void rl_stage_rule(struct rl_stage *s, int first, int count, struct fake_rule rule) {
    rule.key = s->key;
    for (int i = first; i < first + count; i++) {
        fake_node_rule(s->nodes[i], rule);
    }
}

void rl_stage_delay(struct rl_stage *s, int first, int count, long long ms) {
    const struct fake_rule late = {
        .action = FAKE_ANSWER, .delay_ms = (uint64_t)rl_stage_ms(s, ms), .times = 1};
    rl_stage_rule(s, first, count, late);
}

void rl_stage_each(struct rl_stage *s, int first, int count, void (*act)(struct fake_node *)) {
    for (int i = first; i < first + count; i++) {
        act(s->nodes[i]);
    }
}

void rl_stage_down(struct rl_stage *s, int first, int count) {
    for (int i = first; i < first + count; i++) {
        fake_node_refuse(s->nodes[i]);
        fake_node_drop(s->nodes[i], true);
    }
}

void rl_stage_forget_scripts(struct rl_stage *s) {
    for (int i = 0; i < RL_NODES; i++) {
        server_forget_scripts(fake_node_server(s->nodes[i]));
    }
}

int rl_stage_count(struct rl_stage *s, int first, int count, const char *value) {
    int n = 0;
    for (int i = first; i < first + count; i++) {
        const char *there = fake_node_get(s->nodes[i], s->key);
        n += there != NULL && strncmp(there, value, strlen(value)) == 0;
    }
    return n;
}

struct span {
    int first, count;
};

static bool is_clean(struct rl_stage *s, void *data) {
    const struct span *span = data;
    int left = 0;
    for (int i = span->first; i < span->first + span->count; i++) {
        const char *there = fake_node_get(s->nodes[i], s->key);
        /* A reservation belongs to no client and expires by itself. */
        left += there != NULL && strcmp(there, OTHER) != 0 && strncmp(there, "reserved", 8) != 0;
    }
    return left == 0;
}

bool rl_stage_cleans(struct rl_stage *s, int first, int count, int64_t ms) {
    struct span span = {first, count};
    return rl_stage_until(s, is_clean, &span, ms);
}

/* -- What they have seen -- */

const struct rl_event *rl_stage_next(const struct rl_stage *s, size_t *at, unsigned kinds,
                                     int node) {
    while (*at < s->n_events) {
        const struct rl_event *event = &s->events[(*at)++];
        if ((event->kind & kinds) != 0 && (node < 0 || event->node == node)) {
            return event;
        }
    }
    return NULL;
}

int rl_stage_seen(const struct rl_stage *s, unsigned kinds, int node) {
    size_t at = 0;
    int n = 0;
    while (rl_stage_next(s, &at, kinds, node) != NULL) {
        n++;
    }
    return n;
}

int rl_stage_attempts(const struct rl_stage *s, int node, const struct rl_event **out, int max) {
    size_t at = 0;
    int n = 0;
    const struct rl_event *first = rl_stage_next(s, &at, RL_EVENT_CAME, node), *event = first;
    for (; event != NULL; event = rl_stage_next(s, &at, RL_EVENT_CAME, node)) {
        if (strcmp(event->shape, first->shape) == 0) {
            if (n < max) {
                out[n] = event;
            }
            n++;
        }
    }
    return n;
}
