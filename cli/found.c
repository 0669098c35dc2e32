/* See found.h. */
#include "found.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kick/room.h"
#include "redlock/semaphore.h"
#include "say.h"
#include "tool/utf8.h"

const char *rl_look_why(const redlock_node_info *info, char out[RL_LOOK_WHY_MAX]) {
    bool has_detail = info->detail != NULL && info->detail[0] != '\0';
    snprintf(out, RL_LOOK_WHY_MAX, "%s%s%s%s", redlock_strerror(info->reason),
             has_detail ? " (" : "", has_detail ? info->detail : "", has_detail ? ")" : "");
    return out;
}

const char *rl_look_state(const redlock_node_info *info, const char *voting,
                          char out[RL_LOOK_WHY_MAX + 32]) {
    char why[RL_LOOK_WHY_MAX], left[32];
    if (!info->up) {
        snprintf(out, RL_LOOK_WHY_MAX + 32, "went away: %s", rl_look_why(info, why));
    } else if (info->voting) {
        snprintf(out, RL_LOOK_WHY_MAX + 32, "%s", voting);
    } else if (info->votes_in_ms > 0) {
        snprintf(out, RL_LOOK_WHY_MAX + 32, "is up, and votes in %s",
                 rl_say_duration((double)info->votes_in_ms, left, sizeof left));
    } else {
        snprintf(out, RL_LOOK_WHY_MAX + 32, "does not vote: %s", rl_look_why(info, why));
    }
    return out;
}

/* The client has nodes of other sets, too. */
static redlock_node_info info_of(const redlock_client *client, const char *node) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    size_t i = 0;
    while (redlock_client_node(client, i, &info) == 0 && strcmp(info.node, node) != 0) {
        i++;
    }
    return info;
}

/* A node that did not answer may have gone down since; that is the reason then. */
static void look_at_node(struct rl_look_node *node_holder, const redlock_client *client) {
    const redlock_node_info info = info_of(client, node_holder->s.node);
    node_holder->votes = info.voting != 0;
    node_holder->votes_in_ms = info.votes_in_ms;
    if (node_holder->s.status != 0 && info.up) {
        snprintf(node_holder->why, sizeof node_holder->why, "%s",
                 redlock_strerror(node_holder->s.status));
    } else if (node_holder->s.status != 0) {
        rl_look_why(&info, node_holder->why);
    }
}

bool rl_look_is_holding(const struct rl_look *look, const struct rl_look_node *node_holder) {
    if (!look->is_held || node_holder->s.status != 0 || !node_holder->s.is_held) {
        return false;
    }
    if (look->is_shared || node_holder->s.is_shared) {
        return look->is_shared && node_holder->s.is_shared;
    }
    return look->is_foreign
               ? node_holder->token[0] == '\0' && strcmp(node_holder->holder, look->holder) == 0
               : strncmp(node_holder->token, look->token, REDLOCK_TOKEN_LENGTH) == 0;
}

/* Readers hold it if a quorum of nodes says so: until fewer do. */
static void look_for_readers(struct rl_look *look, const redlock_query *query) {
    uint32_t living = 0, longest;
    do { /* the one that lives longest of those that are left */
        longest = REDLOCK_NODES_MAX;
        for (uint32_t i = 0; i < look->n; i++) {
            const redlock_node_holder *seen = &look->node_holders[i].s;
            const bool is_left = seen->status == 0 && seen->is_shared && (living >> i & 1) == 0;
            if (is_left && (longest == REDLOCK_NODES_MAX ||
                            seen->remaining_ms > look->node_holders[longest].s.remaining_ms)) {
                longest = i;
            }
        }
        living |= longest < REDLOCK_NODES_MAX ? UINT32_C(1) << longest : 0;
        if (living != 0 && redlock_query_lacks(query, living) == 0) {
            look->is_held = look->is_shared = true;
            look->remaining_ms = look->node_holders[longest].s.remaining_ms;
            return;
        }
    } while (longest < REDLOCK_NODES_MAX);
}

static void take_node(struct rl_look_node *node_holder) {
    const redlock_node_holder *seen = &node_holder->s;
    const char *text = seen->holder != NULL ? seen->holder : "";
    tool_utf8_clean(text, strlen(text), node_holder->holder, sizeof node_holder->holder);
    snprintf(node_holder->token, sizeof node_holder->token, "%s",
             seen->token != NULL ? seen->token : "");
}

/* Whether a key is in the way of a lock: it holds something other than one of ours. */
static bool hinders(const struct rl_look_node *node_holder) {
    const redlock_node_holder *seen = &node_holder->s;
    return seen->status == 0 && seen->is_held && !seen->is_shared && node_holder->token[0] == '\0';
}

