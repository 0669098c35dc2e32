/* See json.h. */
#include "ls/json.h"

#include <stdio.h>
#include <string.h>

#include "ls/cells.h"
#include "token.h"
#include "tool/json.h"
#include "tool/utf8.h"

static const char *const kinds[RL_LOCK_CLASSES] = {
    [RL_LOCK_HELD] = "lock",       [RL_LOCK_FREE] = "lock",     [RL_LOCK_LEFTOVER] = "leftover",
    [RL_LOCK_FOREIGN] = "foreign", [RL_LOCK_KICKED] = "kicked",
};
static const char *const standings[] = {
    [RL_NODE_VOTES] = "votes",
    [RL_NODE_IN_QUARANTINE] = "quarantine",
    [RL_NODE_UNFIT] = "unfit",
    [RL_NODE_UNKNOWN] = "unknown",
};

static const char *or_null(const char *text) {
    return text[0] != '\0' ? text : NULL;
}

/* What is 0, or less than `least`, is not known. */
static void number(struct tool_json *json, const char *name, int64_t value, int64_t least) {
    if (value < least) {
        tool_json_null(json, name);
    } else {
        tool_json_number(json, name, value);
    }
}

static void print_holdings(struct tool_json *json, const struct rl_lock *lock) {
    tool_json_open(json, "holders", '[');
    for (size_t i = 0; i < lock->n_holdings; i++) {
        const struct rl_holding *holding = &lock->holdings[i];
        const bool is_foreign = holding->token[0] == '\0';
        tool_json_open(json, NULL, '{');
        tool_json_text(json, is_foreign ? "value" : "holder", or_null(holding->holder));
        if (!is_foreign) { /* as redlock release takes it */
            char token[RL_TOKEN_TEXT_MAX];
            tool_json_text(json, "token", rl_token_show(holding->token, holding->holder, token));
        }
        if (holding->slot >= 0) {
            tool_json_number(json, "slot", holding->slot);
        }
        tool_json_number(json, "votes", holding->votes);
        tool_json_bool(json, "held", holding->has_quorum);
        tool_json_number(json, "remaining_ms", holding->remaining_ms);
        number(json, "fence", (int64_t)holding->fence, 1);
        number(json, "age_ms", holding->age_ms, 0);
        tool_json_close(json, '}');
    }
    tool_json_close(json, ']');
}

static void print_kicks(struct tool_json *json, const struct rl_lock *lock) {
    tool_json_open(json, "kicks", '[');
    for (size_t i = 0; i < lock->n_kicks; i++) {
        struct rl_kick_note note;
        if (rl_cells_kick(lock, i, &note)) {
            tool_json_open(json, NULL, '{');
            rl_kick_note_json(json, &note);
            tool_json_close(json, '}');
        }
    }
    tool_json_close(json, ']');
}

static void print_lock(struct tool_json *json, const struct rl_lock *lock, size_t nodes) {
    const bool is_held = lock->n_holdings > 0 && lock->holdings[0].has_quorum;
    char next[RL_CELL_MAX];
    tool_json_open(json, NULL, '{');
    tool_json_text(json, "kind", kinds[lock->class]);
    tool_json_bytes(json, "key", lock->name, lock->length);
    tool_json_bool(json, "held", is_held);
    tool_json_text(json, "mode", lock->class == RL_LOCK_FOREIGN ? NULL : rl_cells_mode(lock->mode));
    if (lock->mode == RL_LOCK_PERMITS) {
        number(json, "permits", lock->permits, 1);
    }
    tool_json_number(json, "votes", lock->votes);
    tool_json_number(json, "nodes", (int64_t)nodes);
    tool_json_number(json, "quorum", (int64_t)(nodes / 2 + 1));
    tool_json_number(json, "holding", (int64_t)lock->holders);
    print_holdings(json, lock);
    number(json, "fence", (int64_t)lock->fence, 1);
    number(json, "age_ms", lock->age_ms, 0);
    tool_json_number(json, "remaining_ms", lock->remaining_ms);
    tool_json_number(json, "waiting", (int64_t)lock->waiting);
    tool_json_number(json, "waiting_to_read", (int64_t)lock->waiting_shared);
    tool_json_number(json, "longest_wait_ms", lock->waited_ms);
    const char *colon = strchr(lock->next, ':'); /* behind the place */
    tool_json_text(
        json, "longest_waiter",
        colon == NULL ? NULL : tool_utf8_clean(colon + 1, strlen(colon + 1), next, sizeof next));
    print_kicks(json, lock);
    tool_json_close(json, '}');
    tool_json_end(json);
}

static void print_node(struct tool_json *json, const struct rl_seen_node *node) {
    tool_json_open(json, NULL, '{');
    tool_json_text(json, "kind", "node");
    tool_json_text(json, "node", node->wire->url.name);
    tool_json_bool(json, "up", node->is_up);
    tool_json_bool(json, "read", node->is_whole);
    tool_json_bool(json, "complete", node->is_whole && !node->is_cut);
    tool_json_text(json, "why", or_null(node->why));
    if (node->is_up) {
        tool_json_number(json, "keys", (int64_t)node->keys);
        tool_json_number(json, "other_keys", (int64_t)node->others);
        tool_json_number(json, "refused_keys", (int64_t)node->refused);
        tool_json_number(json, "scan_calls", (int64_t)node->calls);
        tool_json_real(json, "took_ms", node->took_ms);
        tool_json_text(json, "standing", standings[node->standing]);
        tool_json_number(json, "votes_in_ms", node->votes_in_ms);
    }
    if (node->is_up && node->clock.is_known) {
        tool_json_real(json, "latency_ms", node->clock.latency_ms);
        tool_json_real(json, "clock_ahead_ms", node->clock.ahead_ms);
    }
    if (node->is_up && node->has_info) {
        tool_json_text(json, "server", node->server);
        tool_json_text(json, "version", node->version);
        tool_json_number(json, "uptime_s", node->uptime_s);
        tool_json_number(json, "memory_bytes", node->memory_bytes);
        tool_json_number(json, "commands_per_s", node->commands_per_s);
    }
    tool_json_close(json, '}');
    tool_json_end(json);
}

void rl_json_print(const struct rl_sweep *sweep, bool waiting) {
    const struct rl_list *list = &sweep->list;
    struct tool_json json = {.file = stdout};
    for (size_t i = 0; i < list->n; i++) {
        if (!waiting || list->locks[i].waiting > 0) {
            print_lock(&json, &list->locks[i], sweep->n);
        }
    }
    for (size_t i = 0; i < sweep->n; i++) {
        print_node(&json, &sweep->nodes[i]);
    }
    tool_json_open(&json, NULL, '{');
    tool_json_text(&json, "kind", "summary");
    tool_json_number(&json, "locks", (int64_t)list->counts[RL_LOCK_HELD]);
    tool_json_number(&json, "leftovers", (int64_t)list->counts[RL_LOCK_LEFTOVER]);
    tool_json_number(&json, "foreign", (int64_t)list->counts[RL_LOCK_FOREIGN]);
    tool_json_number(&json, "waiting", (int64_t)list->waiting);
    tool_json_number(&json, "nodes", (int64_t)sweep->n);
    tool_json_number(&json, "nodes_read", (int64_t)sweep->whole);
    tool_json_number(&json, "quorum", (int64_t)(sweep->n / 2 + 1));
    tool_json_real(&json, "took_ms", sweep->took_ms);
    tool_json_close(&json, '}');
    tool_json_end(&json);
}
