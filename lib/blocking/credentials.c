/* New credentials, from any thread: an ask that carries the caller's own strings, so that no
 * further copy of a password exists here. */
#include "blocking/credentials.h"

#include <assert.h>

#include "base/list.h"
#include "blocking/ask.h"
#include "blocking/work.h"

static void run_set(struct rl_ask *ask) {
    const struct rl_credentials_ask *set = RL_CONTAINER(ask, struct rl_credentials_ask, ask);
    assert(ask->run == run_set);
    rl_ask_answer(ask, redlock_client_set_credentials(ask->blocking->client, set->node, set->user,
                                                      set->password));
}

int redlock_blocking_set_credentials(redlock_blocking *blocking, size_t node, const char *user,
                                     const char *password) {
    struct rl_credentials_ask set = {
        .ask = {.run = run_set}, .node = node, .user = user, .password = password};
    return blocking == NULL ? REDLOCK_ERR_INVALID : rl_ask_send(blocking, &set.ask);
}
