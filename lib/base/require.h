/* Checks that release builds keep: each costs a comparison, and prevents a callback from running
 * twice, or a write to freed memory. A program that went on could do harm while it holds a lock, so
 * a failed check ends it with a message. All other checks are assert()s, which release builds
 * omit. */
#ifndef RL_BASE_REQUIRE_H
#define RL_BASE_REQUIRE_H

#define RL_REQUIRE(condition) \
    ((condition) ? (void)0 : rl_require_failed(#condition, __FILE__, __LINE__))

void rl_require_failed(const char *condition, const char *file, int line)
    __attribute__((noreturn, cold));

#endif
