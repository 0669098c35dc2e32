/* The initializers of the public structs as functions, for languages that cannot use a macro. */
#include "base/sized.h"
#include "redlock/election.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore_blocking.h"

#define FRESH(type, initializer)                                \
    int type##_init(type *out, size_t size) {                   \
        static const type fresh = initializer;                  \
        return rl_sized_fresh(out, size, &fresh, sizeof fresh); \
    }

FRESH(redlock_acquire_options, REDLOCK_ACQUIRE_OPTIONS_INIT)
FRESH(redlock_client_options, REDLOCK_CLIENT_OPTIONS_INIT)
FRESH(redlock_election_options, REDLOCK_ELECTION_OPTIONS_INIT)
FRESH(redlock_lock_options, REDLOCK_LOCK_OPTIONS_INIT)
FRESH(redlock_mutex_options, REDLOCK_MUTEX_OPTIONS_INIT)
FRESH(redlock_node_holder, REDLOCK_NODE_HOLDER_INIT)
FRESH(redlock_node_info, REDLOCK_NODE_INFO_INIT)
FRESH(redlock_node_outcome, REDLOCK_NODE_OUTCOME_INIT)
FRESH(redlock_reader, REDLOCK_READER_INIT)
FRESH(redlock_rwlock_options, REDLOCK_RWLOCK_OPTIONS_INIT)
FRESH(redlock_semaphore_options, REDLOCK_SEMAPHORE_OPTIONS_INIT)
FRESH(redlock_slot, REDLOCK_SLOT_INIT)
FRESH(redlock_stats, REDLOCK_STATS_INIT)
FRESH(redlock_waiter, REDLOCK_WAITER_INIT)
