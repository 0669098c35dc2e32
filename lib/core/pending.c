/* See pending.h. */
#include "core/pending.h"

#include <assert.h>
#include <stddef.h>

#include "base/mark.h"
#include "core/quorum.h"

void rl_pending_init(struct rl_pending *pending, uint32_t max) {
    assert(max > 0);
    *pending = (struct rl_pending){.head = NULL, .max = max, .retry_ns = RL_NEVER};
    pending->tail = &pending->head;
}

void rl_pending_release_init(struct rl_pending_release *item, const struct rl_rules *rules,
                             uint32_t life_ms) {
    uint64_t life_ns = life_ms * RL_NS_PER_MS + rl_drift_ns(rules, life_ms);
    assert(life_ns > 0);
    *item = (struct rl_pending_release){.life_ns = life_ns, .until_ns = RL_NEVER};
}

static void pending_append(struct rl_pending *pending, struct rl_pending_release *item) {
    assert(item->next == NULL);
    assert(*pending->tail == NULL);
    *pending->tail = item;
    pending->tail = &item->next;
    pending->count++;
}

static void retry_after_pause(struct rl_pending *pending, uint64_t now_ns) {
    assert(pending->count > 0);
    if (pending->retry_ns == RL_NEVER) {
        pending->retry_ns = now_ns + RL_PENDING_RETRY_NS;
    }
}

/* Whether the key must have expired. The connection keeps order, so by the first error reply the
 * SET has run, or never will: from then on the key lives for one ttl at most. */
static bool owed_is_over(struct rl_pending_release *item, uint64_t now_ns) {
    assert(item->life_ns > 0);
    if (item->until_ns == RL_NEVER) {
        item->until_ns = now_ns + item->life_ns;
    }
    return now_ns >= item->until_ns;
}

struct rl_pending_release *rl_pending_add(struct rl_pending *pending,
                                          struct rl_pending_release *item, bool is_refused,
                                          bool is_up, uint64_t now_ns) {
    assert(pending->count <= pending->max);
    if (is_refused && owed_is_over(item, now_ns)) {
        RL_MARK(PENDING_OUTLIVED);
        return item;
    }
    pending_append(pending, item);
    struct rl_pending_release *given_up = NULL;
    if (pending->count > pending->max) {
        RL_MARK(PENDING_OLDEST);
        given_up = rl_pending_take(pending);
    }
    if (is_refused || is_up) {
        retry_after_pause(pending, now_ns);
    }
    assert(pending->count <= pending->max);
    return given_up;
}

void rl_pending_retry(struct rl_pending *pending, uint64_t now_ns,
                      bool (*send)(struct rl_pending_release *item, void *data), void *data) {
    pending->retry_ns = RL_NEVER;
    for (uint32_t left = pending->count; left > 0; left--) {
        struct rl_pending_release *item = rl_pending_take(pending);
        if (!send(item, data)) {
            RL_MARK(PENDING_NOT_SENT);
            rl_pending_add(pending, item, false, true, now_ns);
            break;
        }
    }
}

struct rl_pending_release *rl_pending_take(struct rl_pending *pending) {
    struct rl_pending_release *item = pending->head;
    if (item == NULL) {
        assert(pending->count == 0);
        return NULL;
    }
    assert(pending->count > 0);
    pending->head = item->next;
    pending->count--;
    if (pending->head == NULL) {
        pending->tail = &pending->head;
        pending->retry_ns = RL_NEVER;
    }
    item->next = NULL;
    assert((pending->head == NULL) == (pending->count == 0));
    return item;
}
