/* Time that nobody waits for: the clocks of this process run ahead of the system's by as much as
 * they were told to. A program that is linked with clock_hook.c has clock_gettime() and
 * gettimeofday() of its own in the place of the real ones, for itself and for its shared libraries
 * (libuv), so that timers come when nothing else would happen before them, and in their order.
 *
 * What the kernel waits for by itself (a timeout that was given to poll()) is real. */
#ifndef FAIL_CLOCK_HOOK_H
#define FAIL_CLOCK_HOOK_H

#include <stdint.h>

/* All clocks, by so much, from now on and for good. */
void clock_hook_skip_ms(uint64_t ms);

#endif /* FAIL_CLOCK_HOOK_H */
