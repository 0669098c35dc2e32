/* redlock status: the holder of a lock, or of permits of a semaphore, node by node, and whether it
 * has a quorum.
 *
 * Happy path: it asks every node for every key, and prints a table for each key, or one line of
 * JSON. For a semaphore:
 *
 *     uploads: 2 of 5 permits held, 3 free (each on 3 of 5 nodes)
 *
 *       slot  holder       votes  left     fence
 *       0     web1:4711    5/5    25 s     -
 *       3     web2:912     4/5    3.1 s    1795246000000001
 *
 *       1 client waits for permits, the next one first:
 *         1. web3:5310 wants 2, has waited 3.1 s
 *
 *       node            permits  latency
 *       127.0.0.1:7001  5        0.21 ms
 *
 * Failure modes: the table shows why a node did not answer; fewer answers than a quorum end with
 * RL_EXIT_NO_QUORUM, whatever they are. Nodes that keep a different number of permits are named,
 * and so is the node of a client that waits at a different node than the first client. Entries
 * beyond the listed ones are counted. The output may be outdated when it is shown. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kick/room.h"
#include "say.h"
#include "session/room.h"
#include "tool/json.h"

#define WIDTH_MAX 40             /* fits a UUID in quotes */
#define SLOT_HOLDER_WIDTH_MAX 36 /* with a fence, the row then has 80 columns */
#define SLOTS_LISTED_MAX 200     /* on the screen; JSON has all */

/* -- The nodes -- */

/* Adds a node's row: its name, these cells, its latency, and when it will vote if it does not yet.
 * If it did not answer, the reason. */
static void add_node(struct rl_table *table, const struct rl_look_node *node, const char *what) {
    const char *vote = "";
    if (node->s.status != 0) {
        rl_table_row(table, "%s\t" RL_CELL_BAD "%s", node->s.node, node->why);
        return;
    }
    if (node->votes_in_ms > 0) {
        vote = rl_text(RL_CELL_WARN "votes in %s", rl_say_ms(node->votes_in_ms));
    }
    rl_table_row(table, "%s\t%s\t%s\t%s", node->s.node, what,
                 rl_say_duration(node->s.latency_us / 1e3), vote);
}

/* -- Who waits -- */

/* Silent without a quorum of answers: the first line has already said so. */
static void print_unknown(const struct rl_part *line, const struct rl_look *look, const char *who,
                          const char *what) {
    if (!line->is_known && look->is_answered) {
        printf("\n  %s%s is not known: %s\n", who, what, redlock_strerror(line->refused));
    }
}

/* Places are numbered if they are served in this order; readers are served together. */
static void print_place(const struct rl_part *line, size_t index) {
    const struct rl_item *place = &line->items[index];
    const bool is_elsewhere = place->node != line->items[0].node;
    const bool wants_permits = place->kind == RL_ITEM_WAITS_FOR_PERMITS;
    printf("  %s %s%s %s%s%s\n",
           place->kind == RL_ITEM_WAITS_TO_READ ? "  -" : rl_text("%3zu.", index + 1),
           rl_item_who(place),
           wants_permits ? rl_text(" wants %" PRIu32 ", has waited", place->number) : ", for",
           rl_say_ms(place->waited_ms), is_elsewhere ? ", in another line, on " : "",
           is_elsewhere ? place->node : "");
}

/* what: "" or " for permits". */
static void print_line(const struct rl_part *line, const struct rl_look *look, const char *what) {
    size_t writing, others;
    rl_line_count(line, &writing, &others);
    print_unknown(line, look, "who waits", what);
    for (size_t i = 0; i < line->n; i++) {
        const size_t waiting = i < line->writing ? writing : others;
        const bool reads = line->items[i].kind == RL_ITEM_WAITS_TO_READ;
        if (i == 0 || i == line->writing) {
            printf("\n  %s wait%s%s%s:\n", rl_say_count(waiting, "client"), waiting == 1 ? "s" : "",
                   reads ? " to read" : what, reads ? "" : ", the next one first");
        }
        print_place(line, i);
    }
    if (line->n > 0 && line->total > line->n) {
        printf("       and %zu more\n", line->total - line->n);
    }
}

/* -- Who has it -- */

