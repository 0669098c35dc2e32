/* Merges what each node has into one list of locks. Pure: no I/O.
 *
 * A lock is held by the client whose token is on a quorum of the nodes that decide about the
 * resource (wire/members.c), including those that are down; it is held by readers if a quorum has
 * it as shared and at least one reader has a lease on a quorum. Slots of a semaphore count like
 * locks. Tokens without a quorum are left-overs, or belong to an attempt in progress. Any other
 * value belongs to another library. Keys on nodes that do not decide about the resource are strays,
 * and do not count.
 *
 * Failure modes: too few nodes were read: nothing has a quorum, and everything is shown as a
 * left-over. */
#include "scan/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "redis/reply.h"
#include "redlock/redlock.h"
#include "say.h"

#define YEAR_US (INT64_C(366) * 86400 * 1000000)

/* One node's entry for a holder: its token, or another library's value, under the key of the lock
 * or a slot; or a reader's lease. */
struct claim {
    struct rl_holder_reply held;
    int slot;     /* -1: the lock */
    rl_mask node; /* a bit */
    int64_t remaining_ms;
    uint64_t fence;
};

/* All keys of one name: a slice of each node's list. */
struct merging {
    struct rl_list *list;
    const struct rl_seen_node *nodes;
    size_t n;
    const struct rl_members *members;
    struct rl_sides sides; /* the sides that decide about the name; their nodes: */
    rl_mask electors;
    rl_mask strays; /* other nodes that have a key of the name */
    int64_t wall_us;
    const char *set;
    const struct rl_seen *first[REDLOCK_NODES_MAX];
    size_t count[REDLOCK_NODES_MAX];
    const struct rl_seen *name; /* one of the keys */
    struct claim *claims;
    size_t n_claims, claims_room;
    struct rl_holding *holdings; /* those with a quorum first */
    size_t n_holdings, holdings_room;
};

/* -- Order of what was read -- */

int rl_list_compare_names(const char *x, size_t x_length, const char *y, size_t y_length) {
    const int order = memcmp(x, y, x_length < y_length ? x_length : y_length);
    return order != 0 ? order : (x_length > y_length) - (x_length < y_length);
}

static int compare_names(const struct rl_seen *x, const struct rl_seen *y) {
    return rl_list_compare_names(x->resource, x->length, y->resource, y->length);
}

static int compare_kinds(const void *a, const void *b) {
    const struct rl_seen *x = a, *y = b;
    int kinds = (x->kind > y->kind) - (x->kind < y->kind);
    return kinds != 0 ? kinds : (x->slot > y->slot) - (x->slot < y->slot);
}

static int compare_seen(const void *a, const void *b) {
    int order = compare_names(a, b);
    return order != 0 ? order : compare_kinds(a, b);
}

void rl_list_prepare(struct rl_seen_node *node) {
    if (node->n > 0) {
        qsort(node->seen, node->n, sizeof *node->seen, compare_seen);
    }
}

/* The node's key of this kind, or NULL. */
static const struct rl_seen *find(const struct merging *m, size_t node, enum rl_key_kind kind,
                                  uint16_t slot) {
    const struct rl_seen wanted = {.kind = (uint8_t)kind, .slot = slot};
    return m->count[node] == 0
               ? NULL
               : bsearch(&wanted, m->first[node], m->count[node], sizeof wanted, compare_kinds);
}

/* -- Votes -- */

static int64_t age_ms(const struct merging *m, uint64_t fence) {
    /* A fence starts as the client's wall-clock time in us, and is incremented. */
    int64_t age_us = fence < INT64_MAX ? m->wall_us - (int64_t)fence : -YEAR_US;
    return age_us > 10 * YEAR_US || age_us < -YEAR_US / 366 ? -1 : age_us > 0 ? age_us / 1000 : 0;
}

static void claim(struct merging *m, size_t node, const struct rl_holder_reply *held, int slot,
                  int64_t remaining_ms, uint64_t fence) {
    if (held->is_foreign || held->token[0] != '\0') {
        m->claims = rl_must_grow(m->claims, m->n_claims, &m->claims_room, sizeof *m->claims);
        m->claims[m->n_claims++] =
            (struct claim){*held, slot, rl_bit((uint32_t)node), remaining_ms, fence};
    }
}

