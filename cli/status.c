/* redlock status: the holder of a lock, or of permits of a semaphore, node by node, and whether it
 * has a quorum.
 *
 * Happy path: every node is asked for every key; a table for each key, or one line of JSON.
 *
 * Failure modes: the table shows why a node did not answer; fewer answers than a quorum end with
 * RL_EXIT_NO_QUORUM, whatever the answers. The output may be outdated when it is shown. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "ask_keys.h"
#include "exits.h"
#include "kick/room.h"
#include "line_show.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

#define NODE_WIDTH_MAX 40
#define HOLDER_WIDTH_MAX 40 /* a UUID in quotes, and some */
#define LEFT_WIDTH 9

/* -- Its screen -- */

static const char *held_by(const struct rl_found *found, char out[RL_LOOK_NAME_MAX]) {
    const struct rl_readers *readers = &found->readers;
    if (!found->look.is_shared || !readers->is_known) {
        return rl_look_name(&found->look, out);
    }
    snprintf(out, RL_LOOK_NAME_MAX, "%s%zu reader%s",
             readers->reading > readers->n ? "at least " : "", readers->holding,
             rl_say_plural(readers->holding));
    return out;
}

static void print_head(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    char key[256], left[32], name[RL_LOOK_NAME_MAX];
    size_t held = 0;
    int64_t reserved_ms = 0;
    for (size_t i = 0; i < look->n; i++) {
        held += look->node_holders[i].s.status == 0 && look->node_holders[i].s.is_held;
        if (look->node_holders[i].s.is_reserved) {
            int64_t left_ms = look->node_holders[i].s.remaining_ms;
            reserved_ms = left_ms > reserved_ms ? left_ms : reserved_ms;
        }
    }
    tool_utf8_clean(look->key.data, look->key.length, key, sizeof key);
    if (look->is_held) {
        printf("%s: held by %s for another %s, on %zu of %zu nodes (%zu needed)\n", key,
               held_by(found, name), rl_say_duration((double)look->remaining_ms, left, sizeof left),
               look->holding, look->n, look->needed);
    } else if (!look->is_answered) {
        printf("%s: not known, %zu of %zu nodes answer (%zu needed)\n", key, look->answered,
               look->n, look->needed);
    } else if (reserved_ms > 0) {
        printf("%s: just released, and kept for the next client for another %s\n", key,
               rl_say_duration((double)reserved_ms, left, sizeof left));
    } else if (held == 0) {
        printf("%s: free\n", key);
    } else {
        printf("%s: no client has a quorum; keys are left on %zu of %zu nodes\n", key, held,
               look->n);
    }
}

static const char *holder_text(const struct rl_look *look, const struct rl_look_node *node_holder,
                               char out[RL_LOOK_NAME_MAX]) {
    if (node_holder->s.status != 0 || !node_holder->s.is_held) {
        return node_holder->s.status == 0 && node_holder->s.is_reserved ? "reserved" : "-";
    }
    if (node_holder->s.is_shared) {
        return "readers";
    }
    if (node_holder->token[0] != '\0') {
        return node_holder->holder[0] != '\0' ? node_holder->holder : "no name";
    }
    bool is_lock = look->is_foreign && rl_look_is_holding(look, node_holder);
    int max = HOLDER_WIDTH_MAX - (is_lock ? 2 : (int)strlen("not a lock: "));
    bool is_cut = strlen(node_holder->holder) > (size_t)max;
    snprintf(out, RL_LOOK_NAME_MAX, is_lock ? "\"%.*s%s\"" : "not a lock: %.*s%s",
             is_cut ? max - 3 : max, node_holder->holder, is_cut ? "..." : "");
    return out;
}

