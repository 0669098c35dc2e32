/* Human-readable messages, each node's vote in a round, and statistics.
 *
 * Messages are formatted on request, so that a lock that fails a thousand times a second costs no
 * formatting. Their length is bounded; a truncated message ends in "...".
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/sized.h"
#include "client/env.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/credentials.h"
#include "nodes/eligibility.h"
#include "nodes/membership.h"
#include "nodes/seats.h"
#include "nodes/sets.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/waiting.h"

/* -- A bounded text -- */

struct text {
    char *begin;
    char *at;
    size_t left; /* with room for the terminating zero */
    bool is_cut;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    assert(length >= 0);
    text->is_cut = text->is_cut || (size_t)length >= text->left;
    size_t used = (size_t)length < text->left ? (size_t)length : text->left - 1;
    text->at += used;
    text->left -= used;
}

/* size: not 0. No message exceeds REDLOCK_MESSAGE_MAX. */
static struct text begin(char *buffer, size_t size) {
    buffer[0] = '\0';
    return (struct text){buffer, buffer, size < REDLOCK_MESSAGE_MAX ? size : REDLOCK_MESSAGE_MAX,
                         false};
}

static const char *end(const struct text *text) {
    if (text->is_cut && text->at - text->begin >= 3) {
        memcpy(text->at - 3, "...", 3);
    }
    return text->begin;
}

/* -- Messages -- */

/* Why the node is not up, in the words of another library or of the server; "": unknown. */
static const char *detail_of(const struct rl_node *node) {
    bool lacks_tls = node->reason == REDLOCK_ERR_NODE_DOWN && node->state == RL_NODE_CONNECTING &&
                     node->is_reached;
    return lacks_tls ? "no TLS handshake yet; is it a TLS port?" : node->detail;
}

/* Adds a reason, with the text of its source if it is still available. */
static void add_reason(struct text *text, const struct rl_client_node *member, int reason) {
    const struct rl_node *node = &member->node;
    add(text, "; %.60s: %s", node->url.name, redlock_strerror(reason));
    if (node->reason == reason && detail_of(node)[0] != '\0') {
        add(text, " (%s)", detail_of(node));
    } else if (reason == REDLOCK_ERR_NODE_CONFIG && !rl_membership_counts(member)) {
        char why[192];
        rl_membership_explain(member, why, sizeof why);
        add(text, " (%s)", why);
    } else if (member->error == reason) {
        add(text, " (%s)", member->words);
    }
}

/* Adds the nth of `count` nodes in quarantine. */
static void add_waiting(struct text *text, const struct rl_client_node *member, int reason,
                        uint32_t count, uint32_t nth) {
    char part[192];
    if (nth == 0) {
        add(text, "; %u of %u nodes in quarantine: ", (unsigned)count,
            (unsigned)rl_bits_count(rl_sides_all(&member->client->membership.sides)));
    }
    rl_eligibility_explain(member, reason, rl_client_now_ns(member->client), part, sizeof part);
    add(text, "%s%s", nth > 0 ? "; " : "", part);
}

/* Names each pair of duplicates once. */
static void add_twins(struct text *text, const redlock_client *client) {
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        RL_EACH_BIT(j, rl_eligibility_duplicates(client->nodes[i]) >> i >> 1 << 1 << i) {
            add(text, "; %.60s and %.60s report that they are the same server: they have one vote",
                client->nodes[i]->node.url.name, client->nodes[j]->node.url.name);
        }
    }
}

