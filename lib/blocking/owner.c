/* Numbers of owners.
 *
 * A thread's own number comes from a counter, not from its address or its identifier: a later
 * thread may get the same, and would then hold what the earlier thread never unlocked. The upper
 * half of the numbers is ours, the lower half the program's (REDLOCK_OWNER_MAX). The counter is all
 * that the clients of a process share; 2^63 - 1 numbers do not run out.
 */
#include <assert.h>

#include "blocking/owner.h"

#include <stdatomic.h>

#include "redlock/blocking.h"

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
