/* Mutexes and their lock objects, made and freed in the loop. */
#ifndef RL_BLOCKING_MAKE_H
#define RL_BLOCKING_MAKE_H

#include "blocking/state.h"

/* Asks: to make a mutex, to free one. */
void rl_hold_make(struct rl_ask *ask);
void rl_hold_free(struct rl_ask *ask);
/* The options of an acquire for a mutex, for any owner. */
void rl_hold_options(const redlock_mutex_options *from, redlock_acquire_options *options);
/* Makes one more lock object. */
int rl_hold_new(redlock_mutex *mutex, enum redlock_mode mode, struct rl_hold **hold);
/* The client is closed, and with it all locks. */
void rl_hold_drop_all(redlock_blocking *blocking);
/* Frees the memory of a mutex after either. Any thread. */
void rl_hold_drop_memory(redlock_mutex *mutex);

#endif
