/* Locks come and go.
 *
 * A lock is one piece of memory: the struct, a ballot for each node, a seat, a reference and a name
 * for each resource, and the holder's name. The resources themselves are shared (resource.h). All
 * that it will ever need is taken here (its place among the deadlines, room to write its longest
 * command), so that nothing that is done with it later can fail for lack of memory, calls excepted.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "core/first.h"

static_assert(sizeof(struct rl_bytes) == sizeof(redlock_bytes), "names are handed on");

void rl_lock_destroy(redlock_lock *lock) {
    redlock_client *client = lock->client;
    assert(!lock->is_in_line || client->phase == RL_CLIENT_GONE);
    rl_deadlines_set(&client->deadlines, &lock->deadline, RL_NEVER);
    rl_deadlines_set(&client->ends, &lock->end, RL_NEVER);
    if (lock->previous != NULL) {
        lock->previous->next = lock->next;
    } else {
        client->locks = lock->next;
    }
    if (lock->next != NULL) {
        lock->next->previous = lock->previous;
    }
    client->lock_count--;
    if (client->refused == lock) {
        client->refused = NULL;
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        rl_resource_put(&client->resources, lock->resources[i]);
    }
    rl_free(&client->memory, lock);
}

/* -- Options -- */

struct complaint {
    char *text;
    size_t size;
};