static const char *held_by(const struct rl_found *found) {
    const struct rl_part *readers = &found->readers;
    if (!found->look.is_shared || !readers->is_known) {
        return rl_look_name(&found->look);
    }
    return rl_text("%s%s", readers->total > readers->n ? "at least " : "",
                   rl_say_count(readers->held, "reader"));
}

static void print_lock_head(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    const char *key = look->shown;
    if (look->is_held) {
        printf("%s: held by %s %s, on %zu of %zu nodes (%zu needed)\n", key, held_by(found),
               rl_look_left(look, 0), look->holding, look->n, look->needed);
    } else if (!look->is_answered) {
        printf("%s: not known, %zu of %zu nodes answer (%zu needed)\n", key, look->answered,
               look->n, look->needed);
    } else if (look->reserved_ms > 0) {
        printf("%s: just released, and kept for the next client for another %s\n", key,
               rl_say_ms(look->reserved_ms));
    } else if (look->having == 0) {
        printf("%s: free\n", key);
    } else {
        printf("%s: no client has a quorum; keys are left on %zu of %zu nodes\n", key, look->having,
               look->n);
    }
}

static const char *holder_text(const struct rl_look *look, const struct rl_look_node *node_holder) {
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
    int max = WIDTH_MAX - (is_lock ? 2 : (int)strlen("not a lock: "));
    bool is_cut = strlen(node_holder->holder) > (size_t)max;
    return rl_text(is_lock ? "\"%.*s%s\"" : "not a lock: %.*s%s", is_cut ? max - 3 : max,
                   node_holder->holder, is_cut ? "..." : "");
}

/* Prints nothing if there are no readers. */
static void print_readers(const struct rl_found *found) {
    const struct rl_part *readers = &found->readers;
    const struct rl_look *look = &found->look;
    if (look->is_shared) {
        print_unknown(readers, look, "who reads", "");
    }
    if (readers->n > 0) {
        printf("\n  %s read%s:\n", rl_say_count(readers->total, "client"),
               readers->total == 1 ? "s" : "");
    }
    for (size_t i = 0; i < readers->n; i++) {
        const struct rl_item *reader = &readers->items[i];
        printf("    - %s", rl_item_who(reader));
        if (reader->is_held) {
            printf(" for another %s", rl_say_ms(reader->left_ms));
        }
        printf("%s on %" PRIu32 " of %zu nodes%s\n", reader->is_held ? "," : "", reader->votes,
               look->n, reader->is_held ? "" : ": no quorum");
    }
    if (readers->total > readers->n) {
        printf("      and %zu more\n", readers->total - readers->n);
    }
}

static void print_lock(const struct rl_found *found) {
    struct rl_table table = {
        .heads = "node\tholder    \tleft   \tlatency \t?", .indent = 2, .max = WIDTH_MAX};
    const struct rl_look *look = &found->look;
    print_lock_head(found);
    for (size_t i = 0; i < look->n; i++) {
        const struct rl_look_node *seen = &look->node_holders[i];
        const bool is_there = seen->s.is_held || seen->s.is_reserved;
        add_node(&table, seen,
                 rl_text("%s\t%s", holder_text(look, seen),
                         is_there ? rl_say_ms(seen->s.remaining_ms) : ""));
    }
    printf("\n");
    rl_table_print(&table);
    print_readers(found);
    print_line(&found->line, look, "");
}

/* -- Permits -- */

static void print_permits_head(const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    const struct rl_part *slots = &found->slots;
    const size_t odd = slots->n - slots->held - slots->reserved;
    if (!slots->is_known) {
        printf("%s: permits are not known, %zu of %zu nodes answer (%zu needed)\n", look->shown,
               look->n - slots->n_unanswered, look->n, look->needed);
        return;
    }
    printf("%s: %zu", look->shown, slots->held);
    if (found->permits > 0) {
        printf(" of %" PRId32, found->permits);
    }
    printf(" permit%s held",
           found->permits == 1 || (slots->held == 1 && found->permits == 0) ? "" : "s");
    if (slots->reserved > 0) {
        printf(", %zu reserved", slots->reserved);
    }
    if (odd > 0) {
        printf(", %zu without a quorum", odd);
    }
    if (found->permits > 0) {
        printf(", %zu free", found->free);
    }
    printf(" (%zu of %zu nodes needed)\n", look->needed, look->n);
}

