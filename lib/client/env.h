/* The client's environment: the clock, random numbers, requests for a turn, and the trace hook. */
#ifndef RL_CLIENT_ENV_H
#define RL_CLIENT_ENV_H

#include "client/state.h"
#include "redlock/redlock.h"

static inline uint64_t rl_client_now_ns(const redlock_client *client) {
    return rl_io_now_ns(&client->io);
}

/* For jitter, not for secrets. */
static inline uint64_t rl_client_random(redlock_client *client) {
    assert(client->random != 0); /* else it would stay 0 */
    client->random ^= client->random << 13;
    client->random ^= client->random >> 7;
    client->random ^= client->random << 17;
    return client->random;
}

/* The user has submitted something: the world must not wait before the next turn. The world's
 * events need not call this: a turn follows them. But work that is submitted in the user's own
 * callbacks, or in another client's turn, would otherwise wait. */
static inline void rl_client_wake(redlock_client *client) {
    assert(client->phase < RL_CLIENT_TEARDOWN); /* no turn follows any more */
    if (!client->in_turn) {
        client->io.world->ops->wake(client->io.world);
    }
}

/* The trace hook is the only user function that is called from anywhere: it must only observe. */
static inline void rl_trace(redlock_client *client, enum redlock_event_type type,
                            const redlock_lock *lock, const struct rl_node *node, int status,
                            uint32_t latency_us) {
    if (client->trace != NULL) {
        redlock_event event = {.type = type,
                               .status = status,
                               .now_ns = rl_client_now_ns(client),
                               .lock = lock,
                               .node = node != NULL ? node->url.name : NULL,
                               .latency_us = latency_us,
                               .acquire_id = lock != NULL ? lock->span.id : 0};
        client->trace(&event, client->trace_data);
    }
}

/* Only the thread that runs the client's loop may call. In a debug build (without NDEBUG) a call
 * from another thread ends the program, with a sentence that names the function: it would be a
 * race, which shows much later or never.
 *
 * Each turn of the loop records its thread. Before the first turn no caller is refused: a client
 * may be opened in one thread, and handed over with its loop. A child after fork() is detected
 * separately (fork.h). */

#ifdef NDEBUG
static inline void rl_own_turn(redlock_client *client) {
    (void)client;
}
static inline void rl_own(const redlock_client *client, const char *function) {
    (void)client, (void)function;
}
#else
/* This thread runs the loop. */
void rl_own_turn(redlock_client *client);

/* function: the public function that was called on this client. */
void rl_own(const redlock_client *client, const char *function);
#endif

/* Reserves room in advance, so that later operations cannot fail for lack of it. False: no
 * memory. */

#define RL_CLIENT_DEADLINES 3 /* the client's own, listening's, notifications'; and all others */

/* Room for the deadline of one more lock, query, recipe or resource that waits. */
bool rl_reserve_deadline(redlock_client *client);
/* Room to write any command of target. */
bool rl_reserve_wire(redlock_client *client, const struct rl_target *target);

#endif
