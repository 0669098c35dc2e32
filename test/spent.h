/* How long something took, less the time for which the machine kept this process from running: a
 * bound on the rest limits what the library does, even on a machine that is busy or stalls.
 *
 *     struct spent since = spent_begin();
 *     ...
 *     assert_true(spent_ms(&since) < 1000);
 *
 * Two times are subtracted. How long the calling thread was ready while another one ran, which the
 * kernel counts. And by how much a second thread, which only waits, was woken late: that reveals
 * stalls which the kernel of a virtual machine, or a SIGSTOP, hides. If both see the same stall, it
 * is subtracted twice, and the bound is that much wider. Stalls of other processes, such as nodes,
 * are not subtracted. Where the kernel does not count, only the second thread is used. */
#ifndef TEST_SPENT_H
#define TEST_SPENT_H

#include <stdint.h>

struct spent {
    uint64_t at_ns;
    uint64_t kept_ns;
};

/* Must be called by the thread that measures. */
struct spent spent_begin(void);
uint64_t spent_ns(const struct spent *since);
uint64_t spent_ms(const struct spent *since);

/* How long the machine has kept us from running since then. */
uint64_t spent_kept_ns(const struct spent *since);

#endif