/* Whether the node decides about the name; if not, its key is a stray. */
static bool counts(struct merging *m, size_t node) {
    const rl_mask bit = rl_bit((uint32_t)node);
    m->strays |= bit & ~m->electors;
    return (bit & m->electors) != 0;
}

/* Groups the claims of one holder. */
static int compare_holders(const struct claim *x, const struct claim *y) {
    int order = (x->slot > y->slot) - (x->slot < y->slot);
    order = order != 0 ? order : strcmp(x->held.token, y->held.token);
    return order != 0 || !x->held.is_foreign ? order : strcmp(x->held.holder, y->held.holder);
}

/* Groups them by holder, the longest-lived claim first. */
static int compare_claims(const void *a, const void *b) {
    const struct claim *x = a, *y = b;
    const uint64_t x_ms = (uint64_t)x->remaining_ms; /* "for ever" (-1) is the longest */
    const uint64_t y_ms = (uint64_t)y->remaining_ms;
    const int order = compare_holders(x, y);
    return order != 0 ? order : (y_ms > x_ms) - (y_ms < x_ms);
}
static_assert(RL_SEEN_FOR_EVER == -1, "the largest uint64_t");

static const char *keep(struct merging *m, const char *text) {
    return rl_memory_text(&m->list->memory, text, strlen(text));
}

/* How many of the longest-lived claims make a quorum; 0: not even all of them do. */
static uint32_t quorum_of(const struct merging *m, const struct claim *claims, uint32_t votes) {
    rl_mask nodes = 0;
    for (uint32_t i = 0; i < votes; i++) {
        nodes |= claims[i].node;
        if (rl_sides_quorum(&m->sides, nodes)) {
            return i + 1;
        }
    }
    return 0;
}

/* Makes a holding of one holder's claims. It lasts as long as a quorum has it; without a quorum, as
 * long as any node has it. */
static struct rl_holding holding_of(struct merging *m, const struct claim *claims, uint32_t votes,
                                    uint32_t quorum) {
    uint64_t fence = 0;
    for (uint32_t i = 0; i < votes; i++) {
        fence = claims[i].fence > fence ? claims[i].fence : fence;
    }
    return (struct rl_holding){
        .token = keep(m, claims->held.token),
        .holder = keep(m, rl_text_clean(claims->held.holder, RL_HOLDER_TEXT_MAX + 1)),
        .slot = claims->slot,
        .votes = votes,
        .has_quorum = quorum > 0,
        .remaining_ms = claims[quorum > 0 ? quorum - 1 : 0].remaining_ms,
        .fence = fence,
        .age_ms = fence > 0 ? age_ms(m, fence) : -1};
}

/* Makes holdings of the claims, those with a quorum first. Returns the number of these. */
static size_t count_votes(struct merging *m) {
    size_t with_quorum = 0;
    if (m->n_claims > 0) {
        qsort(m->claims, m->n_claims, sizeof m->claims[0], compare_claims);
    }
    m->n_holdings = 0;
    for (int is_quorum = 1; is_quorum >= 0; is_quorum--) {
        size_t votes = 0;
        for (size_t i = 0; i < m->n_claims; i += votes) {
            const struct claim *first = &m->claims[i];
            for (votes = 1; i + votes < m->n_claims; votes++) {
                if (compare_holders(first, &first[votes]) != 0) {
                    break;
                }
            }
            const uint32_t quorum = quorum_of(m, first, (uint32_t)votes);
            if ((quorum > 0) == is_quorum) {
                m->holdings = rl_must_grow(m->holdings, m->n_holdings, &m->holdings_room,
                                           sizeof *m->holdings);
                m->holdings[m->n_holdings++] = holding_of(m, first, (uint32_t)votes, quorum);
                with_quorum += (size_t)is_quorum;
            }
        }
    }
    return with_quorum;
}

static uint64_t fence_of(const struct merging *m, size_t node, enum rl_key_kind kind,
                         uint16_t slot) {
    const struct rl_seen *fence = find(m, node, kind, slot);
    return fence != NULL ? fence->number : 0;
}

