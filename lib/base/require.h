/* What is looked at in release builds as well: what costs a comparison, and without which a
 * callback would run twice, or memory that is gone be written to. A program that goes on then would
 * do harm with a lock in its hand; this ends it, with a sentence. All else is assert()'s, which
 * release builds leave out. */
#ifndef RL_BASE_REQUIRE_H
#define RL_BASE_REQUIRE_H

#define RL_REQUIRE(condition) \
    ((condition) ? (void)0 : rl_require_failed(#condition, __FILE__, __LINE__))

void rl_require_failed(const char *condition, const char *file, int line)
    __attribute__((noreturn, cold));

#endif
