/* What people and programs may ask: sentences, every node's part in a round, statistics.
 *
 * Sentences are made when they are asked for, so that an attempt that fails a thousand times a
 * second costs no formatting. They are bounded, and end in "..." where there was more to say.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "line.h"
#include "share.h"
#include "voters.h"

/* -- A bounded text -- */

struct text {
    char *at;
    size_t left; /* with room for the terminating zero */
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    assert(length >= 0);
    size_t used = (size_t)length < text->left ? (size_t)length : text->left - 1;
    text->at += used;
    text->left -= used;
}

static struct text begin(redlock_client *client) {
    client->message[0] = '\0';
    return (struct text){client->message, sizeof client->message};
}

static void end(redlock_client *client, const struct text *text) {
    if (text->left <= 1) {
        memcpy(client->message + sizeof client->message - 4, "...", 4);
    }
}

void rl_message_refuse(redlock_lock *lock, const char *format, ...) {
    redlock_client *client = lock->client;
    va_list args;
    va_start(args, format);
    vsnprintf(client->message, sizeof client->message, format, args);
    va_end(args);
    client->refused = lock;
}

/* -- Messages -- */

/* With the words of whoever gave it, if they are still known. */
static void add_reason(struct text *text, const struct rl_client_node *place, int reason) {
    const struct rl_node *node = &place->node;
    add(text, "; %.60s: %s", node->url.name, redlock_strerror(reason));
    if (node->reason == reason && node->detail[0] != '\0') {
        add(text, " (%s)", node->detail);
    } else if (place->error == reason) {
        add(text, " (%s)", place->words);
    }
}

/* The nth of some nodes that are in quarantine, or were when the round began. */
static void add_waiting(struct text *text, const struct rl_client_node *place, int reason,
                        uint32_t count, uint32_t nth) {
    char part[192];
    if (nth == 0) {
        add(text, "; %u of %u nodes may not vote: ", (unsigned)count,
            (unsigned)place->client->n_nodes);
    }
    rl_voters_explain(place, reason, redlock_now_ns(), part, sizeof part);
    add(text, "%s%s", nth > 0 ? "; " : "", part);
}

/* Each pair once. */
static void add_twins(struct text *text, const redlock_client *client) {
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        uint32_t twins = rl_voters_twins(&client->nodes[i]) >> i >> 1 << 1 << i;
        for (uint32_t j = i + 1; twins >> j != 0; j++) {
            if (twins >> j & 1) {
                add(text, "; %.60s and %.60s say that they are one server: they have one vote",
                    client->nodes[i].node.url.name, client->nodes[j].node.url.name);
            }
        }
    }
}

const char *redlock_client_message(redlock_client *client) {
    if (client == NULL) {
        return "";
    }
    rl_own(client, __func__);
    struct text text = begin(client);
    client->refused = NULL;
    uint32_t waiting = client->up & ~client->voters;
    add(&text, "%u of %u nodes up", (unsigned)rl_client_count(client->up),
        (unsigned)client->n_nodes);
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_node *node = &client->nodes[i].node;
        if (!rl_node_is_up(node)) {
            add_reason(&text, &client->nodes[i], node->reason);
        }
    }
    for (uint32_t i = 0, nth = 0; i < client->n_nodes; i++) {
        if (waiting >> i & 1) {
            add_waiting(&text, &client->nodes[i], client->reasons[i], rl_client_count(waiting),
                        nth++);
        }
    }
    add_twins(&text, client);
    end(client, &text);
    return client->message;
}

static bool was_waiting(const struct rl_ballot *ballot) {
    return ballot->vote == RL_VOTE_FAILED && rl_voters_is_quarantine(ballot->reason);
}

