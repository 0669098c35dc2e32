/* The state of one key at one moment, as a list: its holder or readers, the slots of a semaphore
 * that are held, and the clients that wait.
 *
 * Happy path: rl_snapshot_take() of the nodes' answers; rl_snapshot_free() at the end.
 *
 * Failure modes: a node did not answer: entries of the previous snapshot that it may know are kept,
 * since a slow node does not mean that a client has left the line. A lock is changing hands: it is
 * unsettled if no client has a quorum, and nodes have or reserve keys of it, or a client was
 * waiting for it. */
#include "watch/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "tool/json.h"

/* Appends a copy of the item. The copy always has an id and a name. */
static void add(struct rl_snapshot *snapshot, const struct rl_item *item) {
    snapshot->items =
        rl_must_grow(snapshot->items, snapshot->n, &snapshot->room, sizeof *snapshot->items);
    struct rl_item *added = &snapshot->items[snapshot->n++];
    *added = *item;
    snprintf(added->who, sizeof added->who, "%s", rl_item_who(item));
    if (added->id[0] == '\0') {
        memcpy(added->id, added->who, sizeof added->id);
    }
}

/* The item of the same kind, owner and, for a slot, number; or NULL. */
static const struct rl_item *find(const struct rl_snapshot *snapshot, const struct rl_item *item) {
    for (size_t i = 0; i < snapshot->n; i++) {
        const struct rl_item *other = &snapshot->items[i];
        const bool is_same_slot = item->kind != RL_ITEM_SLOT || other->number == item->number;
        if (other->kind == item->kind && is_same_slot && strcmp(other->id, item->id) == 0) {
            return other;
        }
    }
    return NULL;
}

/* -- Who is there -- */

static void take_holder(struct rl_snapshot *snapshot, const struct rl_look *look) {
    struct rl_item item = {
        .kind = RL_ITEM_LOCK, .votes = (uint32_t)look->holding, .left_ms = look->remaining_ms};
    if (look->is_held && !look->is_shared) {
        snprintf(item.who, sizeof item.who, "%s", rl_look_name(look));
        snprintf(item.token, sizeof item.token, "%s", look->token);
        snprintf(item.id, sizeof item.id, "%.*s", look->is_foreign ? -1 : REDLOCK_TOKEN_LENGTH,
                 look->is_foreign ? look->holder : look->token);
        add(snapshot, &item);
    }
}

/* Adds the part's items, without left-overs and reservations. */
static void take_part(struct rl_snapshot *snapshot, const struct rl_part *part) {
    for (size_t i = 0; i < part->n; i++) {
        if (part->items[i].is_held || part->items[i].kind >= RL_ITEM_WAITS) {
            add(snapshot, &part->items[i]);
        }
    }
}

/* -- What was not answered -- */

static bool is_unknown(const struct rl_found *found, enum rl_item_kind kind) {
    switch (kind) {
        case RL_ITEM_LOCK:
            return false; /* without a quorum there is no snapshot */
        case RL_ITEM_READER:
            return found->look.is_shared && !found->readers.is_known;
        case RL_ITEM_SLOT:
            return !found->slots.is_known;
        case RL_ITEM_WAITS_FOR_PERMITS:
            return !found->permits_line.is_known || found->permits_line.n_unanswered != 0;
        default:
            return !found->line.is_known || found->line.n_unanswered != 0;
    }
}

static void take_over(struct rl_snapshot *snapshot, const struct rl_found *found,
                      const struct rl_snapshot *old) {
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *item = &old->items[i];
        if (is_unknown(found, item->kind) && find(snapshot, item) == NULL) {
            add(snapshot, item);
        }
    }
}

/* -- What changes hands -- */

/* Whether both are of the lock, or of the same slot; clients wait for any slot. */
static bool is_of_one(const struct rl_item *item, const struct rl_item *other) {
    const bool is_permit = other->kind == RL_ITEM_SLOT || other->kind == RL_ITEM_WAITS_FOR_PERMITS;
    return is_permit == (item->kind == RL_ITEM_SLOT) &&
           (other->kind != RL_ITEM_SLOT || other->number == item->number);
}

