/* All that the nodes know of one key: who holds it, who reads it, who has which permit, who waits.
 *
 * Happy path: rl_found_ask(); the nodes are asked for all of it at once, and for the readers when
 * one of them says that there are any. Then the callback runs.
 *
 * Failure modes: `status` is that of the question who holds it, which all nodes are asked; the
 * parts say for themselves whether they are known. A part that could not be asked for (no memory)
 * is not known. What is found is over when it is shown, and each part is of another moment. */
#ifndef RL_CLI_FOUND_H
#define RL_CLI_FOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "kick/look.h"
#include "line.h"
#include "look.h"
#include "permits.h"
#include "readers.h"

struct rl_found;
typedef void (*rl_found_cb)(struct rl_found *found, void *data);

struct rl_found {
    redlock_client *client;
    rl_found_cb on_done;
    void *data;
    size_t out; /* parts that are asked for */
    int status; /* 0, REDLOCK_ERR_NO_QUORUM, or why the nodes could not be asked */
    struct rl_look look;
    struct rl_readers readers; /* if the look found some: zero if not */
    struct rl_line line;
    struct rl_permits permits;
    struct rl_line permits_line;
    struct rl_kick_look kicks;
};

/* What is asked for besides who holds and who reads it. */
struct rl_found_parts {
    bool line;    /* who waits for the lock */
    bool permits; /* who has permits, and who waits for them */
    bool kicks;   /* whether there are notes of kicks */
};

/* found and key live until on_done, which runs once, and never inside of this. */
int rl_found_ask(struct rl_found *found, redlock_client *client, size_t n_nodes, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data);

/* Whether anything is there of a lock, or of a semaphore. */
bool rl_found_has_lock(const struct rl_found *found);
bool rl_found_has_permits(const struct rl_found *found);

#endif
