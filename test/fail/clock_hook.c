/* See clock_hook.h. Threads of libuv ask for the time as well; only one thread skips. */
#include "fail/clock_hook.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static uint64_t ahead_ns;

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_gettimeofday)(struct timeval *, void *);

/* The clock may be read before main(). */
static void find(void *place, size_t size, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    assert(found != NULL);
    memcpy(place, &found, size);
}

void clock_hook_skip_ms(uint64_t ms) {
    __atomic_add_fetch(&ahead_ns, ms * 1000000, __ATOMIC_RELAXED);
}

static int64_t ahead(void) {
    return (int64_t)__atomic_load_n(&ahead_ns, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (real_clock_gettime == NULL) {
        find(&real_clock_gettime, sizeof(real_clock_gettime), "clock_gettime");
    }
    int failed = real_clock_gettime(clock, now);
    if (failed == 0) {
        int64_t ns = now->tv_nsec + ahead();
        now->tv_sec += (time_t)(ns / NS_PER_S);
        now->tv_nsec = (long)(ns % NS_PER_S);
    }
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    if (real_gettimeofday == NULL) {
        find(&real_gettimeofday, sizeof(real_gettimeofday), "gettimeofday");
    }
    int failed = real_gettimeofday(now, zone);
    if (failed == 0) {
        int64_t us = now->tv_usec + ahead() / 1000;
        now->tv_sec += (time_t)(us / (NS_PER_S / 1000));
        now->tv_usec = (suseconds_t)(us % (NS_PER_S / 1000));
    }
    return failed;
}
