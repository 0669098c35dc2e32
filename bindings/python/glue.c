/* See glue.h. */
#include "glue.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static void on_wake(uv_async_t *wake) {
    struct py_loop *loop = wake->data;
    loop->is_woken = 1;
}

int py_loop_open(struct py_loop *loop) {
    *loop = (struct py_loop){.first = NULL};
    int status = uv_loop_init(&loop->uv);
    if (status != 0) {
        return status;
    }
    loop->wake.data = loop;
    status = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (status != 0) {
        uv_loop_close(&loop->uv);
    }
    return status;
}

void py_loop_close(struct py_loop *loop) {
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    uv_loop_close(&loop->uv);
}

void py_loop_wait(struct py_loop *loop) {
    while (loop->first == NULL && !loop->is_woken) {
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    loop->is_woken = 0;
}

int py_loop_turn(struct py_loop *loop) {
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    uv_update_time(&loop->uv);
    return uv_backend_timeout(&loop->uv);
}

int py_loop_fd(const struct py_loop *loop) {
    return uv_backend_fd(&loop->uv);
}

void py_loop_wake(struct py_loop *loop) {
    uv_async_send(&loop->wake);
}

size_t py_loop_take(struct py_loop *loop, uint64_t *words, size_t n) {
    size_t taken = 0;
    for (; taken < n && loop->first != NULL; taken++) {
        struct py_item *item = loop->first;
        loop->first = item->next;
        words[taken] = item->id << PY_BITS | item->events;
        item->events = 0;
    }
    return taken;
}

static void note(struct py_item *item, enum py_event event) {
    if (item->events == 0) {
        item->next = NULL;
        *(item->loop->first == NULL ? &item->loop->first : &item->loop->last->next) = item;
        item->loop->last = item;
    }
    item->events |= event;
}

static void done(struct py_item *item, int status) {
    item->done = status;
    note(item, PY_DONE);
}

static void lost(struct py_item *item, int status) {
    item->lost = status;
    note(item, PY_LOST);
}

/* Publishes the hold's validity and fence to all threads. */
static void look(struct py_item *item, const redlock_lock *lock) {
    atomic_store(&item->fence, redlock_lock_fence(lock));
    atomic_store(&item->valid_until_ns, redlock_lock_valid_until_ns(lock));
}

static void on_client(redlock_client *client, int status, void *data) {
    (void)client;
    done(data, status);
}

static void on_done(redlock_lock *lock, int status, void *data) {
    struct py_item *item = data;
    look(item, lock);
    memcpy(item->token, redlock_lock_token(lock), sizeof item->token);
    done(item, status);
}

static void on_released(redlock_lock *lock, int status, void *data) {
    (void)lock;
    done(data, status);
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct py_item *item = data;
    (void)lock;
    atomic_store(&item->valid_until_ns, 0);
    lost(item, status);
}

static void on_extended(redlock_lock *lock, int status, void *data) {
    struct py_item *item = data;
    look(item, lock);
    item->extended = status;
    note(item, PY_EXTENDED);
}

static void on_renewed(redlock_lock *lock, int status, void *data) {
    (void)status;
    look(data, lock);
}

static void on_resigned(redlock_election *election, int status, void *data) {
    (void)election;
    done(data, status);
}

static void on_elected(redlock_election *election, int status, void *data) {
    (void)election;
    (void)status;
    note(data, PY_ELECTED);
}

static void on_unelected(redlock_election *election, int status, void *data) {
    (void)election;
    lost(data, status);
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    (void)election;
    (void)leader;
    note(data, PY_LEADER);
}

int py_is_valid(const struct py_item *item) {
    return py_left_ns(item) > 0;
}

int64_t py_left_ns(const struct py_item *item) {
    const uint64_t until_ns = atomic_load(&item->valid_until_ns);
    const uint64_t now_ns = redlock_now_ns();
    return until_ns > now_ns ? (int64_t)(until_ns - now_ns) : 0;
}

uint64_t py_fence(const struct py_item *item) {
    return atomic_load(&item->fence);
}

int py_open(redlock_client **client, const redlock_client_options *options, struct py_item *item) {
    return redlock_client_open(client, &item->loop->uv, options, on_client, item);
}

int py_close(redlock_client *client, struct py_item *item) {
    return redlock_client_close(client, on_client, item);
}

int py_acquire(redlock_client *client, const redlock_lock_options *lock_options,
               const redlock_acquire_options *options, struct py_item *item, redlock_lock **lock,
               char *error, size_t error_size) {
    *error = '\0';
    int status = redlock_lock_new_with(client, lock_options, lock, error, error_size);
    if (status != 0) {
        return status;
    }
    status = py_acquire_again(*lock, options, item);
    if (status != 0) {
        redlock_lock_message(*lock, error, error_size);
        redlock_lock_free(*lock);
        *lock = NULL;
    }
    return status;
}

int py_acquire_again(redlock_lock *lock, const redlock_acquire_options *options,
                     struct py_item *item) {
    redlock_acquire_options ours = *options;
    ours.on_lost = on_lost;
    ours.lost_data = item;
    ours.on_renew = on_renewed;
    ours.renew_data = item;
    return redlock_acquire(lock, &ours, on_done, item);
}

int py_release(redlock_lock *lock, struct py_item *item) {
    atomic_store(&item->valid_until_ns, 0);
    return redlock_release(lock, on_released, item);
}

void py_free(redlock_lock *lock, struct py_item *item) {
    atomic_store(&item->valid_until_ns, 0);
    redlock_lock_free(lock);
}

int py_extend(redlock_lock *lock, int64_t ttl_ms, struct py_item *item) {
    const int status = redlock_extend(lock, ttl_ms, on_extended, item);
    look(item, lock); /* a shorter ttl counts at once */
    return status;
}

int py_upgrade(redlock_lock *lock, struct py_item *item) {
    return redlock_try_upgrade(lock, on_extended, item);
}

int py_downgrade(redlock_lock *lock, struct py_item *item) {
    return redlock_downgrade(lock, on_extended, item);
}

int py_election(redlock_client *client, const redlock_election_options *options, int observes,
                struct py_item *item, redlock_election **election, char *error, size_t error_size) {
    redlock_election_options ours = *options;
    *error = '\0';
    ours.on_elected = on_elected;
    ours.on_lost = on_unelected;
    ours.on_leader = observes ? on_leader : NULL;
    ours.data = item;
    return redlock_election_new(client, &ours, election, error, error_size);
}

int py_resign(redlock_election *election, struct py_item *item) {
    return redlock_election_resign(election, on_resigned, item);
}
