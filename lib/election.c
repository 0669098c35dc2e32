/* The life of a candidate, on top of the public lock.
 *
 * Happy path: campaign acquires; elected tells; the lock's watchdog renews; resign releases, and
 * the lock's notice wakes the next one.
 *
 * Failure modes: the lock is lost, and the campaign goes on by itself; there are no random bytes
 * for a token, and the campaign ends; the election is freed or its client closed at any moment.
 *
 * Can two lead? No more than two can hold the lock; and is_leader asks the lock.
 * Can a callback run twice or never? on_elected runs where the state becomes leading, on_lost where
 * it leaves leading without a resignation, a resignation's where the state leaves resigning (or the
 * election is freed in it). The lock tells each of these once.
 */
#include "election.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client.h"

#define IN(state) (1u << (state))
#define STATES (REDLOCK_ELECTION_RESIGNING + 1)

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
        election->is_known = false; /* that we lead */
    }
    election->state = (uint8_t)to;
    rl_observe_update(election);
}

/* -- Memory -- */

static void election_destroy(redlock_election *election) {
    redlock_client *client = election->client;
    rl_deadlines_set(&client->deadlines, &election->deadline, RL_NEVER);
    rl_notice_unwatch(client, &election->ear);
    if (election->previous != NULL) {
        election->previous->next = election->next;
    } else {
        client->elections = election->next;
    }
    if (election->next != NULL) {
        election->next->previous = election->previous;
    }
    client->election_count--;
    rl_free(&client->memory, election);
}

void rl_election_ref(redlock_election *election) {
    election->pending++;
}

void rl_election_unref(redlock_election *election) {
    assert(election->pending > 0);
    if (--election->pending == 0 && election->is_freed) {
        election_destroy(election);
    }
}

void rl_election_end_all(redlock_client *client) {
    while (client->elections != NULL) {
        assert(client->elections->pending == 0);
        election_destroy(client->elections);
    }
}

/* -- What the lock tells -- */

/* The user is told as long as he can still be told. */
static bool can_tell(const redlock_election *election) {
    return !election->is_freed && election->client->phase == RL_CLIENT_OPEN;
}

static void tell(redlock_election *election, redlock_election_cb callback, int status) {
    if (callback != NULL && can_tell(election)) {
        callback(election, status, election->options.data);
    }
}

static void election_resigned(redlock_election *election, int status) {
    redlock_election_cb callback = election->on_resigned;
    election->on_resigned = NULL;
    election_move(election, REDLOCK_ELECTION_IDLE);
    if (callback != NULL) {
        bool over = election->is_freed || election->client->phase != RL_CLIENT_OPEN;
        callback(election, over ? REDLOCK_ERR_CANCELED : status, election->resigned_data);
    }
}