/* All nodes that decide about the key. */
static void take_nodes(struct rl_look *look, const redlock_query *query) {
    uint32_t answered = 0, free = 0;
    redlock_node_holder seen = REDLOCK_NODE_HOLDER_INIT;
    for (; redlock_query_node(query, look->n, &seen) == 0; look->n++) {
        struct rl_look_node *node_holder = &look->node_holders[look->n];
        node_holder->s = seen;
        take_node(node_holder);
        look_at_node(node_holder, look->client);
        look->answered += seen.status == 0;
        answered |= seen.status == 0 ? UINT32_C(1) << look->n : 0;
        free |= hinders(node_holder) ? 0 : UINT32_C(1) << look->n;
    }
    look->needed = redlock_query_lacks(query, 0);
    look->is_answered = redlock_query_lacks(query, answered) == 0;
    look->is_hindered = redlock_query_lacks(query, free) != 0;
}

static void on_query(redlock_query *query, int status, void *data) {
    struct rl_look *look = data;
    const char *token = "", *holder = "";
    look->is_held = redlock_query_quorum(query, &token, &holder, &look->remaining_ms) == 1;
    look->is_foreign = look->is_held && token[0] == '\0';
    if (look->is_held) {
        if (!look->is_foreign) {
            rl_token_show(token, holder, look->token);
        }
        tool_utf8_clean(holder, strlen(holder), look->holder, sizeof look->holder);
    }
    take_nodes(look, query);
    if (!look->is_held) {
        look_for_readers(look, query);
    }
    for (size_t i = 0; i < look->n; i++) {
        look->holding += rl_look_is_holding(look, &look->node_holders[i]);
    }
    look->on_done(look, status, look->data);
}

int rl_look_at(struct rl_look *look, redlock_client *client, redlock_bytes key, rl_look_cb on_done,
               void *data) {
    memset(look, 0, sizeof *look);
    look->client = client;
    look->on_done = on_done;
    look->data = data;
    look->key = key;
    return redlock_query_holder(client, key.data, key.length, on_query, look);
}

const char *rl_look_name(const struct rl_look *look, char out[RL_LOOK_NAME_MAX]) {
    if (look->is_foreign) {
        snprintf(out, RL_LOOK_NAME_MAX, "another library's client (value \"%s\")", look->holder);
    } else if (look->is_shared) {
        snprintf(out, RL_LOOK_NAME_MAX, "readers");
    } else {
        snprintf(out, RL_LOOK_NAME_MAX, "%s",
                 look->holder[0] != '\0' ? look->holder : "a holder without a name");
    }
    return out;
}

const char *rl_look_next(const struct rl_look *look) {
    return look->is_shared && look->reads ? "; a writer is next" : "";
}

/* Foreign keys that make a quorum impossible. False: there are too few of them for that. */
static bool name_hindrance(const struct rl_look *look, char out[RL_LOOK_TEXT_MAX]) {
    const struct rl_look_node *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < look->n; i++) {
        const struct rl_look_node *node_holder = &look->node_holders[i];
        const bool is_one = hinders(node_holder);
        first = is_one && first == NULL ? node_holder : first;
        count += is_one;
    }
    if (!look->is_hindered || first == NULL) {
        return false;
    }
    snprintf(out, RL_LOOK_TEXT_MAX,
             "the key holds something other than this library's lock on %zu of %zu nodes: %s",
             count, look->n, first->holder);
    return true;
}

bool rl_look_say(const struct rl_look *look, char out[RL_LOOK_TEXT_MAX]) {
    char left[32], name[RL_LOOK_NAME_MAX];
    if (!look->is_held) {
        return name_hindrance(look, out);
    }
    snprintf(out, RL_LOOK_TEXT_MAX, "held by %s for another %s%s", rl_look_name(look, name),
             rl_say_duration((double)look->remaining_ms, left, sizeof left), rl_look_next(look));
    return true;
}

bool rl_look_say_permits(int64_t permits, int64_t take, char out[RL_LOOK_TEXT_MAX]) {
    assert(take >= 1 && take <= permits);
    if (take == 1) {
        snprintf(out, RL_LOOK_TEXT_MAX,
                 "none of %" PRId64 " permits is free, or others wait for those that are", permits);
    } else {
        snprintf(out, RL_LOOK_TEXT_MAX,
                 "fewer than %" PRId64 " of %" PRId64
                 " permits are free, or others wait for those that are",
                 take, permits);
    }
    return true;
}

