/* redlock ls: lists all locks of the nodes.
 *
 * Happy path: all nodes are read at once (scan/scan.c). It prints tables of locks, left-over
 * tokens, other libraries' keys and kicks, and how much of each node was read; or, as JSON, one
 * object per line for each lock and each node, and a summary.
 *
 *     {"kind": "lock", "key": ..., "held": true, "mode": "exclusive", "votes": 5, ...}
 *     {"kind": "node", "node": "10.0.0.1:6379", "read": true, ...}
 *     {"kind": "summary", ...}
 *
 * Failure modes: nodes that are down, or forbid reading, are named at the end. Fewer than a quorum
 * were read: RL_EXIT_NO_QUORUM; the rest is still shown. */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kick/room.h"
#include "say.h"
#include "scan/room.h"
#include "token.h"
#include "tool/json.h"

static const char *const kinds[RL_LOCK_CLASSES] = {
    [RL_LOCK_HELD] = "lock",       [RL_LOCK_FREE] = "lock",     [RL_LOCK_LEFTOVER] = "leftover",
    [RL_LOCK_FOREIGN] = "foreign", [RL_LOCK_KICKED] = "kicked", [RL_LOCK_STRAY] = "stray",
};
static const char *const standings[] = {
    [RL_NODE_VOTES] = "votes",
    [RL_NODE_IN_QUARANTINE] = "quarantine",
    [RL_NODE_UNFIT] = "unfit",
    [RL_NODE_UNKNOWN] = "unknown",
};

static void holdings_json(struct tool_json *json, const struct rl_lock *lock) {
    tool_json_open(json, "holders", '[');
    for (size_t i = 0; i < lock->n_holdings; i++) {
        const struct rl_holding *h = &lock->holdings[i];
        const bool is_ours = h->token[0] != '\0';
        tool_json_object(
            json, NULL, JSON_TEXT_OR_NULL(is_ours ? "holder" : "value", h->holder),
            JSON_IF(is_ours, JSON_TEXT("token", rl_token_show(NULL, 0, h->token, h->holder))),
            JSON_IF(h->slot >= 0, JSON_INT("slot", h->slot)), JSON_INT("votes", h->votes),
            JSON_BOOL("held", h->has_quorum), JSON_INT("remaining_ms", h->remaining_ms),
            JSON_KNOWN(h->fence > 0, INT, "fence", h->fence),
            JSON_KNOWN(h->age_ms >= 0, INT, "age_ms", h->age_ms));
    }
    tool_json_close(json);
}

static void kicks_json(struct tool_json *json, const struct rl_lock *lock) {
    tool_json_open(json, "kicks", '[');
    for (size_t i = lock->kicks != NULL ? lock->kicks->n : 0; i > 0; i--) { /* the oldest first */
        tool_json_object(json, NULL, RL_KICK_NOTE_JSON(&lock->kicks->notes[i - 1]));
    }
    tool_json_close(json);
}

/* The nodes that have a key of the lock but do not decide about it. */
static void strays_json(struct tool_json *json, const struct rl_sweep *sweep,
                        const struct rl_lock *lock) {
    tool_json_open(json, "strays", '[');
    for (size_t i = 0; i < sweep->n; i++) {
        if (lock->strays & rl_bit((uint32_t)i)) {
            tool_json_put(json, JSON_TEXT(NULL, sweep->nodes[i].wire->url.name));
        }
    }
    tool_json_close(json);
}

