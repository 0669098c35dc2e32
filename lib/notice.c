/* See notice.h. */
#include "notice.h"

#include <assert.h>
#include <string.h>

#include "client.h"
#include "core/quorum.h"

/* The earliest of all that has to be looked at. */
void rl_notice_deadline(redlock_client *client) {
    struct rl_notice *notice = &client->notice;
    uint64_t at_ns = notice->sweep_ns;
    for (uint32_t i = 0; notice->listeners != NULL && i < client->n_nodes; i++) {
        if (notice->listeners[i].deadline_ns < at_ns) {
            at_ns = notice->listeners[i].deadline_ns;
        }
    }
    rl_deadlines_set(&client->deadlines, &notice->deadline, at_ns);
}

/* -- Waking -- */

/* Of so many nodes a lock must hear: as many as its holder had, if so many can be heard. */
static uint32_t heard_enough(const redlock_client *client, const struct rl_topic *topic) {
    uint32_t quorum = rl_quorum(client->n_nodes);
    uint32_t confirmed = rl_mask_count(topic->confirmed);
    return confirmed < quorum && confirmed > 0 ? confirmed : quorum;
}

void rl_notice_wake(redlock_lock *lock) {
    if (lock->core.state == RL_BACKOFF && lock->client->phase == RL_CLIENT_OPEN) {
        rl_trace(lock->client, REDLOCK_EVENT_NOTICE, lock, NULL, 0, 0);
        rl_votes_simple(lock, RL_EV_NOTICE);
    }
}

/* In any other state than the pause it is remembered until the pause. */
static void wake_lock(redlock_lock *lock) {
    bool wakes = false;
    if (lock->core.state != RL_BACKOFF) {
        return;
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_topic *topic = lock->resources[i]->topic;
        if (topic != NULL && topic->lock == lock) {
            bool enough = rl_mask_count(topic->heard) >= heard_enough(lock->client, topic);
            wakes = wakes || enough || topic->due;
            topic->heard = enough ? 0 : topic->heard;
            topic->due = false;
        }
    }
    if (wakes) {
        rl_notice_wake(lock);
    }
}

static void wake_ears(redlock_client *client, struct rl_topic *topic, uint32_t bits) {
    struct rl_ear *ear = topic->ears;
    while (ear != NULL) {
        struct rl_ear *next = ear->next; /* it may leave */
        ear->heard |= bits;
        if (rl_mask_count(ear->heard) >= heard_enough(client, topic)) {
            ear->heard = 0;
            ear->told(ear);
        }
        ear = next;
    }
}

void rl_notice_heard(redlock_client *client, struct rl_topic *topic, uint32_t nodes) {
    topic->heard |= nodes;
    if (topic->lock != NULL) {
        wake_lock(topic->lock);
    }
    wake_ears(client, topic, nodes);
}

void rl_notice_due(redlock_client *client, struct rl_topic *topic) {
    topic->due = true; /* what was released before this was not heard */
    if (topic->lock != NULL) {
        wake_lock(topic->lock);
    }
    wake_ears(client, topic, rl_all_nodes(client->n_nodes));
}

/* -- Beginning and ending to listen -- */

static void topic_left(redlock_client *client, struct rl_topic *topic) {
    struct rl_notice *notice = &client->notice;
    if (rl_topic_is_wanted(topic)) {
        return;
    }
    topic->until_ns = redlock_now_ns() + RL_NOTICE_LINGER_NS;
    if (notice->sweep_ns == RL_NEVER) {
        notice->sweep_ns = topic->until_ns;
        rl_notice_deadline(client);
    }
}

static void lock_listen(redlock_lock *lock) {
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_topic *topic = rl_topic_get(lock->client, lock->resources[i]);
        if (topic != NULL) {
            assert(topic->lock == NULL); /* one lock of a client asks for a resource at a time */
            topic->lock = lock;
            lock->listens = true;
        }
    }
}

static void lock_leave(redlock_lock *lock) {
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_topic *topic = lock->resources[i]->topic;
        if (topic != NULL && topic->lock == lock) {
            topic->lock = NULL;
            topic_left(lock->client, topic);
        }
    }
    lock->listens = false;
}

