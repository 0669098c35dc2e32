/* The life of a candidate, on top of the public lock.
 *
 * Happy path: a campaign acquires the lock; on_elected reports it; the lock's watchdog renews; a
 * resignation releases, and the release notification wakes the next candidate.
 *
 * Failure modes: if the lock is lost, the campaign resumes automatically; without random bytes for
 * a token, or if the set of the nodes no longer allows the ttl, the campaign ends; the election may
 * be freed, or its client closed, at any moment.
 *
 * Can two lead? Only if two could hold the lock: is_leader asks the lock. Can a callback run twice
 * or never? No. on_elected runs where the state becomes leading, on_lost where it leaves leading
 * without a resignation, a resignation's where the state leaves resigning (or the election is freed
 * in it). The lock reports each of these once.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/require.h"
#include "base/sized.h"
#include "election/leader_watch.h"

#define IN(state) (1u << (state))
#define STATES (REDLOCK_ELECTION_RESIGNING + 1)

static_assert(REDLOCK_CANDIDATE_MAX == REDLOCK_HOLDER_MAX, "a candidate is the lock's holder");

static const struct {
    const char *name;
    uint32_t next; /* allowed moves */
} states[STATES] = {
    [REDLOCK_ELECTION_IDLE] = {"idle", IN(REDLOCK_ELECTION_CAMPAIGNING)},
    [REDLOCK_ELECTION_CAMPAIGNING] = {"campaigning", IN(REDLOCK_ELECTION_LEADING) |
                                                         IN(REDLOCK_ELECTION_RESIGNING) |
                                                         IN(REDLOCK_ELECTION_IDLE)},
    [REDLOCK_ELECTION_LEADING] = {"leading", IN(REDLOCK_ELECTION_CAMPAIGNING) |
                                                 IN(REDLOCK_ELECTION_RESIGNING)},
    [REDLOCK_ELECTION_RESIGNING] = {"resigning", IN(REDLOCK_ELECTION_IDLE)},
};

static void election_move(redlock_election *election, enum redlock_election_state to) {
    assert(election->state < STATES);
    assert(states[election->state].next & IN(to));
    if (election->state == REDLOCK_ELECTION_LEADING) {
        election->is_known = false; /* we no longer know that we lead */
    }
    assert(to == REDLOCK_ELECTION_RESIGNING || election->on_resigned == NULL); /* was delivered */
    election->state = (uint8_t)to;
    rl_leader_watch_update(election);
}

/* -- Events of the lock -- */

static void tell(redlock_election *election, redlock_election_cb callback, int status) {
    if (callback != NULL && rl_election_can_tell(election)) {
        callback(election, status, election->options.data);
    }
}

static void election_resigned(redlock_election *election, int status) {
    assert(election->state == REDLOCK_ELECTION_RESIGNING);
    redlock_election_cb callback = election->on_resigned;
    election->on_resigned = NULL;
    election_move(election, REDLOCK_ELECTION_IDLE);
    if (callback != NULL) {
        status = rl_election_can_tell(election) ? status : REDLOCK_ERR_CANCELED;
        callback(election, status, election->resigned_data);
    }
}

static void on_acquired(redlock_lock *lock, int status, void *data) {
    redlock_election *election = data;
    assert(lock == election->lock);
    assert(election->pending > 0); /* for this callback */
    assert(election->state == REDLOCK_ELECTION_CAMPAIGNING ||
           election->state == REDLOCK_ELECTION_RESIGNING);
    if (election->state == REDLOCK_ELECTION_RESIGNING) {
        election_resigned(election, 0); /* it was cancelled */
    } else if (status == 0) {
        election->fence = redlock_lock_fence(lock);
        election_move(election, REDLOCK_ELECTION_LEADING);
        tell(election, election->options.on_elected, 0);
        rl_leader_watch_elected(election);
    } else {
        election_move(election, REDLOCK_ELECTION_IDLE);
        if (status != REDLOCK_ERR_CANCELED) {
            tell(election, election->options.on_lost, status);
        }
    }
    rl_election_unref(election);
}

