/* See line_show.h. */
#include "line_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "say.h"
#include "tool/utf8.h"

#define LATENCY_WIDTH 10

bool rl_node_print(const struct rl_look_node *node, int width) {
    printf("  %-*s", width, node->s.node);
    if (node->s.status != 0) {
        rl_say_painted(RL_PAINT_BAD, node->why, 0);
        printf("\n");
    }
    return node->s.status == 0;
}

void rl_node_print_latency(const struct rl_look_node *node) {
    char latency[32], votes_in[32], vote[64];
    rl_say_duration(node->s.latency_us / 1e3, latency, sizeof latency);
    if (node->votes_in_ms > 0) {
        printf("%-*s", LATENCY_WIDTH, latency);
        snprintf(vote, sizeof vote, "votes in %s",
                 rl_say_duration((double)node->votes_in_ms, votes_in, sizeof votes_in));
        rl_say_painted(RL_PAINT_WARN, vote, 0);
    } else {
        printf("%s", latency);
    }
    printf("\n");
}

/* Without a quorum of answers the first line has already said so. */
static void print_unknown(const struct rl_line *line, const struct rl_look *look,
                          const char *what) {
    if (!line->is_known && look->is_answered) {
        printf("\n  %s is not known: %s\n", what, redlock_strerror(line->refused));
    }
}

/* numbered: in the order in which they are served; readers are served together. */
static void print_place(const struct rl_line *line, size_t index, bool is_numbered) {
    const struct rl_line_place *place = &line->places[index];
    const bool is_elsewhere = place->node != line->places[0].node;
    char waited[32], name[RL_LINE_WHO_MAX], number[32] = "  -", wants[48] = "for";
    if (is_numbered) {
        snprintf(number, sizeof number, "%3zu.", index + 1);
    }
    if (place->take > 0) {
        snprintf(wants, sizeof wants, "wants %" PRIu32 ", has waited", place->take);
    }
    printf("  %s %s%s %s %s%s%s\n", number, rl_line_who(place, name), place->take > 0 ? "" : ",",
           wants, rl_say_duration((double)place->waited_ms, waited, sizeof waited),
           is_elsewhere ? ", in another line, on " : "", is_elsewhere ? place->node : "");
}

static void print_places(const struct rl_line *line, size_t from, size_t to, size_t waiting,
                         const char *what, bool is_numbered) {
    if (from < to) {
        printf("\n  %zu client%s wait%s%s:\n", waiting, rl_say_plural(waiting),
               waiting == 1 ? "s" : "", what);
    }
    for (size_t i = from; i < to; i++) {
        print_place(line, i, is_numbered);
    }
}

static void print_more(const struct rl_line *line) {
    if (line->n > 0 && line->waiting > line->n) {
        printf("       and %zu more\n", line->waiting - line->n);
    }
}

void rl_line_print(const struct rl_line *line, const struct rl_look *look) {
    size_t writing, reading;
    rl_line_count(line, &writing, &reading);
    print_unknown(line, look, "who waits");
    print_places(line, 0, line->writing, writing, ", the next one first", true);
    print_places(line, line->writing, line->n, reading, " to read", false);
    print_more(line);
}

static void print_permits_line(const struct rl_line *line, const struct rl_look *look) {
    print_unknown(line, look, "who waits for permits");
    print_places(line, 0, line->n, line->waiting, " for permits, the next one first", true);
    print_more(line);
}

/* -- JSON -- */

static void places_json(struct tool_json *json, const char *key, const struct rl_line *line) {
    tool_json_open(json, key, '[');
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_line_place *place = &line->places[i];
        const bool is_permit = place->take > 0;
        tool_json_object(json, NULL, JSON_TEXT_OR_NULL("holder", place->who),
                         JSON_TEXT_OR_NULL("client", place->client),
                         JSON_IF(!is_permit, JSON_INT("waited_ms", place->waited_ms)),
                         JSON_TEXT("node", place->node),
                         JSON_IF(!is_permit, JSON_BOOL("shared", i >= line->writing)),
                         JSON_IF(is_permit, JSON_INT("take", place->take)),
                         JSON_IF(is_permit, JSON_INT("waited_ms", place->waited_ms)));
    }
    tool_json_close(json, ']');
}

