/* See fork.h. */
#include "fork.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* The process's own, since fork() is the process's: the one thing that clients share. */
static _Atomic uint32_t forks;

static void count_in_child(void) {
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

/* No memory for it: what is left is the pid. */
static void register_count(void) {
    (void)pthread_atfork(NULL, NULL, count_in_child);
}

static size_t page_size(void) {
    long size = sysconf(_SC_PAGESIZE);
    assert(size > 0);
    return (size_t)size;
}

#ifdef MADV_WIPEONFORK
/* Some emulators (an older qemu in user mode) say yes to every advice, and follow none. */
static bool knows_advice(unsigned char *page, size_t size) {
    return madvise(page, size, -1) != 0;
}
#endif

static const volatile unsigned char *page_new(void) {
#ifdef MADV_WIPEONFORK
    const size_t size = page_size();
    unsigned char *page =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    if (knows_advice(page, size) && madvise(page, size, MADV_WIPEONFORK) == 0) {
        page[0] = 1;
        return page;
    }
    munmap(page, size);
#endif
    return NULL;
}

void rl_fork_begin(struct rl_fork *fork) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *fork = (struct rl_fork){.page = page_new(), .pid = getpid()};
    if (fork->page == NULL) {
        pthread_once(&once, register_count);
        fork->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    }
}

void rl_fork_end(struct rl_fork *fork) {
    if (fork->page != NULL) {
        assert(!rl_fork_is_child(fork));
        munmap((void *)(uintptr_t)fork->page, page_size());
        fork->page = NULL;
    }
}

bool rl_fork_is_child_by_pid(const struct rl_fork *fork) {
    return fork->pid != getpid() ||
           fork->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}