static void print_node(const struct rl_look *look, size_t index, int node_width, int holder_width) {
    const struct rl_look_node *seen = &look->node_holders[index];
    const int64_t left_ms = seen->s.remaining_ms;
    char left[32] = "", holder[RL_LOOK_NAME_MAX];
    if (!rl_node_print(seen, node_width)) {
        return;
    }
    if (seen->s.is_held || seen->s.is_reserved) {
        rl_say_duration(left_ms > 0 ? (double)left_ms : 0, left, sizeof left);
    }
    printf("%-*s%-*s", holder_width, holder_text(look, seen, holder), LEFT_WIDTH,
           seen->s.is_held && left_ms < 0 ? "for ever" : left);
    rl_node_print_latency(seen);
}

/* Nothing if nobody reads. */
static void print_readers(const struct rl_found *found) {
    const struct rl_readers *readers = &found->readers;
    const struct rl_look *look = &found->look;
    char left[32];
    if (look->is_shared && !readers->is_known) {
        printf("\n  who reads is not known: %s\n", redlock_strerror(readers->refused));
    }
    if (readers->n > 0) {
        printf("\n  %zu client%s read%s:\n", readers->reading, rl_say_plural(readers->reading),
               readers->reading == 1 ? "s" : "");
    }
    for (size_t i = 0; i < readers->n; i++) {
        const struct rl_reader *reader = &readers->readers[i];
        printf("    - %s", reader->who[0] != '\0' ? reader->who : "no name");
        if (reader->remaining_ms != 0) {
            printf(" for another %s, on %zu of %zu nodes\n",
                   rl_say_duration((double)reader->remaining_ms, left, sizeof left), reader->votes,
                   look->n);
        } else {
            printf(" on %zu of %zu nodes: no quorum\n", reader->votes, look->n);
        }
    }
    if (readers->reading > readers->n) {
        printf("      and %zu more\n", readers->reading - readers->n);
    }
}

/* The lock's part. */
static void print_lock(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    char holder[RL_LOOK_NAME_MAX];
    int node_width = 4, holder_width = 10;
    for (size_t i = 0; i < look->n; i++) {
        node_width = rl_say_widen(node_width, look->node_holders[i].s.node, NODE_WIDTH_MAX);
        holder_width = rl_say_widen(holder_width, holder_text(look, &look->node_holders[i], holder),
                                    HOLDER_WIDTH_MAX);
    }
    node_width += 2;
    holder_width += 2;
    print_head(found);
    printf("\n  %-*s%-*s%-*s%s\n", node_width, "node", holder_width, "holder", LEFT_WIDTH, "left",
           "latency");
    for (size_t i = 0; i < look->n; i++) {
        print_node(look, i, node_width, holder_width);
    }
    print_readers(found);
    rl_line_print(&found->line, look);
}

/* A lock and a semaphore may have the same key: they are independent. */
static void print_screen(const struct rl_found *found, const struct rl_kick_notes *kicks) {
    char said[RL_KICK_SAY_MAX];
    const struct rl_look *look = &found->look;
    const struct rl_permits *permits = &found->permits;
    const bool has_permits = rl_found_has_permits(found);
    const bool shows_lock = !has_permits || rl_found_has_lock(found);
    if (shows_lock) {
        print_lock(found);
    }
    if (has_permits) {
        printf("%s", shows_lock ? "\n" : "");
        rl_permits_print(permits, &found->permits_line, look, shows_lock);
    } else if (!permits->is_known && look->is_answered) {
        printf("\n  who holds permits is not known: %s\n", redlock_strerror(permits->refused));
    }
    for (size_t i = 0; i < kicks->n; i++) {
        printf("%s  %s\n", i == 0 ? "\n" : "", rl_kick_note_say(&kicks->notes[i], said));
    }
}

/* -- JSON -- */

static void readers_json(struct tool_json *json, const struct rl_found *found) {
    const struct rl_readers *readers = &found->readers;
    tool_json_put(
        json, JSON_BOOL("shared", found->look.is_shared),
        JSON_KNOWN(!found->look.is_shared || readers->is_known, INT, "reading", readers->reading));
    tool_json_open(json, "readers", '[');
    for (size_t i = 0; i < readers->n; i++) {
        const struct rl_reader *reader = &readers->readers[i];
        tool_json_object(json, NULL, JSON_TEXT_OR_NULL("holder", reader->who),
                         JSON_TEXT_OR_NULL("token", reader->token),
                         JSON_INT("votes", reader->votes),
                         JSON_INT("remaining_ms", reader->remaining_ms));
    }
    tool_json_close(json, ']');
}

