/* Check that a test reaches the branch for which it was written: see lib/base/mark.h. Without
 * assertions there are no marks, and these check nothing. */
#ifndef TEST_MARKS_H
#define TEST_MARKS_H

#include "base/mark.h"

#define MARK_FROM(name) const unsigned mark_##name = rl_mark_hits(RL_MARK_##name)

/* Whether the mark has been reached. */
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
