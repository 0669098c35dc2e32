/* Sentences about a client and its locks: see message.c. */
#ifndef RL_LOCK_MESSAGE_H
#define RL_LOCK_MESSAGE_H

#include "client/state.h"

#define RL_MESSAGE_NO_FENCE                                                                    \
    "the owner's hold, which would be shared, has no fence: set fencing on the owner's first " \
    "acquire"

/* Records why a call on this lock is refused for an invalid argument; kept until a call is accepted
 * or an operation of the lock ends. If there is no memory for the sentence, the message says just
 * that. Returns REDLOCK_ERR_INVALID. */
int rl_message_refuse_format(redlock_lock *lock, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