/* Whether any client holds (or, if `waits`, waits for) the item's lock or slot. */
static bool has(const struct rl_snapshot *snapshot, const struct rl_item *item, bool waits) {
    for (size_t i = 0; i < snapshot->n; i++) {
        const struct rl_item *other = &snapshot->items[i];
        if ((other->kind >= RL_ITEM_WAITS) == waits && is_of_one(item, other)) {
            return true;
        }
    }
    return false;
}

/* Whether a lock or a slot with waiting clients has no holder. The next client may have left the
 * line already, while its reservation has ended, or was not yet seen: on the nodes, this looks like
 * a free lock. */
static bool is_on_its_way(const struct rl_snapshot *snapshot, const struct rl_snapshot *old) {
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *item = &old->items[i];
        if ((item->kind == RL_ITEM_LOCK || item->kind == RL_ITEM_SLOT) &&
            !has(snapshot, item, false) && (has(old, item, true) || has(snapshot, item, true))) {
            return true;
        }
    }
    return false;
}

/* -- The whole -- */

void rl_snapshot_take(struct rl_snapshot *snapshot, const struct rl_found *found,
                      const struct rl_snapshot *old) {
    const struct rl_look *look = &found->look;
    *snapshot =
        (struct rl_snapshot){.left_over = look->is_held ? 0 : look->having,
                             .is_unsettled = !look->is_held && look->reserved + look->having > 0};
    take_holder(snapshot, look);
    take_part(snapshot, &found->readers);
    take_part(snapshot, &found->slots);
    take_part(snapshot, &found->line);
    take_part(snapshot, &found->permits_line);
    take_over(snapshot, found, old);
    snapshot->is_unsettled |= is_on_its_way(snapshot, old);
}

void rl_snapshot_free(struct rl_snapshot *snapshot) {
    free(snapshot->items);
    *snapshot = (struct rl_snapshot){0};
}

bool rl_snapshot_lacks(const struct rl_snapshot *snapshot, const struct rl_snapshot *old) {
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *item = &old->items[i];
        if (item->kind != RL_ITEM_LOCK && find(snapshot, item) == NULL) {
            return true;
        }
    }
    return false;
}

#define SLACK_MS 100 /* allows for the two looks, and the nodes' clocks */

static bool is_holder(const struct rl_item *item) {
    return item->kind == RL_ITEM_LOCK || item->kind == RL_ITEM_READER || item->kind == RL_ITEM_SLOT;
}

/* The new holder that replaces an old one, of a lock or of the same slot; NULL: none. Readers do
 * not replace each other. */
static const struct rl_item *heir_of(const struct rl_item *item, const struct rl_snapshot *old,
                                     const struct rl_snapshot *now) {
    for (size_t i = 0; i < now->n; i++) {
        const struct rl_item *other = &now->items[i];
        const bool is_same = item->kind != RL_ITEM_SLOT || other->number == item->number;
        if (item->kind != RL_ITEM_READER && other->kind == item->kind && is_same &&
            find(old, other) == NULL) {
            return other;
        }
    }
    return NULL;
}

static const struct rl_item *had_by(const struct rl_item *item, const struct rl_snapshot *old,
                                    const struct rl_snapshot *now) {
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *other = &old->items[i];
        if (is_holder(other) && find(now, other) == NULL && heir_of(other, old, now) == item) {
            return other;
        }
    }
    return NULL;
}

/* Whether a new holder has the name of this former waiter. */
static bool has_got_it(const struct rl_item *item, const struct rl_snapshot *old,
                       const struct rl_snapshot *now) {
    for (size_t i = 0; i < now->n; i++) {
        const struct rl_item *other = &now->items[i];
        if (is_holder(other) && find(old, other) == NULL && strcmp(other->who, item->who) == 0) {
            return true;
        }
    }
    return false;
}