/* Adds the leases of readers on nodes where readers have the key. Returns the number of readers
 * according to a quorum, if there are more than were read. */
static uint64_t claim_leases(struct merging *m, rl_mask shared) {
    uint64_t least = 0;
    rl_mask many = 0; /* nodes with more readers than were read */
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *readers = find(m, i, RL_KEY_READERS, 0);
        const uint64_t fence = fence_of(m, i, RL_KEY_FENCE, 0);
        for (size_t j = 0; readers != NULL && (shared >> i & 1) != 0 && j < readers->n_members;
             j++) {
            const struct rl_member *lease = &readers->members[j];
            struct rl_holder_reply held;
            rl_holder_value_parse(rl_text_clean(lease->text, RL_HOLDER_TEXT_MAX + 1), &held);
            if (lease->ms > 0) {
                claim(m, i, &held, -1, lease->ms, fence);
            }
        }
        const bool counts = (m->electors & rl_bit((uint32_t)i)) != 0;
        if (readers != NULL && counts && readers->number > RL_SEEN_READERS_MAX) {
            least = many == 0 || readers->number < least ? readers->number : least;
            many |= rl_bit((uint32_t)i);
        }
    }
    return rl_sides_quorum(&m->sides, many) ? least : 0;
}

/* -- Lines, notes -- */

static void count_line(const struct merging *m, enum rl_key_kind kind, struct rl_lock *lock) {
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *line = find(m, i, kind, 0);
        if (line == NULL || line->number == 0 || !(m->electors & rl_bit((uint32_t)i))) {
            continue;
        }
        lock->waiting += line->number;
        lock->waiting_shared += kind == RL_KEY_LINE_SHARED ? line->number : 0;
        if (line->n_members > 0 &&
            (lock->next[0] == '\0' || line->members[0].ms > lock->waited_ms)) {
            lock->waited_ms = line->members[0].ms;
            lock->next = line->members[0].text;
        }
    }
}

/* The notes of kicks. NULL: no node has any, not even one that this version cannot parse. */
static const struct rl_kick_notes *find_kicks(struct merging *m) {
    struct rl_kick_notes *kicks = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *seen = find(m, i, RL_KEY_KICKS, 0);
        for (size_t j = 0; seen != NULL && j < seen->n_members; j++) {
            const char *text = seen->members[j].text;
            kicks = kicks != NULL ? kicks : rl_memory_take(&m->list->memory, sizeof *kicks);
            rl_kick_notes_add(kicks, text, strlen(text));
        }
    }
    return kicks;
}

/* -- Locks -- */

/* Fills in what follows from the holdings. class: used if none of them has a quorum. */
static void sum_up(struct merging *m, struct rl_lock *lock, enum rl_lock_class class) {
    bool has_quorum = m->n_holdings > 0 && m->holdings[0].has_quorum;
    size_t size = m->n_holdings * sizeof *m->holdings;
    struct rl_holding *kept = rl_memory_take(&m->list->memory, size);
    lock->class = has_quorum ? RL_LOCK_HELD : class;
    lock->strays = m->strays;
    lock->age_ms = -1;
    if (size > 0) {
        memcpy(kept, m->holdings, size);
    }
    lock->holdings = kept;
    lock->n_holdings = m->n_holdings;
    for (size_t i = 0; i < lock->n_holdings && kept[i].has_quorum == has_quorum; i++) {
        bool is_first = i == 0;
        bool is_less = kept[i].votes < lock->votes;
        lock->holders += has_quorum;
        lock->votes = is_first || is_less == has_quorum ? kept[i].votes : lock->votes;
        lock->fence = kept[i].fence > lock->fence ? kept[i].fence : lock->fence;
        lock->age_ms = kept[i].age_ms > lock->age_ms ? kept[i].age_ms : lock->age_ms;
        if (lock->remaining_ms != RL_SEEN_FOR_EVER && (kept[i].remaining_ms == RL_SEEN_FOR_EVER ||
                                                       kept[i].remaining_ms > lock->remaining_ms)) {
            lock->remaining_ms = kept[i].remaining_ms;
        }
    }
}