const char *redlock_client_message(const redlock_client *client, char *buffer, size_t size) {
    if (buffer == NULL || size == 0) {
        return "";
    }
    struct text text = begin(buffer, size);
    if (client == NULL) {
        return buffer;
    }
    rl_own(client, __func__);
    const rl_mask members = rl_sides_all(&client->membership.sides);
    rl_mask waiting = 0;
    add(&text, "%u of %u nodes up", (unsigned)rl_bits_count(client->up & members),
        (unsigned)rl_bits_count(members));
    RL_EACH_BIT(i, members) { /* without nodes that have left the set */
        const struct rl_node *node = &client->nodes[i]->node;
        if (rl_eligibility_is_quarantine(client->reasons[i])) {
            waiting |= rl_bit(i);
        } else if (client->reasons[i] != 0) {
            add_reason(&text, client->nodes[i], client->reasons[i]);
        } else if (node->auth.reason != 0) {
            add(&text, "; %.60s: new credentials refused: %s (%s)", node->url.name,
                redlock_strerror(node->auth.reason), node->auth.words);
        }
    }
    uint32_t nth = 0;
    RL_EACH_BIT(i, waiting) {
        add_waiting(&text, client->nodes[i], client->reasons[i], rl_bits_count(waiting), nth++);
    }
    add_twins(&text, client);
    return end(&text);
}

static bool was_waiting(const struct rl_ballot *ballot) {
    return ballot->vote == RL_VOTE_FAILED && rl_eligibility_is_quarantine(ballot->reason);
}

/* Whether the node was in quarantine, and still is. */
static bool is_waiting(const struct rl_client_node *member, const struct rl_ballot *ballot) {
    return was_waiting(ballot) &&
           rl_eligibility_wait_ms(member, rl_client_now_ns(member->client)) > 0;
}

static void add_ballots(struct text *text, const redlock_lock *primary, const char *refused) {
    const struct rl_round *round = &primary->core.round;
    struct rl_client_node *const *nodes = primary->client->nodes;
    uint32_t waiting = 0, nth = 0;
    RL_EACH_BIT(i, rl_electors(&round->electorate)) {
        const struct rl_client_node *member = nodes[rl_seats_node(primary, i)];
        const struct rl_node *node = &member->node;
        const struct rl_ballot *ballot = &round->ballots[i];
        if (is_waiting(member, ballot)) {
            waiting++;
        } else if (was_waiting(ballot)) {
            add(text, "; %.60s: in quarantine then, votes now", node->url.name);
        } else if (ballot->vote == RL_VOTE_REFUSED) {
            add(text, "; %.60s: %s", node->url.name, refused);
        } else if (ballot->vote == RL_VOTE_FAILED) {
            add_reason(text, member, ballot->reason);
        } else if (ballot->vote == RL_VOTE_PENDING) {
            add(text, "; %.60s: no answer yet", node->url.name);
        }
    }
    RL_EACH_BIT(i, rl_electors(&round->electorate)) {
        const struct rl_client_node *member = nodes[rl_seats_node(primary, i)];
        if (is_waiting(member, &round->ballots[i])) {
            add_waiting(text, member, round->ballots[i].reason, waiting, nth++);
        }
    }
}

static void add_round(struct text *text, const redlock_lock *lock) {
    static const char *const done[] = {[RL_ROUND_ACQUIRE] = "granted",
                                       [RL_ROUND_FENCE] = "raised",
                                       [RL_ROUND_EXTEND] = "renewed",
                                       [RL_ROUND_UPGRADE] = "upgraded",
                                       [RL_ROUND_RELEASE] = "deleted"};
    static const char *const refused[] = {[RL_ROUND_ACQUIRE] = "held by another",
                                          [RL_ROUND_FENCE] = "the token is gone",
                                          [RL_ROUND_EXTEND] = "the token is gone",
                                          [RL_ROUND_UPGRADE] = "read by others",
                                          [RL_ROUND_RELEASE] = "the token is gone"};
    const redlock_lock *primary = rl_hold_primary(lock);
    const struct rl_round *round = &primary->core.round;
    const bool has_begun = rl_electors(&round->electorate) != 0;
    const struct rl_electorate *electorate =
        has_begun ? &round->electorate : &primary->core.rules->electorate;
    add(text, ": %u of %u %s, %u needed", (unsigned)rl_seats_count(round->granted),
        (unsigned)rl_seats_count(rl_electors(electorate)), done[round->kind],
        (unsigned)rl_votes_needed(electorate));
    add_ballots(text, primary, refused[round->kind]);
}