/* -- Events -- */

/* Prints the events of redlock status --watch on stdout, a line each, at once:
 *
 *     2026-11-23 02:31:07.123 backup: handed over from vm:860 to vm:871, on 5 of 5 nodes
 *
 * or, with --json, an object each.
 *
 * Failure modes: stdout cannot be written: the next rl_output_flush() reports it. */

/* -- An event, as a line or an object -- */

static void put_line(redlock_bytes key, const char *text) {
    printf("%s", rl_when_show(rl_when_now_ms(), true));
    if (key.data != NULL) {
        printf(" %s", rl_text_bytes(key.data, key.length, 256));
    }
    printf(": %s\n", text);
}

static void put_json(redlock_bytes key, const char *event, const struct tool_json_member *members) {
    struct tool_json json = tool_json_begin(
        stdout, JSON_TEXT("at", rl_when_utc(rl_when_now_ms())), JSON_TEXT("event", event),
        JSON_IF(key.data != NULL, JSON_BYTES("key", key.data, key.length)));
    tool_json_put_all(&json, members);
    tool_json_end(&json);
}

/* members: the event's own members in JSON. text: its line. */
static void tell(const struct rl_watch_report *report, const char *event,
                 const struct tool_json_member *members, const char *text) {
    if (report->args->json) {
        put_json(report->key, event, members);
    } else {
        put_line(report->key, text);
    }
    rl_output_flush();
}

/* -- Changes -- */

static const char *say_wait(const struct rl_item *item) {
    const char *what = item->kind == RL_ITEM_WAITS_FOR_PERMITS
                           ? rl_text(" for %s", rl_say_count(item->number, "permit"))
                       : item->kind == RL_ITEM_WAITS_TO_READ ? " to read"
                                                             : "";
    return rl_text(
        "%s waits%s%s", item->who, what,
        item->waited_ms >= 1000 ? rl_text(", for %s by now", rl_say_ms(item->waited_ms)) : "");
}

enum change {
    RELEASED, /* before its ttl ended: by its holder, or any party that knows the token */
    ENDED,    /* it expired: it was not renewed, or was released just then */
    HANDED_OVER,
    HELD,
    WAITS,
    LEFT /* it no longer waits, and was not granted it */
};

/* from: the former holder, of HANDED_OVER. */
static const char *say_change(enum change change, const struct rl_item *item,
                              const struct rl_item *from, size_t nodes) {
    const bool reads = item->kind == RL_ITEM_READER;
    const char *slot = item->kind == RL_ITEM_SLOT ? rl_text("slot %" PRIu32 " ", item->number) : "";
    switch (change) {
        case RELEASED:
            return rl_text(reads ? "%s%s reads no longer" : "%sreleased by %s", slot, item->who);
        case ENDED:
            return rl_text(
                "%sno longer %s by %s, whose time was over: not renewed, or just released", slot,
                reads ? "read" : "held", item->who);
        case HANDED_OVER:
            return rl_text("%shanded over from %s to %s, on %" PRIu32 " of %zu nodes", slot,
                           from->who, item->who, item->votes, nodes);
        case HELD:
            return rl_text(
                "%s%s by %s%s, on %" PRIu32 " of %zu nodes", slot, reads ? "read" : "held",
                item->who,
                item->left_ms >= 0 ? rl_text(" for another %s", rl_say_ms(item->left_ms)) : "",
                item->votes, nodes);
        case WAITS:
            return say_wait(item);
        default:
            assert(change == LEFT);
            return rl_text("%s waits no longer", item->who);
    }
}

