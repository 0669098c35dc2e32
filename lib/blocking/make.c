/* Mutexes and their lock objects, made and freed in the loop.
 *
 * A mutex has one lock object from the beginning, whose creation checks the program's options; more
 * are made when several owners want the mutex at one time or in another mode. They are freed with
 * the mutex, or with the client; their holds are freed with the mutex, see state.h.
 */
#include "blocking/make.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"
#include "blocking/ask.h"
#include "blocking/drive.h"
#include "blocking/gate.h"
#include "client/recipe.h"

/* -- Owners -- */

/* A thread's own number comes from a counter, not from its address or identifier: a later thread
 * may get the same, and would then hold what the earlier thread never unlocked. The upper half of
 * the numbers is ours, the lower half the program's (REDLOCK_OWNER_MAX). All clients of a process
 * share the counter; 2^63 - 1 numbers do not run out.
 */
uint64_t rl_owner_draw(void) {
    static _Atomic uint64_t drawn;
    uint64_t number = 1 + atomic_fetch_add_explicit(&drawn, 1, memory_order_relaxed);
    assert(number < REDLOCK_OWNER_MAX);
    return number | (UINT64_C(1) << 63);
}

uint64_t rl_owner_of_thread(void) {
    static _Thread_local uint64_t number;
    if (number == 0) {
        number = rl_owner_draw();
    }
    assert(number > REDLOCK_OWNER_MAX); /* not one of the program's numbers */
    return number;
}

/* -- Lock objects -- */

static int add_hold(redlock_mutex *mutex, redlock_lock *lock, struct rl_hold **out) {
    struct rl_hold *hold = rl_alloc(&mutex->blocking->memory, 1, sizeof *hold);
    if (hold == NULL) {
        return REDLOCK_ERR_NOMEM;
    }
    assert(redlock_lock_client(lock) == mutex->blocking->client);
    hold->lock = lock;
    assert(!redlock_lock_is_valid(lock)); /* it is fresh */
    hold->made = redlock_lock_mode(lock);
    hold->mutex = mutex;
    hold->next = mutex->holds;
    atomic_store_explicit(&mutex->holds, hold, memory_order_release); /* others may look */
    *out = hold;
    return 0;
}

int rl_hold_new(redlock_mutex *mutex, enum redlock_mode mode, struct rl_hold **out) {
    redlock_lock *lock;
    const struct rl_hold *any = atomic_load(&mutex->holds);
    int status = rl_recipe_another(any->lock, mode, &lock);
    if (status == 0) {
        assert(redlock_lock_mode(lock) == mode);
        status = add_hold(mutex, lock, out);
        if (status != 0) {
            redlock_lock_free(lock);
        }
    }
    return status;
}

static void free_locks(redlock_mutex *mutex) {
    for (struct rl_hold *hold = mutex->holds; hold != NULL; hold = hold->next) {
        assert(hold->ask == NULL && hold->extend == NULL);
        assert(!hold->is_unlocking);
        assert(hold->mutex == mutex);
        redlock_lock_free(hold->lock);
        hold->lock = NULL;
    }
}

/* -- Making -- */

static redlock_mutex *make_mutex(redlock_blocking *blocking, redlock_lock *lock,
                                 const struct rl_making *making) {
    struct rl_hold *hold;
    redlock_mutex *mutex = rl_alloc(&blocking->memory, 1, sizeof *mutex);
    if (mutex == NULL) {
        return NULL;
    }
    const uint64_t owner = making->options.owner;
    mutex->blocking = blocking;
    mutex->options = making->options;
    assert(owner <= REDLOCK_OWNER_MAX || owner == REDLOCK_OWNER_OBJECT); /* others are threads' */
    mutex->number = rl_owner_draw();
    mutex->own_owner = owner == REDLOCK_OWNER_OBJECT ? rl_owner_draw() : owner;
    if (add_hold(mutex, lock, &hold) != 0) {
        rl_free(&blocking->memory, mutex);
        return NULL;
    }
    assert(mutex->holds == hold && hold->next == NULL);
    rl_list_add(&blocking->mutexes, &mutex->link);
    blocking->listeners += mutex->options.has_on_lost;
    rl_blocking_ref(blocking);
    return mutex;
}

/* Whether the target may have several holders at one time, as permits do; a mutex can show only
 * one. */
