/* A chapter of scene.h: C waits in line behind a stranger, whose release is done by hand.
 *
 * Happy path: C stands in line at home; it gets a turn while the other nodes refuse, pauses and
 * comes back; then all are free, and it gets the lock. It waits once more, home's connections end,
 * it stands in line again, and is cancelled.
 *
 * Failure modes: a failure keeps C out of line altogether: it tries without one, or its deadline
 * ends it. No wait is longer than it takes when nothing fails. */

#include <uv.h>

#include "fail/scene_parts.h"

#define NAME "line"
#define LINE_KEY "libredlock:line:{" NAME "}"
#define STRANGER "stranger"
#define ID_LENGTH 16 /* of the client's id, with which its token begins */
#define TOKEN_LENGTH 40
#define VALUE_MAX 105    /* a token, and perhaps a name */
#define WAIT_TIMEOUTS 20 /* C's longest wait in node_timeouts: more than the chapter takes */
#define GRACE_MS 250

/* -- The line -- */

/* The value in line at a node; false: none. */
static bool stands_at(const struct scene *s, size_t node, char value[VALUE_MAX + 1]) {
    const struct server *server = fake_node_server(s->nodes[node]);
    const struct server_key *line = server_keys_find(&server->keys, 0, LINE_KEY, strlen(LINE_KEY));
    struct server_member member;
    if (!server_line_at(line, 0, &member)) {
        return false;
    }
    assert_in_range(member.name.length, TOKEN_LENGTH, VALUE_MAX);
    memcpy(value, member.name.data, member.name.length);
    value[member.name.length] = '\0';
    return true;
}

/* SCENE_NODES: nowhere. */
static size_t home_of(const struct scene *s, char value[VALUE_MAX + 1]) {
    size_t node = 0;
    while (node < SCENE_NODES && !stands_at(s, node, value)) {
        node++;
    }
    return node;
}

static bool stands(const struct scene *s, const void *data) {
    char value[VALUE_MAX + 1];
    return home_of(s, value) < SCENE_NODES;
}

/* Whether there have been more joins than in data. */
static bool has_joined(const struct scene *s, const void *data) {
    size_t joins = 0;
    for (size_t i = 0; i < SCENE_NODES; i++) {
        joins += fake_node_count(s->nodes[i], "join");
    }
    return joins > *(const size_t *)data;
}

static size_t count_joins(const struct scene *s) {
    size_t joins = 0;
    while (has_joined(s, &joins)) {
        joins++;
    }
    return joins;
}

static bool has_missed_a_turn(const struct scene *s, const void *data) {
    return scene_stats(s).turns_missed > 0;
}

/* -- The stranger -- */

static void hold(struct scene *s) {
    for (size_t i = 0; i < SCENE_NODES; i++) {
        fake_node_put(s->nodes[i], NAME, STRANGER, 3600000);
    }
}

static void let_go(struct scene *s, size_t node) {
    const char *value = fake_node_get(s->nodes[node], NAME);
    if (value != NULL && strcmp(value, STRANGER) == 0) {
        server_remove(fake_node_server(s->nodes[node]), 0, NAME, strlen(NAME));
    }
}

static void let_go_everywhere(struct scene *s) {
    for (size_t i = 0; i < SCENE_NODES; i++) {
        let_go(s, i);
    }
}

/* Does what home does on a release. */
static void serve(struct scene *s) {
    char value[VALUE_MAX + 1], text[64], channel[64];
    size_t home = home_of(s, value);
    if (home == SCENE_NODES) {
        return; /* it has its turn, or waits without a line */
    }
    let_go(s, home);
    server_remove(fake_node_server(s->nodes[home]), 0, LINE_KEY, strlen(LINE_KEY));
    fake_node_put(s->nodes[home], NAME, value, GRACE_MS);
    snprintf(text, sizeof(text), "turn %.*s", TOKEN_LENGTH, value);
    snprintf(channel, sizeof(channel), "libredlock:client:%.*s", ID_LENGTH, value);
    fake_node_publish(s->nodes[home], channel, text);
}

/* -- The chapter -- */

static void has_its_turn(struct scene *s, redlock_lock *c, uint64_t patience_ns) {
    scene_acquire(s, c, SCENE_TURN_C, WAIT_TIMEOUTS * s->options->node_timeout_ms);
    if (scene_run_until(s, stands, NULL, patience_ns)) {
        serve(s); /* in vain: the other nodes refuse */
        scene_run_until(s, has_missed_a_turn, NULL, patience_ns);
    }
    let_go_everywhere(s);
    serve(s);
    scene_wait_for(s, SCENE_TURN_C);
    if (scene_succeeded(s, SCENE_TURN_C)) {
        assert_true(redlock_lock_is_valid(c));
        scene_release(s, c, SCENE_RELEASE_C);
        scene_wait_for(s, SCENE_RELEASE_C);
    }
}

static void loses_its_home(struct scene *s, redlock_lock *c, uint64_t patience_ns) {
    char value[VALUE_MAX + 1];
    hold(s);
    scene_acquire(s, c, SCENE_LEAVE_C, WAIT_TIMEOUTS * s->options->node_timeout_ms);
    scene_run_until(s, stands, NULL, patience_ns);
    size_t home = home_of(s, value), joins = count_joins(s);
    if (home < SCENE_NODES) {
        fake_node_drop(s->nodes[home], true);
        scene_run_until(s, has_joined, &joins, patience_ns);
    }
    scene_cancel(s, c, SCENE_LEAVE_C);
    assert_false(scene_succeeded(s, SCENE_LEAVE_C));
    let_go_everywhere(s);
}

void scene_wait_in_line(struct scene *s) {
    uint64_t patience_ns = 4000000 * (uint64_t)s->options->node_timeout_ms;
    redlock_lock *c = scene_new_lock(s, NAME, strlen(NAME));
    if (c == NULL) {
        return;
    }
    hold(s);
    has_its_turn(s, c, patience_ns);
    loses_its_home(s, c, patience_ns);
    scene_enter(s);
    redlock_lock_free(c);
    scene_leave(s);
}
