/* See addon.h: locks, one entry each, from acquire() to their end. */
#include "addon.h"

struct lock_options {
    redlock_lock_options lock;
    redlock_acquire_options acquire;
};

#define LOCK(name, kind, field) \
    { name, kind, offsetof(struct lock_options, lock.field) }
#define ACQUIRE(name, kind, field) \
    { name, kind, offsetof(struct lock_options, acquire.field) }

const struct node_option node_lock_options[] = {
    ACQUIRE("ttl", NODE_MS, ttl_ms),
    ACQUIRE("wait", NODE_LIMIT, wait_ms),
    ACQUIRE("tries", NODE_LIMIT, tries),
    ACQUIRE("delay", NODE_MS, delay_ms),
    ACQUIRE("jitter", NODE_MS, jitter_ms),
    ACQUIRE("minValidity", NODE_MS, min_validity_ms),
    ACQUIRE("autoExtend", NODE_FLAG, auto_extend),
    ACQUIRE("renew", NODE_MS, renew_ms),
    ACQUIRE("maxHold", NODE_LIMIT, max_hold_ms),
    ACQUIRE("maxSilence", NODE_MS, max_silence_ms),
    ACQUIRE("owner", NODE_MS, owner),
    ACQUIRE("fencing", NODE_FLAG, fencing),
    LOCK("holder", NODE_TEXT, holder),
    LOCK("shared", NODE_FLAG, mode),
    LOCK("permits", NODE_COUNT, permits),
    LOCK("take", NODE_COUNT, take),
    {NULL, NODE_MS, 0},
};

/* -- How they end -- */

static void end(struct node_entry *entry) {
    redlock_lock_free(entry->lock);
    node_entry_drop(entry);
}

/* After a failure `text` is its message. The lock still exists, so that the caller can add
 * details. */
static struct node_event event_of(const struct node_entry *entry, enum node_event_type type,
                                  int status, char *text) {
    struct node_event event = {.type = type, .id = entry->id, .status = status};
    if (status != 0) {
        event.text = redlock_lock_message(entry->lock, text, REDLOCK_MESSAGE_MAX);
    }
    return event;
}

static void on_acquired(redlock_lock *lock, int status, void *data) {
    struct node_entry *entry = data;
    struct node_client *client = entry->client;
    char text[REDLOCK_MESSAGE_MAX];
    struct node_event event = event_of(entry, NODE_acquired, status, text);
    if (status == 0) {
        event.number = redlock_lock_fence(lock);
    } else {
        int attempt = redlock_lock_attempt_status(lock);
        event.name = attempt != 0 ? redlock_err_name(attempt) : NULL;
        end(entry);
    }
    node_deliver(client, &event);
}

/* JavaScript forgets the lock now, and fails its pending operations there. */
static void on_lost(redlock_lock *lock, int status, void *data) {
    struct node_entry *entry = data;
    struct node_client *client = entry->client;
    char text[REDLOCK_MESSAGE_MAX];
    struct node_event event = event_of(entry, NODE_lost, status, text);
    (void)lock;
    if (entry->is_extending) {
        entry->is_lost = true;
    } else {
        end(entry);
    }
    node_deliver(client, &event);
}

static void on_extended(redlock_lock *lock, int status, void *data) {
    struct node_entry *entry = data;
    char text[REDLOCK_MESSAGE_MAX];
    struct node_event event = event_of(entry, NODE_extended, status, text);
    entry->is_extending = false;
    event.number = redlock_lock_fence(lock);
    if (entry->is_lost) {
        end(entry);
    } else {
        node_deliver(entry->client, &event);
    }
}

static void on_released(redlock_lock *lock, int status, void *data) {
    struct node_entry *entry = data;
    struct node_client *client = entry->client;
    char text[REDLOCK_MESSAGE_MAX];
    struct node_event event = event_of(entry, NODE_released, status, text);
    (void)lock;
    end(entry);
    node_deliver(client, &event);
}

/* -- Functions -- */

static napi_value throw_message(napi_env env, const struct node_entry *entry, int status) {
    char text[REDLOCK_MESSAGE_MAX];
    return node_throw(env, status, redlock_lock_message(entry->lock, text, sizeof text));
}

static napi_value acquire(napi_env env, struct node_client *client, struct lock_options *options) {
    char text[REDLOCK_MESSAGE_MAX] = "";
    struct node_entry *entry = node_entry_take(client);
    if (entry == NULL) {
        return node_throw(env, REDLOCK_ERR_NOMEM, "out of memory");
    }
    int status =
        redlock_lock_new_with(client->client, &options->lock, &entry->lock, text, sizeof text);
    if (status != 0) {
        node_entry_drop(entry);
        return node_throw(env, status, text);
    }
    options->acquire.on_lost = on_lost;
    options->acquire.lost_data = entry;
    status = redlock_acquire(entry->lock, &options->acquire, on_acquired, entry);
    if (status != 0) {
        throw_message(env, entry, status);
        end(entry);
        return NULL;
    }
    return node_number(env, entry->id);
}

