/* The state of one key at one moment, as a list: its holder or readers, the slots of a semaphore
 * that are held, and the clients that wait.
 *
 * Happy path: rl_snapshot_take() of what was found; rl_snapshot_free() in the end.
 *
 * Failure modes: entries known only to a node that did not answer are taken over from the previous
 * snapshot: a client has not left the line because its node is slow. A lock that is changing hands
 * is unsettled: no client has a quorum, and its keys are reserved or of several clients, or a
 * client was waiting for it. */
#include "watch/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

/* A copy at the end. It has an id and a name in any case. */
static void add(struct rl_snapshot *snapshot, const struct rl_item *item) {
    snapshot->items =
        rl_must_grow(snapshot->items, snapshot->n, &snapshot->room, sizeof *snapshot->items);
    struct rl_item *added = &snapshot->items[snapshot->n++];
    *added = *item;
    rl_item_who(item, added->who);
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
        rl_look_name(look, item.who);
        snprintf(item.token, sizeof item.token, "%s", look->token);
        snprintf(item.id, sizeof item.id, "%.*s", look->is_foreign ? -1 : REDLOCK_TOKEN_LENGTH,
                 look->is_foreign ? look->holder : look->token);
        add(snapshot, &item);
    }
}

/* Without left-overs and reservations. */
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

/* Whether both are of the lock, or of this slot; clients wait for any slot. */
static bool is_of_one(const struct rl_item *item, const struct rl_item *other) {
    const bool is_permit = other->kind == RL_ITEM_SLOT || other->kind == RL_ITEM_WAITS_FOR_PERMITS;
    return is_permit == (item->kind == RL_ITEM_SLOT) &&
           (other->kind != RL_ITEM_SLOT || other->number == item->number);
}

/* Whether anyone holds what the item is of; or waits for it. */
static bool has(const struct rl_snapshot *snapshot, const struct rl_item *item, bool waits) {
    for (size_t i = 0; i < snapshot->n; i++) {
        const struct rl_item *other = &snapshot->items[i];
        if ((other->kind >= RL_ITEM_WAITS) == waits && is_of_one(item, other)) {
            return true;
        }
    }
    return false;
}

/* Whether a lock or a slot with waiting clients has no holder. The next client has left the line by
 * then, and its reservation may be over, or not yet seen: the nodes do not distinguish this from a
 * free one. */
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

#define SLACK_MS 100 /* the two looks, and the nodes' clocks */

static bool is_holder(const struct rl_item *item) {
    return item->kind == RL_ITEM_LOCK || item->kind == RL_ITEM_READER || item->kind == RL_ITEM_SLOT;
}

/* Pairs new holders with old ones, of a lock or of the same slot. Readers hold side by side. */
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

/* Whether a former waiter, by its name, is one of the new holders. */
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

static void find_gone(const struct rl_snapshot *old, const struct rl_snapshot *now,
                      int64_t between_ms, rl_change_cb on_change, void *data) {
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *item = &old->items[i];
        struct rl_change change = {.item = item};
        if (find(now, item) != NULL) {
            continue;
        }
        if (!is_holder(item)) {
            change.type = RL_CHANGE_LEFT;
            if (!has_got_it(item, old, now)) {
                on_change(&change, data);
            }
        } else if (heir_of(item, old, now) == NULL) {
            const bool is_over = item->left_ms >= 0 && item->left_ms <= between_ms + SLACK_MS;
            change.type = is_over ? RL_CHANGE_ENDED : RL_CHANGE_RELEASED;
            on_change(&change, data);
        }
    }
}

void rl_changes(const struct rl_snapshot *old, const struct rl_snapshot *now, int64_t between_ms,
                rl_change_cb on_change, void *data) {
    find_gone(old, now, between_ms, on_change, data);
    for (size_t i = 0; i < now->n; i++) {
        const struct rl_item *item = &now->items[i];
        struct rl_change change = {.type = RL_CHANGE_WAITS, .item = item};
        if (find(old, item) != NULL) {
            continue;
        }
        if (is_holder(item)) {
            change.from = had_by(item, old, now);
            change.type = change.from != NULL ? RL_CHANGE_HANDED_OVER : RL_CHANGE_HELD;
        }
        on_change(&change, data);
    }
}