static void add_lock(struct merging *m, const struct rl_lock *lock) {
    struct rl_list *list = m->list;
    list->locks = rl_must_grow(list->locks, list->n, &list->room, sizeof *list->locks);
    list->locks[list->n++] = *lock;
    list->counts[lock->class]++;
    list->waiting += lock->waiting;
}

static struct rl_lock begin_lock(struct merging *m, enum rl_lock_mode mode) {
    m->n_claims = 0;
    m->strays = 0;
    return (struct rl_lock){.name = m->name->resource,
                            .length = m->name->length,
                            .mode = mode,
                            .nodes = rl_bits_count(m->electors),
                            .needed = rl_sides_votes_needed(&m->sides),
                            .set = m->set,
                            .next = "",
                            .age_ms = -1};
}

/* The values of the key itself on all nodes. */
struct keys {
    rl_mask shared; /* bits: the nodes on which readers have the key */
    uint32_t n_shared;
    int64_t shared_ms; /* the longest remaining time of these keys */
    size_t reserved;   /* nodes that reserve the key for the next client */
};

static struct keys look(struct merging *m) {
    struct keys keys = {0};
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *seen = find(m, i, RL_KEY_LOCK, 0);
        struct rl_holder_reply held;
        if (seen == NULL || !counts(m, i)) {
            continue;
        }
        rl_holder_value_parse(seen->value, &held);
        claim(m, i, &held, -1, seen->remaining_ms, fence_of(m, i, RL_KEY_FENCE, 0));
        keys.reserved += held.is_reserved;
        if (held.is_shared) {
            keys.shared |= rl_bit((uint32_t)i);
            keys.n_shared++;
            keys.shared_ms =
                seen->remaining_ms > keys.shared_ms ? seen->remaining_ms : keys.shared_ms;
        }
    }
    return keys;
}

/* Makes holdings of the readers, as far as they can be distinguished. Returns how many hold the key
 * by a quorum. A reader's fence is the last writer's, so it does not show the reader's age. */
static uint64_t count_readers(struct merging *m, const struct keys *keys) {
    const uint64_t more = claim_leases(m, keys->shared);
    const uint64_t readers = count_votes(m);
    for (size_t i = 0; i < m->n_holdings; i++) {
        m->holdings[i].age_ms = -1;
    }
    return more > readers ? more : readers;
}

/* Fills in the lock of the name. Returns whether to list it; is_kicked: the name has notes of
 * kicks. */
static bool merge_lock(struct merging *m, struct rl_lock *lock, bool is_kicked) {
    *lock = begin_lock(m, RL_LOCK_EXCLUSIVE);
    const struct keys keys = look(m);
    const bool has_quorum = count_votes(m) > 0;
    size_t tokens = 0;
    if (has_quorum) {
        m->n_holdings = 1; /* further values are not locks */
    }
    for (size_t i = 0; i < m->n_holdings; i++) {
        tokens += m->holdings[i].token[0] != '\0';
    }
    const bool is_foreign = m->n_holdings > 0 && tokens == 0 && (has_quorum || keys.n_shared == 0);
    const uint64_t readers = keys.n_shared > 0 && !has_quorum ? count_readers(m, &keys) : 0;
    const bool is_left = m->n_holdings > 0 || keys.n_shared > 0;
    lock->mode = readers > 0 || keys.n_shared > tokens ? RL_LOCK_SHARED : RL_LOCK_EXCLUSIVE;
    count_line(m, RL_KEY_LINE, lock);
    count_line(m, RL_KEY_LINE_SHARED, lock);
    sum_up(m, lock,
           is_left                             ? RL_LOCK_LEFTOVER
           : lock->waiting + keys.reserved > 0 ? RL_LOCK_FREE
           : m->strays != 0                    ? RL_LOCK_STRAY
                                               : RL_LOCK_KICKED);
    lock->class = is_foreign ? RL_LOCK_FOREIGN : lock->class;
    lock->holders = readers > lock->holders ? readers : lock->holders;
    if (keys.n_shared > 0 && lock->holders == 0) { /* shared keys without a valid lease */
        lock->votes += lock->n_holdings == 0 ? keys.n_shared : 0;
        lock->remaining_ms =
            keys.shared_ms > lock->remaining_ms ? keys.shared_ms : lock->remaining_ms;
    }
    return lock->class != RL_LOCK_KICKED || is_kicked;
}

