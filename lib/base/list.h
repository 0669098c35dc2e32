/* Lists and queues whose links are members of their items, so that nothing is allocated.
 *
 * A list is for items that must all be found: added in front, removed from anywhere. A queue is for
 * items that are processed in turn: added at the end, taken from the front; each is in it at most
 * once. All zero: an empty list, an empty queue, a link in neither.
 */
#ifndef RL_BASE_LIST_H
#define RL_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* The struct that contains a member. */
#define RL_CONTAINER(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* The struct that contains a member, or NULL for NULL. */
#define RL_CONTAINER_OR_NULL(pointer, type, member) \
    ((pointer) != NULL ? RL_CONTAINER(pointer, type, member) : NULL)

/* -- A list -- */

struct rl_link {
    struct rl_link *next;
    struct rl_link **at; /* the pointer to this one; NULL: it is in no list */
};

struct rl_list {
    struct rl_link *first;
};

/* Loops over all items of a list; their type has the link as a member. None may be removed
 * meanwhile. */
#define RL_EACH(type, item, list, member)                                              \
    for (type *item = RL_CONTAINER_OR_NULL((list)->first, type, member); item != NULL; \
         item = RL_CONTAINER_OR_NULL(item->member.next, type, member))

static inline bool rl_link_is_in(const struct rl_link *link) {
    return link->at != NULL;
}

static inline void rl_list_add(struct rl_list *list, struct rl_link *link) {
    assert(!rl_link_is_in(link));
    link->next = list->first;
    link->at = &list->first;
    if (link->next != NULL) {
        assert(link->next->at == &list->first);
        link->next->at = &link->next;
    }
    list->first = link;
}

static inline void rl_list_remove(struct rl_link *link) {
    assert(rl_link_is_in(link));
    assert(*link->at == link);
    *link->at = link->next;
    if (link->next != NULL) {
        assert(link->next->at == &link->next);
        link->next->at = link->at;
    }
    *link = (struct rl_link){.next = NULL};
}

/* -- A queue -- */

struct rl_queued {
    struct rl_queued *next; /* the last item points to itself; NULL: it is in no queue */
};

struct rl_queue {
    struct rl_queued *first;
    struct rl_queued *last; /* undefined while it is empty */
};

static inline bool rl_queued_is_in(const struct rl_queued *item) {
    return item->next != NULL;
}

static inline void rl_queue_add(struct rl_queue *queue, struct rl_queued *item) {
    assert(!rl_queued_is_in(item));
    item->next = item;
    if (queue->first != NULL) {
        assert(queue->last->next == queue->last);
        queue->last->next = item;
    } else {
        queue->first = item;
    }
    queue->last = item;
}

/* The first, or NULL. */
static inline struct rl_queued *rl_queue_take(struct rl_queue *queue) {
    struct rl_queued *item = queue->first;
    if (item != NULL) {
        assert((item->next == item) == (item == queue->last));
        queue->first = item->next != item ? item->next : NULL;
        item->next = NULL;
    }
    return item;
}

#endif
