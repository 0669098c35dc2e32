/* See mode.h. */
#include "mode/mode.h"

#include <assert.h>
#include <string.h>

#include "base/mark.h"
#include "nodes/seats.h"

/* -- The current mode -- */

const struct rl_mode_rules *rl_mode_now(const redlock_lock *lock) {
    return rl_mode_sent(lock, lock->holding.mode);
}

const struct rl_mode_rules *rl_mode_sent(const redlock_lock *lock, uint8_t mode) {
    const struct rl_mode_rules *made = lock->mode;
    assert(mode == made->mode || mode == made->other->mode);
    return mode == made->mode ? made : made->other;
}

bool rl_mode_is_adopted(const redlock_lock *lock) {
    return lock->holding.is_adopted;
}

void rl_mode_begin(redlock_lock *lock) {
    const uint8_t made = lock->mode->mode;
    assert(!rl_lock_is_holding(&lock->core));
    lock->holding = (struct rl_holding){.mode = made, .was_shared = made == RL_SHARED};
}

void rl_mode_take_over(redlock_lock *lock, bool adopts) {
    rl_mode_begin(lock);
    assert(!lock->holding.converts);
    lock->holding.was_shared = lock->holding.mode != RL_PERMIT;
    lock->holding.is_adopted = adopts;
}

const struct rl_mode_rules *rl_mode_of(const redlock_lock *lock, enum rl_call_kind kind) {
    assert(kind < RL_CALL_KINDS);
    const bool shared =
        kind == RL_CALL_UPGRADE || (kind == RL_CALL_RELEASE && lock->holding.was_shared);
    if (kind == RL_CALL_RAISE && lock->holding.is_upgrading) {
        return &rl_mode_writer; /* only nodes that have converted have a writer's fence */
    }
    return shared ? &rl_mode_reader : rl_mode_now(lock);
}

/* 0: the node has no seat. */
static uint32_t bit_of(const redlock_lock *lock, uint32_t node) {
    const uint32_t seat = rl_seats_of(lock, node);
    assert(node < lock->client->n_nodes);
    return seat < RL_SEATS_MAX ? rl_seat(seat) : 0;
}

bool rl_mode_converts(const redlock_lock *lock, uint32_t node) {
    return lock->holding.mode == RL_SHARED && lock->holding.converts &&
           (lock->holding.unsure & bit_of(lock, node)) == 0;
}

void rl_mode_convert_sent(redlock_lock *lock, uint32_t node) {
    const uint32_t bit = bit_of(lock, node);
    assert(bit != 0 && (lock->holding.unsure & bit) == 0); /* else one answer would count for two */
    lock->holding.unsure |= bit;
}

uint32_t rl_mode_nodes(const redlock_lock *lock) {
    return lock->holding.unsure | lock->holding.stray;
}

void rl_mode_renumber(redlock_lock *lock, const uint8_t to[RL_SEATS_MAX]) {
    lock->holding.unsure = rl_renumber(lock->holding.unsure, to);
    lock->holding.stray = rl_renumber(lock->holding.stray, to);
}

static void learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                  const struct rl_answer *answer) {
    const bool runs_late = answer->verdict == RL_UNANSWERED || answer->verdict == RL_NOT_REDIS;
    const bool upgrades = request->kind == RL_COMMAND_UPGRADE;
    if ((!request->converts && !upgrades) ||
        memcmp(request->token, lock->core.token, RL_TOKEN_LEN) != 0) {
        return; /* the usual case */
    }
    if (request->converts) { /* an error also settles it, whatever the script did */
        const uint32_t bit = bit_of(lock, node);
        lock->holding.unsure &= ~bit;
        lock->holding.stray |= runs_late ? bit : 0;
    }
    if (upgrades && answer->verdict == RL_NO && answer->line.which == RL_UPGRADE_MEETS_UPGRADE) {
        lock->holding.meets_upgrade = true;
    }
}

void rl_mode_downgrade(redlock_lock *lock) {
    assert(rl_lock_is_holding(&lock->core));
    assert(lock->holding.mode == RL_EXCLUSIVE);
    lock->holding.mode = RL_SHARED;
    lock->holding.was_shared = lock->holding.converts = true;
}

void rl_mode_upgrade(redlock_lock *lock) {
    assert(lock->holding.mode == RL_SHARED);
    assert(!lock->holding.is_upgrading);
    lock->holding.is_upgrading = lock->holding.converts = true;
    lock->holding.meets_upgrade = false;
}

bool rl_mode_is_upgrading(const redlock_lock *lock) {
    return lock->holding.is_upgrading;
}

bool rl_mode_is_unsure(const redlock_lock *lock) {
    const struct rl_holding *holding = &lock->holding;
    return rl_mode_nodes(lock) != 0 && (holding->mode == RL_EXCLUSIVE || holding->is_upgrading);
}