void rl_line_json(struct tool_json *json, const struct rl_line *line) {
    tool_json_put(json, JSON_KNOWN(line->is_known, INT, "waiting", line->waiting));
    places_json(json, "waiters", line);
}

#define HOLDER_WIDTH_MAX 36 /* with a fence behind it the row has 80 columns */
#define NODE_WIDTH_MAX 40
#define SLOT_WIDTH 6
#define VOTES_WIDTH 7
#define LEFT_WIDTH 9
#define PERMITS_WIDTH 9

/* -- Its screen -- */

static void print_head(const struct rl_permits *permits, const struct rl_look *look) {
    char key[256];
    const size_t quorum = look->needed, odd = permits->n - permits->held - permits->reserved;
    tool_utf8_clean(look->key.data, look->key.length, key, sizeof key);
    if (!permits->is_known) {
        printf("%s: permits are not known, %zu of %zu nodes answer (%zu needed)\n", key,
               permits->answered, look->n, quorum);
        return;
    }
    if (permits->permits > 0) {
        printf("%s: %zu of %" PRId32 " permit%s held", key, permits->held, permits->permits,
               rl_say_plural((size_t)permits->permits));
    } else {
        printf("%s: %zu permit%s held", key, permits->held, rl_say_plural(permits->held));
    }
    if (permits->reserved > 0) {
        printf(", %zu reserved", permits->reserved);
    }
    if (odd > 0) {
        printf(", %zu without a quorum", odd);
    }
    if (permits->permits > 0) {
        printf(", %zu free", permits->free);
    }
    printf(" (%zu of %zu nodes needed)\n", quorum, look->n);
}

static const char *holder_text(const struct rl_permit *slot) {
    if (slot->is_reserved) {
        return "reserved";
    }
    return slot->who[0] != '\0' ? slot->who : "no name";
}

static void print_slot(const struct rl_permit *slot, const struct rl_look *look, int holder_width) {
    char votes[32], left[32] = "-", fence[32] = "-";
    snprintf(votes, sizeof votes, "%zu/%zu", slot->votes, look->n);
    if (slot->remaining_ms != 0) {
        rl_say_duration(slot->remaining_ms > 0 ? (double)slot->remaining_ms : 0, left, sizeof left);
    }
    if (slot->fence > 0) {
        snprintf(fence, sizeof fence, "%" PRIu64, slot->fence);
    }
    printf("  %-*" PRId32, SLOT_WIDTH, slot->number);
    rl_say_painted(RL_PAINT_NONE, holder_text(slot), holder_width);
    rl_say_painted(slot->is_held || slot->is_reserved ? RL_PAINT_NONE : RL_PAINT_WARN, votes,
                   VOTES_WIDTH);
    printf("%-*s%s\n", LEFT_WIDTH, slot->remaining_ms < 0 ? "for ever" : left, fence);
}

static void print_slots(const struct rl_permits *permits, const struct rl_look *look) {
    int holder_width = 10;
    const size_t listed = permits->n < RL_PERMITS_LISTED_MAX ? permits->n : RL_PERMITS_LISTED_MAX;
    for (size_t i = 0; i < listed; i++) {
        holder_width =
            rl_say_widen(holder_width, holder_text(&permits->slots[i]), HOLDER_WIDTH_MAX);
    }
    holder_width += 2;
    if (listed > 0) {
        printf("\n  %-*s%-*s%-*s%-*sfence\n", SLOT_WIDTH, "slot", holder_width, "holder",
               VOTES_WIDTH, "votes", LEFT_WIDTH, "left");
    }
    for (size_t i = 0; i < listed; i++) {
        print_slot(&permits->slots[i], look, holder_width);
    }
    if (permits->n > listed) {
        printf("  and %zu more; --json has all\n", permits->n - listed);
    }
}