static void print_json(const struct rl_found *found, const struct rl_kick_notes *kicks) {
    const struct rl_look *look = &found->look;
    struct tool_json json = {.file = stdout};
    char at[RL_WHEN_MAX];
    tool_json_open(&json, NULL, '{');
    tool_json_put(
        &json, JSON_BYTES("key", look->key.data, look->key.length),
        JSON_BOOL("held", look->is_held), JSON_BOOL("foreign", look->is_foreign),
        JSON_TEXT("holder", look->is_held && look->holder[0] != '\0' ? look->holder : NULL),
        JSON_TEXT_OR_NULL("token", look->token),
        JSON_IF(look->is_held, JSON_INT("remaining_ms", look->remaining_ms)),
        JSON_INT("answered", look->answered), JSON_INT("quorum", look->needed));
    rl_line_json(&json, &found->line);
    tool_json_open(&json, "nodes", '[');
    for (size_t i = 0; i < look->n; i++) {
        const struct rl_look_node *seen = &look->node_holders[i];
        const bool is_known = seen->s.status == 0, is_held = is_known && seen->s.is_held;
        const bool has_ttl = seen->s.is_held || seen->s.is_reserved;
        const int32_t permits = found->permits.kept[i];
        tool_json_object(&json, NULL, JSON_TEXT("node", seen->s.node),
                         JSON_TEXT("status", redlock_err_name(seen->s.status)),
                         JSON_IF(!is_known, JSON_TEXT("message", seen->why)),
                         JSON_BOOL("voting", seen->votes),
                         JSON_INT("votes_in_ms", seen->votes_in_ms),
                         JSON_IF(is_known, JSON_BOOL("held", seen->s.is_held != 0)),
                         JSON_IF(is_known, JSON_BOOL("reserved", seen->s.is_reserved != 0)),
                         JSON_IF(is_known, JSON_REAL("latency_ms", seen->s.latency_us / 1e3)),
                         JSON_IF(permits > 0, JSON_INT("permits", permits)),
                         JSON_IF(is_held, JSON_TEXT_OR_NULL("token", seen->token)),
                         JSON_IF(is_held, JSON_TEXT_OR_NULL("holder", seen->holder)),
                         JSON_IF(has_ttl, JSON_INT("remaining_ms", seen->s.remaining_ms)),
                         JSON_IF(has_ttl, JSON_BOOL("shared", seen->s.is_shared != 0)));
    }
    tool_json_close(&json, ']');
    readers_json(&json, found);
    rl_permits_json(&json, &found->permits, &found->permits_line);
    tool_json_open(&json, "kicks", '[');
    for (size_t i = 0; i < kicks->n; i++) {
        tool_json_object(&json, NULL, RL_KICK_NOTE_JSON(&kicks->notes[i], at));
    }
    tool_json_close(&json, ']');
    tool_json_close(&json, '}');
    tool_json_end(&json);
    rl_output_flush();
}

/* -- The command -- */

static int show(struct rl_session *session, struct rl_found *found, bool is_first) {
    struct rl_kick_notes kicks = {0};
    if (found->kicks_left_ms > 0) {
        rl_kick_notes_read(session->args, found->look.key, &kicks);
    }
    if (session->args->json) {
        print_json(found, &kicks);
    } else {
        printf("%s", is_first ? "" : "\n");
        print_screen(found, &kicks);
    }
    bool is_held = found->look.is_held || found->permits.held > 0;
    return found->status != 0 ? RL_EXIT_NO_QUORUM : is_held ? RL_EXIT_OK : RL_EXIT_HELD;
}

int rl_cmd_status(struct rl_args *args) {
    return args->watch ? rl_cmd_watch(args) : rl_ask_keys(args, show);
}