static void report_change(const struct rl_watch_report *report, enum change change,
                          const struct rl_item *item, const struct rl_item *from) {
    static const char *const events[] = {"released", "ended", "handed_over",
                                         "held",     "waits", "left"};
    static const char *const kinds[] = {"exclusive", "shared", "slot",
                                        "exclusive", "shared", "permits"};
    const bool waits = item->kind >= RL_ITEM_WAITS;
    const bool has = change == HELD || change == HANDED_OVER;
    tell(report, events[change],
         JSON_MEMBERS(
             JSON_TEXT("kind", kinds[item->kind]), JSON_TEXT("holder", item->who),
             JSON_IF(item->kind == RL_ITEM_SLOT, JSON_INT("slot", item->number)),
             JSON_IF(item->kind == RL_ITEM_WAITS_FOR_PERMITS, JSON_INT("permits", item->number)),
             JSON_IF(waits, JSON_TEXT("client", item->id)),
             JSON_IF(waits, JSON_INT("waited_ms", item->waited_ms)),
             JSON_IF(!waits, JSON_TEXT_OR_NULL("token", item->token)),
             JSON_IF(has, JSON_INT("remaining_ms", item->left_ms)),
             JSON_IF(has, JSON_INT("votes", item->votes)),
             JSON_IF(from != NULL, JSON_TEXT("from", from->who))),
         say_change(change, item, from, report->n));
}

bool rl_watch_report_changes(const struct rl_watch_report *report, const struct rl_snapshot *old,
                             const struct rl_snapshot *now, int64_t between_ms) {
    bool has_gone = false;
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *item = &old->items[i];
        if (find(now, item) != NULL) {
            continue;
        }
        if (is_holder(item) && heir_of(item, old, now) == NULL) {
            const bool is_over = item->left_ms >= 0 && item->left_ms <= between_ms + SLACK_MS;
            has_gone |= !is_over;
            report_change(report, is_over ? ENDED : RELEASED, item, NULL);
        } else if (!is_holder(item) && !has_got_it(item, old, now)) {
            report_change(report, LEFT, item, NULL);
        }
    }
    for (size_t i = 0; i < now->n; i++) {
        const struct rl_item *item = &now->items[i];
        const struct rl_item *from = is_holder(item) ? had_by(item, old, now) : NULL;
        if (find(old, item) == NULL) {
            has_gone |= from != NULL;
            report_change(report,
                          !is_holder(item) ? WAITS
                          : from != NULL   ? HANDED_OVER
                                           : HELD,
                          item, from);
        }
    }
    return has_gone;
}

/* -- Other events -- */

void rl_watch_report_free(const struct rl_watch_report *report, size_t left_over) {
    tell(report, left_over > 0 ? "left_over" : "free", JSON_MEMBERS(JSON_INT("keys", left_over)),
         left_over > 0 ? rl_text("no client has a quorum; keys are left on %zu of %zu nodes",
                                 left_over, report->n)
                       : "free");
}

void rl_watch_report_unknown(const struct rl_watch_report *report, size_t answered) {
    const size_t n = report->n, quorum = report->needed;
    tell(report, "unknown",
         JSON_MEMBERS(JSON_INT("answered", answered), JSON_INT("quorum", quorum)),
         rl_text("not known, %zu of %zu nodes answer (%zu needed)", answered, n, quorum));
}

void rl_watch_report_kicked(const struct rl_watch_report *report, const struct rl_kick_note *note) {
    tell(report, "kicked", JSON_MEMBERS(RL_KICK_NOTE_JSON(note)), rl_kick_note_say(note));
}

void rl_watch_report_node(const struct rl_watch_report *report, const redlock_node_info *info,
                          uint64_t voting) {
    const size_t n = report->n, quorum = report->needed;
    tell(report, "node",
         JSON_MEMBERS(JSON_TEXT("node", info->node), JSON_BOOL("up", info->up != 0),
                      JSON_BOOL("voting", info->voting != 0),
                      JSON_TEXT("status", redlock_err_name(info->reason)),
                      JSON_INT("votes_in_ms", info->votes_in_ms), JSON_INT("nodes_voting", voting),
                      JSON_INT("quorum", quorum)),
         rl_text("node %s %s; %" PRIu64 " of %zu nodes can vote, %zu are needed", info->node,
                 rl_look_state(info, "is up"), voting, n, quorum));
}
