/* See spent.h. The second thread is never joined: it owns nothing, and ends with the process. Right
 * after a hold-up it may not have run yet, so a query lets it run first. */
#include "spent.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "redlock/redlock.h"

#define NAP_MS 5
#define NAP_NS (NAP_MS * UINT64_C(1000000))
#define USUAL_NS UINT64_C(1000000) /* the usual delay with which a quiet machine wakes a thread */

static atomic_uint_least64_t late_ns;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *watch(void *data) {
    (void)data;
    for (;;) {
        uint64_t from_ns = redlock_now_ns();
        (void)poll(NULL, 0, NAP_MS);
        uint64_t took_ns = redlock_now_ns() - from_ns;
        if (took_ns > NAP_NS + USUAL_NS) {
            atomic_fetch_add(&late_ns, took_ns - NAP_NS);
        }
    }
    return NULL;
}

static void start(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) != 0 || pthread_detach(thread) != 0) {
        abort();
    }
}

/* The time that this thread waited for a processor. */
static uint64_t queued_ns(void) {
    unsigned long long ran_ns = 0, waited_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file == NULL) {
        return 0;
    }
    int found = fscanf(file, "%llu %llu", &ran_ns, &waited_ns);
    fclose(file);
    return found == 2 ? waited_ns : 0;
}

static uint64_t kept_ns(void) {
    return atomic_load(&late_ns) + queued_ns();
}

struct spent spent_begin(void) {
    pthread_once(&once, start);
    return (struct spent){.at_ns = redlock_now_ns(), .kept_ns = kept_ns()};
}

uint64_t spent_kept_ns(const struct spent *since) {
    (void)poll(NULL, 0, 2 * NAP_MS);
    uint64_t kept = kept_ns();
    return kept > since->kept_ns ? kept - since->kept_ns : 0;
}

uint64_t spent_ns(const struct spent *since) {
    uint64_t took_ns = redlock_now_ns() - since->at_ns;
    uint64_t kept = spent_kept_ns(since);
    return took_ns > kept ? took_ns - kept : 0;
}

uint64_t spent_ms(const struct spent *since) {
    return spent_ns(since) / 1000000;
}
