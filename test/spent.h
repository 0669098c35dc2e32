/* How long something took, less what the machine kept this process from running: a bound on the
 * rest is a bound on what the library does, on a machine that is busy, or stands still, as on any
 * other.
 *
 *     struct spent since = spent_begin();
 *     ...
 *     assert_true(spent_ms(&since) < 1000);
 *
 * Two things are left out. How long the calling thread was ready and another one ran: the kernel
 * counts that. And how much later than it asked for a second thread was woken, which does nothing
 * but wait: that sees what the kernel of a virtual machine, or a SIGSTOP, hides. Either may see the
 * same hold-up; then it is left out twice, and the bound is that much wider. What other processes
 * were kept from, nodes for instance, is not left out. Where the kernel does not count, the second
 * thread alone is asked. */
#ifndef TEST_SPENT_H
#define TEST_SPENT_H

#include <stdint.h>

struct spent {
    uint64_t at_ns;
    uint64_t kept_ns;
};

/* To be asked for by the thread that began. */
struct spent spent_begin(void);
uint64_t spent_ns(const struct spent *since);
uint64_t spent_ms(const struct spent *since);

/* Of the time since then that was not spent by us. */
uint64_t spent_kept_ns(const struct spent *since);

#endif
