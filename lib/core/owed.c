/* See owed.h. */
#include "core/owed.h"

#include <assert.h>
#include <stddef.h>

#include "core/quorum.h"

void rl_owed_init(struct rl_owed *owed) {
    *owed = (struct rl_owed){.head = NULL, .retry_ns = RL_NEVER};
    owed->tail = &owed->head;
}

void rl_owed_item_init(struct rl_owed_item *item, uint64_t life_ns) {
    assert(life_ns > 0);
    *item = (struct rl_owed_item){.life_ns = life_ns, .until_ns = RL_NEVER};
}

static void owed_append(struct rl_owed *owed, struct rl_owed_item *item) {
    item->next = NULL;
    *owed->tail = item;
    owed->tail = &item->next;
    owed->count++;
}

struct rl_owed_item *rl_owed_unanswered(struct rl_owed *owed, struct rl_owed_item *item) {
    assert(owed->count <= RL_OWED_MAX);
    owed_append(owed, item);
    return owed->count > RL_OWED_MAX ? rl_owed_take(owed) : NULL;
}

struct rl_owed_item *rl_owed_refused(struct rl_owed *owed, struct rl_owed_item *item,
                                     uint64_t now_ns) {
    /* The connection keeps order, so the SET ran before this answer or never will: from now on the
     * key has one life at most. */
    if (item->until_ns == RL_NEVER) {
        item->until_ns = now_ns + item->life_ns;
    }
    if (now_ns >= item->until_ns) {
        return item;
    }
    if (owed->retry_ns == RL_NEVER) {
        owed->retry_ns = now_ns + RL_OWED_RETRY_NS;
    }
    return rl_owed_unanswered(owed, item);
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
