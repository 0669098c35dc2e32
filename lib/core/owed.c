/* See owed.h. */
#include "core/owed.h"

#include <assert.h>
#include <stddef.h>

#include "core/quorum.h"
#include "mark.h"

void rl_owed_init(struct rl_owed *owed, uint32_t max) {
    assert(max > 0);
    *owed = (struct rl_owed){.head = NULL, .max = max, .retry_ns = RL_NEVER};
    owed->tail = &owed->head;
}

void rl_owed_item_init(struct rl_owed_item *item, const struct rl_rules *rules, uint32_t life_ms) {
    uint64_t life_ns = life_ms * RL_NS_PER_MS + rl_drift_ns(rules, life_ms);
    assert(life_ns > 0);
    *item = (struct rl_owed_item){.life_ns = life_ns, .until_ns = RL_NEVER};
}

static void owed_append(struct rl_owed *owed, struct rl_owed_item *item) {
    assert(item->next == NULL);
    *owed->tail = item;
    owed->tail = &item->next;
    owed->count++;
}

static void owed_retry_after_pause(struct rl_owed *owed, uint64_t now_ns) {
    if (owed->retry_ns == RL_NEVER) {
        owed->retry_ns = now_ns + RL_OWED_RETRY_NS;
    }
}

/* Whether the key must have expired. The connection keeps order, so the SET ran before the first
 * refusal or never will: from then on the key has one life at most. */
static bool owed_is_over(struct rl_owed_item *item, uint64_t now_ns) {
    if (item->until_ns == RL_NEVER) {
        item->until_ns = now_ns + item->life_ns;
    }
    return now_ns >= item->until_ns;
}

struct rl_owed_item *rl_owed_add(struct rl_owed *owed, struct rl_owed_item *item, enum rl_debt debt,
                                 bool is_up, uint64_t now_ns) {
    assert(debt != RL_DEBT_NONE);
    assert(owed->count <= owed->max);
    bool is_refused = debt == RL_DEBT_REFUSED;
    if (is_refused && owed_is_over(item, now_ns)) {
        RL_MARK(DEBT_OUTLIVED);
        return item;
    }
    owed_append(owed, item);
    struct rl_owed_item *given_up = NULL;
    if (owed->count > owed->max) {
        RL_MARK(DEBT_OLDEST);
        given_up = rl_owed_take(owed);
    }
    if (is_refused || is_up) {
        owed_retry_after_pause(owed, now_ns);
    }
    return given_up;
}

void rl_owed_repay(struct rl_owed *owed, uint64_t now_ns,
                   bool (*send)(struct rl_owed_item *item, void *data), void *data) {
    owed->retry_ns = RL_NEVER;
    for (uint32_t left = owed->count; left > 0; left--) {
        struct rl_owed_item *item = rl_owed_take(owed);
        if (!send(item, data)) {
            RL_MARK(DEBT_NOT_SENT);
            rl_owed_add(owed, item, RL_DEBT_UNANSWERED, true, now_ns);
            break;
        }
    }
}

struct rl_owed_item *rl_owed_take(struct rl_owed *owed) {
    struct rl_owed_item *item = owed->head;
    if (item == NULL) {
        assert(owed->count == 0);
        return NULL;
    }
    assert(owed->count > 0);
    owed->head = item->next;
    owed->count--;
    if (owed->head == NULL) {
        owed->tail = &owed->head;
        owed->retry_ns = RL_NEVER;
    }
    item->next = NULL;
    return item;
}
