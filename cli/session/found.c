/* Everything the nodes know about one key: its holder, its readers, the owner of each permit, and
 * the waiting clients.
 *
 * Happy path: rl_found_ask(); all queries are sent at once; the query for readers follows if a node
 * reports any. The callback runs when all have been answered.
 *
 * Failure modes: `status` is that of the query for the holder. Every other part has a flag that
 * says whether it is known; it is unknown if there was no memory for its query. The parts are not a
 * consistent snapshot, and may be outdated when they are shown. */
#include "session/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kick/room.h"
#include "redlock/semaphore.h"
#include "say.h"
#include "tool/utf8.h"

const char *rl_look_why(const redlock_node_info *info) {
    const bool has_detail = info->detail != NULL && info->detail[0] != '\0';
    const char *reason = redlock_strerror(info->reason);
    return has_detail ? rl_text("%s (%s)", reason, info->detail) : reason;
}

const char *rl_look_state(const redlock_node_info *info, const char *voting) {
    if (!info->up) {
        return rl_text("went away: %s", rl_look_why(info));
    }
    if (info->voting) {
        return voting;
    }
    return info->votes_in_ms > 0 ? rl_text("is up, and votes in %s", rl_say_ms(info->votes_in_ms))
                                 : rl_text("does not vote: %s", rl_look_why(info));
}

/* Finds the node by name: the client has nodes of other sets, too. */
static redlock_node_info info_of(const redlock_client *client, const char *node) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    size_t i = 0;
    while (redlock_client_node(client, i, &info) == 0 && strcmp(info.node, node) != 0) {
        i++;
    }
    return info;
}

