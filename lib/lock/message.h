/* Sentences about a client and its locks: see message.c. */
#ifndef RL_LOCK_MESSAGE_H
#define RL_LOCK_MESSAGE_H

#include "client/state.h"

#define RL_MESSAGE_NO_FENCE                                                                    \
    "the owner's hold, which would be shared, has no fence: set fencing on the owner's first " \
    "acquire"

#endif