static int election_acquire(redlock_election *election);

static void on_lock_lost(redlock_lock *lock, int status, void *data) {
    redlock_election *election = data;
    assert(lock == election->lock && status < 0);
    assert(!election->is_freed); /* a freed lock reports no loss */
    assert(election->state == REDLOCK_ELECTION_LEADING ||
           election->state == REDLOCK_ELECTION_RESIGNING);
    (void)lock;
    int again = 0;
    rl_election_ref(election);
    if (election->state == REDLOCK_ELECTION_LEADING) {
        election_move(election, REDLOCK_ELECTION_CAMPAIGNING);
        again = election_acquire(election);
        if (again != 0) { /* the client is closing, or the ttl is above the set's by now */
            election_move(election, REDLOCK_ELECTION_IDLE);
        }
    }
    tell(election, election->options.on_lost, status);
    if (again != 0) {
        tell(election, election->options.on_lost, again);
    }
    rl_election_unref(election);
}

static void on_released(redlock_lock *lock, int status, void *data) {
    redlock_election *election = data;
    assert(election->state == REDLOCK_ELECTION_RESIGNING);
    assert(lock == election->lock && election->pending > 0);
    (void)lock;
    election_resigned(election, status);
    rl_election_unref(election);
}

/* -- Calls of the user -- */

static redlock_acquire_options acquire_options(const redlock_election_options *o) {
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    acquire.ttl_ms = o->ttl_ms;
    acquire.min_validity_ms = o->ttl_ms / 3; /* a lease alone begins no term */
    acquire.wait_ms = REDLOCK_NO_LIMIT;
    acquire.delay_ms = o->poll_ms;
    acquire.jitter_ms = o->poll_ms / 2;
    acquire.auto_extend = 1;
    acquire.renew_ms = o->renew_ms;
    acquire.fencing = o->fencing;
    acquire.max_silence_ms = o->max_silence_ms;
    return acquire;
}

static int election_acquire(redlock_election *election) {
    redlock_acquire_options acquire = acquire_options(&election->options);
    assert(!election->is_freed);
    acquire.on_lost = on_lock_lost;
    acquire.lost_data = election;
    int status = redlock_acquire(election->lock, &acquire, on_acquired, election);
    if (status == 0) {
        rl_election_ref(election);
    }
    return status;
}

/* The check at the start of every function. */
static int enter(const redlock_election *election, const char *function) {
    if (election == NULL || election->is_freed) {
        return REDLOCK_ERR_INVALID;
    }
    return rl_recipe_enter(rl_election_client(election), function);
}

int redlock_election_campaign(redlock_election *election) {
    int status = enter(election, __func__);
    if (status == 0 && election->state != REDLOCK_ELECTION_IDLE) {
        status = REDLOCK_ERR_BUSY;
    }
    if (status == 0) {
        status = election_acquire(election);
    }
    if (status == 0) {
        election_move(election, REDLOCK_ELECTION_CAMPAIGNING);
    }
    return status;
}

int redlock_election_resign(redlock_election *election, redlock_election_cb on_done, void *data) {
    int status = enter(election, __func__);
    if (status != 0) {
        return status;
    }
    if (election->state == REDLOCK_ELECTION_IDLE) {
        return REDLOCK_ERR_IDLE;
    }
    if (election->state == REDLOCK_ELECTION_RESIGNING) {
        return REDLOCK_ERR_BUSY;
    }
    if (election->state == REDLOCK_ELECTION_CAMPAIGNING) {
        status = redlock_cancel(election->lock); /* on_acquired comes */
    } else {
        status = redlock_release(election->lock, on_released, election);
        if (status == 0) {
            rl_election_ref(election);
        }
    }
    if (status == 0) {
        assert(election->on_resigned == NULL); /* one resignation at a time */
        assert(election->pending > 0);         /* the callback that ends it */
        election->on_resigned = on_done;
        election->resigned_data = data;
        election_move(election, REDLOCK_ELECTION_RESIGNING);
    }
    return status;
}

