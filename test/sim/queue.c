/* See queue.h. */
#include "sim/queue.h"

#include <assert.h>
#include <stdlib.h>

static bool earlier(const struct sim_event *a, const struct sim_event *b) {
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void put(struct sim_queue *queue, const struct sim_event *event) {
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity == 0 ? 256 : 2 * queue->capacity;
        queue->events = realloc(queue->events, queue->capacity * sizeof *event);
        if (queue->events == NULL) {
            abort();
        }
    }
    uint32_t slot = queue->count++;
    while (slot > 0 && earlier(event, &queue->events[(slot - 1) / 2])) {
        queue->events[slot] = queue->events[(slot - 1) / 2];
        slot = (slot - 1) / 2;
    }
    queue->events[slot] = *event;
}

void sim_queue_add(struct sim_queue *queue, const struct sim_event *event) {
    struct sim_event copy = *event;
    if (copy.order == 0) {
        copy.order = SIM_LATER + ++queue->scheduled;
    }
    put(queue, &copy);
}

void sim_queue_add_first(struct sim_queue *queue, const struct sim_event *event) {
    struct sim_event copy = *event;
    copy.order = ++queue->scheduled;
    assert(copy.order < SIM_LATER);
    put(queue, &copy);
}

bool sim_queue_take(struct sim_queue *queue, struct sim_event *out) {
    if (queue->count == 0) {
        return false;
    }
    *out = queue->events[0];
    struct sim_event last = queue->events[--queue->count];
    uint32_t slot = 0;
    for (;;) {
        uint32_t child = 2 * slot + 1;
        if (child >= queue->count) {
            break;
        }
        if (child + 1 < queue->count && earlier(&queue->events[child + 1], &queue->events[child])) {
            child++;
        }
        if (!earlier(&queue->events[child], &last)) {
            break;
        }
        queue->events[slot] = queue->events[child];
        slot = child;
    }
    if (queue->count > 0) {
        queue->events[slot] = last;
    }
    return true;
}