static void on_acquired(redlock_lock *lock, int status, void *data) {
    redlock_election *election = data;
    assert(lock == election->lock);
    if (election->state == REDLOCK_ELECTION_RESIGNING) {
        election_resigned(election, 0); /* it was cancelled */
    } else if (status == 0) {
        election->fence = redlock_lock_fence(lock);
        election_move(election, REDLOCK_ELECTION_LEADING);
        tell(election, election->options.on_elected, 0);
        rl_observe_elected(election);
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
    (void)lock;
    rl_election_ref(election);
    if (election->state == REDLOCK_ELECTION_LEADING) {
        election_move(election, REDLOCK_ELECTION_CAMPAIGNING);
        if (election_acquire(election) != 0) {
            election_move(election, REDLOCK_ELECTION_IDLE); /* the client is closing */
        }
    }
    tell(election, election->options.on_lost, status);
    rl_election_unref(election);
}

static void on_released(redlock_lock *lock, int status, void *data) {
    redlock_election *election = data;
    assert(election->state == REDLOCK_ELECTION_RESIGNING);
    (void)lock;
    election_resigned(election, status);
    rl_election_unref(election);
}

/* -- What the user asks for -- */

static int election_acquire(redlock_election *election) {
    const redlock_election_options *o = &election->options;
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    acquire.ttl_ms = o->ttl_ms;
    acquire.wait_ms = REDLOCK_NO_LIMIT;
    acquire.delay_ms = o->poll_ms;
    acquire.jitter_ms = o->poll_ms / 2;
    acquire.auto_extend = 1;
    acquire.renew_ms = o->renew_ms;
    acquire.on_lost = on_lock_lost;
    acquire.lost_data = election;
    acquire.fencing = o->fencing;
    int status = redlock_acquire(election->lock, &acquire, on_acquired, election);
    if (status == 0) {
        rl_election_ref(election);
    }
    return status;
}

/* What every function asks first. */
static int enter(const redlock_election *election, const char *function) {
    if (election == NULL || election->is_freed) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(election->client, function);
    if (rl_io_is_forked(&election->client->io)) {
        return REDLOCK_ERR_FORKED;
    }
    return election->client->phase == RL_CLIENT_OPEN ? 0 : REDLOCK_ERR_CLOSED;
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
        election->on_resigned = on_done;
        election->resigned_data = data;
        election_move(election, REDLOCK_ELECTION_RESIGNING);
    }
    return status;
}

void redlock_election_free(redlock_election *election) {
    if (election == NULL || election->is_freed) {
        return;
    }
    rl_own(election->client, __func__);
    rl_election_ref(election);
    election->is_freed = true;
    rl_observe_update(election);
    redlock_lock_free(election->lock);
    rl_election_unref(election);
}

/* -- Making one -- */

static int refuse(char *error, size_t size, const char *text) {
    if (error != NULL && size > 0) {
        snprintf(error, size, "%s", text);
    }
    return REDLOCK_ERR_INVALID;
}

static bool is_candidate(const char *name) {
    size_t length = strlen(name);
    for (const char *at = name; *at != '\0'; at++) {
        if (*at < '!' || *at > '~') {
            return false;
        }
    }
    return length >= 1 && length <= REDLOCK_CANDIDATE_MAX;
}

/* "host:pid", with what cannot be stored left out; the number is what tells processes apart. */
static int default_candidate(char out[REDLOCK_CANDIDATE_MAX + 1], char *error, size_t size) {
    char host[UV_MAXHOSTNAMESIZE];
    size_t length = sizeof host;
    char pid[16];
    size_t used = 0;
    int status = uv_os_gethostname(host, &length);
    int digits = snprintf(pid, sizeof pid, ":%ld", (long)getpid());
    for (size_t i = 0; status == 0 && i < length; i++) {
        if (host[i] >= '!' && host[i] <= '~' && used + (size_t)digits < REDLOCK_CANDIDATE_MAX) {
            out[used++] = host[i];
        }
    }
    memcpy(out + used, pid, (size_t)digits + 1);
    if (used > 0) {
        return 0;
    }
    refuse(error, size, "candidate is NULL, and this host has no name that could be used: set it");
    return REDLOCK_ERR_SYSTEM;
}

static int check_options(const redlock_election_options *o, char *error, size_t size) {
    if (o->name == NULL || o->name_length == 0 || o->name_length > REDLOCK_RESOURCE_MAX) {
        return refuse(error, size, "name: 1 to 1024 bytes are needed, what is led");
    }
    if (o->candidate != NULL && !is_candidate(o->candidate)) {
        return refuse(error, size,
                      "candidate: 1 to 64 printable characters without spaces are needed, or NULL");
    }
    if (o->poll_ms < 1 || o->poll_ms > REDLOCK_TTL_MS_MAX) {
        return refuse(error, size, "poll_ms must be 1 to 86400000");
    }
    return 0;
}

/* The lock says what is wrong with ttl_ms, renew_ms and fencing, so it is asked before there is an
 * election. */