/* A node that did not answer may have gone down since; then that is the reason. */
static void look_at_node(struct rl_look_node *node_holder, const redlock_client *client) {
    const redlock_node_info info = info_of(client, node_holder->s.node);
    node_holder->votes = info.voting != 0;
    node_holder->votes_in_ms = info.votes_in_ms;
    if (node_holder->s.status != 0 && info.up) {
        snprintf(node_holder->why, sizeof node_holder->why, "%s",
                 redlock_strerror(node_holder->s.status));
    } else if (node_holder->s.status != 0) {
        snprintf(node_holder->why, sizeof node_holder->why, "%s", rl_look_why(&info));
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

/* Readers hold the key as long as a quorum of nodes has it as shared. */
static void look_for_readers(struct rl_look *look, const redlock_query *query) {
    uint32_t living = 0, longest;
    do { /* of the remaining nodes, the one whose key lives longest */
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

/* Whether the node's key blocks a lock: its value is not libredlock's. */
static bool hinders(const struct rl_look_node *node_holder) {
    const redlock_node_holder *seen = &node_holder->s;
    return seen->status == 0 && seen->is_held && !seen->is_shared && node_holder->token[0] == '\0';
}

/* Takes over all nodes that decide about the key. */
static void take_nodes(struct rl_look *look, const redlock_client *client,
                       const redlock_query *query) {
    uint32_t answered = 0, free = 0;
    redlock_node_holder seen = REDLOCK_NODE_HOLDER_INIT;
    for (; redlock_query_node(query, look->n, &seen) == 0; look->n++) {
        struct rl_look_node *node_holder = &look->node_holders[look->n];
        node_holder->s = seen;
        take_node(node_holder);
        look_at_node(node_holder, client);
        look->answered += seen.status == 0;
        look->having += seen.status == 0 && seen.is_held;
        look->reserved += seen.status == 0 && seen.is_reserved;
        if (seen.is_reserved && seen.remaining_ms > look->reserved_ms) {
            look->reserved_ms = seen.remaining_ms;
        }
        answered |= seen.status == 0 ? UINT32_C(1) << look->n : 0;
        if (!hinders(node_holder)) {
            free |= UINT32_C(1) << look->n;
        } else if (look->hindering++ == 0) {
            look->hindrance = node_holder->holder;
        }
    }
    look->needed = redlock_query_lacks(query, 0);
    look->is_answered = redlock_query_lacks(query, answered) == 0;
    look->is_hindered = look->hindering > 0 && redlock_query_lacks(query, free) != 0;
}

static void take_holder(struct rl_look *look, const redlock_client *client,
                        const redlock_query *query) {
    const char *token = "", *holder = "";
    look->is_held = redlock_query_quorum(query, &token, &holder, &look->remaining_ms) == 1;
    look->is_foreign = look->is_held && token[0] == '\0';
    if (look->is_held) {
        if (!look->is_foreign) {
            snprintf(look->token, sizeof look->token, "%s", rl_token_show(NULL, 0, token, holder));
        }
        tool_utf8_clean(holder, strlen(holder), look->holder, sizeof look->holder);
    }
    take_nodes(look, client, query);
    if (!look->is_held) {
        look_for_readers(look, query);
    }
    for (size_t i = 0; i < look->n; i++) {
        look->holding += rl_look_is_holding(look, &look->node_holders[i]);
    }
}

const char *rl_look_name(const struct rl_look *look) {
    return look->is_foreign  ? rl_text("another library's client (value \"%s\")", look->holder)
           : look->is_shared ? "readers"
           : look->holder[0] != '\0' ? look->holder
                                     : "a holder without a name";
}

const char *rl_look_left(const struct rl_look *look, uint64_t since_ms) {
    const int64_t left_ms = look->remaining_ms - (int64_t)since_ms;
    return look->remaining_ms < 0 ? "for ever"
                                  : rl_text("for another %s", rl_say_ms(left_ms > 0 ? left_ms : 0));
}

const char *rl_look_say(const struct rl_look *look, uint64_t since_ms) {
    if (look->is_held) {
        return rl_text("held by %s %s%s", rl_look_name(look), rl_look_left(look, since_ms),
                       look->is_shared && look->reads ? "; a writer is next" : "");
    }
    return look->is_hindered ? rl_text(
                                   "the key holds something other than this library's lock on %zu "
                                   "of %zu nodes: %s",
                                   look->hindering, look->n, look->hindrance)
                             : NULL;
}

const char *rl_look_say_permits(int64_t permits, int64_t take) {
    assert(take >= 1 && take <= permits);
    return take == 1
               ? rl_text("none of %" PRId64 " permits is free, or others wait for those that are",
                         permits)
               : rl_text("fewer than %" PRId64 " of %" PRId64
                         " permits are free, or others wait for those that are",
                         take, permits);
}

const char *rl_item_who(const struct rl_item *item) {
    return item->who[0] != '\0'          ? item->who
           : item->kind >= RL_ITEM_WAITS ? rl_text("no name (client %.32s)", item->id)
                                         : "no name";
}

/* Clients that are not listed are of the kind whose list is full. */
void rl_line_count(const struct rl_part *line, size_t *writing, size_t *reading) {
    const size_t more = line->total - line->n, listed = line->n - line->writing;
    const bool are_writers = line->writing == RL_LINE_MAX && listed < RL_LINE_MAX;
    *writing = line->writing + (are_writers ? more : 0);
    *reading = listed + (are_writers ? 0 : more);
}

/* -- The lists -- */

static void part_done(struct rl_found *found) {
    assert(found->out > 0);
    found->out--;
    if (found->out == 0) {
        found->on_done(found, found->data);
    }
}

static void set_who(struct rl_item *item, const char *holder) {
    tool_utf8_clean(holder, strlen(holder), item->who, sizeof item->who);
}

/* n: 1 for a slot, 0 for a reader. */
static void set_token(struct rl_item *item, const char *digits, const char *holder,
                      const int32_t *slot, size_t n) {
    set_who(item, holder);
    snprintf(item->id, sizeof item->id, "%s", digits[0] != '\0' ? digits : item->who);
    if (digits[0] != '\0') {
        snprintf(item->token, sizeof item->token, "%s", rl_token_show(slot, n, digits, holder));
    }
}

/* Reads item number i of the query's results. False: there are no more. */
static bool take_item(const redlock_query *query, size_t i, struct rl_item *item) {
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    redlock_reader reader = REDLOCK_READER_INIT;
    redlock_slot slot = REDLOCK_SLOT_INIT;
    if (redlock_query_waiter(query, i, &waiter) == 0) {
        *item = (struct rl_item){.kind = waiter.take > 0 ? RL_ITEM_WAITS_FOR_PERMITS
                                         : waiter.mode == REDLOCK_EXCLUSIVE ? RL_ITEM_WAITS
                                                                            : RL_ITEM_WAITS_TO_READ,
                                 .number = waiter.take,
                                 .waited_ms = waiter.waited_ms,
                                 .node = waiter.node};
        set_who(item, waiter.holder);
        snprintf(item->id, sizeof item->id, "%s", waiter.client);
    } else if (i < RL_READERS_MAX && redlock_query_reader(query, i, &reader) == 0) {
        *item = (struct rl_item){.kind = RL_ITEM_READER,
                                 .votes = (uint32_t)reader.votes,
                                 .left_ms = reader.remaining_ms,
                                 .is_held = reader.remaining_ms != 0};
        set_token(item, reader.token, reader.holder, NULL, 0);
    } else if (redlock_query_slot(query, i, &slot) == 0) {
        *item = (struct rl_item){.kind = RL_ITEM_SLOT,
                                 .number = (uint32_t)slot.number,
                                 .votes = (uint32_t)slot.votes,
                                 .left_ms = slot.remaining_ms,
                                 .fence = slot.fence,
                                 .is_held = !slot.is_reserved && slot.remaining_ms != 0,
                                 .is_reserved = slot.is_reserved != 0};
        set_token(item, slot.token, slot.holder, &slot.number, 1);
    } else {
        return false;
    }
    return true;
}

static void take_items(struct rl_part *part, const redlock_query *query) {
    struct rl_item item;
    while (take_item(query, part->n, &item)) {
        part->items = rl_must_grow(part->items, part->n, &part->room, sizeof *part->items);
        part->items[part->n++] = item;
        part->held += item.is_held;
        part->reserved += item.is_reserved;
        part->writing += item.kind == RL_ITEM_WAITS;
    }
    part->total = redlock_query_waiting(query) + redlock_query_reading(query);
}

/* Notes which nodes did not answer, and why the first of them did not. */
static void take_refusals(struct rl_part *part, const redlock_query *query) {
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    part->refused = 0;
    for (size_t i = 0; redlock_query_node(query, i, &node_holder) == 0; i++) {
        part->refused = part->refused == 0 ? node_holder.status : part->refused;
        part->unanswered[i] = node_holder.status != 0;
        part->n_unanswered += part->unanswered[i];
    }
}

/* The number most nodes report; on a tie, the larger one. */
static int32_t agreed(const struct rl_found *found, size_t n) {
    const int32_t *kept = found->kept;
    int32_t best = 0;
    size_t best_count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < n; j++) {
            count += kept[j] == kept[i];
        }
        bool is_better = count > best_count || (count == best_count && kept[i] > best);
        if (kept[i] > 0 && is_better) {
            best = kept[i];
            best_count = count;
        }
    }
    assert(best >= 0 && best <= REDLOCK_PERMITS_MAX);
    return best;
}

static void count_permits(struct rl_found *found, const redlock_query *query) {
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    size_t n_nodes = 0;
    for (; redlock_query_node(query, n_nodes, &node_holder) == 0; n_nodes++) {
        found->kept[n_nodes] = redlock_query_permits(query, n_nodes);
    }
    found->permits = agreed(found, n_nodes);
    found->free = (size_t)found->permits;
    for (size_t i = 0; i < found->slots.n; i++) {
        found->free -= found->slots.items[i].number < (uint32_t)found->permits;
    }
}

static void on_listed(redlock_query *query, int status, void *data) {
    struct rl_part *part = data;
    struct rl_found *found = part->found;
    const bool is_line = part == &found->line || part == &found->permits_line;
    take_items(part, query);
    take_refusals(part, query);
    part->is_known = status == 0 || (is_line && part->n > 0);
    if (part == &found->slots) {
        count_permits(found, query);
    } else if (part == &found->readers && part->is_known && part->held == 0) {
        found->look.is_held &= !found->look.is_shared; /* the readers' keys are left-overs */
    }
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

/* If the name is longer than 1005 bytes, the key of its notes is longer than a resource may be:
 * then it has no notes. */
static void ask_for_kicks(struct rl_found *found) {
    char key[RL_KICK_KEY_MAX];
    const size_t length = rl_kick_key(found->look.key, key);
    found->out += redlock_query_holder(found->client, key, length, on_kicks_looked, found) == 0;
}

typedef int ask_cb(redlock_client *client, const void *resource, size_t length, size_t max,
                   redlock_query_cb on_done, void *data);

static void ask_for(struct rl_part *part, ask_cb *query, size_t max) {
    struct rl_found *found = part->found;
    const redlock_bytes key = found->look.key;
    part->refused = query(found->client, key.data, key.length, max, on_listed, part);
    found->out += part->refused == 0;
}

static void on_looked(redlock_query *query, int status, void *data) {
    struct rl_found *found = data;
    const struct rl_look *look = &found->look;
    bool is_read = false;
    found->status = status;
    take_holder(&found->look, found->client, query);
    for (size_t i = 0; i < look->n; i++) {
        is_read |= look->node_holders[i].s.is_shared != 0;
    }
    if (is_read && found->asks_readers) {
        ask_for(&found->readers, redlock_query_readers, RL_READERS_MAX);
    }
    part_done(found);
}

/* Empties the part, but keeps its memory. */
static struct rl_part emptied(struct rl_found *found, const struct rl_part *part) {
    return (struct rl_part){.found = found, .items = part->items, .room = part->room};
}

int rl_found_ask(struct rl_found *found, redlock_client *client, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data) {
    *found = (struct rl_found){.client = client,
                               .on_done = on_done,
                               .data = data,
                               .asks_readers = parts.readers,
                               .look.key = key,
                               .readers = emptied(found, &found->readers),
                               .line = emptied(found, &found->line),
                               .slots = emptied(found, &found->slots),
                               .permits_line = emptied(found, &found->permits_line)};
    tool_utf8_clean(key.data, key.length, found->look.shown, sizeof found->look.shown);
    int status = redlock_query_holder(client, key.data, key.length, on_looked, found);
    if (status != 0) {
        return status;
    }
    found->out = 1;
    if (parts.line) {
        ask_for(&found->line, redlock_query_waiters, RL_LINE_MAX);
    }
    if (parts.permits) {
        ask_for(&found->slots, redlock_query_slots, REDLOCK_PERMITS_MAX);
        ask_for(&found->permits_line, redlock_query_permit_waiters, RL_LINE_MAX);
    }
    if (parts.kicks) {
        ask_for_kicks(found);
    }
    return 0;
}

void rl_found_free(struct rl_found *found) {
    free(found->readers.items);
    free(found->line.items);
    free(found->slots.items);
    free(found->permits_line.items);
}

bool rl_found_has_lock(const struct rl_found *found) {
    return found->line.n + found->look.having + found->look.reserved > 0;
}

bool rl_found_has_permits(const struct rl_found *found) {
    return found->slots.n > 0 || found->permits_line.n > 0 || found->permits > 0;
}
