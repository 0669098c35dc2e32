/* Mutexes and their lock objects, made and freed in the loop; the numbers of owners. */
#ifndef RL_BLOCKING_MAKE_H
#define RL_BLOCKING_MAKE_H

#include "blocking/state.h"

/* Asks: to make a mutex, to free one. */
void rl_hold_make(struct rl_ask *ask);
void rl_hold_free(struct rl_ask *ask);
/* Makes one more lock object. */
int rl_hold_new(redlock_mutex *mutex, enum redlock_mode mode, struct rl_hold **hold);
/* The client is closed, and with it all locks. */
void rl_hold_drop_all(redlock_blocking *blocking);
/* Frees the memory of a mutex after either. Any thread. */
void rl_hold_drop_memory(redlock_mutex *mutex);

/* A number that was never used before. */
uint64_t rl_owner_draw(void);
/* The calling thread's. */
uint64_t rl_owner_of_thread(void);

/* Sets the sentence of the last failure. Any thread. */
void rl_mutex_say(redlock_mutex *mutex, const char *sentence);

#endif
