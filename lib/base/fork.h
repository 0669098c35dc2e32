/* Is this process a copy of the one that opened a client?
 *
 * Happy path: a page that the kernel gives to a child as zeros (MADV_WIPEONFORK, Linux 4.14). The
 * opener writes a byte there, a child reads 0. It works for fork(), for a raw clone(), and in a new
 * pid namespace, whose first process has the pid 1 as its parent may have had. Reading a byte is
 * also cheaper than getpid(). The rest of the page is for data that a child must not have, either.
 *
 * Failure modes: a kernel without it, an emulator that only pretends to support it, or no memory
 * for a page. Then the pid and a count of fork()s are compared, which misses only a raw clone()
 * into a new pid namespace. */
#ifndef RL_FORK_H
#define RL_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RL_FORK_ROOM 4080 /* bytes of the page, of 4096 at least, that rl_fork_room() returns */

struct rl_fork {
    unsigned char *page; /* NULL: no page */
    pid_t pid;           /* of the process that opened it */
    uint32_t forks;      /* the number of fork()s that led to that process */
};

void rl_fork_begin(struct rl_fork *fork);

/* Frees the page, but only in the process that began: a child keeps it, and remains a child. */
void rl_fork_end(struct rl_fork *fork);

/* Checks without the page. */
bool rl_fork_is_child_by_pid(const struct rl_fork *fork);

/* Any thread. */
static inline bool rl_fork_is_child(const struct rl_fork *fork) {
    const volatile unsigned char *page = fork->page;
    return page != NULL ? *page == 0 : rl_fork_is_child_by_pid(fork);
}

/* RL_FORK_ROOM bytes, which are zeros in a child. NULL: there is no page. */
static inline unsigned char *rl_fork_room(const struct rl_fork *fork) {
    return fork->page != NULL ? fork->page + 4096 - RL_FORK_ROOM : NULL;
}

#endif
