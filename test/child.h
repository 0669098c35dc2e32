/* For tests that fork. In the child nothing may be asserted by cmocka, which would go on with the
 * parent's tests: the exit code is the line that went wrong. */
#ifndef CHILD_H
#define CHILD_H

#include <unistd.h>

#define CHILD_CHECK(condition)         \
    do {                               \
        if (!(condition)) {            \
            _exit(1 + __LINE__ % 250); \
        }                              \
    } while (0)

#endif /* CHILD_H */
