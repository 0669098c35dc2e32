/* See changes.h. Pure. */
#include "watch/changes.h"

#include <string.h>

#define SLACK_MS 100 /* the two looks, and the nodes' clocks */

static bool is_holder(const struct rl_item *item) {
    return item->kind == RL_ITEM_LOCK || item->kind == RL_ITEM_READER || item->kind == RL_ITEM_SLOT;
}

/* Who has got what another had: of a lock, or of the same slot. Readers hold side by side. */
static const struct rl_item *heir_of(const struct rl_item *item, const struct rl_snapshot *old,
                                     const struct rl_snapshot *now) {
    for (size_t i = 0; i < now->n; i++) {
        const struct rl_item *other = &now->items[i];
        const bool is_same = item->kind != RL_ITEM_SLOT || other->number == item->number;
        if (item->kind != RL_ITEM_READER && other->kind == item->kind && is_same &&
            rl_snapshot_find(old, other) == NULL) {
            return other;
        }
    }
    return NULL;
}

static const struct rl_item *had_by(const struct rl_item *item, const struct rl_snapshot *old,
                                    const struct rl_snapshot *now) {
    for (size_t i = 0; i < old->n; i++) {
        const struct rl_item *other = &old->items[i];
        if (is_holder(other) && rl_snapshot_find(now, other) == NULL &&
            heir_of(other, old, now) == item) {
            return other;
        }
    }
    return NULL;
}

/* Who waited, and is among those that have got it since, by its name. */
static bool has_got_it(const struct rl_item *item, const struct rl_snapshot *old,
                       const struct rl_snapshot *now) {
    for (size_t i = 0; i < now->n; i++) {
        const struct rl_item *other = &now->items[i];
        if (is_holder(other) && rl_snapshot_find(old, other) == NULL &&
            strcmp(other->who, item->who) == 0) {
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
        if (rl_snapshot_find(now, item) != NULL) {
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
        if (rl_snapshot_find(old, item) != NULL) {
            continue;
        }
        if (is_holder(item)) {
            change.from = had_by(item, old, now);
            change.type = change.from != NULL ? RL_CHANGE_HANDED_OVER : RL_CHANGE_HELD;
        }
        on_change(&change, data);
    }
}