/* Reports oddities of the number of permits. */
static void print_remarks(const struct rl_permits *permits, const struct rl_look *look) {
    size_t above = 0;
    char text[160];
    for (size_t i = 0; i < look->n; i++) {
        if (permits->kept[i] > 0 && permits->kept[i] != permits->permits) {
            snprintf(text, sizeof text, "%.80s has another number of permits: %" PRId32,
                     look->node_holders[i].s.node, permits->kept[i]);
            printf("\n  ");
            rl_say_painted(RL_PAINT_WARN, text, 0);
            printf("\n");
        }
    }
    for (size_t i = 0; i < permits->n && permits->permits > 0; i++) {
        above += permits->slots[i].number >= permits->permits;
    }
    if (above > 0) {
        printf("\n  the number was lowered: %zu slot%s above it %s no longer granted once free\n",
               above, rl_say_plural(above), above == 1 ? "is" : "are");
    }
    if (permits->is_known && permits->permits == 0 && permits->n > 0) {
        printf("\n  no node knows how many there are: the last acquire was over a day ago\n");
    }
}

static void print_node(const struct rl_permits *permits, const struct rl_look *look, size_t index,
                       int node_width) {
    const int32_t kept = permits->kept[index];
    char number[32] = "-";
    if (!rl_node_print(&look->node_holders[index], node_width)) {
        return;
    }
    if (kept > 0) {
        snprintf(number, sizeof number, "%" PRId32, kept);
    }
    bool is_odd = kept > 0 && kept != permits->permits;
    rl_say_painted(is_odd ? RL_PAINT_WARN : RL_PAINT_NONE, number, PERMITS_WIDTH);
    rl_node_print_latency(&look->node_holders[index]);
}

void rl_permits_print(const struct rl_permits *permits, const struct rl_line *line,
                      const struct rl_look *look, bool has_nodes) {
    int node_width = 4;
    for (size_t i = 0; i < look->n; i++) {
        node_width = rl_say_widen(node_width, look->node_holders[i].s.node, NODE_WIDTH_MAX);
    }
    node_width += 2;
    print_head(permits, look);
    print_slots(permits, look);
    print_remarks(permits, look);
    print_permits_line(line, look);
    if (!has_nodes) {
        printf("\n  %-*s%-*s%s\n", node_width, "node", PERMITS_WIDTH, "permits", "latency");
    }
    for (size_t i = 0; i < look->n && !has_nodes; i++) {
        print_node(permits, look, i, node_width);
    }
}

/* -- JSON -- */

void rl_permits_json(struct tool_json *json, const struct rl_permits *permits,
                     const struct rl_line *line) {
    const bool has_number = permits->is_known && permits->permits > 0;
    tool_json_put(json, JSON_KNOWN(has_number, INT, "permits", permits->permits),
                  JSON_KNOWN(has_number, INT, "permits_free", permits->free),
                  JSON_KNOWN(permits->is_known, INT, "permits_held", permits->held));
    tool_json_open(json, "slots", '[');
    for (size_t i = 0; i < permits->n; i++) {
        const struct rl_permit *slot = &permits->slots[i];
        tool_json_object(json, NULL, JSON_INT("slot", slot->number),
                         JSON_BOOL("held", slot->is_held), JSON_BOOL("reserved", slot->is_reserved),
                         JSON_TEXT_OR_NULL("holder", slot->who),
                         JSON_TEXT_OR_NULL("token", slot->token), JSON_INT("votes", slot->votes),
                         JSON_INT("remaining_ms", slot->remaining_ms),
                         JSON_KNOWN(slot->fence > 0, INT, "fence", slot->fence));
    }
    tool_json_close(json, ']');
    tool_json_put(json, JSON_KNOWN(line->is_known, INT, "permits_waiting", line->waiting));
    places_json(json, "permits_waiters", line);
}