static void lock_json(const struct rl_sweep *sweep, const struct rl_lock *lock) {
    const bool is_held = lock->n_holdings > 0 && lock->holdings[0].has_quorum;
    const bool is_foreign = lock->class == RL_LOCK_FOREIGN;
    const char *colon = strchr(lock->next, ':'); /* after the place */
    struct tool_json json =
        tool_json_begin(stdout, JSON_TEXT("kind", kinds[lock->class]),
                        JSON_BYTES("key", lock->name, lock->length), JSON_BOOL("held", is_held),
                        JSON_KNOWN(!is_foreign, TEXT, "mode", rl_cells_mode(lock->mode)),
                        JSON_IF(lock->mode == RL_LOCK_PERMITS,
                                JSON_KNOWN(lock->permits > 0, INT, "permits", lock->permits)),
                        JSON_INT("votes", lock->votes), JSON_INT("nodes", lock->nodes),
                        JSON_INT("quorum", lock->needed), JSON_INT("holding", lock->holders));
    holdings_json(&json, lock);
    tool_json_put(&json, JSON_KNOWN(lock->fence > 0, INT, "fence", lock->fence),
                  JSON_KNOWN(lock->age_ms >= 0, INT, "age_ms", lock->age_ms),
                  JSON_INT("remaining_ms", lock->remaining_ms), JSON_INT("waiting", lock->waiting),
                  JSON_INT("waiting_to_read", lock->waiting_shared),
                  JSON_INT("longest_wait_ms", lock->waited_ms),
                  JSON_KNOWN(colon != NULL, TEXT, "longest_waiter", rl_text_clean(colon + 1, 192)),
                  JSON_TEXT_OR_NULL("set", lock->set));
    strays_json(&json, sweep, lock);
    kicks_json(&json, lock);
    tool_json_end(&json);
}

static void print_node_json(const struct rl_sweep *sweep, size_t i) {
    const struct rl_seen_node *node = &sweep->nodes[i];
    const bool is_up = node->is_up, has_info = is_up && node->has_info;
    const bool has_clock = is_up && node->clock.is_known;
    tool_json_line(stdout, JSON_TEXT("kind", "node"), JSON_TEXT("node", node->wire->url.name),
                   JSON_BOOL("up", is_up), JSON_BOOL("read", node->is_whole),
                   JSON_BOOL("complete", node->is_whole && !node->is_cut),
                   JSON_TEXT_OR_NULL("why", node->why),
                   JSON_IF(is_up, JSON_INT("keys", node->keys)),
                   JSON_IF(is_up, JSON_INT("other_keys", node->others)),
                   JSON_IF(is_up, JSON_INT("refused_keys", node->refused)),
                   JSON_IF(is_up, JSON_INT("scan_calls", node->calls)),
                   JSON_IF(is_up, JSON_REAL("took_ms", node->took_ms)),
                   JSON_IF(is_up, JSON_TEXT("standing", standings[node->standing])),
                   JSON_IF(is_up, JSON_INT("votes_in_ms", node->votes_in_ms)),
                   JSON_IF(has_clock, JSON_REAL("latency_ms", node->clock.latency_ms)),
                   JSON_IF(has_clock, JSON_REAL("clock_ahead_ms", node->clock.ahead_ms)),
                   JSON_IF(has_info, JSON_TEXT("server", node->info.server)),
                   JSON_IF(has_info, JSON_TEXT("version", node->info.version)),
                   JSON_IF(has_info, JSON_INT("uptime_s", node->info.uptime_s)),
                   JSON_IF(has_info, JSON_INT("memory_bytes", node->info.used_memory)),
                   JSON_IF(has_info, JSON_INT("commands_per_s", node->info.commands_per_s)),
                   JSON_BOOL("member", node->is_member),
                   JSON_TEXT_OR_NULL("set", rl_members_set_at(sweep->members, (uint32_t)i)));
}

static void print_json(const struct rl_sweep *sweep, bool waiting) {
    const struct rl_list *list = &sweep->list;
    for (size_t i = 0; i < list->n; i++) {
        if (!waiting || list->locks[i].waiting > 0) {
            lock_json(sweep, &list->locks[i]);
        }
    }
    for (size_t i = 0; i < sweep->n; i++) {
        print_node_json(sweep, i);
    }
    tool_json_line(
        stdout, JSON_TEXT("kind", "summary"), JSON_INT("locks", list->counts[RL_LOCK_HELD]),
        JSON_INT("leftovers", list->counts[RL_LOCK_LEFTOVER]),
        JSON_INT("foreign", list->counts[RL_LOCK_FOREIGN]), JSON_INT("waiting", list->waiting),
        JSON_INT("nodes", sweep->n), JSON_INT("nodes_read", sweep->whole),
        JSON_INT("quorum", rl_members_needed(sweep->members)),
        JSON_REAL("took_ms", sweep->took_ms));
}