bool rl_mode_may_disown(const redlock_lock *lock) {
    return lock->holding.mode != RL_EXCLUSIVE || !rl_mode_is_unsure(lock);
}

/* A server with several addresses runs the conversion under all of them. */
static uint32_t unsure_nodes(const redlock_lock *lock, const struct rl_event *event) {
    const uint32_t unsure = rl_mode_nodes(lock);
    uint32_t nodes = unsure;
    RL_EACH_BIT(i, event->duplicates != NULL ? unsure : 0) {
        nodes |= event->duplicates[i];
    }
    return nodes;
}

void rl_mode_leave_out(const redlock_lock *lock, struct rl_event *event,
                       int16_t reasons[RL_SEATS_MAX]) {
    const uint32_t unsure = unsure_nodes(lock, event);
    const uint32_t n = rl_seats_count_of(lock);
    assert(rl_mode_is_unsure(lock));
    for (uint32_t i = 0; i < n; i++) {
        if (unsure >> i & 1 && reasons[i] == 0) {
            RL_MARK(UNSURE_NOT_COUNTED);
            reasons[i] = REDLOCK_ERR_NODE_TIMEOUT;
        }
    }
    event->voters &= ~unsure;
}

int rl_mode_extended(redlock_lock *lock, int status) {
    struct rl_holding *holding = &lock->holding;
    if (!holding->is_upgrading) {
        return status;
    }
    assert(holding->mode == RL_SHARED);
    holding->is_upgrading = false;
    if (status == 0) {
        holding->mode = RL_EXCLUSIVE;
        return 0;
    }
    return status == REDLOCK_ERR_HELD && holding->meets_upgrade ? REDLOCK_ERR_WOULD_DEADLOCK
                                                                : status;
}

/* -- Slots -- */

const struct rl_slots *rl_mode_told_slots(const redlock_lock *lock) {
    static const struct rl_slots none;
    return rl_permit_of(lock) != NULL ? &rl_permit_of(lock)->told : &none;
}

uint16_t rl_mode_kept_permits(const redlock_lock *lock) {
    return rl_permit_of(lock)->kept;
}

bool rl_mode_found_none(const redlock_lock *lock) {
    return rl_permit_of(lock) != NULL && rl_permit_of(lock)->found_none;
}

/* The slot functions of a lock without slots do nothing. */

static bool find(redlock_lock *lock, uint64_t *place) {
    (void)lock, (void)place;
    return true;
}

static void follow(redlock_lock *lock) {
    (void)lock;
}

static void fill(const redlock_lock *lock, struct rl_request *request) {
    (void)lock, (void)request;
}

static bool learn_join(redlock_lock *lock, uint32_t node, const struct rl_answer *answer) {
    (void)lock, (void)node, (void)answer;
    return false;
}

static bool suits(const redlock_lock *lock, const struct rl_slots *slots) {
    (void)lock;
    return slots->n == 0;
}

static bool take_turn(redlock_lock *lock, uint32_t home, uint64_t place,
                      const struct rl_slots *slots) {
    (void)lock, (void)home, (void)place, (void)slots;
    return false;
}

/* -- The rules -- */

#define WITHOUT_SLOTS                                                                       \
    .find = find, .follow = follow, .fill = fill, .learn_join = learn_join, .suits = suits, \
    .take_turn = take_turn

const struct rl_mode_rules rl_mode_writer = {
    .mode = RL_EXCLUSIVE,
    .release = RL_COMMAND_RELEASE_LINE,
    .other = &rl_mode_reader,
    .no_upgrade = "it is held exclusively already",
    .has_one_key = true,
    .is_passed_on = true,
    .intent_ms = RL_MODE_INTENT_MS,
    .learn = learn,
    WITHOUT_SLOTS,
};

const struct rl_mode_rules rl_mode_reader = {
    .mode = RL_SHARED,
    .release = RL_COMMAND_RELEASE_LINE,
    .other = &rl_mode_writer,
    .no_downgrade = "it is held shared already",
    .side_by_side = true,
    .shares_turn = true,
    .learn = learn,
    WITHOUT_SLOTS,
};

const struct rl_mode_rules *rl_mode_of_lock(enum redlock_mode mode) {
    return mode == REDLOCK_SHARED ? &rl_mode_reader : &rl_mode_writer;
}

enum redlock_mode rl_mode_reported(uint8_t mode) {
    return mode == RL_SHARED ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
}

uint8_t rl_mode_lines(bool of_permits, uint8_t *first) {
    *first = of_permits ? RL_PERMIT : RL_EXCLUSIVE;
    return of_permits ? 1 : RL_SHARED + 1;
}
