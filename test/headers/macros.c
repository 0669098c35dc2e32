/* Every public macro, expanded where a program would write it. Compiled as C11 and as C++17 by
 * headers.sh, which also checks that no public macro is missing here. */
#include "redlock/blocking.h"
#include "redlock/election.h"
#include "redlock/redlock.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore.h"
#include "redlock/semaphore_blocking.h"
#include "redlock/token.h"

REDLOCK_API int api_function(const char *version);

#if REDLOCK_VERSION_MAJOR == 0 && REDLOCK_VERSION_MINOR >= 1 && REDLOCK_VERSION_PATCH >= 0
static const char version[] = "libredlock " REDLOCK_VERSION;
#endif
static const char text[] = REDLOCK_VERSION_TEXT(1, 2, 3);

static char token[REDLOCK_TOKEN_LENGTH + 1];
static char message[REDLOCK_MESSAGE_MAX];
static char labels[REDLOCK_METRICS_LABELS_MAX][REDLOCK_METRICS_LABEL_MAX + 1];
static char candidate[REDLOCK_CANDIDATE_MAX + 1];
static unsigned char resource[REDLOCK_RESOURCE_MAX];
static char holder[REDLOCK_HOLDER_MAX + 1];
static char user[REDLOCK_USER_MAX + 1];
static char password[REDLOCK_PASSWORD_MAX + 1];
static const size_t all_nodes = REDLOCK_ALL_NODES;
static const char *nodes[REDLOCK_NAMED_MAX];
static redlock_bytes resources[REDLOCK_RESOURCES_MAX];
static redlock_lock *any[REDLOCK_ANY_MAX];
static const int32_t slots[REDLOCK_TAKE_MAX] = {REDLOCK_NO_SLOT, REDLOCK_PERMITS_MAX - 1};
static redlock_waiter waiters[REDLOCK_WAITERS_MAX];
static redlock_reader readers[REDLOCK_READERS_MAX];

#define CASE(name, value, sentence) \
    case REDLOCK_##name:            \
        return "" sentence[0] + (value);

static int of_status(enum redlock_status status) {
    switch (status) {
        REDLOCK_STATUS_MAP(CASE)
        default:
            return 0;
    }
}

int api_function(const char *given) {
    redlock_client_options client = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    redlock_mutex_options mutex = REDLOCK_MUTEX_OPTIONS_INIT;
    redlock_rwlock_options rwlock = REDLOCK_RWLOCK_OPTIONS_INIT;
    redlock_semaphore_options semaphore = REDLOCK_SEMAPHORE_OPTIONS_INIT;
    redlock_election_options election = REDLOCK_ELECTION_OPTIONS_INIT;
    client.nodes = nodes;
    client.fence_retention_ms = REDLOCK_RETENTION_MS_MAX;
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    redlock_reader reader = REDLOCK_READER_INIT;
    redlock_slot slot = REDLOCK_SLOT_INIT;
    lock.resources = resources;
    waiters[0] = waiter;
    lock.permits = slots[1] + 1;
    readers[0] = reader;
    lock.holder = holder;
    mutex.owner = mutex.owner == REDLOCK_OWNER_THREAD ? REDLOCK_OWNER_OBJECT : REDLOCK_OWNER_MAX;
    acquire.ttl_ms = REDLOCK_TTL_MS_MAX;
    acquire.tries = REDLOCK_NO_LIMIT;
    acquire.renew_ms = REDLOCK_THIRD_OF_TTL;
    outcome.vote = REDLOCK_VOTE_GRANTED;
    user[0] = password[0] = given[0];
    token[0] = message[0] = candidate[0] = given[0];
    resource[0] = 1;
    return client.size == sizeof(client) && acquire.size == sizeof(acquire) &&
           outcome.size == sizeof(outcome) && stats.size == sizeof(stats) &&
           info.size == sizeof(info) && lock.size == sizeof(lock) &&
           node_holder.size == sizeof(node_holder) && waiters[0].size == sizeof(waiter) &&
           readers[0].size == sizeof(reader) && any[0] == NULL && slot.size == sizeof(slot) &&
           mutex.size == sizeof(mutex) && rwlock.size == sizeof(rwlock) &&
           semaphore.size == sizeof(semaphore) && election.size == sizeof(election) &&
           candidate[0] != 0 && token[0] == version[0] && message[0] == text[0] &&
           user[0] == password[0] && all_nodes > REDLOCK_NODES_MAX && resource[0] != 0 &&
           of_status(REDLOCK_ERR_HELD) != 0;
}