static void add_ballots(struct text *text, const redlock_client *client,
                        const struct rl_round *round, const char *refused) {
    uint32_t waiting = 0, nth = 0;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_node *node = &client->nodes[i].node;
        const struct rl_ballot *ballot = &round->ballots[i];
        if (was_waiting(ballot)) {
            waiting++;
        } else if (ballot->vote == RL_VOTE_REFUSED) {
            add(text, "; %.60s: %s", node->url.name, refused);
        } else if (ballot->vote == RL_VOTE_FAILED) {
            add_reason(text, &client->nodes[i], ballot->reason);
        } else if (ballot->vote == RL_VOTE_PENDING) {
            add(text, "; %.60s: no answer yet", node->url.name);
        }
    }
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (was_waiting(&round->ballots[i])) {
            add_waiting(text, &client->nodes[i], round->ballots[i].reason, waiting, nth++);
        }
    }
}

static void add_round(struct text *text, const redlock_lock *lock) {
    static const char *const done[] = {[RL_ROUND_ACQUIRE] = "granted",
                                       [RL_ROUND_FENCE] = "raised",
                                       [RL_ROUND_EXTEND] = "renewed",
                                       [RL_ROUND_RELEASE] = "deleted"};
    static const char *const refused[] = {[RL_ROUND_ACQUIRE] = "held by another",
                                          [RL_ROUND_FENCE] = "the token is gone",
                                          [RL_ROUND_EXTEND] = "the token is gone",
                                          [RL_ROUND_RELEASE] = "the token is gone"};
    const struct rl_round *round = &rl_share_carrier(lock)->core.round;
    add(text, ": %u of %u %s, %u needed", (unsigned)round->granted, (unsigned)round->n,
        done[round->kind], (unsigned)rl_quorum(round->n));
    add_ballots(text, lock->client, round, refused[round->kind]);
}

static void add_words(struct text *text, const redlock_lock *lock, enum rl_words words) {
    static const char *const table[] = {
        [RL_WORDS_SHARES] = "it shares what its owner holds",
        [RL_WORDS_NO_FENCE] = RL_MESSAGE_NO_FENCE,
        [RL_WORDS_OWNER_LOST] = "what its owner held, which it was about to share, was lost",
        [RL_WORDS_STILL_HELD] = "it was acquired more than once, and is still held",
        [RL_WORDS_HELD_BY_OTHERS] = "its owner still holds it by another object",
        [RL_WORDS_IN_LINE] = "in line behind another lock of this client",
        [RL_WORDS_IN_LINE_IN_VAIN] =
            "in line behind another lock of this client, which asks the nodes in vain",
        [RL_WORDS_NO_RANDOM] = "it gave no random bytes for a token",
    };
    bool was_lost = words == RL_WORDS_WAS_LOST;
    add(text, "%s", was_lost ? redlock_strerror(lock->lost_status) : table[words]);
}

/* An acquire that is under way: where it is. */
static void add_acquire(struct text *text, const redlock_lock *lock) {
    if (lock->core.state == RL_WAITING) {
        add_words(text, lock, rl_line_words(rl_line_status(lock)));
    } else if (lock->core.state != RL_BACKOFF) {
        add(text, "under way");
        add_round(text, lock);
    } else if (lock->has_asked) {
        add(text, "waiting for the next attempt; the last one: %s",
            redlock_strerror(rl_lock_status(lock->core.acquire.attempt)));
        add_round(text, lock);
    } else {
        add(text, "waiting for its first attempt");
    }
}

/* What is over. */
static void add_status(struct text *text, const redlock_lock *lock, int status,
                       enum rl_words words) {
    add(text, "%s", redlock_strerror(status));
    if (words > RL_WORDS_NONE) {
        add(text, ": ");
        add_words(text, lock, words);
    } else if (words == RL_WORDS_ROUND) {
        if (status == REDLOCK_ERR_DEADLINE) {
            add(text, " (%s)", redlock_strerror(lock->attempt_status));
        }
        add_round(text, lock);
    }
}