static void take_place(struct rl_line_place *place, const redlock_waiter *waiter) {
    tool_utf8_clean(waiter->holder, strlen(waiter->holder), place->who, sizeof place->who);
    snprintf(place->client, sizeof place->client, "%s", waiter->client);
    place->node = waiter->node;
    place->waited_ms = waiter->waited_ms;
    place->take = waiter->take;
}

/* Why the first node without an answer did not answer. 0: all answered. */
static int refusal_of(const redlock_query *query, bool *unanswered) {
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    int refused = 0;
    for (size_t i = 0; redlock_query_node(query, i, &node_holder) == 0; i++) {
        refused = refused == 0 ? node_holder.status : refused;
        unanswered[i] = node_holder.status != 0;
    }
    return refused;
}

static void part_done(struct rl_found *found) {
    assert(found->out > 0);
    found->out--;
    if (found->out == 0) {
        found->on_done(found, found->data);
    }
}

static void on_line_listed(redlock_query *query, int status, void *data) {
    struct rl_line *line = data;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    while (line->n < 2 * RL_LINE_MAX && redlock_query_waiter(query, line->n, &waiter) == 0) {
        take_place(&line->places[line->n++], &waiter);
        line->writing += waiter.mode == REDLOCK_EXCLUSIVE;
    }
    line->waiting = redlock_query_waiting(query);
    assert(line->waiting >= line->n);
    line->refused = refusal_of(query, line->unanswered);
    for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        line->n_unanswered += line->unanswered[i];
    }
    line->is_known = status == 0 || line->n > 0;
    part_done(line->found);
}

/* The clients that are not listed are of the kind whose list is full. */
void rl_line_count(const struct rl_line *line, size_t *writing, size_t *reading) {
    const size_t more = line->waiting - line->n, listed = line->n - line->writing;
    const bool are_writers = line->writing == RL_LINE_MAX && listed < RL_LINE_MAX;
    *writing = line->writing + (are_writers ? more : 0);
    *reading = listed + (are_writers ? 0 : more);
}

const char *rl_line_who(const struct rl_line_place *place, char out[RL_LINE_WHO_MAX]) {
    if (place->who[0] != '\0') {
        snprintf(out, RL_LINE_WHO_MAX, "%s", place->who);
    } else {
        snprintf(out, RL_LINE_WHO_MAX, "no name (client %s)", place->client);
    }
    return out;
}

static void take_reader(struct rl_readers *readers, const redlock_reader *reader) {
    struct rl_reader *taken = &readers->readers[readers->n++];
    tool_utf8_clean(reader->holder, strlen(reader->holder), taken->who, sizeof taken->who);
    if (reader->token[0] != '\0') {
        rl_token_show(reader->token, reader->holder, taken->token);
    }
    taken->votes = reader->votes;
    taken->remaining_ms = reader->remaining_ms;
    readers->holding += reader->remaining_ms != 0;
}

/* If no reader has a quorum, their keys are left over and the lock is not held. */
static void on_readers_listed(redlock_query *query, int status, void *data) {
    struct rl_found *found = data;
    struct rl_readers *readers = &found->readers;
    struct rl_look *look = &found->look;
    redlock_reader reader = REDLOCK_READER_INIT;
    bool unanswered[REDLOCK_NODES_MAX];
    while (readers->n < RL_READERS_MAX && redlock_query_reader(query, readers->n, &reader) == 0) {
        take_reader(readers, &reader);
    }
    readers->reading = redlock_query_reading(query);
    assert(readers->reading >= readers->n);
    readers->refused = refusal_of(query, unanswered);
    readers->is_known = status == 0;
    look->is_held &= !look->is_shared || !readers->is_known || readers->holding > 0;
    part_done(found);
}

static void take_slot(struct rl_permits *permits, const redlock_slot *slot) {
    assert(permits->n < REDLOCK_PERMITS_MAX);
    struct rl_permit *taken = &permits->slots[permits->n++];
    tool_utf8_clean(slot->holder, strlen(slot->holder), taken->who, sizeof taken->who);
    if (slot->token[0] != '\0') {
        rl_token_show_permits(&slot->number, 1, slot->token, slot->holder, taken->token);
    }
    taken->number = slot->number;
    taken->votes = slot->votes;
    taken->remaining_ms = slot->remaining_ms;
    taken->fence = slot->fence;
    taken->is_reserved = slot->is_reserved != 0;
    taken->is_held = !taken->is_reserved && slot->remaining_ms != 0;
    permits->held += taken->is_held;
    permits->reserved += taken->is_reserved;
}

