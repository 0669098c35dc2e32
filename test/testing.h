/* cmocka, with the headers that it needs and those that nearly every test uses, and the cases of a
 * program:
 *
 *     TEST(says_no) {
 *         ...
 *     }
 *
 * Each case registers itself; main() of testing.c runs them in the order of the file. */
#ifndef TESTING_H
#define TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Asserts that a text contains another. */
#define assert_contains(text, part) test_contains(text, part, __FILE__, __LINE__)
void test_contains(const char *text, const char *part, const char *file, int line);

/* Registers a case: function, setup, teardown and initial state, as in struct CMUnitTest. */
#define TEST_ENTER(name, ...)                                          \
    __attribute__((constructor)) static void test_enter_##name(void) { \
        static const struct CMUnitTest test = {#name, __VA_ARGS__};    \
        test_enter(&test, __LINE__);                                   \
    }

/* A case with functions that run before and after it. */
#define TEST_WITH(name, setup, teardown)          \
    static void name(void **state);               \
    TEST_ENTER(name, name, setup, teardown, NULL) \
    static void name(void **state)
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A case with its own object: `variable` points to it; begin() runs before the body, end() after
 * it. TEST_ON_EACH runs it `times` times, each with a new object; `row` counts from 0. */
#define TEST_ON_EACH(name, times, type, variable, begin, end) \
    static void name##_on(type *variable, size_t row);        \
    TEST(name) {                                              \
        for (size_t row = 0; row < (times); row++) {          \
            type thing;                                       \
            begin(&thing);                                    \
            name##_on(&thing, row);                           \
            end(&thing);                                      \
        }                                                     \
    }                                                         \
    static void name##_on(type *variable, size_t row)
#define TEST_ON(name, type, variable, begin, end) TEST_ON_EACH(name, 1, type, variable, begin, end)

/* The same for an object that needs no end(). */
#define TEST_BEGUN(name, type, variable, begin) \
    static void name##_on(type *variable);      \
    TEST(name) {                                \
        type thing;                             \
        begin(&thing);                          \
        name##_on(&thing);                      \
    }                                           \
    static void name##_on(type *variable)

/* Functions that run before the program's first case, and after its last. */
#define TEST_GROUP(setup, teardown)                                   \
    __attribute__((constructor)) static void test_enter_group(void) { \
        test_group(setup, teardown);                                  \
    }

/* Runs all cases but the last few. For a program with its own main(). */
int test_run(size_t left_out);

void test_enter(const struct CMUnitTest *test, int line);
void test_group(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif /* TESTING_H */