static void print_slots(const struct rl_part *slots, const struct rl_look *look) {
    struct rl_table table = {.heads = "slot\tholder    \tvotes\tleft   \tfence",
                             .indent = 2,
                             .max = SLOT_HOLDER_WIDTH_MAX};
    const size_t listed = slots->n < SLOTS_LISTED_MAX ? slots->n : SLOTS_LISTED_MAX;
    for (size_t i = 0; i < listed; i++) {
        const struct rl_item *slot = &slots->items[i];
        const char *paint = slot->is_held || slot->is_reserved ? "" : RL_CELL_WARN;
        rl_table_row(&table, "%" PRIu32 "\t%s\t%s%" PRIu32 "/%zu\t%s\t%s", slot->number,
                     slot->is_reserved ? "reserved" : rl_item_who(slot), paint, slot->votes,
                     look->n, slot->left_ms != 0 ? rl_say_ms(slot->left_ms) : "-",
                     slot->fence > 0 ? rl_text("%" PRIu64, slot->fence) : "-");
    }
    if (listed > 0) {
        printf("\n");
        rl_table_print(&table);
    }
    if (slots->n > listed) {
        printf("  and %zu more; --json has all\n", slots->n - listed);
    }
}

/* Prints what is unusual about the number of permits. */
static void print_remarks(const struct rl_found *found) {
    const struct rl_part *slots = &found->slots;
    size_t above = 0;
    for (size_t i = 0; i < found->look.n; i++) {
        if (found->kept[i] > 0 && found->kept[i] != found->permits) {
            printf("\n  ");
            rl_say_painted(RL_PAINT_WARN,
                           rl_text("%.80s has another number of permits: %" PRId32,
                                   found->look.node_holders[i].s.node, found->kept[i]),
                           0);
            printf("\n");
        }
    }
    for (size_t i = 0; i < slots->n && found->permits > 0; i++) {
        above += slots->items[i].number >= (uint32_t)found->permits;
    }
    if (above > 0) {
        printf("\n  the number was lowered: %s above it %s no longer granted once free\n",
               rl_say_count(above, "slot"), above == 1 ? "is" : "are");
    }
    if (slots->is_known && found->permits == 0 && slots->n > 0) {
        printf("\n  no node knows how many there are: the last acquire was over a day ago\n");
    }
}

static void print_kept(const struct rl_found *found) {
    struct rl_table table = {.heads = "node\tpermits\tlatency \t?", .indent = 2, .max = WIDTH_MAX};
    for (size_t i = 0; i < found->look.n; i++) {
        const int32_t kept = found->kept[i];
        const char *paint = kept != found->permits ? RL_CELL_WARN : "";
        add_node(&table, &found->look.node_holders[i],
                 kept > 0 ? rl_text("%s%" PRId32, paint, kept) : "-");
    }
    printf("\n");
    rl_table_print(&table);
}

/* A lock and a semaphore may have the same key; they are independent. */
static void print_screen(const struct rl_found *found, const struct rl_kick_notes *kicks) {
    const bool has_permits = rl_found_has_permits(found);
    const bool shows_lock = !has_permits || rl_found_has_lock(found);
    if (shows_lock) {
        print_lock(found);
    }
    if (has_permits) {
        printf("%s", shows_lock ? "\n" : "");
        print_permits_head(found);
        print_slots(&found->slots, &found->look);
        print_remarks(found);
        print_line(&found->permits_line, &found->look, " for permits");
        if (!shows_lock) { /* else the table of the nodes is on the screen already */
            print_kept(found);
        }
    } else {
        print_unknown(&found->slots, &found->look, "who holds permits", "");
    }
    for (size_t i = 0; i < kicks->n; i++) {
        printf("%s  %s\n", i == 0 ? "\n" : "", rl_kick_note_say(&kicks->notes[i]));
    }
}

/* -- JSON -- */

