/* See arena.h. */
#include "arena.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *share(size_t size) {
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void give_back(void *memory, size_t size) {
    if (memory != NULL) {
        munmap(memory, size);
    }
}

int rl_bench_arena_open(struct rl_bench_arena *arena, size_t n) {
    memset(arena, 0, sizeof(*arena));
    arena->n = n;
    for (size_t i = 0; i < 2; i++) {
        arena->ready[i] = arena->go[i] = arena->stop[i] = -1;
    }
    arena->processes = share(n * sizeof(*arena->processes));
    arena->waits = share(RL_BENCH_ARENA_WAITS * sizeof(*arena->waits));
    arena->n_waits = share(sizeof(*arena->n_waits));
    if (arena->processes == NULL || arena->waits == NULL || arena->n_waits == NULL ||
        pipe2(arena->ready, O_CLOEXEC) != 0 || pipe2(arena->go, O_CLOEXEC) != 0 ||
        pipe2(arena->stop, O_CLOEXEC) != 0) {
        return -1;
    }
    return 0;
}

struct rl_bench_wait *rl_bench_arena_claim(struct rl_bench_arena *arena) {
    uint64_t i = atomic_fetch_add(arena->n_waits, 1);
    return i < RL_BENCH_ARENA_WAITS ? &arena->waits[i] : NULL;
}

void rl_bench_arena_shut(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void rl_bench_arena_enter(struct rl_bench_arena *arena) {
    rl_bench_arena_shut(&arena->ready[0]);
    rl_bench_arena_shut(&arena->go[1]);
    rl_bench_arena_shut(&arena->stop[1]);
}

void rl_bench_arena_close(struct rl_bench_arena *arena) {
    for (size_t i = 0; i < 2; i++) {
        rl_bench_arena_shut(&arena->ready[i]);
        rl_bench_arena_shut(&arena->go[i]);
        rl_bench_arena_shut(&arena->stop[i]);
    }
    give_back(arena->processes, arena->n * sizeof(*arena->processes));
    give_back(arena->waits, RL_BENCH_ARENA_WAITS * sizeof(*arena->waits));
    give_back(arena->n_waits, sizeof(*arena->n_waits));
}