int redlock_election_alive(redlock_election *election) {
    const int status = enter(election, __func__);
    return status == 0 ? redlock_lock_alive(election->lock) : status;
}

void redlock_election_free(redlock_election *election) {
    if (election == NULL || election->is_freed) {
        return;
    }
    rl_recipe_enter(rl_election_client(election), __func__); /* only for its assertion */
    rl_election_ref(election);
    assert(election->pending > 1 || election->state == REDLOCK_ELECTION_IDLE ||
           election->state == REDLOCK_ELECTION_LEADING);
    election->is_freed = true;
    rl_leader_watch_update(election);
    redlock_lock_free(election->lock);
    rl_election_unref(election);
}

/* -- Making one -- */

static bool is_candidate(const char *name) {
    size_t length = strlen(name);
    for (const char *at = name; *at != '\0'; at++) {
        if (*at < '!' || *at > '~') {
            return false;
        }
    }
    return length >= 1 && length <= REDLOCK_CANDIDATE_MAX;
}

/* "host:pid", without characters that cannot be stored; the pid distinguishes processes. */
static int default_candidate(char out[REDLOCK_CANDIDATE_MAX + 1], char *error, size_t size) {
    char host[HOST_NAME_MAX + 1] = "";
    char pid[16];
    size_t used = 0;
    size_t length = gethostname(host, HOST_NAME_MAX) == 0 ? strlen(host) : 0;
    int digits = snprintf(pid, sizeof pid, ":%ld", (long)getpid());
    for (size_t i = 0; i < length; i++) {
        if (host[i] >= '!' && host[i] <= '~' && used + (size_t)digits < REDLOCK_CANDIDATE_MAX) {
            out[used++] = host[i];
        }
    }
    assert(digits > 0 && (size_t)digits < sizeof pid);
    RL_REQUIRE(used + (size_t)digits <= REDLOCK_CANDIDATE_MAX);
    memcpy(out + used, pid, (size_t)digits + 1);
    if (used > 0) {
        return 0;
    }
    rl_error_set(error, size, REDLOCK_ERR_INVALID,
                 "candidate is NULL, and the host name is not usable: set candidate");
    return REDLOCK_ERR_SYSTEM;
}

static int check_options(const redlock_election_options *o, char *error, size_t size) {
    if (o->name == NULL || o->name_length == 0 || o->name_length > REDLOCK_RESOURCE_MAX) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID, "name must have 1 to 1024 bytes");
    }
    if (o->candidate != NULL && !is_candidate(o->candidate)) {
        return rl_error_set(
            error, size, REDLOCK_ERR_INVALID,
            "candidate must be 1 to 64 printable characters without spaces, or NULL");
    }
    if (o->poll_ms < 1 || o->poll_ms > REDLOCK_TTL_MS_MAX) {
        return rl_error_set(error, size, REDLOCK_ERR_INVALID, "poll_ms must be 1 to 86400000");
    }
    return 0;
}

static int make_lock(redlock_client *client, const redlock_election_options *o,
                     const char *candidate, redlock_lock **lock, char *error, size_t size) {
    const redlock_bytes name = {o->name, o->name_length};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    options.resources = &name;
    options.n_resources = 1;
    options.holder = candidate;
    int status = redlock_lock_new_with(client, &options, lock, error, size);
    if (status == 0) {
        /* The lock checks ttl_ms, renew_ms and fencing when the election is made. */
        const redlock_acquire_options acquire = acquire_options(o);
        rl_recipe_announce(*lock);
        status = rl_recipe_check_acquire(*lock, &acquire);
        if (status != 0) {
            redlock_lock_message(*lock, error, size);
            redlock_lock_free(*lock);
        }
    }
    return status;
}

/* The client's end, see recipe.h. */
static void election_end(struct rl_recipe *recipe) {
    const redlock_election *election = RL_CONTAINER(recipe, redlock_election, recipe);
    RL_REQUIRE(election->pending == 0); /* a later callback would use freed memory */
    rl_recipe_free(recipe);
}

