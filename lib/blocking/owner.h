/* Numbers of owners: see owner.c. */
#ifndef RL_BLOCKING_OWNER_H
#define RL_BLOCKING_OWNER_H

#include <stdint.h>

/* A number that was never used before. */
uint64_t rl_owner_draw(void);
/* The calling thread's. */
uint64_t rl_owner_of_thread(void);

#endif
