/* Making and freeing locks.
 *
 * A lock is one piece of memory: the struct, a ticket, a reference and a name for each resource, a
 * ballot for each node, and the holder's name. The resources themselves are shared (resource.h).
 * The memory that every lock needs is reserved here (a slot among the deadlines, room for its
 * longest command), so that only calls can later fail for lack of memory. The memory that few locks
 * need is allocated on demand: by the acquire for an owner, on_renew and linger_ms (life.h), and
 * for waiting when other clients want the resource (resource.h).
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "client/env.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "mode/permit.h"
#include "nodes/sets.h"
#include "watch/metrics.h"

static_assert(sizeof(struct rl_bytes) == sizeof(redlock_bytes), "names are handed on");
static_assert(REDLOCK_RESOURCES_MAX <= UINT8_MAX, "a lock counts its resources in a byte");
static_assert(REDLOCK_HOLDER_MAX <= UINT8_MAX, "a target has its holder's length in a byte");
static_assert(_Alignof(struct rl_permit) <= _Alignof(struct rl_ticket), "permits follow tickets");
static_assert(_Alignof(struct rl_bytes) <= sizeof(void *), "names follow pointers");
static_assert(_Alignof(struct rl_ballot) <= _Alignof(struct rl_bytes), "ballots follow names");

/* -- Options -- */

struct complaint {
    char *text;
    size_t size;
};

#define complain(to, ...) rl_error_set((to)->text, (to)->size, REDLOCK_ERR_INVALID, __VA_ARGS__)

static bool same_bytes(const redlock_bytes *a, const redlock_bytes *b) {
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static bool begins_with(const redlock_bytes *name, const char *prefix) {
    size_t length = strlen(prefix);
    return name->length >= length && memcmp(name->data, prefix, length) == 0;
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
        if (begins_with(name, RL_COMMAND_PREFIX)) {
            return complain(to,
                            "resource %zu begins with \"" RL_COMMAND_PREFIX
                            "\": the library keeps counters and lines there",
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

static int check_mode(const redlock_lock_options *o, const struct complaint *to) {
    if (o->mode != REDLOCK_EXCLUSIVE && o->mode != REDLOCK_SHARED) {
        return complain(to, "mode is %d: it must be REDLOCK_EXCLUSIVE or REDLOCK_SHARED",
                        (int)o->mode);
    }
    return 0;
}

static int check_permits(const redlock_lock_options *o, const struct complaint *to) {
    if (o->permits < 0 || o->permits > REDLOCK_PERMITS_MAX) {
        return complain(to, "permits is %d: it must be 1 to %d, or 0 for a lock", (int)o->permits,
                        REDLOCK_PERMITS_MAX);
    }
    if (o->permits > 0 && o->mode != REDLOCK_EXCLUSIVE) {
        return complain(to,
                        "permits is %d and mode is not REDLOCK_EXCLUSIVE: a permit is held by one",
                        (int)o->permits);
    }
    if (o->permits > 0 && o->n_resources != 1) {
        return complain(to, "permits is %d and n_resources %zu: a semaphore is of one resource",
                        (int)o->permits, o->n_resources);
    }
    if (o->permits > 0 && (o->take < 1 || o->take > REDLOCK_TAKE_MAX || o->take > o->permits)) {
        return complain(to, "take is %d: it must be 1 to %d, and no more than permits, which is %d",
                        (int)o->take, REDLOCK_TAKE_MAX, (int)o->permits);
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

static struct rl_bytes *names_of(redlock_lock *lock, size_t n) {
    return (struct rl_bytes *)(void *)(lock->tickets + n);
}

/* The parts behind the struct, in the order of their alignment. */
static redlock_lock *lay_out(redlock_client *client, const redlock_lock_options *o) {
    const size_t n = o->n_resources, n_seats = rl_sets_seats(client);
    size_t holder_length = o->holder != NULL ? strlen(o->holder) : 0;
    const size_t permit = o->permits > 0 ? sizeof(struct rl_permit) : 0;
    size_t size = sizeof(redlock_lock) + permit +
                  n * (sizeof(struct rl_ticket) + sizeof(struct rl_bytes)) +
                  n_seats * sizeof(struct rl_ballot) + holder_length;
    redlock_lock *lock = rl_alloc(&client->memory, 1, size);
    if (lock == NULL) {
        return NULL;
    }
    char *behind = (char *)(names_of(lock, n) + n);
    struct rl_ballot *ballots = (struct rl_ballot *)(void *)(behind + permit);
    rl_lock_init(&lock->core, &client->rules, ballots);
    char *holder = (char *)(ballots + n_seats);
    assert(holder + holder_length == (char *)lock + size); /* the last part */
    if (holder_length > 0) {
        memcpy(holder, o->holder, holder_length);
    }
    lock->ballot_count = (uint8_t)n_seats;
    lock->target = (struct rl_target){.resources = names_of(lock, n),
                                      .n = (uint32_t)n,
                                      .holder = holder,
                                      .holder_length = (uint8_t)holder_length,
                                      .retention_ms = client->fence_retention_ms,
                                      .permits = (uint16_t)o->permits,
                                      .take = (uint8_t)(permit > 0 ? o->take : 0)};
    if (permit > 0) {
        rl_permit_init(lock);
    }
    return lock;
}

static bool take_resources(redlock_lock *lock, const redlock_lock_options *o) {
    struct rl_resources *table = &lock->client->resources;
    const uint32_t kind =
        rl_resource_kind(lock->mode->mode, lock->target.take, lock->target.permits);
    struct rl_bytes *names = names_of(lock, lock->target.n);
    for (uint32_t i = 0; i < lock->target.n; i++) {
        struct rl_resource *resource =
            rl_resource_get(table, kind, o->resources[i].data, o->resources[i].length);
        if (resource == NULL) {
            return false;
        }
        names[i] = (struct rl_bytes){resource->bytes, resource->length};
        assert(lock->resource_count == i); /* rl_lock_destroy() puts back so many */
        lock->resource_count++;
        rl_ticket_init(lock->tickets, lock->target.n, i, &resource->waitlist);
    }
    return true;
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
    if (!rl_sized_take(&o, sizeof o, options, options->size)) {
        return complain(&to, "options.size is %zu, not %zu: begin with REDLOCK_LOCK_OPTIONS_INIT",
                        options->size, sizeof o);
    }
    if (check_resources(&o, &to) != 0 || check_mode(&o, &to) != 0 || check_permits(&o, &to) != 0 ||
        check_holder(&o, &to) != 0) {
        return REDLOCK_ERR_INVALID;
    }
    if (client->phase != RL_CLIENT_OPEN) {
        complain(&to, "%s", redlock_strerror(REDLOCK_ERR_CLOSED));
        return REDLOCK_ERR_CLOSED;
    }
    redlock_lock *lock = rl_reserve_deadline(client) ? lay_out(client, &o) : NULL;
    if (lock != NULL) {
        lock->client = client;
        lock->mode = o.permits > 0 ? &rl_mode_permit : rl_mode_of_lock(o.mode);
        rl_mode_begin(lock);
        rl_metrics_label(lock, &o.resources[0]);
        rl_deadline_init(&lock->deadline, RL_WAITS_LOCK);
        rl_deadline_init(&lock->end, RL_WAITS_HOLDER);
        rl_lock_enlist(lock);
        if (!take_resources(lock, &o) || !rl_sets_bind(lock) ||
            !rl_reserve_wire(client, &lock->target)) {
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
