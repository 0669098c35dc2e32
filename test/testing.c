/* See testing.h. */
#include "testing.h"

#define CASES_MAX 100

static struct {
    struct CMUnitTest cases[CASES_MAX];
    int lines[CASES_MAX]; /* in the file: no standard defines the order of constructors */
    size_t count;
    CMFixtureFunction setup, teardown;
} list;

void test_enter(const struct CMUnitTest *test, int line) {
    size_t at = list.count++;
    if (at == CASES_MAX) {
        abort();
    }
    for (; at > 0 && list.lines[at - 1] > line; at--) {
        list.cases[at] = list.cases[at - 1];
        list.lines[at] = list.lines[at - 1];
    }
    list.cases[at] = *test;
    list.lines[at] = line;
}

void test_contains(const char *text, const char *part, const char *file, int line) {
    if (strstr(text, part) == NULL) {
        print_error("\"%s\" is not in \"%s\"\n", part, text);
        _fail(file, line);
    }
}

void test_group(CMFixtureFunction setup, CMFixtureFunction teardown) {
    list.setup = setup;
    list.teardown = teardown;
}

int test_run(size_t left_out) {
    return _cmocka_run_group_tests("cases", list.cases, list.count - left_out, list.setup,
                                   list.teardown);
}

__attribute__((weak)) int main(void) {
    return test_run(0);
}