/* (client, resources, options): an entry's number */
static napi_value node_acquire(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX], id = NULL;
    redlock_bytes resources[REDLOCK_RESOURCES_MAX];
    struct lock_options options = {REDLOCK_LOCK_OPTIONS_INIT, REDLOCK_ACQUIRE_OPTIONS_INIT};
    struct node_texts texts = {0};
    uint32_t n;
    node_args(env, info, argv);
    struct node_client *client = node_read_client(env, argv[0]);
    if (client->is_closing) {
        return node_throw(env, REDLOCK_ERR_CLOSED, redlock_strerror(REDLOCK_ERR_CLOSED));
    }
    options.acquire.auto_extend = 1;
    if (node_read_list(env, argv[1], "resources", REDLOCK_RESOURCES_MAX, &n, resources, &texts) &&
        node_read_options(env, argv[2], node_lock_options, &options, &texts)) {
        options.lock.resources = resources;
        options.lock.n_resources = n;
        id = acquire(env, client, &options);
    }
    node_texts_free(&texts);
    return id;
}

/* (client, id, ttl): a ttl of -1 downgrades, one of -2 upgrades */
static napi_value node_extend(napi_env env, napi_callback_info info) {
    napi_value argv[NODE_ARGS_MAX];
    int64_t ttl_ms = 0;
    int status;
    struct node_entry *entry = node_read_entry(env, info, argv);
    if (entry == NULL) {
        return NULL;
    }
    napi_get_value_int64(env, argv[2], &ttl_ms);
    if (ttl_ms == -1) {
        status = redlock_downgrade(entry->lock, on_extended, entry);
    } else if (ttl_ms == -2) {
        status = redlock_try_upgrade(entry->lock, on_extended, entry);
    } else {
        status = redlock_extend(entry->lock, ttl_ms, on_extended, entry);
    }
    entry->is_extending = entry->is_extending || status == 0;
    return status != 0 ? throw_message(env, entry, status) : NULL;
}

/* (client, id) */
static napi_value node_alive(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    int status = entry != NULL ? redlock_lock_alive(entry->lock) : 0;
    return status != 0 ? throw_message(env, entry, status) : NULL;
}

/* (client, id) */
static napi_value node_release(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    int status = entry != NULL ? redlock_release(entry->lock, on_released, entry) : 0;
    return status != 0 ? throw_message(env, entry, status) : NULL;
}

/* (client, id): of an acquire, which may just have ended. */
static napi_value node_cancel(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    if (entry != NULL) {
        redlock_cancel(entry->lock);
    }
    return NULL;
}

/* (client, id): ms of validity; 0: none */
static napi_value node_remaining(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    if (entry == NULL) {
        return NULL;
    }
    const uint64_t until_ns = redlock_lock_valid_until_ns(entry->lock);
    const uint64_t now_ns = redlock_now_ns();
    return node_number(env, until_ns > now_ns ? (double)(until_ns - now_ns) / 1e6 : 0);
}

/* (client, id) */
static napi_value node_token(napi_env env, napi_callback_info info) {
    struct node_entry *entry = node_read_entry(env, info, NULL);
    return entry != NULL ? node_text(env, redlock_lock_token(entry->lock)) : NULL;
}

/* (client, id): an array */
static napi_value node_slots(napi_env env, napi_callback_info info) {
    napi_value slots;
    int32_t slot;
    struct node_entry *entry = node_read_entry(env, info, NULL);
    napi_create_array(env, &slots);
    for (uint32_t i = 0;
         entry != NULL && (slot = redlock_lock_slot(entry->lock, i)) != REDLOCK_NO_SLOT; i++) {
        napi_set_element(env, slots, i, node_number(env, slot));
    }
    return slots;
}

/* (): the library's clock, in ns, which the chaos clients use in their records */
static napi_value node_now(napi_env env, napi_callback_info info) {
    napi_value now = NULL;
    (void)info;
    napi_create_bigint_uint64(env, redlock_now_ns(), &now);
    return now;
}

const node_function node_lock_functions[] = {
    {"acquire", node_acquire}, {"extend", node_extend},
    {"release", node_release}, {"cancel", node_cancel},
    {"now", node_now},         {"remaining", node_remaining},
    {"token", node_token},     {"slots", node_slots},
    {"alive", node_alive},     {NULL, NULL},
};