static bool merge_permits(struct merging *m, struct rl_lock *lock) {
    size_t reserved = 0;
    *lock = begin_lock(m, RL_LOCK_PERMITS);
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *permits = find(m, i, RL_KEY_PERMITS, 0);
        if (permits != NULL && (m->electors & rl_bit((uint32_t)i)) &&
            permits->number > lock->permits && permits->number <= REDLOCK_PERMITS_MAX) {
            lock->permits = (uint32_t)permits->number;
        }
        for (size_t j = 0; j < m->count[i]; j++) {
            const struct rl_seen *seen = &m->first[i][j];
            struct rl_holder_reply held;
            if (seen->kind != RL_KEY_SLOT || (j > 0 && compare_kinds(seen, seen - 1) == 0) ||
                !counts(m, i)) {
                continue;
            }
            rl_holder_value_parse(seen->value, &held);
            claim(m, i, &held, seen->slot, seen->remaining_ms,
                  fence_of(m, i, RL_KEY_SLOT_FENCE, seen->slot));
            reserved += held.is_reserved;
        }
    }
    count_votes(m);
    count_line(m, RL_KEY_LINE_PERMITS, lock);
    const bool is_there = m->n_holdings > 0 || reserved > 0 || lock->waiting > 0;
    sum_up(m, lock, m->n_holdings > 0 ? RL_LOCK_LEFTOVER : is_there ? RL_LOCK_FREE : RL_LOCK_STRAY);
    return is_there || m->strays != 0;
}

/* Finds the nodes that decide about the name. */
static void find_electors(struct merging *m) {
    const char *name = m->name->resource;
    m->sides = rl_members_of(m->members, name, m->name->length);
    m->electors = rl_sides_all(&m->sides);
    const char *set = rl_members_set_of(m->members, name, m->name->length);
    m->set = set[0] != '\0' ? keep(m, set) : "";
}

static void merge_name(struct merging *m) {
    struct rl_lock lock = {0}, permits = {0};
    find_electors(m);
    const struct rl_kick_notes *kicks = find_kicks(m);
    bool has_permits = merge_permits(m, &permits);
    bool has_lock = merge_lock(m, &lock, !has_permits && kicks != NULL);
    struct rl_lock *first = has_lock ? &lock : &permits;
    first->kicks = kicks;
    if (has_lock) {
        add_lock(m, &lock);
    }
    if (has_permits) {
        add_lock(m, &permits);
    }
}

void rl_list_merge(struct rl_list *list, const struct rl_seen_node *nodes, size_t n,
                   const struct rl_members *members, int64_t wall_us) {
    struct merging m = {
        .list = list, .nodes = nodes, .n = n, .members = members, .wall_us = wall_us};
    assert(n > 0 && n <= REDLOCK_NODES_MAX);
    *list = (struct rl_list){.n = 0};
    size_t at[REDLOCK_NODES_MAX] = {0};
    for (;;) { /* finds the first of the remaining names */
        m.name = NULL;
        for (size_t i = 0; i < n; i++) {
            const struct rl_seen *seen = at[i] < nodes[i].n ? &nodes[i].seen[at[i]] : NULL;
            m.first[i] = seen;
            m.count[i] = 0;
            if (seen != NULL && (m.name == NULL || compare_names(seen, m.name) < 0)) {
                m.name = seen;
            }
        }
        if (m.name == NULL) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            while (at[i] < nodes[i].n && compare_names(&nodes[i].seen[at[i]], m.name) == 0) {
                at[i]++;
                m.count[i]++;
            }
        }
        merge_name(&m);
    }
    free(m.claims);
    free(m.holdings);
}

void rl_list_free(struct rl_list *list) {
    free(list->locks);
    rl_memory_free(&list->memory);
    *list = (struct rl_list){0};
}
