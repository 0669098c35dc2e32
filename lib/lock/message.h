/* Sentences about a client and its locks: see message.c. */
#ifndef RL_LOCK_MESSAGE_H
#define RL_LOCK_MESSAGE_H

#include "client/state.h"

#define RL_MESSAGE_NO_FENCE                                                                    \
    "the owner's hold, which would be shared, has no fence: set fencing on the owner's first " \
    "acquire"

/* Why a call on this lock is refused, until a call on it is not, or an operation of it ends. text:
 * static. */
void rl_message_refuse(redlock_lock *lock, const char *text);
/* ... of an argument that is invalid. If there is no memory for the sentence, it says just that. */
void rl_message_refuse_format(redlock_lock *lock, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