const char *redlock_lock_message(redlock_lock *lock) {
    if (lock == NULL) {
        return "";
    }
    redlock_client *client = lock->client;
    rl_own(client, __func__);
    const struct rl_op *acquire = &lock->ops[RL_OP_ACQUIRE];
    const struct rl_round *round = &rl_share_carrier(lock)->core.round;
    if (client->refused == lock) {
        return client->message;
    }
    client->refused = NULL;
    struct text text = begin(client);
    if (lock->depth == 0 && acquire->is_active && !acquire->is_done) {
        add_acquire(&text, lock);
    } else if (lock->depth == 0 && lock->last_words != RL_WORDS_ROUND) {
        add_status(&text, lock, lock->last_status, (enum rl_words)lock->last_words);
    } else if (round->id == 0) {
        add(&text, "nothing has been asked of the nodes yet");
    } else if (round->decision == RL_OPEN) {
        add(&text, "under way");
        add_round(&text, lock);
    } else {
        add_status(&text, lock, lock->last_status, (enum rl_words)lock->last_words);
    }
    end(client, &text);
    return client->message;
}

/* -- Figures -- */

static_assert((int)REDLOCK_VOTE_FAILED == (int)RL_VOTE_FAILED, "votes are the core's votes");
static_assert((int)REDLOCK_VOTE_PENDING == (int)RL_VOTE_PENDING, "votes are the core's votes");

int redlock_lock_attempt_status(const redlock_lock *lock) {
    if (lock == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(lock->client, __func__);
    const struct rl_op *acquire = &lock->ops[RL_OP_ACQUIRE];
    if (acquire->is_active && !acquire->is_done) {
        bool has_ended = lock->core.acquire.attempt != RL_RESULT_NONE;
        return has_ended ? rl_lock_status(lock->core.acquire.attempt) : 0;
    }
    return lock->attempt_status;
}

int redlock_lock_outcome(const redlock_lock *lock, size_t index, redlock_node_outcome *outcome) {
    if (lock == NULL || outcome == NULL || index >= lock->client->n_nodes) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(lock->client, __func__);
    const struct rl_ballot *ballot = &rl_share_carrier(lock)->ballots[index];
    redlock_node_outcome full = {
        .node = lock->client->nodes[index].node.url.name,
        .vote = (enum redlock_vote)ballot->vote,
        .reason = ballot->reason,
        .latency_us = ballot->latency_us,
        .votes_in_ms = rl_voters_wait_ms(&lock->client->nodes[index], redlock_now_ns()),
    };
    return rl_options_hand_out(outcome, outcome->size, &full, sizeof full);
}

int redlock_client_stats(const redlock_client *client, redlock_stats *stats) {
    if (client == NULL || stats == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    redlock_stats full = client->stats;
    full.owed = client->owed;
    for (const redlock_lock *lock = client->locks; lock != NULL; lock = lock->next) {
        full.locks += !lock->is_freed;
        full.held += rl_lock_is_holding(&lock->core);
        full.waiting += lock->core.state == RL_WAITING;
    }
    full.nodes_up = rl_client_count(client->up);
    full.nodes_voting = rl_voters_count(client);
    return rl_options_hand_out(stats, stats->size, &full, sizeof full);
}

int redlock_client_node(const redlock_client *client, size_t index, redlock_node_info *info) {
    if (client == NULL || info == NULL || index >= client->n_nodes) {
        return REDLOCK_ERR_INVALID;
    }
    rl_own(client, __func__);
    const struct rl_client_node *place = &client->nodes[index];
    const struct rl_node *node = &place->node;
    int reason = rl_node_is_up(node) ? client->reasons[index] : node->reason;
    if (reason == 0 && rl_voters_twins(place) != 0) {
        reason = REDLOCK_ERR_DUPLICATE;
    }
    redlock_node_info full = {
        .node = node->url.name,
        .up = rl_node_is_up(node),
        .reason = reason,
        .detail = node->detail,
        .connects = node->connects,
        .failures = node->failures,
        .requests = node->requests,
        .outstanding = rl_node_is_up(node) ? node->waiting : 0, /* no handshakes */
        .owed = place->owed.count,
        .voting = (client->voters >> index & 1) != 0,
        .votes_in_ms = rl_voters_wait_ms(place, redlock_now_ns()),
    };
    return rl_options_hand_out(info, info->size, &full, sizeof full);
}
