/* See guard.h for the argument. */
#include "core/guard.h"

#include <assert.h>
#include <string.h>

static_assert(RL_STANDING_VOTES == 0, "a guard of zeros has seen nothing against its node");
static_assert(RL_STANDINGS <= UINT8_MAX, "a standing is kept in a byte");

void rl_guard_init(struct rl_guard *guard) {
    memset(guard, 0, sizeof *guard);
}

static enum rl_standing guard_use(const struct rl_server *server) {
    if (server->is_replica) {
        return RL_STANDING_REPLICA;
    }
    if (server->is_loading) {
        return RL_STANDING_LOADING;
    }
    return server->evicts ? RL_STANDING_EVICTS : RL_STANDING_VOTES;
}

static enum rl_standing guard_judge(const struct rl_guard *guard,
                                    const struct rl_guard_rules *rules,
                                    const struct rl_server *server) {
    bool known = guard->run_id[0] != '\0';
    assert(known == (guard->replid[0] != '\0'));
    if (known && strcmp(guard->run_id, server->run_id) != 0) {
        return RL_STANDING_RESTARTED;
    }
    if (known && strcmp(guard->replid, server->replid) != 0) {
        return RL_STANDING_REPLACED;
    }
    if (known && guard->flushes != server->flushes) { /* a lower number may hide a higher one */
        return RL_STANDING_FLUSHED;
    }
    if (guard->unfit != 0) {
        return (enum rl_standing)guard->unfit;
    }
    bool young = rules->mode == RL_GUARD_STRICT && server->uptime_ns < rules->quarantine_ns;
    return !known && young ? RL_STANDING_RECENTLY_STARTED : RL_STANDING_VOTES;
}

enum rl_standing rl_guard_see(struct rl_guard *guard, const struct rl_guard_rules *rules,
                              const struct rl_server *server, uint64_t now_ns) {
    assert(rules->mode != RL_GUARD_OFF);
    assert(server->run_id[0] != '\0');
    enum rl_standing use = guard_use(server);
    if (use != RL_STANDING_VOTES) {
        guard->unfit = use != RL_STANDING_LOADING ? (uint8_t)use : guard->unfit;
        return use;
    }
    enum rl_standing standing = guard_judge(guard, rules, server);
    memcpy(guard->run_id, server->run_id, sizeof guard->run_id);
    memcpy(guard->replid, server->replid, sizeof guard->replid);
    guard->flushes = server->flushes;
    guard->unfit = 0;
    if (standing != RL_STANDING_VOTES) { /* else an earlier quarantine goes on, or is over */
        uint64_t ago_ns = standing == RL_STANDING_RECENTLY_STARTED ? server->uptime_ns : 0;
        guard->standing = (uint8_t)standing;
        guard->since_ns = now_ns > ago_ns ? now_ns - ago_ns : 0;
        guard->votes_ns = guard->since_ns + rules->quarantine_ns;
    }
    return RL_STANDING_VOTES;
}

void rl_guard_flushed(struct rl_guard *guard) {
    guard->unfit = RL_STANDING_FLUSHED;
}

bool rl_guard_may_vote(const struct rl_guard *guard, uint64_t now_ns) {
    assert(guard->votes_ns == 0 || guard->standing != RL_STANDING_VOTES);
    assert(guard->since_ns <= guard->votes_ns);
    return now_ns >= guard->votes_ns;
}