static int check_acquire(redlock_lock *lock, const redlock_election_options *o, char *error,
                         size_t size) {
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT, full;
    struct rl_acquire ignored;
    acquire.ttl_ms = o->ttl_ms;
    acquire.auto_extend = 1;
    acquire.renew_ms = o->renew_ms;
    acquire.fencing = o->fencing;
    int status = rl_options_acquire(lock, &acquire, &ignored, &full);
    return status == 0 ? 0 : refuse(error, size, redlock_lock_message(lock));
}

static int make_lock(redlock_client *client, const redlock_election_options *o,
                     const char *candidate, redlock_lock **lock, char *error, size_t size) {
    const redlock_bytes name = {o->name, o->name_length};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    options.resources = &name;
    options.n_resources = 1;
    options.holder = candidate;
    options.notify = 1;
    int status = redlock_lock_new_with(client, &options, lock, error, size);
    if (status == 0) {
        status = check_acquire(*lock, o, error, size);
        if (status != 0) {
            redlock_lock_free(*lock);
        }
    }
    return status;
}

static redlock_election *link_new(redlock_client *client) {
    redlock_election *election = NULL;
    if (rl_client_reserve_deadline(client)) {
        election = rl_alloc(&client->memory, 1, sizeof *election);
    }
    if (election != NULL) {
        election->client = client;
        election->next = client->elections;
        if (election->next != NULL) {
            election->next->previous = election;
        }
        client->elections = election;
        client->election_count++;
    }
    return election;
}

int redlock_election_new(redlock_client *client, const redlock_election_options *options,
                         redlock_election **out, char *error, size_t error_size) {
    redlock_election_options o = REDLOCK_ELECTION_OPTIONS_INIT;
    char candidate[REDLOCK_CANDIDATE_MAX + 1] = "";
    char text[128];
    redlock_lock *lock = NULL;
    refuse(error, error_size, "");
    if (out == NULL) {
        return refuse(error, error_size, "election is NULL");
    }
    *out = NULL;
    if (client == NULL || options == NULL) {
        return refuse(error, error_size, "client or options is NULL");
    }
    rl_own(client, __func__);
    if (!rl_options_copy(&o, sizeof o, options, options->size)) {
        snprintf(text, sizeof text,
                 "options.size is %zu, not %zu: begin with REDLOCK_ELECTION_OPTIONS_INIT",
                 options->size, sizeof o);
        return refuse(error, error_size, text);
    }
    if (rl_io_is_forked(&client->io)) {
        refuse(error, error_size, redlock_strerror(REDLOCK_ERR_FORKED));
        return REDLOCK_ERR_FORKED;
    }
    int status = check_options(&o, error, error_size);
    if (status == 0 && o.candidate == NULL) {
        status = default_candidate(candidate, error, error_size);
    } else if (status == 0) {
        memcpy(candidate, o.candidate, strlen(o.candidate) + 1);
    }
    if (status == 0) {
        status = make_lock(client, &o, candidate, &lock, error, error_size);
    }
    if (status != 0) {
        return status;
    }
    redlock_election *election = link_new(client);
    if (election == NULL) {
        redlock_lock_free(lock);
        refuse(error, error_size, redlock_strerror(REDLOCK_ERR_NOMEM));
        return REDLOCK_ERR_NOMEM;
    }
    election->lock = lock;
    election->options = o;
    election->options.name = election->options.candidate = NULL;
    memcpy(election->candidate, candidate, sizeof candidate);
    rl_observe_init(election);
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

const char *redlock_election_leader(const redlock_election *election) {
    bool leads = election != NULL && election->is_known && election->has_leader;
    return leads ? election->leader : NULL;
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

const char *redlock_election_message(redlock_election *election) {
    return redlock_lock_message(election != NULL ? election->lock : NULL);
}

redlock_client *redlock_election_client(const redlock_election *election) {
    return election != NULL ? election->client : NULL;
}
