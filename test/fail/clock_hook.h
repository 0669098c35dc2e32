/* Skips time instead of waiting: the test sets the clocks of this process ahead of the system's. In
 * a program that is linked with clock_hook.c, its clock_gettime() and gettimeofday() replace the
 * real ones, also in its shared libraries (libuv), so that timers fire in order as soon as nothing
 * else can happen before them.
 *
 * The kernel's own waits (the timeout of poll()) are real. */
#ifndef FAIL_CLOCK_HOOK_H
#define FAIL_CLOCK_HOOK_H

#include <stdint.h>

/* Sets all clocks ahead, for good. */
void clock_hook_skip_ms(uint64_t ms);

#endif /* FAIL_CLOCK_HOOK_H */
