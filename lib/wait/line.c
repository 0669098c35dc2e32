/* See line.h. line_call.c has the commands. */
#include "wait/line.h"

#include <assert.h>
#include <string.h>

#include "client/env.h"
#include "core/home.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/eligibility.h"
#include "nodes/listening.h"
#include "nodes/seats.h"
#include "nodes/sets.h"
#include "wait/line_call.h"

/* -- What the core is given -- */

rl_mask rl_line_homes(const struct rl_resource *resource) {
    const redlock_client *client = rl_line_client(resource);
    const struct rl_sides sides = rl_sets_sides(client, resource->bytes, resource->length);
    rl_mask homes = client->voters & rl_sides_all(&sides);
    if (client->phase != RL_CLIENT_OPEN ||
        !rl_sides_quorum(&sides, rl_eligibility_servers(client))) {
        return 0;
    }
    RL_EACH_BIT(i, homes) {
        homes &= rl_listening_refused(client, i) ? ~rl_bit(i) : homes;
    }
    return homes;
}

/* Nodes on which the client would hear its turn. */
static rl_mask heard_of(const redlock_client *client) {
    rl_mask heard = 0;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        heard |= (rl_mask)rl_listening_confirmed(client, i) << i;
    }
    return heard;
}

struct rl_resource *rl_line_of(const redlock_lock *lock) {
    assert(lock->waiting.line < lock->resource_count);
    return rl_lock_resource(lock, lock->waiting.line);
}

redlock_lock *rl_line_waiter(const struct rl_resource *resource) {
    redlock_lock *active = rl_line_active(resource);
    if (active == NULL || active->waiting.stage == RL_STAGE_NONE ||
        rl_line_of(active) != resource) {
        return NULL;
    }
    return rl_line_is_queued(active) || active->resource_count == 1 ? active : NULL;
}

static void set_due(struct rl_resource *resource, uint64_t at_ns) {
    assert(resource->references > 0); /* else nothing would remove it again */
    if (resource->wait != NULL) {
        rl_deadlines_set(&rl_line_client(resource)->deadlines, &resource->wait->due, at_ns);
    }
}

/* A lock on its last try no longer waits, and leaves the line when the try ends. */
static void let_go_on(redlock_lock *lock, enum rl_stage stage) {
    assert(stage > RL_STAGE_QUEUED);
    if (lock->core.state == RL_WAITING) {
        assert(rl_line_active(rl_line_of(lock)) == lock);
        lock->waiting.stage = (uint8_t)stage;
        rl_ready_step(lock);
    }
}

/* Where the client listens for a resource with a waiting lock: at home, or on every node if the
 * lock may be passed to it. */
static rl_mask listens_on(const struct rl_resource *resource, const redlock_lock *lock) {
    const uint32_t home = resource->wait->place.home;
    if (rl_line_lease_ms(lock, RL_LINE_LEASE_MS) != 0) {
        return rl_seats_nodes(lock, rl_electors(&lock->core.rules->electorate));
    }
    return home != RL_LINE_NO_HOME ? rl_bit(home) : 0;
}

/* A lock that was granted after waiting must still hear of its successor. */
void rl_line_listen(struct rl_resource *resource, const redlock_lock *lock) {
    redlock_client *client = rl_line_client(resource);
    struct rl_wait *wait = resource->wait;
    uint32_t *listening = client->lines.listening;
    const rl_mask before = wait->listens;
    if (rl_link_is_in(&wait->waits)) {
        wait->listens = listens_on(resource, lock);
    } else if (!rl_link_is_in(&wait->passed)) {
        wait->listens = 0;
    } else if (before == 0) {
        const rl_mask homes = rl_line_homes(resource);
        wait->listens =
            homes != 0 ? rl_bit(rl_home_node(resource->home_hash, client->node_hashes, homes)) : 0;
    }
    RL_EACH_BIT(i, wait->listens ^ before) {
        const bool was = before >> i & 1;
        assert(!was || listening[i] > 0);
        listening[i] += was ? UINT32_MAX : 1; /* minus one, or plus one */
        rl_listening_want(client, i, listening[i] > 0);
    }
}

/* Home knows a place by its token and by the holder's name of the lock that joined. Another lock
 * may later wait with the place, or leave it. */