static void places_json(struct tool_json *json, const char *key, const struct rl_part *line) {
    tool_json_open(json, key, '[');
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_item *place = &line->items[i];
        const bool is_permit = place->kind == RL_ITEM_WAITS_FOR_PERMITS;
        tool_json_object(
            json, NULL, JSON_TEXT_OR_NULL("holder", place->who),
            JSON_TEXT_OR_NULL("client", place->id),
            JSON_IF(!is_permit, JSON_INT("waited_ms", place->waited_ms)),
            JSON_TEXT("node", place->node),
            JSON_IF(!is_permit, JSON_BOOL("shared", place->kind == RL_ITEM_WAITS_TO_READ)),
            JSON_IF(is_permit, JSON_INT("take", place->number)),
            JSON_IF(is_permit, JSON_INT("waited_ms", place->waited_ms)));
    }
    tool_json_close(json);
}

/* Readers, or slots. */
static void holders_json(struct tool_json *json, const char *key, const struct rl_part *part) {
    tool_json_open(json, key, '[');
    for (size_t i = 0; i < part->n; i++) {
        const struct rl_item *item = &part->items[i];
        const bool is_slot = item->kind == RL_ITEM_SLOT;
        tool_json_object(json, NULL, JSON_IF(is_slot, JSON_INT("slot", item->number)),
                         JSON_IF(is_slot, JSON_BOOL("held", item->is_held)),
                         JSON_IF(is_slot, JSON_BOOL("reserved", item->is_reserved)),
                         JSON_TEXT_OR_NULL("holder", item->who),
                         JSON_TEXT_OR_NULL("token", item->token), JSON_INT("votes", item->votes),
                         JSON_INT("remaining_ms", item->left_ms),
                         JSON_IF(is_slot, JSON_KNOWN(item->fence > 0, INT, "fence", item->fence)));
    }
    tool_json_close(json);
}

static void permits_json(struct tool_json *json, const struct rl_found *found) {
    const struct rl_part *slots = &found->slots, *line = &found->permits_line;
    const bool has_number = slots->is_known && found->permits > 0;
    tool_json_put(json, JSON_KNOWN(has_number, INT, "permits", found->permits),
                  JSON_KNOWN(has_number, INT, "permits_free", found->free),
                  JSON_KNOWN(slots->is_known, INT, "permits_held", slots->held));
    holders_json(json, "slots", slots);
    tool_json_put(json, JSON_KNOWN(line->is_known, INT, "permits_waiting", line->total));
    places_json(json, "permits_waiters", line);
}

static void print_json(const struct rl_found *found, const struct rl_kick_notes *kicks) {
    const struct rl_look *look = &found->look;
    struct tool_json json = tool_json_begin(
        stdout, JSON_BYTES("key", look->key.data, look->key.length),
        JSON_BOOL("held", look->is_held), JSON_BOOL("foreign", look->is_foreign),
        JSON_TEXT("holder", look->is_held && look->holder[0] != '\0' ? look->holder : NULL),
        JSON_TEXT_OR_NULL("token", look->token),
        JSON_IF(look->is_held, JSON_INT("remaining_ms", look->remaining_ms)),
        JSON_INT("answered", look->answered), JSON_INT("quorum", look->needed),
        JSON_KNOWN(found->line.is_known, INT, "waiting", found->line.total));
    places_json(&json, "waiters", &found->line);
    tool_json_open(&json, "nodes", '[');
    for (size_t i = 0; i < look->n; i++) {
        const struct rl_look_node *seen = &look->node_holders[i];
        const bool is_known = seen->s.status == 0, is_held = is_known && seen->s.is_held;
        const bool has_ttl = seen->s.is_held || seen->s.is_reserved;
        const int32_t permits = found->kept[i];
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
    tool_json_close(&json);
    tool_json_put(&json, JSON_BOOL("shared", look->is_shared),
                  JSON_KNOWN(!look->is_shared || found->readers.is_known, INT, "reading",
                             found->readers.total));
    holders_json(&json, "readers", &found->readers);
    permits_json(&json, found);
    tool_json_open(&json, "kicks", '[');
    for (size_t i = 0; i < kicks->n; i++) {
        tool_json_object(&json, NULL, RL_KICK_NOTE_JSON(&kicks->notes[i]));
    }
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
    bool is_held = found->look.is_held || found->slots.held > 0;
    return found->status != 0 ? RL_EXIT_NO_QUORUM : is_held ? RL_EXIT_OK : RL_EXIT_HELD;
}

int rl_cmd_status(struct rl_args *args) {
    return args->watch ? rl_cmd_watch(args) : rl_ask_keys(args, show);
}