static void add_words(struct text *text, const redlock_lock *lock, enum rl_words words) {
    static const char *const table[] = {
        [RL_WORDS_SHARES] = "it shares its owner's hold",
        [RL_WORDS_NO_FENCE] = RL_MESSAGE_NO_FENCE,
        [RL_WORDS_OWNER_LOST] = "the hold that it was about to share was lost",
        [RL_WORDS_STILL_HELD] = "it was acquired more than once and is still held",
        [RL_WORDS_HELD_BY_OTHERS] = "its owner still holds it through another object",
        [RL_WORDS_WAITING] = "in line behind another lock of this client",
        [RL_WORDS_WAITED_IN_VAIN] =
            "in line behind another lock of this client, whose attempts fail",
        [RL_WORDS_QUEUED] = "in line behind other clients",
        [RL_WORDS_NO_RANDOM] = "no random bytes for a token",
        [RL_WORDS_LINGERS] = "the nodes keep it for its next acquire (linger_ms)",
        [RL_WORDS_LINGERED] = "the nodes had kept it since its release (linger_ms)",
        [RL_WORDS_NO_PERMIT] = "no permit is free, or others wait for those that are",
    };
    bool was_lost = words == RL_WORDS_WAS_LOST;
    if (words == RL_WORDS_PERMITS) {
        add(text, "%u, and this lock is of %u", (unsigned)rl_mode_kept_permits(lock),
            (unsigned)lock->target.permits);
        return;
    }
    add(text, "%s", was_lost ? redlock_strerror(lock->last.loss) : table[words]);
}

/* Adds the state of a pending acquire. */
static void add_acquire(struct text *text, const redlock_lock *lock) {
    if (lock->core.state == RL_WAITING) {
        const enum rl_words words = rl_waiting_words(lock, rl_waiting_status(lock));
        add_words(text, lock, words);
        if (words == RL_WORDS_QUEUED && lock->last.has_asked) {
            add(text, "; the last attempt: %s",
                redlock_strerror(rl_lock_status(lock->core.acquire.attempt)));
            add_round(text, lock);
        }
    } else if (lock->core.state == RL_READY) {
        add(text, "pending: asking which permits are free");
    } else if (lock->core.state != RL_BACKOFF) {
        add(text, "pending");
        add_round(text, lock);
    } else if (lock->last.has_asked) {
        add(text, "waiting for the next attempt; the last one: %s",
            redlock_strerror(rl_lock_status(lock->core.acquire.attempt)));
        add_round(text, lock);
    } else {
        add(text, "waiting for its first attempt");
    }
}

/* Adds the outcome of a finished operation. */
static void add_status(struct text *text, const redlock_lock *lock, int status,
                       enum rl_words words) {
    add(text, "%s", redlock_strerror(status));
    if (words > RL_WORDS_NONE) {
        add(text, ": ");
        add_words(text, lock, words);
    } else if (words == RL_WORDS_ROUND) {
        if (status == REDLOCK_ERR_DEADLINE) {
            add(text, " (%s)", redlock_strerror(lock->last.attempt));
        }
        add_round(text, lock);
    }
}

const char *redlock_lock_message(const redlock_lock *lock, char *buffer, size_t size) {
    if (buffer == NULL || size == 0) {
        return "";
    }
    struct text text = begin(buffer, size);
    if (lock == NULL) {
        return buffer;
    }
    rl_own(lock->client, __func__);
    const struct rl_op *acquire = rl_op_of(lock, RL_OP_ACQUIRE);
    const struct rl_round *round = &rl_hold_primary(lock)->core.round;
    if (lock->last.refusal != NULL) {
        add(&text, "%s", lock->last.refusal);
    } else if (lock->depth == 0 && acquire != NULL && !acquire->is_done) {
        add_acquire(&text, lock);
    } else if (lock->depth == 0 && lock->last.words != RL_WORDS_ROUND) {
        add_status(&text, lock, lock->last.status, (enum rl_words)lock->last.words);
    } else if (round->id == 0) {
        add(&text, "no request has been sent yet");
    } else if (round->decision == RL_OPEN) {
        add(&text, "pending");
        add_round(&text, lock);
    } else {
        add_status(&text, lock, lock->last.status, (enum rl_words)lock->last.words);
    }
    return end(&text);
}

