/* See cost.h. */
#include "cost/cost.h"

#include <sys/resource.h>

static double microseconds(struct timeval time) {
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

double cost_cpu_us(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

void cost_show(const char *what, double figure) {
    printf("# %s: %.*f\n", what, figure < 10 ? 3 : figure < 1000 ? 1 : 0, figure);
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

uint64_t cost_percentile(uint64_t *values, size_t n, double q) {
    assert_true(n > 0);
    qsort(values, n, sizeof(*values), compare);
    return values[(size_t)((double)(n - 1) * q)];
}
