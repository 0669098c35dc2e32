/* See fork.h. */
#include "base/fork.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static_assert(RL_FORK_ROOM < 4096, "the first byte of the page is the mark");

/* Global, since fork() concerns the whole process; the only data that clients share. */
static _Atomic uint32_t forks;

static void count_in_child(void) {
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

/* Without memory for it only the pid is left. */
static void register_count(void) {
    (void)pthread_atfork(NULL, NULL, count_in_child);
}

static size_t page_size(void) {
    long size = sysconf(_SC_PAGESIZE);
    assert(size >= 4096); /* rl_fork_room() relies on it */
    return (size_t)size;
}

#ifdef MADV_WIPEONFORK
/* Some emulators (older qemu in user mode) accept all advice and follow none. */
static bool knows_advice(unsigned char *page, size_t size) {
    return madvise(page, size, -1) != 0;
}
#endif

static unsigned char *page_new(void) {
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
    assert(!rl_fork_is_child(fork));
}

void rl_fork_end(struct rl_fork *fork) {
    if (fork->page != NULL) {
        assert(!rl_fork_is_child(fork));
        munmap(fork->page, page_size());
        fork->page = NULL;
    }
}

bool rl_fork_is_child_by_pid(const struct rl_fork *fork) {
    assert(fork->pid > 0); /* begun */
    return fork->pid != getpid() ||
           fork->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}
