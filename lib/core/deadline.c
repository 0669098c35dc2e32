/* A binary heap with a back pointer in each item, see deadline.h. */
#include "core/deadline.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/quorum.h"

static void heap_put(struct rl_deadlines *heap, uint32_t slot, struct rl_deadline *item) {
    assert(slot < heap->count);
    heap->items[slot] = item;
    item->slot = slot;
}

static void heap_up(struct rl_deadlines *heap, uint32_t slot) {
    struct rl_deadline *item = heap->items[slot];
    while (slot > 0) {
        uint32_t parent = (slot - 1) / 2;
        if (heap->items[parent]->at_ns <= item->at_ns) {
            break;
        }
        heap_put(heap, slot, heap->items[parent]);
        slot = parent;
    }
    heap_put(heap, slot, item);
}

static void heap_down(struct rl_deadlines *heap, uint32_t slot) {
    struct rl_deadline *item = heap->items[slot];
    for (;;) {
        uint32_t child = 2 * slot + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && heap->items[child + 1]->at_ns < heap->items[child]->at_ns) {
            child++;
        }
        if (item->at_ns <= heap->items[child]->at_ns) {
            break;
        }
        heap_put(heap, slot, heap->items[child]);
        slot = child;
    }
    heap_put(heap, slot, item);
}

static void heap_fix(struct rl_deadlines *heap, uint32_t slot) {
    struct rl_deadline *item = heap->items[slot];
    heap_up(heap, slot);
    heap_down(heap, item->slot);
}

static void heap_remove(struct rl_deadlines *heap, struct rl_deadline *item) {
    uint32_t slot = item->slot;
    assert(slot < heap->count);
    struct rl_deadline *last = heap->items[--heap->count];
    item->slot = RL_DEADLINE_UNSET;
    if (last != item) {
        heap_put(heap, slot, last);
        heap_fix(heap, slot);
    }
}

void rl_deadline_init(struct rl_deadline *item, enum rl_waits who) {
    assert(who < RL_WAITS);
    item->who = (uint8_t)who;
    item->at_ns = RL_NEVER;
    item->slot = RL_DEADLINE_UNSET;
}

struct rl_deadline **rl_deadlines_reserve(struct rl_deadlines *heap, struct rl_deadline **items,
                                          uint32_t capacity) {
    assert(capacity >= heap->count);
    assert(capacity < RL_DEADLINE_UNSET); /* which marks an unset item */
    assert(items != heap->items);
    struct rl_deadline **old = heap->items;
    if (heap->count > 0) {
        memcpy(items, old, heap->count * sizeof(struct rl_deadline *));
    }
    heap->items = items;
    heap->capacity = capacity;
    return old;
}

void rl_deadlines_set(struct rl_deadlines *heap, struct rl_deadline *item, uint64_t at_ns) {
    if (item->at_ns == at_ns) {
        return; /* the common case: most votes change no deadline */
    }
    item->at_ns = at_ns;
    if (item->slot != RL_DEADLINE_UNSET) {
        assert(heap->items[item->slot] == item);
        if (at_ns == RL_NEVER) {
            heap_remove(heap, item);
        } else {
            heap_fix(heap, item->slot);
        }
    } else if (at_ns != RL_NEVER) {
        assert(heap->count < heap->capacity);
        heap->count++;
        heap_put(heap, heap->count - 1, item);
        heap_up(heap, item->slot);
    }
    assert((item->slot == RL_DEADLINE_UNSET) == (at_ns == RL_NEVER));
}

struct rl_deadline *rl_deadlines_first(const struct rl_deadlines *heap) {
    assert(heap->count <= heap->capacity);
    assert(heap->count == 0 || heap->items[0]->at_ns != RL_NEVER); /* else it is not in it */
    return heap->count > 0 ? heap->items[0] : NULL;
}