static int complain(const struct complaint *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int complain(const struct complaint *to, const char *format, ...) {
    if (to->text != NULL && to->size > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(to->text, to->size, format, args);
        va_end(args);
    }
    return REDLOCK_ERR_INVALID;
}

static bool same_bytes(const redlock_bytes *a, const redlock_bytes *b) {
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static int check_resources(const redlock_lock_options *o, const struct complaint *to) {
    if (o->resources == NULL || o->n_resources < 1 || o->n_resources > REDLOCK_RESOURCES_MAX) {
        return complain(to, "n_resources is %zu%s: it must be 1 to %d", o->n_resources,
                        o->resources == NULL ? " and resources is NULL" : "",
                        REDLOCK_RESOURCES_MAX);
    }
    for (size_t i = 0; i < o->n_resources; i++) {
        const redlock_bytes *name = &o->resources[i];
        if (name->data == NULL || name->length < 1 || name->length > REDLOCK_RESOURCE_MAX) {
            return complain(to, "resource %zu has %zu bytes%s: it must have 1 to %d", i,
                            name->length, name->data == NULL ? " at NULL" : "",
                            REDLOCK_RESOURCE_MAX);
        }
        const size_t prefix = sizeof RL_COMMAND_COUNTER_PREFIX - 1;
        if (name->length >= prefix && memcmp(name->data, RL_COMMAND_COUNTER_PREFIX, prefix) == 0) {
            return complain(to,
                            "resource %zu begins with " RL_COMMAND_COUNTER_PREFIX
                            ": the counters of fences are there",
                            i);
        }
        for (size_t j = 0; j < i; j++) {
            if (same_bytes(name, &o->resources[j])) {
                return complain(to, "resources %zu and %zu are the same: name each once", j, i);
            }
        }
    }
    return 0;
}

static int check_holder(const redlock_lock_options *o, const struct complaint *to) {
    if (o->holder == NULL) {
        return 0;
    }
    size_t length = strlen(o->holder);
    bool printable = true;
    for (size_t i = 0; i < length; i++) {
        printable = printable && o->holder[i] > ' ' && o->holder[i] <= '~';
    }
    if (length < 1 || length > REDLOCK_HOLDER_MAX || !printable) {
        return complain(to, "holder: it must be 1 to %d printable characters without spaces",
                        REDLOCK_HOLDER_MAX);
    }
    return 0;
}

/* -- Making -- */

/* The parts behind the struct, in the order of their alignment. */
static redlock_lock *lay_out(redlock_client *client, const redlock_lock_options *o) {
    size_t n = o->n_resources;
    size_t holder_length = o->holder != NULL ? strlen(o->holder) : 0;
    size_t ballots = client->n_nodes * sizeof(struct rl_ballot);
    size_t before = sizeof(redlock_lock) + ballots;
    before += -before % sizeof(void *);
    redlock_lock *lock = rl_alloc(
        &client->memory, 1,
        before +
            n * (sizeof(struct rl_seat) + sizeof(struct rl_resource *) + sizeof(struct rl_bytes)) +
            holder_length + 1);
    if (lock == NULL) {
        return NULL;
    }
    lock->seats = (struct rl_seat *)(void *)((char *)lock + before);
    lock->resources = (struct rl_resource **)(void *)(lock->seats + n);
    lock->names = (struct rl_bytes *)(void *)(lock->resources + n);
    char *holder = (char *)(lock->names + n);
    if (holder_length > 0) {
        memcpy(holder, o->holder, holder_length);
    }
    lock->target = (struct rl_target){.resources = lock->names,
                                      .n = (uint32_t)n,
                                      .holder = holder,
                                      .holder_length = (uint8_t)holder_length,
                                      .notifies = o->notify != 0,
                                      .retention_ms = client->fence_retention_ms};
    return lock;
}

/* The same whatever the order. */
static uint64_t hash_resources(const redlock_lock_options *o) {
    uint64_t hash = 0;
    for (size_t i = 0; i < o->n_resources; i++) {
        hash += rl_first_hash(o->resources[i].data, (uint32_t)o->resources[i].length);
    }
    return hash;
}

static bool take_resources(redlock_lock *lock, const redlock_lock_options *o) {
    struct rl_resources *table = &lock->client->resources;
    for (uint32_t i = 0; i < lock->target.n; i++) {
        struct rl_resource *resource =
            rl_resource_get(table, o->resources[i].data, o->resources[i].length);
        if (resource == NULL) {
            return false;
        }
        lock->resources[i] = resource;
        lock->names[i] = (struct rl_bytes){resource->bytes, resource->length};
        lock->resource_count++;
        rl_seat_init(lock->seats, lock->target.n, i, &resource->turns, lock);
    }
    return true;
}

static void enlist(redlock_lock *lock) {
    redlock_client *client = lock->client;
    lock->references = 1;
    lock->next = client->locks;
    if (lock->next != NULL) {
        lock->next->previous = lock;
    }
    client->locks = lock;
    client->lock_count++;
}

int redlock_lock_new_with(redlock_client *client, const redlock_lock_options *options,
                          redlock_lock **out, char *error, size_t error_size) {
    redlock_lock_options o = REDLOCK_LOCK_OPTIONS_INIT;
    struct complaint to = {error, error_size};
    complain(&to, "%s", "");
    if (out == NULL) {
        return complain(&to, "lock is NULL");
    }
    *out = NULL;
    if (client == NULL || options == NULL) {
        return complain(&to, "client or options is NULL");
    }
    rl_own(client, __func__);
    if (!rl_options_copy(&o, sizeof o, options, options->size)) {
        return complain(&to, "options.size is %zu, not %zu: begin with REDLOCK_LOCK_OPTIONS_INIT",
                        options->size, sizeof o);
    }
    if (check_resources(&o, &to) != 0 || check_holder(&o, &to) != 0) {
        return REDLOCK_ERR_INVALID;
    }
    if (client->phase != RL_CLIENT_OPEN) {
        complain(&to, "%s", redlock_strerror(REDLOCK_ERR_CLOSED));
        return REDLOCK_ERR_CLOSED;
    }
    redlock_lock *lock = rl_client_reserve_deadline(client) ? lay_out(client, &o) : NULL;
    if (lock != NULL) {
        lock->client = client;
        rl_lock_init(&lock->core, &client->rules, lock->ballots, REDLOCK_ERR_NODE_TIMEOUT,
                     hash_resources(&o));
        rl_deadline_init(&lock->deadline, RL_TAG_LOCK);
        rl_deadline_init(&lock->end, RL_TAG_LOCK);
        enlist(lock);
        if (!take_resources(lock, &o) || !rl_client_reserve_wire(client, &lock->target)) {
            rl_lock_unref(lock);
            lock = NULL;
        }
    }
    if (lock == NULL) {
        complain(&to, "%s", redlock_strerror(REDLOCK_ERR_NOMEM));
        return REDLOCK_ERR_NOMEM;
    }
    *out = lock;
    return 0;
}

int redlock_lock_new(redlock_client *client, const void *resource, size_t length,
                     redlock_lock **out) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes one = {resource, length};
    options.resources = &one;
    options.n_resources = 1;
    return redlock_lock_new_with(client, &options, out, NULL, 0);
}