static void name_place(struct rl_wait *wait, redlock_lock *lock) {
    assert(wait->placed == NULL);
    if (wait->place.id != 0) {
        wait->placed = lock;
        rl_lock_ref(lock);
    }
}

/* placed: the lock that took the place which actions->leave gives up. */
static void perform(struct rl_resource *resource, redlock_lock *lock, redlock_lock *placed,
                    const struct rl_place_actions *actions) {
    redlock_client *client = rl_line_client(resource);
    if (actions->leave) {
        assert(placed != NULL);
        rl_line_call_leave(placed, resource, actions->leave_home, actions->leave_place,
                           actions->leave_line);
    }
    if (actions->join) {
        assert(rl_listening_confirmed(client, resource->wait->place.home));
        /* If it cannot be sent, its deadline ends the wait. */
        rl_line_call_join(resource->wait->placed, resource, actions->quiet);
    }
    if (actions->turn) {
        resource->wait->turn_ns = rl_client_now_ns(client);
        let_go_on(lock, RL_STAGE_TURN);
    } else if (actions->alone && rl_line_active(resource) == lock) {
        let_go_on(lock, RL_STAGE_ALONE);
    }
}

/* lock: the lock that waits or has just stopped waiting. */
void rl_line_feed(struct rl_resource *resource, redlock_lock *lock, struct rl_place_event *event) {
    redlock_client *client = rl_line_client(resource);
    struct rl_wait *wait = resource->wait;
    struct rl_place *place = &wait->place;
    struct rl_place_actions actions;
    const bool was_used = place->used;
    const uint64_t before = place->id;
    redlock_lock *placed = wait->placed;
    assert(lock != NULL && lock->client == client);
    event->now_ns = rl_client_now_ns(client);
    event->new_place = rl_line_next_place(resource);
    event->timeout_ns = client->rules.node_timeout_ns;
    event->idle_ns = lock->core.acquire.ttl_ms * RL_NS_PER_MS;
    event->random = rl_client_random(client);
    event->resource = resource->home_hash;
    event->node_hashes = client->node_hashes;
    event->homes = rl_line_homes(resource);
    event->heard = heard_of(client);
    event->is_of_one = lock->resource_count == 1;
    rl_place_step(place, event, &actions);
    if (place->id == event->new_place) {
        client->lines.number = 0;
        client->stats.joins++;
    }
    if (rl_link_is_in(&wait->waits) != (place->state != RL_PLACE_OUT)) {
        if (place->state != RL_PLACE_OUT) {
            rl_list_add(&client->lines.waiting, &wait->waits);
        } else {
            rl_list_remove(&wait->waits);
        }
    }
    rl_line_listen(resource, lock);
    if (place->id != before) {
        wait->placed = NULL;
        if (event->type != RL_PLACE_EV_WON || !was_used) {
            wait->successor[0] = '\0';
            if (placed != NULL) {
                rl_left_add(placed, before, was_used ? 0 : ~(rl_mask)0,
                            was_used ? 0 : wait->passed_by);
            }
        }
        wait->passed_by = 0;
        name_place(wait, lock);
    }
    perform(resource, lock, placed, &actions);
    if (place->id != before && placed != NULL) {
        rl_lock_unref(placed); /* the resource stays, since the lock refers to it too */
    }
    if (place->state == RL_PLACE_LISTENING && rl_listening_confirmed(client, place->home)) {
        struct rl_place_event again = {.type = RL_PLACE_EV_NODES}; /* confirmed before */
        rl_line_feed(resource, lock, &again);
        return;
    }
    set_due(resource, rl_place_wake_ns(place));
}

void rl_line_feed_simple(struct rl_resource *resource, redlock_lock *lock,
                         enum rl_place_event_type type) {
    struct rl_place_event event = {.type = type};
    rl_line_feed(resource, lock, &event);
}