#define WIDTH_MAX 40 /* of a column */

/* Whether the lock belongs in the table of this class. */
static bool is_in(const struct rl_lock *lock, enum rl_lock_class class, bool waiting) {
    bool is_of = lock->class == class || (class == RL_LOCK_HELD && lock->class == RL_LOCK_FREE);
    return is_of && (!waiting || lock->waiting > 0);
}

/* Prints the table of a class, without empty columns. before: number of rows of earlier tables.
 * Returns its number of rows. */
static size_t print_class(const struct rl_sweep *sweep, enum rl_lock_class class, bool waiting,
                          size_t before, const char *title, struct rl_cells *cells) {
    struct rl_table table = {
        .heads = "resource\t?set\t?mode\t?holder\t?votes\t?fence\t?age\t?left\t?waiting\t?longest",
        .max = WIDTH_MAX};
    size_t rows = 0;
    const char **text = cells->text;
    for (size_t i = 0; i < sweep->list.n; i++) {
        const struct rl_lock *lock = &sweep->list.locks[i];
        if (is_in(lock, class, waiting)) {
            rows++;
            rl_cells_fill(cells, lock);
            rl_table_row(&table, "%s\t%s\t%s\t%s\t%s%s\t%s\t%s\t%s\t%s\t%s", cells->name,
                         text[RL_CELL_SET], text[RL_CELL_MODE], text[RL_CELL_HOLDER],
                         lock->votes < lock->nodes ? RL_CELL_WARN : "", text[RL_CELL_VOTES],
                         text[RL_CELL_FENCE], text[RL_CELL_AGE], text[RL_CELL_LEFT],
                         text[RL_CELL_WAITING], text[RL_CELL_LONGEST]);
        }
    }
    if (rows > 0) {
        printf("%s%s", before > 0 ? "\n" : "", title);
        rl_table_print(&table);
    }
    return rows;
}

static void print_kicks(const struct rl_sweep *sweep) {
    bool is_first = true;
    for (size_t i = 0; i < sweep->list.n; i++) {
        const struct rl_lock *lock = &sweep->list.locks[i];
        for (size_t k = lock->kicks != NULL ? lock->kicks->n : 0; k > 0; k--) {
            printf("%s%s: %s\n", is_first ? "\nkicked in the last day\n" : "",
                   rl_text_bytes(lock->name, lock->length, RL_CELL_NAME_MAX),
                   rl_kick_note_say(&lock->kicks->notes[k - 1]));
            is_first = false;
        }
    }
}

/* Keys on nodes where they do not count: the lock has moved, or a client chose the nodes by other
 * rules. */
static void print_strays(const struct rl_sweep *sweep) {
    bool is_first = true;
    for (size_t i = 0; i < sweep->list.n; i++) {
        const struct rl_lock *lock = &sweep->list.locks[i];
        if (lock->strays == 0) {
            continue;
        }
        printf(
            "%s%s:", is_first ? "\nkeys on nodes outside of their set, which have no vote\n" : "",
            rl_text_bytes(lock->name, lock->length, RL_CELL_NAME_MAX));
        for (size_t node = 0; node < sweep->n; node++) {
            if (lock->strays & rl_bit((uint32_t)node)) {
                printf(" %s", sweep->nodes[node].wire->url.name);
            }
        }
        printf("\n");
        is_first = false;
    }
}

/* -- How much was seen -- */

static void print_node(const struct rl_seen_node *node) {
    const char *name = node->wire->url.name;
    if (!node->is_up || !node->is_whole) {
        bool is_forbidden = strncmp(node->why, "NOPERM", 6) == 0;
        printf("  %s: %s: %s%s\n", name, node->is_up ? "not all was read" : "not read", node->why,
               is_forbidden ? "; redlock doctor --acl NAME prints what a user needs" : "");
    } else if (node->is_cut) {
        printf("  %s: read %" PRIu64 " keys and stopped there, see --max-keys", name, node->keys);
        if (node->stored >= 0) {
            printf("; it has %" PRId64, node->stored);
        }
        printf("\n");
    }
    if (node->refused > 0) {
        printf("  %s: %" PRIu64 " keys are not for this user to read: %s\n", name, node->refused,
               node->refusal);
    }
    if (!node->is_member) {
        printf("  %s: it is not in a set\n", name);
    }
}

