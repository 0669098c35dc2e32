/* What goes out late is waited for from when it goes out: a program that works for long after it
 * has submitted something does not find its nodes silent. */
#ifndef RL_CLIENT_PUT_OFF_H
#define RL_CLIENT_PUT_OFF_H

#include "client/state.h"

/* What was sent since the last flush goes out at now_ns. Validity runs from the submission all the
 * same. */
void rl_put_off(redlock_client *client, uint64_t now_ns);

#endif
