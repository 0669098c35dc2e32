/* See mark.h. The counters are the only state of the library that is not a client's, and are not
 * touched without assertions. */
#include "base/mark.h"

#include <assert.h>
#include <stdatomic.h>

static atomic_uint hits[RL_MARK_COUNT];

void rl_mark_hit(enum rl_mark mark) {
    assert(mark < RL_MARK_COUNT);
    atomic_fetch_add_explicit(&hits[mark], 1, memory_order_relaxed);
}

unsigned rl_mark_hits(enum rl_mark mark) {
    assert(mark < RL_MARK_COUNT);
    return atomic_load_explicit(&hits[mark], memory_order_relaxed);
}