void rl_line_answered(struct rl_resource *resource, uint32_t node, const struct rl_request *request,
                      const struct rl_answer *answer) {
    const redlock_client *client = rl_line_client(resource);
    assert(node < client->n_nodes);
    if (rl_resource_place(resource)->avoid == 0 ||
        (answer->verdict != RL_YES && answer->verdict != RL_NO)) {
        return;
    }
    const uint64_t latency_ns = rl_request_latency_ns(request, rl_io_step_ns(&client->io));
    if (latency_ns > client->rules.node_timeout_ns || !rl_listening_lingers(client, node) ||
        !rl_place_trust(&resource->wait->place, node)) {
        return;
    }
    redlock_lock *waiter = rl_line_waiter(resource);
    /* A line that is out may still await a release's answer, whose timer a step would remove. */
    if (waiter != NULL && resource->wait->place.state != RL_PLACE_OUT) {
        rl_line_feed_simple(resource, waiter, RL_PLACE_EV_NODES);
    }
}

bool rl_line_want(struct rl_resource *resource, redlock_lock *lock) {
    struct rl_place_event event = {.type = RL_PLACE_EV_WANT};
    event.u.since_ns = lock->since_ns;
    assert(event.u.since_ns <= rl_client_now_ns(lock->client));
    if (rl_line_wait(resource) == NULL) {
        return false;
    }
    rl_line_feed(resource, lock, &event);
    return true;
}

/* -- The lock that waits -- */

/* Keys contain the holder's name of the lock that joined, so a lock with another name must join
 * again. */
static void leave_if_named(struct rl_resource *resource, redlock_lock *lock) {
    const struct rl_target *mine = &lock->target;
    const redlock_lock *placed = resource->wait != NULL ? resource->wait->placed : NULL;
    const struct rl_target *its = placed != NULL ? &placed->target : mine;
    if (mine->holder_length != its->holder_length ||
        (mine != its && memcmp(mine->holder, its->holder, mine->holder_length) != 0)) {
        rl_line_feed_simple(resource, lock, RL_PLACE_EV_UNWANT);
    }
}

/* A lock that waits in this line holds up no lock in its other lines (rl_waiting_stand()). */
static void stand(redlock_lock *lock) {
    if (lock->resource_count > 1) {
        rl_ready_step(lock);
    }
}

static void queue(redlock_lock *lock, uint8_t line) {
    assert(lock->core.state == RL_WAITING);
    assert(rl_line_active(rl_lock_resource(lock, line)) == lock); /* whose place it is */
    lock->waiting.stage = RL_STAGE_QUEUED;
    lock->waiting.line = line;
    lock->waiting.shuts = false;
    leave_if_named(rl_line_of(lock), lock);
    if (!rl_line_want(rl_line_of(lock), lock)) {
        let_go_on(lock, RL_STAGE_ALONE); /* without memory */
    }
    stand(lock);
}

/* A lock with little time keeps half of it for an attempt, in case home does not answer. */
static uint64_t patience_ns(const redlock_lock *lock) {
    const uint64_t since_ns = lock->since_ns, give_up_ns = lock->core.give_up_ns;
    assert(give_up_ns >= since_ns);
    return give_up_ns == RL_NEVER ? RL_NEVER : since_ns + (give_up_ns - since_ns) / 2;
}

/* What a lock must await before it asks the nodes for votes. */
struct ahead {
    uint32_t line;     /* its first resource in whose line it must wait; resource_count: none */
    uint64_t until_ns; /* when it stops waiting for home's answer to a release; 0: no wait */
};

static struct ahead what_is_ahead(const redlock_lock *lock, uint64_t at_most_ns) {
    const uint64_t now_ns = rl_client_now_ns(lock->client);
    struct ahead ahead = {.line = lock->resource_count};
    if (rl_line_homes(rl_lock_resource(lock, 0)) == 0) {
        return ahead;
    }
    for (uint32_t i = lock->resource_count; i-- > 0;) {
        const struct rl_resource *resource = rl_lock_resource(lock, i);
        const struct rl_place *place = rl_resource_place(resource);
        if (rl_place_is_likely_busy(place, now_ns) || place->state != RL_PLACE_OUT) {
            ahead.line = i;
        }
        if (resource->release_until_ns > ahead.until_ns) {
            ahead.until_ns = resource->release_until_ns;
        }
    }
    ahead.until_ns = ahead.until_ns < at_most_ns ? ahead.until_ns : at_most_ns;
    ahead.until_ns = ahead.until_ns > now_ns ? ahead.until_ns : 0;
    return ahead;
}