int redlock_election_new(redlock_client *client, const redlock_election_options *options,
                         redlock_election **out, char *error, size_t error_size) {
    redlock_election_options o = REDLOCK_ELECTION_OPTIONS_INIT;
    char candidate[REDLOCK_CANDIDATE_MAX + 1] = "";
    redlock_lock *lock = NULL;
    rl_error_set(error, error_size, 0, "%s", "");
    if (out == NULL) {
        return rl_error_set(error, error_size, REDLOCK_ERR_INVALID, "election is NULL");
    }
    *out = NULL;
    if (client == NULL || options == NULL) {
        return rl_error_set(error, error_size, REDLOCK_ERR_INVALID, "client or options is NULL");
    }
    int entered = rl_recipe_enter(client, __func__);
    if (!rl_sized_take(&o, sizeof o, options, options->size)) {
        return rl_error_set(
            error, error_size, REDLOCK_ERR_INVALID,
            "options.size is %zu, not %zu: begin with REDLOCK_ELECTION_OPTIONS_INIT", options->size,
            sizeof o);
    }
    if (entered == REDLOCK_ERR_FORKED) {
        return rl_error_set(error, error_size, entered, "%s", redlock_strerror(entered));
    }
    int status = check_options(&o, error, error_size);
    if (status == 0 && o.candidate == NULL) {
        status = default_candidate(candidate, error, error_size);
    } else if (status == 0) {
        RL_REQUIRE(strlen(o.candidate) < sizeof candidate); /* check_options() */
        memcpy(candidate, o.candidate, strlen(o.candidate) + 1);
    }
    if (status == 0) {
        status = make_lock(client, &o, candidate, &lock, error, error_size);
    }
    if (status != 0) {
        return status;
    }
    struct rl_recipe *recipe = rl_recipe_new(client, sizeof(redlock_election));
    if (recipe == NULL) {
        redlock_lock_free(lock);
        rl_error_set(error, error_size, REDLOCK_ERR_INVALID, "%s",
                     redlock_strerror(REDLOCK_ERR_NOMEM));
        return REDLOCK_ERR_NOMEM;
    }
    redlock_election *election = RL_CONTAINER(recipe, redlock_election, recipe);
    assert(candidate[0] != '\0');
    assert(redlock_lock_client(lock) == client);
    recipe->end = election_end;
    election->lock = lock;
    election->options = o;
    election->options.name = election->options.candidate = NULL;
    memcpy(election->candidate, candidate, sizeof candidate);
    rl_leader_watch_init(election);
    *out = election;
    return 0;
}

/* -- Getters -- */

int redlock_election_is_leader(const redlock_election *election) {
    return election != NULL && election->state == REDLOCK_ELECTION_LEADING &&
           redlock_lock_is_valid(election->lock);
}

int64_t redlock_election_remaining_ms(const redlock_election *election) {
    bool leads = redlock_election_is_leader(election) != 0;
    return leads ? redlock_lock_remaining_ms(election->lock) : 0;
}

const char *redlock_election_token(const redlock_election *election) {
    bool leads = redlock_election_is_leader(election) != 0;
    return leads ? redlock_lock_token(election->lock) : "";
}

uint64_t redlock_election_fence(const redlock_election *election) {
    return election != NULL ? election->fence : 0;
}

const char *redlock_election_candidate(const redlock_election *election) {
    return election != NULL ? election->candidate : "";
}

enum redlock_election_state redlock_election_state(const redlock_election *election) {
    return election != NULL ? (enum redlock_election_state)election->state : REDLOCK_ELECTION_IDLE;
}

const char *redlock_election_state_name(enum redlock_election_state state) {
    return (unsigned)state < STATES ? states[state].name : "?";
}

const char *redlock_election_message(const redlock_election *election, char *buffer, size_t size) {
    return redlock_lock_message(election != NULL ? election->lock : NULL, buffer, size);
}

int redlock_election_attempt_status(const redlock_election *election) {
    return redlock_lock_attempt_status(election != NULL ? election->lock : NULL);
}

redlock_client *redlock_election_client(const redlock_election *election) {
    return election != NULL ? rl_election_client(election) : NULL;
}