static bool may_have_several_holders(const struct rl_making *making) {
    const redlock_lock_options *target = making->target;
    assert(target != NULL);
    return target->size >= sizeof *target && target->permits > 0 &&
           (making->options.kind == RL_KIND_RWLOCK ||
            making->options.owner != REDLOCK_OWNER_OBJECT);
}

void rl_hold_make(struct rl_ask *ask) {
    struct rl_making *making = ask->making;
    const enum rl_kind kind = making->options.kind;
    assert(ask->mutex == NULL && making->made == NULL);
    redlock_lock *lock;
    int status = redlock_lock_new_with(ask->blocking->client, making->target, &lock, ask->text,
                                       ask->text_size);
    if (status != 0) {
        rl_ask_answer(ask, status);
        return;
    }
    /* The program gets the error where it sets the option. */
    status = rl_recipe_check_acquire(lock, &making->options.acquire);
    if (status != 0) {
        redlock_lock_message(lock, ask->text, ask->text_size);
    } else if (kind != RL_KIND_RWLOCK && redlock_lock_mode(lock) != REDLOCK_EXCLUSIVE) {
        status = REDLOCK_ERR_INVALID;
        rl_error_copy(ask->text, ask->text_size,
                      "mode is REDLOCK_SHARED: a mutex is exclusive, readers use a redlock_rwlock");
    } else if (may_have_several_holders(making)) {
        status = REDLOCK_ERR_INVALID;
        rl_error_copy(ask->text, ask->text_size,
                      "permits: a mutex for them is of one owner, REDLOCK_OWNER_OBJECT");
    } else if (kind == RL_KIND_SEMAPHORE && making->target->permits == 0) {
        status = REDLOCK_ERR_INVALID;
        rl_error_copy(ask->text, ask->text_size,
                      "permits is 0: a semaphore has 1 or more, without them it is a mutex");
    } else if ((making->made = make_mutex(ask->blocking, lock, making)) == NULL) {
        status = REDLOCK_ERR_NOMEM;
        rl_error_copy(ask->text, ask->text_size, redlock_strerror(status));
    }
    if (status != 0) {
        redlock_lock_free(lock);
    }
    rl_ask_answer(ask, status);
}

/* -- Freeing -- */

static int may_free(const redlock_mutex *mutex, uint64_t owner) {
    for (const struct rl_hold *hold = mutex->holds; hold != NULL; hold = hold->next) {
        if (hold->ask != NULL || hold->extend != NULL) {
            return REDLOCK_ERR_BUSY;
        }
    }
    for (const struct rl_hold *hold = mutex->holds; hold != NULL; hold = hold->next) {
        if (hold->depth > 0 && hold->owner != owner) {
            return REDLOCK_ERR_NOT_OWNER;
        }
    }
    return 0;
}

void rl_hold_free(struct rl_ask *ask) {
    int status = may_free(ask->mutex, ask->owner);
    if (status == 0) {
        rl_list_remove(&ask->mutex->link);
        ask->blocking->listeners -= ask->mutex->options.has_on_lost;
        free_locks(ask->mutex);
        rl_ask_answer(ask, 0);
    } else {
        rl_mutex_say(ask->mutex, redlock_strerror(status));
        rl_ask_answer(ask, status);
    }
}

void rl_hold_drop_all(redlock_blocking *blocking) {
    assert(blocking->is_closing);
    struct rl_link *first;
    while ((first = blocking->mutexes.first) != NULL) {
        const redlock_mutex *mutex = RL_CONTAINER(first, redlock_mutex, link);
        rl_list_remove(first);
        for (struct rl_hold *hold = mutex->holds; hold != NULL; hold = hold->next) {
            assert(atomic_load(&hold->valid.until_ns) == 0); /* rl_hold_end_all() */
            hold->lock = NULL;
        }
    }
}

void rl_hold_drop_memory(redlock_mutex *mutex) {
    const redlock_allocator memory = mutex->blocking->memory;
    struct rl_hold *hold = mutex->holds;
    while (hold != NULL) {
        struct rl_hold *next = hold->next;
        assert(hold->lock == NULL); /* the loop no longer refers to either */
        assert(hold->mutex == mutex);
        rl_free(&memory, hold);
        hold = next;
    }
    rl_free(&memory, mutex);
}

/* -- Messages -- */

void rl_mutex_say(redlock_mutex *mutex, const char *sentence) {
    rl_gate_close(mutex->blocking);
    rl_error_copy(mutex->message, sizeof mutex->message, sentence);
    rl_gate_open(mutex->blocking);
}