/* The number most nodes report; on a tie, the larger one. */
static int32_t agreed(const struct rl_permits *permits, size_t n) {
    int32_t best = 0;
    size_t best_count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < n; j++) {
            count += permits->kept[j] == permits->kept[i];
        }
        bool is_better = count > best_count || (count == best_count && permits->kept[i] > best);
        if (permits->kept[i] > 0 && is_better) {
            best = permits->kept[i];
            best_count = count;
        }
    }
    assert(best >= 0 && best <= REDLOCK_PERMITS_MAX);
    return best;
}

static void on_slots_listed(redlock_query *query, int status, void *data) {
    struct rl_found *found = data;
    struct rl_permits *permits = &found->permits;
    size_t n_nodes = 0;
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    redlock_slot slot = REDLOCK_SLOT_INIT;
    bool unanswered[REDLOCK_NODES_MAX];
    while (redlock_query_slot(query, permits->n, &slot) == 0) {
        take_slot(permits, &slot);
    }
    permits->refused = refusal_of(query, unanswered);
    for (; redlock_query_node(query, n_nodes, &node_holder) == 0; n_nodes++) {
        permits->answered += !unanswered[n_nodes];
        permits->kept[n_nodes] = redlock_query_permits(query, n_nodes);
    }
    permits->permits = agreed(permits, n_nodes);
    permits->free = (size_t)permits->permits;
    for (size_t i = 0; i < permits->n; i++) {
        permits->free -= permits->slots[i].number < permits->permits;
    }
    permits->is_known = status == 0;
    part_done(found);
}

static void on_kicks_looked(redlock_query *query, int status, void *data) {
    struct rl_found *found = data;
    redlock_node_holder seen = REDLOCK_NODE_HOLDER_INIT;
    (void)status; /* the value of any node will do */
    for (size_t i = 0; redlock_query_node(query, i, &seen) == 0; i++) {
        const bool is_there =
            seen.status == 0 && seen.is_held && strcmp(seen.holder, "(zset)") == 0;
        if (is_there && seen.remaining_ms > found->kicks_left_ms) {
            found->kicks_left_ms = seen.remaining_ms;
        }
    }
    part_done(found);
}

/* The key of the notes, of a name of more than 1005 bytes, is longer than a resource may be: then
 * it is as if there were none. */
static void ask_for_kicks(struct rl_found *found) {
    char key[RL_KICK_KEY_MAX];
    const size_t length = rl_kick_key(found->look.key, key);
    found->out += redlock_query_holder(found->client, key, length, on_kicks_looked, found) == 0;
}

/* The clients that wait for the key, or for permits of it. */
static void ask_for_line(struct rl_found *found, struct rl_line *line, bool of_permits) {
    const redlock_bytes key = found->look.key;
    line->found = found;
    line->refused = (of_permits ? redlock_query_permit_waiters : redlock_query_waiters)(
        found->client, key.data, key.length, RL_LINE_MAX, on_line_listed, line);
    found->out += line->refused == 0;
}

static void on_looked(struct rl_look *look, int status, void *data) {
    struct rl_found *found = data;
    bool is_read = false;
    found->status = status;
    for (size_t i = 0; i < look->n; i++) {
        is_read |= look->node_holders[i].s.is_shared != 0;
    }
    if (is_read) {
        found->readers.refused =
            redlock_query_readers(found->client, look->key.data, look->key.length, RL_READERS_MAX,
                                  on_readers_listed, found);
        found->out += found->readers.refused == 0;
    }
    part_done(found);
}

int rl_found_ask(struct rl_found *found, redlock_client *client, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data) {
    memset(found, 0, sizeof *found);
    found->client = client;
    found->on_done = on_done;
    found->data = data;
    int status = rl_look_at(&found->look, client, key, on_looked, found);
    if (status != 0) {
        return status;
    }
    found->out = 1;
    if (parts.line) {
        ask_for_line(found, &found->line, false);
    }
    if (parts.permits) {
        found->permits.refused = redlock_query_slots(client, key.data, key.length,
                                                     REDLOCK_PERMITS_MAX, on_slots_listed, found);
        found->out += found->permits.refused == 0;
        ask_for_line(found, &found->permits_line, true);
    }
    if (parts.kicks) {
        ask_for_kicks(found);
    }
    return 0;
}

bool rl_found_has_lock(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    bool has_key = found->line.n > 0;
    for (size_t i = 0; i < look->n; i++) {
        const redlock_node_holder *seen = &look->node_holders[i].s;
        has_key |= seen->status == 0 && (seen->is_held || seen->is_reserved);
    }
    return has_key;
}

bool rl_found_has_permits(const struct rl_found *found) {
    bool has_permits = found->permits.n > 0 || found->permits_line.n > 0;
    for (size_t i = 0; i < found->look.n; i++) {
        has_permits |= found->permits.kept[i] > 0;
    }
    return has_permits;
}
