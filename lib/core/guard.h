/* May this node vote? What a client must know about a node before it counts the node's grants.
 *
 * The hole that this closes: a node forgets the key of a lock, because it restarted without its
 * data, or because a replica that lacked the key took its place. It would then grant the same
 * resource again, and two quorums would no longer share a node that remembers. So a node that may
 * have forgotten a key gets no vote until every lock that it may have voted for is over: for the
 * longest ttl that any client asks for, plus drift.
 *
 * Happy path: rl_guard_see() runs on every connect, with what the node reports about itself; the
 * node is the same server as before, and votes.
 *
 * Failure modes:
 *   - its run_id has changed: it restarted. Its replication ID has changed: it was, or is, another
 *     server's replica. In both cases quarantine, from the moment at which the client saw this;
 *   - in strict mode, it is seen for the first time and has been up for less than a quarantine, so
 *     it may have restarted while no client of ours was connected. Quarantine, from its start;
 *   - it is a replica, is loading, or may evict keys: unfit for as long as that lasts;
 *   - it was a replica, or could evict, when it was last seen: quarantine. Until a moment ago it
 *     may have lacked keys that its primary voted for, or evicted keys that it voted for itself;
 *   - all keys were deleted (FLUSHALL): quarantine, from the next time that it is seen. With RESP3
 *     it reports this on the connection of the votes, ahead of the replies to later commands; the
 *     report ends that connection, so no later vote counts. Without RESP3 its count of such
 *     commands reveals it at the next connect.
 * A lost connection alone changes nothing: equal IDs mean the same server.
 *
 * Why the quarantine is long enough: the node voted for the forgotten keys before it restarted, so
 * before it was seen, by a SET or an extension with a ttl of at most max_ttl, whose sender relies
 * on the vote for less than that. (The start of a recently started node is computed from its own
 * uptime: if its clock steps forward meanwhile, this shortens the quarantine, as it shortens
 * leases.)
 *
 * A node in quarantine is not asked for acquire votes, and its yes to an extension does not count,
 * although it is sent extensions, and given the key back. That yes might seem safe to count, since
 * the node has our token now. But the node may have it only because it forgot another client's
 * token: that client may have received a yes before the restart, in an attempt that is still open,
 * and count it (test/model, story extend-votes). By the end of the quarantine, anything that the
 * other client could win with that yes is over.
 *
 * Not detected: keys that were deleted before a client saw the node for the first time; a server
 * that became a replica and a primary again while a connection to it stayed open and idle (node.c);
 * a failover before a client saw the node for the first time, if the promoted server has been up
 * for long; an old primary that lives on after a failover, and is still asked by another client.
 */
#ifndef RL_CORE_GUARD_H
#define RL_CORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#define RL_GUARD_ID_LEN 40

enum rl_guard_mode {
    RL_GUARD_OFF,
    RL_GUARD_OBSERVED, /* changes that this client has seen count */
    RL_GUARD_STRICT    /* so does a short uptime when first seen */
};

struct rl_guard_rules {
    enum rl_guard_mode mode;
    uint64_t quarantine_ns; /* the longest ttl, plus drift */
};

/* What a node reports of itself. */
struct rl_server {
    char run_id[RL_GUARD_ID_LEN + 1];
    char replid[RL_GUARD_ID_LEN + 1];
    uint64_t uptime_ns;
    uint64_t flushes; /* how often all keys of a database were deleted, as far as it says */
    bool is_replica;
    bool is_loading;
    bool evicts;
};

enum rl_standing {
    RL_STANDING_VOTES,
    RL_STANDING_RESTARTED, /* this and the next three: in quarantine */
    RL_STANDING_REPLACED,
    RL_STANDING_RECENTLY_STARTED,
    RL_STANDING_FLUSHED,
    RL_STANDING_REPLICA, /* this and the next two: unfit; or in quarantine because it was unfit */
    RL_STANDING_LOADING,
    RL_STANDING_EVICTS,
    RL_STANDINGS
};

struct rl_guard {
    char run_id[RL_GUARD_ID_LEN + 1]; /* "" before it was seen */
    char replid[RL_GUARD_ID_LEN + 1];
    uint64_t flushes;  /* 0 before it was seen */
    uint64_t since_ns; /* when the quarantine began */
    uint64_t votes_ns; /* when it ends; 0: no quarantine */
    uint8_t standing;  /* enum rl_standing: why there is, or was, a quarantine */
    /* enum rl_standing: why it was unfit when last seen: a replica, evicting, or flushed; 0: it was
     * fit */
    uint8_t unfit;
};

void rl_guard_init(struct rl_guard *guard);

/* The node was connected at now_ns and is this server. Returns RL_STANDING_VOTES, although perhaps
 * only from guard->votes_ns on; or why the node is unfit. */
enum rl_standing rl_guard_see(struct rl_guard *guard, const struct rl_guard_rules *rules,
                              const struct rl_server *server, uint64_t now_ns);

/* The node has reported that all its keys were deleted. */
void rl_guard_flushed(struct rl_guard *guard);

/* Whether the node may be asked for an acquire vote. */
bool rl_guard_may_vote(const struct rl_guard *guard, uint64_t now_ns);

#endif