static void print_sum(const struct rl_sweep *sweep) {
    const size_t *counts = sweep->list.counts;
    uint64_t least = UINT64_MAX, most = 0, others = 0;
    for (size_t i = 0; i < sweep->n; i++) {
        const struct rl_seen_node *node = &sweep->nodes[i];
        least = node->is_whole && node->keys < least ? node->keys : least;
        most = node->is_whole && node->keys > most ? node->keys : most;
        others = node->is_whole && node->others > others ? node->others : others;
    }
    printf("%s held, %s wait%s; ", rl_say_count(counts[RL_LOCK_HELD], "lock"),
           rl_say_count(sweep->list.waiting, "client"), sweep->list.waiting == 1 ? "s" : "");
    printf("read %zu of %zu nodes", sweep->whole, sweep->n);
    if (sweep->whole > 0 && least < most) {
        printf(", %" PRIu64 " to %" PRIu64 " keys each", least, most);
    } else if (sweep->whole > 0) {
        printf(", %s each", rl_say_count(most, "key"));
    }
    if (others > 0) {
        printf(" (up to %" PRIu64 " that are no locks)", others);
    }
    printf(", in %s\n", rl_say_duration(sweep->took_ms));
    for (size_t i = 0; i < sweep->n; i++) {
        print_node(&sweep->nodes[i]);
    }
    if (sweep->are_divided) {
        printf(
            "  these nodes belong to different sets, where clients get no votes: name the nodes of "
            "one\n");
    }
}

static void print_tables(const struct rl_sweep *sweep, bool waiting) {
    struct rl_cells *cells = rl_must_alloc(1, sizeof *cells);
    size_t rows = print_class(sweep, RL_LOCK_HELD, waiting, 0, "", cells);
    rows += print_class(sweep, RL_LOCK_LEFTOVER, waiting, rows,
                        "without a quorum: left over, or just being acquired\n", cells);
    rows += print_class(sweep, RL_LOCK_FOREIGN, waiting, rows, "of other libraries\n", cells);
    if (!waiting) {
        print_strays(sweep);
        print_kicks(sweep);
    }
    printf("%s", rows > 0 ? "\n" : "");
    print_sum(sweep);
    free(cells);
}

#define SAMPLES 3 /* of a node's clock, one after the other */

static int show(struct rl_sweep *sweep, void *data) {
    const struct rl_args *args = data;
    rl_list_sort(&sweep->list, (enum rl_list_order)args->sort);
    if (args->json) {
        print_json(sweep, args->waiting);
    } else {
        print_tables(sweep, args->waiting);
    }
    return rl_sweep_has_quorum(sweep, " to see who holds a lock") ? RL_EXIT_OK : RL_EXIT_NO_QUORUM;
}

int rl_cmd_ls(struct rl_args *args) {
    return rl_scan_once(args, SAMPLES, show, args);
}

struct names {
    void (*each)(void *data, const char *name, size_t length);
    void *data;
};

static int name_all(struct rl_sweep *sweep, void *data) {
    const struct names *names = data;
    const struct rl_lock *last = NULL; /* a lock and a semaphore may have one name */
    for (size_t i = 0; i < sweep->list.n; i++) {
        const struct rl_lock *lock = &sweep->list.locks[i];
        bool is_again = last != NULL && last->length == lock->length &&
                        memcmp(last->name, lock->name, lock->length) == 0;
        if (lock->class < RL_LOCK_KICKED && !is_again) {
            names->each(names->data, lock->name, lock->length);
            last = lock;
        }
    }
    return RL_EXIT_OK;
}

int rl_ls_names(struct rl_args *args, void (*each)(void *data, const char *name, size_t length),
                void *data) {
    struct names names = {each, data};
    return rl_scan_once(args, 1, name_all, &names);
}
