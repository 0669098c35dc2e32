/* An ask to set credentials; the strings belong to the caller, which waits. */
#ifndef RL_BLOCKING_CREDENTIALS_H
#define RL_BLOCKING_CREDENTIALS_H

#include "blocking/state.h"

struct rl_credentials_ask {
    struct rl_ask ask;
    size_t node;
    const char *user;
    const char *password;
};

#endif