/* No other client wants most locks: these need not read the clock. */
static bool knows_nothing(const redlock_lock *lock) {
    bool knows = false;
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        const struct rl_place *place = rl_resource_place(rl_lock_resource(lock, i));
        knows = knows || rl_lock_resource(lock, i)->release_until_ns != 0 ||
                rl_place_has_signs(place) || place->state != RL_PLACE_OUT;
    }
    return !knows;
}

bool rl_line_holds_up(const redlock_lock *lock) {
    if (knows_nothing(lock)) {
        return false;
    }
    const struct ahead ahead = what_is_ahead(lock, RL_NEVER);
    return ahead.line < lock->resource_count || ahead.until_ns != 0;
}

void rl_line_go(redlock_lock *lock) {
    if (lock->core.state != RL_WAITING || lock->waiting.stage > RL_STAGE_QUEUED) {
        return; /* it has ended, or is about to go on */
    }
    const struct ahead ahead = what_is_ahead(lock, patience_ns(lock));
    assert(rl_line_active(rl_lock_resource(lock, 0)) == lock);
    if (rl_resource_place(rl_lock_resource(lock, 0))->state == RL_PLACE_OUT) {
        set_due(rl_lock_resource(lock, 0), RL_NEVER); /* it may join another line */
    }
    lock->waiting.stage = RL_STAGE_QUEUED;
    lock->waiting.line = 0;
    if (ahead.line < lock->resource_count) {
        queue(lock, (uint8_t)ahead.line);
    } else if (ahead.until_ns != 0 && rl_line_wait(rl_lock_resource(lock, 0)) != NULL) {
        set_due(rl_lock_resource(lock, 0), ahead.until_ns);
    } else {
        let_go_on(lock, RL_STAGE_PLAIN);
    }
}

void rl_line_release_over(struct rl_resource *resource) {
    redlock_lock *active = rl_line_active(resource);
    assert(resource->references > 0);
    resource->release_until_ns = 0;
    if (active != NULL && rl_line_is_queued(active) &&
        rl_resource_place(rl_line_of(active))->state == RL_PLACE_OUT) {
        rl_line_go(active); /* it may still await another resource's release */
    }
}

uint64_t rl_line_take_turn(redlock_lock *lock, bool *pause) {
    const enum rl_stage stage = lock->waiting.stage;
    struct rl_resource *resource = rl_line_of(lock);
    assert(stage > RL_STAGE_QUEUED && lock->core.state == RL_WAITING);
    lock->waiting.stage = stage == RL_STAGE_TURN ? RL_STAGE_QUEUED : RL_STAGE_NONE;
    lock->waiting.refused_life_ms = 0;
    *pause = stage == RL_STAGE_ALONE;
    if (stage != RL_STAGE_TURN) {
        set_due(resource, rl_place_wake_ns(
                              rl_resource_place(resource))); /* no longer waits for home's answer */
        return 0;
    }
    rl_line_feed_simple(resource, lock, RL_PLACE_EV_TAKE);
    lock->client->stats.turns += !resource->wait->place.probes;
    /* A probe must not use the place's token: it would take keys that a release reserved for the
     * first in line, and a reader's probe would ignore a writer's intent. */
    return resource->wait->place.probes ? lock->mode->probe : resource->wait->place.id;
}

/* -- After a step -- */

static void taken(redlock_lock *lock, struct rl_resource *resource) {
    redlock_client *client = lock->client;
    struct rl_place *place = &resource->wait->place;
    assert(place->state == RL_PLACE_TAKING);
    if (!place->probes) {
        uint64_t us = (rl_client_now_ns(client) - resource->wait->turn_ns) / 1000;
        client->stats.handover_us += us;
        if (us > client->stats.handover_max_us) {
            client->stats.handover_max_us = us;
        }
    }
    rl_place_note_own(place, lock->core.now_ns);
    const bool is_given = lock->mode->is_passed_on && !place->probes;
    resource->wait->held = is_given ? place->id : 0;
    if (is_given && lock->resource_count == 1) {
        lock->waiting.hears_next = true;
        rl_list_add(&client->lines.passed, &resource->wait->passed);
    }
    rl_line_feed_simple(resource, lock, RL_PLACE_EV_WON);
}

