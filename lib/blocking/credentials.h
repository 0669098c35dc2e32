/* An ask for other credentials; the strings are the caller's, who waits. */
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