void rl_notice_begin(redlock_lock *lock) {
    for (uint32_t i = 0; lock->target.notifies && i < lock->resource_count; i++) {
        struct rl_topic *topic = lock->resources[i]->topic;
        if (topic != NULL) {
            topic->heard = 0;
            topic->due = false;
        }
    }
}

void rl_notice_follow(redlock_lock *lock) {
    uint8_t state = lock->core.state;
    bool asks = state == RL_READY || state == RL_TRYING || state == RL_BACKOFF;
    if (lock->listens && !asks) {
        lock_leave(lock);
    }
    if (!lock->target.notifies || state != RL_BACKOFF || lock->client->phase != RL_CLIENT_OPEN) {
        return;
    }
    if (!lock->listens) {
        lock_listen(lock);
    }
    wake_lock(lock);
}

bool rl_notice_watch(redlock_client *client, struct rl_ear *ear, struct rl_resource *resource) {
    assert(ear->topic == NULL);
    struct rl_topic *topic = rl_topic_get(client, resource);
    if (topic == NULL) {
        return false;
    }
    ear->heard = 0;
    ear->topic = topic;
    ear->next = topic->ears;
    topic->ears = ear;
    return true;
}

void rl_notice_unwatch(redlock_client *client, struct rl_ear *ear) {
    struct rl_topic *topic = ear->topic;
    if (topic == NULL) {
        return;
    }
    struct rl_ear **at = &topic->ears;
    while (*at != ear) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = ear->next;
    ear->topic = NULL;
    topic_left(client, topic);
}

/* -- The loop's part -- */

static void sweep(redlock_client *client, uint64_t now_ns) {
    struct rl_notice *notice = &client->notice;
    uint32_t idle = 0;
    struct rl_topic *topic = notice->topics;
    while (topic != NULL) {
        struct rl_topic *next = topic->next;
        if (!rl_topic_is_wanted(topic) && !topic->is_ending) {
            if (now_ns >= topic->until_ns) {
                rl_topic_end(client, topic);
            } else {
                idle++;
            }
        }
        topic = next;
    }
    notice->sweep_ns = idle > 0 ? now_ns + RL_NOTICE_SWEEP_NS : RL_NEVER;
    if (notice->count == notice->ending) {
        rl_topic_close_all(client);
        notice->sweep_ns = RL_NEVER;
    }
}

void rl_notice_tick(redlock_client *client, uint64_t now_ns) {
    struct rl_notice *notice = &client->notice;
    for (uint32_t i = 0; notice->listeners != NULL && i < client->n_nodes; i++) {
        rl_listener_tick(&notice->listeners[i], now_ns);
    }
    if (now_ns >= notice->sweep_ns) {
        sweep(client, now_ns);
    }
    rl_notice_deadline(client);
}

void rl_notice_flush(redlock_client *client) {
    struct rl_notice *notice = &client->notice;
    while (notice->dirty != 0) {
        uint32_t dirty = notice->dirty;
        notice->dirty = 0;
        for (uint32_t i = 0; i < client->n_nodes; i++) {
            if (dirty & UINT32_C(1) << i) {
                rl_listener_flush(&notice->listeners[i]);
            }
        }
    }
}

void rl_notice_init(redlock_client *client) {
    client->notice = (struct rl_notice){.sweep_ns = RL_NEVER};
    rl_deadline_init(&client->notice.deadline, RL_TAG_NOTICE);
}

void rl_notice_close(redlock_client *client) {
    struct rl_notice *notice = &client->notice;
    for (struct rl_topic *topic = notice->topics; topic != NULL; topic = topic->next) {
        if (topic->lock != NULL) {
            topic->lock->listens = false;
            topic->lock = NULL;
        }
        while (topic->ears != NULL) {
            topic->ears->topic = NULL;
            topic->ears = topic->ears->next;
        }
    }
    rl_topic_close_all(client);
    notice->sweep_ns = RL_NEVER;
    rl_notice_deadline(client);
    rl_free(&client->memory, notice->listeners);
    notice->listeners = NULL;
}

void rl_notice_forget(redlock_client *client) {
    for (uint32_t i = 0; client->notice.listeners != NULL && i < client->n_nodes; i++) {
        rl_listener_forget(&client->notice.listeners[i]);
    }
}
