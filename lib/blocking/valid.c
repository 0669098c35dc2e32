/* The validity of a mutex as every thread sees it, without a lock: who holds it, and until when.
 *
 * The loop thread writes: the owner first, valid_until_ns after it; and to take it back
 * valid_until_ns = 0, and then another owner. A reader goes the other way round.
 *
 * Can a thread take another owner's validity for its own? If the validity that it read was
 * published for another owner, then the owner that it reads after that is this other one or a later
 * one; and it is not the reader, who has not locked the mutex meanwhile: he is here.
 * Can validity be seen after an unlock? It is taken back on the loop thread before the caller of
 * unlock is answered.
 */
#include <assert.h>

#include "blocking/valid.h"

void rl_valid_publish(redlock_mutex *mutex, uint64_t owner, uint64_t until_ns) {
    assert(owner != 0);
    if (atomic_load_explicit(&mutex->owner, memory_order_relaxed) != owner) {
        assert(atomic_load(&mutex->valid_until_ns) == 0);
        atomic_store_explicit(&mutex->owner, owner, memory_order_release);
    }
    assert(rl_loop_thread_is_self(mutex->blocking->thread));
    atomic_store_explicit(&mutex->valid_until_ns, until_ns, memory_order_release);
}

void rl_valid_withdraw(redlock_mutex *mutex, uint64_t owner) {
    assert(owner != 0);
    assert(rl_loop_thread_is_self(mutex->blocking->thread)); /* it alone writes */
    if (atomic_load_explicit(&mutex->owner, memory_order_relaxed) == owner) {
        atomic_store_explicit(&mutex->valid_until_ns, 0, memory_order_release);
    }
}

void rl_valid_forget(redlock_mutex *mutex, uint64_t owner) {
    assert(owner != 0);
    assert(rl_loop_thread_is_self(mutex->blocking->thread)); /* it alone writes */
    if (atomic_load_explicit(&mutex->owner, memory_order_relaxed) == owner) {
        atomic_store_explicit(&mutex->valid_until_ns, 0, memory_order_release);
        atomic_store_explicit(&mutex->owner, 0, memory_order_release);
    }
}

uint64_t rl_valid_left_ns(const redlock_mutex *mutex, uint64_t owner) {
    if (rl_fork_is_child(&mutex->blocking->fork)) {
        return 0;
    }
    uint64_t until_ns = atomic_load_explicit(&mutex->valid_until_ns, memory_order_acquire);
    uint64_t whose = atomic_load_explicit(&mutex->owner, memory_order_acquire);
    uint64_t now_ns = redlock_now_ns();
    return until_ns > now_ns && whose == owner ? until_ns - now_ns : 0;
}
