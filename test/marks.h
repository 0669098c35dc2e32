/* That a test reaches the branch that it is there for: see lib/base/mark.h. Without assertions
 * there are no marks, and these ask for nothing. */
#ifndef TEST_MARKS_H
#define TEST_MARKS_H

#include "base/mark.h"

#define MARK_FROM(name) const unsigned mark_##name = rl_mark_hits(RL_MARK_##name)

/* Whether it has been reached by now. */
#ifdef NDEBUG
#define MARK_HIT(name) ((void)mark_##name, true)
#else
#define MARK_HIT(name) (rl_mark_hits(RL_MARK_##name) > mark_##name)
#endif

#ifdef NDEBUG
#define MARK_TO(name) (void)mark_##name
#else
#define MARK_TO(name) assert_true(rl_mark_hits(RL_MARK_##name) > mark_##name)
#endif

#endif