/* The lock had its turn, but other nodes refused the attempt. If another of its resources is held,
 * the lock waits for that one. But if that key is reserved for the turn of another client that may
 * want this resource as well, the two would swap places for ever: instead each gives up its keys
 * and pauses. */
static void refused(redlock_lock *lock, struct rl_resource *resource) {
    struct rl_place_event event = {.type = RL_PLACE_EV_REFUSED};
    bool is_turn = lock->waiting.refused_life_ms <= RL_LINE_GRACE_MS;
    event.u.life_ms = lock->waiting.refused_life_ms;
    assert(resource->wait->place.state == RL_PLACE_TAKING);
    lock->client->stats.turns_missed += !resource->wait->place.probes;
    if (lock->waiting.refused_by < lock->resource_count &&
        lock->waiting.refused_by != lock->waiting.line && !is_turn) {
        rl_line_feed_simple(resource, lock, RL_PLACE_EV_UNWANT);
        queue(lock, lock->waiting.refused_by);
    } else {
        rl_line_feed(resource, lock, &event);
        stand(lock);
    }
}

static void leave_queue(redlock_lock *lock, struct rl_resource *resource, bool has_failed) {
    const struct rl_place *place = rl_resource_place(resource);
    assert(rl_line_is_queued(lock));
    lock->waiting.stage = RL_STAGE_NONE;
    lock->waiting.line = 0; /* it may take its next place there in advance */
    if (place->state == RL_PLACE_TAKING && has_failed) {
        lock->client->stats.turns_missed += !place->probes;
    }
    if (place->state == RL_PLACE_OUT) {
        set_due(resource, RL_NEVER); /* it waited for home's answer */
    } else {
        rl_line_feed_simple(resource, lock, RL_PLACE_EV_UNWANT);
    }
}

void rl_line_step_back(redlock_lock *lock) {
    assert(lock->core.state == RL_WAITING);
    leave_queue(lock, rl_line_of(lock), false);
}

/* Whether nothing is pending that would step the lock. */
static bool is_idle(const redlock_lock *lock, const struct rl_resource *resource) {
    return lock->waiting.stage == RL_STAGE_QUEUED &&
           rl_resource_place(resource)->state == RL_PLACE_OUT &&
           (resource->wait == NULL || resource->wait->due.slot == RL_DEADLINE_UNSET);
}

static void follow_queued(redlock_lock *lock) {
    struct rl_resource *resource = rl_line_of(lock);
    const bool takes = rl_resource_place(resource)->state == RL_PLACE_TAKING;
    if (lock->core.state != RL_WAITING) {
        lock->waiting.stage = RL_STAGE_QUEUED; /* the loop's turn need not step it any more */
    }
    switch ((enum rl_lock_state)lock->core.state) {
        case RL_WAITING:
            if (takes) {
                refused(lock, resource);
            } else if (is_idle(lock, resource)) {
                rl_line_go(lock); /* it has just begun */
            }
            break;
        case RL_READY:
        case RL_TRYING:
        case RL_FENCING:
            break;
        case RL_GRANTED:
        case RL_HELD:
        case RL_EXTENDING:
            if (takes) {
                taken(lock, resource);
            }
            leave_queue(lock, resource, false);
            break;
        case RL_IDLE:
        case RL_BACKOFF:
        case RL_RELEASING:
        case RL_LOST:
        case RL_LOCK_STATES:
            leave_queue(lock, resource, true);
            break;
    }
}

static bool was_refused(const redlock_lock *lock) {
    return lock->waiting.stage == RL_STAGE_NONE &&
           rl_line_active(rl_lock_resource(lock, 0)) == lock;
}

void rl_line_follow(redlock_lock *lock) {
    if (rl_line_is_queued(lock)) {
        follow_queued(lock);
    } else if (lock->core.state != RL_WAITING) {
        lock->waiting.stage = RL_STAGE_NONE;
    } else if (was_refused(lock)) {
        queue(lock, lock->waiting.refused_by < lock->resource_count ? lock->waiting.refused_by : 0);
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_resource *resource = rl_lock_resource(lock, i);
        if (rl_resource_place(resource)->state != RL_PLACE_OUT &&
            rl_line_waiter(resource) == NULL) {
            rl_line_feed_simple(resource, lock, RL_PLACE_EV_UNWANT);
        }
    }
}