/* -- Figures -- */

static_assert((int)REDLOCK_VOTE_FAILED == (int)RL_VOTE_FAILED, "votes are the core's votes");
static_assert((int)REDLOCK_VOTE_PENDING == (int)RL_VOTE_PENDING, "votes are the core's votes");

int redlock_lock_attempt_status(const redlock_lock *lock) {
    if (lock == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(lock->client, __func__);
    const struct rl_op *acquire = rl_op_of(lock, RL_OP_ACQUIRE);
    if (acquire != NULL && !acquire->is_done) {
        bool has_ended = lock->core.acquire.attempt != RL_RESULT_NONE;
        return has_ended ? rl_lock_status(lock->core.acquire.attempt) : 0;
    }
    return lock->last.attempt;
}

int redlock_lock_outcome(const redlock_lock *lock, size_t index, redlock_node_outcome *outcome) {
    const uint32_t node = lock != NULL ? rl_member_at(lock->client, index) : RL_NODES_MAX;
    if (outcome == NULL || node == RL_NODES_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(lock->client, __func__);
    const struct rl_ballot none = {.vote = RL_VOTE_NONE};
    const redlock_lock *primary = rl_hold_primary(lock);
    const struct rl_round *round = &primary->core.round;
    const uint32_t seat = rl_seats_of(primary, node);
    const bool votes = seat < RL_SEATS_MAX && rl_electors(&round->electorate) >> seat & 1;
    const struct rl_ballot *ballot = votes ? &round->ballots[seat] : &none;
    redlock_node_outcome full = {
        .node = lock->client->nodes[node]->node.url.name,
        .vote = (enum redlock_vote)ballot->vote,
        .reason = ballot->reason,
        .latency_us = ballot->latency_us,
        .votes_in_ms =
            rl_eligibility_wait_ms(lock->client->nodes[node], rl_client_now_ns(lock->client)),
    };
    return rl_sized_give(outcome, outcome->size, &full, sizeof full);
}

int redlock_client_stats(const redlock_client *client, redlock_stats *stats) {
    if (client == NULL || stats == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    redlock_stats full = client->stats;
    full.pending_releases = client->pending_releases;
    RL_EACH(const redlock_lock, lock, &client->locks, link) {
        full.locks += !lock->is_freed;
        full.held += rl_lock_is_holding(&lock->core) && !rl_hold_lingers(lock);
        full.waiting += lock->core.state == RL_WAITING;
    }
    full.places = rl_line_places(client);
    full.nodes_up = rl_bits_count(client->up & rl_sides_all(&client->membership.sides));
    full.nodes_voting = rl_bits_count(rl_eligibility_servers(client));
    full.credentials_pending = rl_credentials_pending(client);
    return rl_sized_give(stats, stats->size, &full, sizeof full);
}

int redlock_client_lacks(const redlock_client *client, const void *resource, size_t length,
                         size_t *nodes, size_t *voting, size_t *needed) {
    if (client == NULL || resource == NULL || length < 1 || length > REDLOCK_RESOURCE_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    const struct rl_sides sides = rl_sets_sides(client, resource, length);
    const rl_mask all = rl_sides_all(&sides), able = all & rl_eligibility_servers(client);
    const size_t counts[] = {rl_bits_count(all), rl_bits_count(able), rl_sides_lack(&sides, 0)};
    size_t *const out[] = {nodes, voting, needed};
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
        if (out[i] != NULL) {
            *out[i] = counts[i];
        }
    }
    return (int)rl_sides_lack(&sides, able);
}

int redlock_client_node(const redlock_client *client, size_t index, redlock_node_info *info) {
    const uint32_t i = client != NULL ? rl_member_at(client, index) : RL_NODES_MAX;
    if (info == NULL || i == RL_NODES_MAX) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    const struct rl_client_node *member = client->nodes[i];
    const struct rl_node *node = &member->node;
    int reason = rl_node_is_up(node) ? client->reasons[i] : node->reason;
    if (reason == 0 && rl_eligibility_duplicates(member) != 0) {
        reason = REDLOCK_ERR_DUPLICATE;
    }
    redlock_node_info full = {
        .node = node->url.name,
        .up = rl_node_is_up(node),
        .reason = reason,
        .detail = detail_of(node),
        .connects = node->connects,
        .failures = node->failures,
        .requests = node->requests,
        .outstanding = rl_node_is_up(node) ? node->waiting : 0, /* handshakes do not count */
        .pending_releases = member->pending_releases.count,
        .voting = (client->voters >> i & 1) != 0,
        .votes_in_ms = rl_eligibility_wait_ms(member, rl_client_now_ns(client)),
        .credentials = rl_credentials_status(member),
        .credentials_detail = node->auth.words,
    };
    return rl_sized_give(info, info->size, &full, sizeof full);
}

/* The public interface's queries on a lock: none of them changes it. */

int redlock_lock_is_valid(const redlock_lock *lock) {
    if (lock != NULL) {
        rl_own(lock->client, __func__);
    }
    return lock != NULL && lock->depth > 0 && !rl_io_is_forked(&lock->client->io) &&
           rl_lock_is_valid(&rl_hold_primary(lock)->core, rl_client_now_ns(lock->client));
}

uint64_t redlock_lock_valid_until_ns(const redlock_lock *lock) {
    if (lock != NULL) {
        rl_own(lock->client, __func__);
    }
    bool held = lock != NULL && rl_hold_is_held(lock) && !rl_io_is_forked(&lock->client->io);
    return held ? rl_hold_primary(lock)->core.valid_until_ns : 0;
}

int64_t redlock_lock_remaining_ms(const redlock_lock *lock) {
    uint64_t until_ns = redlock_lock_valid_until_ns(lock);
    uint64_t now_ns = until_ns != 0 ? rl_client_now_ns(lock->client) : 0;
    return until_ns > now_ns ? (int64_t)((until_ns - now_ns) / RL_NS_PER_MS) : 0;
}

const char *redlock_lock_token(const redlock_lock *lock) {
    return lock != NULL ? rl_hold_primary(lock)->core.token : "";
}

enum redlock_mode redlock_lock_mode(const redlock_lock *lock) {
    return lock != NULL ? rl_mode_reported(rl_mode_now(rl_hold_primary(lock))->mode)
                        : REDLOCK_EXCLUSIVE;
}

uint64_t redlock_lock_fence(const redlock_lock *lock) {
    return lock != NULL ? lock->fence : 0;
}

int32_t redlock_lock_slot(const redlock_lock *lock, size_t index) {
    const struct rl_slots *told = lock != NULL ? rl_mode_told_slots(lock) : NULL;
    return told != NULL && index < told->n ? told->at[index] : REDLOCK_NO_SLOT;
}

const void *redlock_lock_resource(const redlock_lock *lock, size_t *length) {
    const struct rl_resource *first = lock != NULL ? rl_lock_resource(lock, 0) : NULL;
    if (length != NULL) {
        *length = first != NULL ? first->length : 0;
    }
    return first != NULL ? first->bytes : NULL;
}

void redlock_lock_set_data(redlock_lock *lock, void *data) {
    if (lock != NULL) {
        lock->user_data = data;
    }
}

void *redlock_lock_data(const redlock_lock *lock) {
    return lock != NULL ? lock->user_data : NULL;
}

redlock_client *redlock_lock_client(const redlock_lock *lock) {
    return lock != NULL ? lock->client : NULL;
}
