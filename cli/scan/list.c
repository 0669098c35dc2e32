/* See list.h. */
#include "scan/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "redis/reply.h"
#include "redlock/redlock.h"
#include "say.h"
#include "tool/utf8.h"

#define HOLDINGS_MAX (REDLOCK_NODES_MAX * RL_SEEN_READERS_MAX)
#define YEAR_US (INT64_C(366) * 86400 * 1000000)

/* What one node has under the key of a lock or a slot. */
struct node_value {
    bool is_there;
    struct rl_holder_reply held;
    int64_t remaining_ms;
    uint64_t fence;
};

/* All keys of one name: a slice of each node's list. */
struct merging {
    struct rl_list *list;
    const struct rl_seen_node *nodes;
    size_t n, quorum;
    int64_t wall_us;
    const struct rl_seen *first[REDLOCK_NODES_MAX];
    size_t count[REDLOCK_NODES_MAX];
    const struct rl_seen *name; /* one of them */
    struct rl_holding holdings[HOLDINGS_MAX];
    size_t n_holdings;
};

/* -- Order of what was read -- */

static int compare_names(const struct rl_seen *x, const struct rl_seen *y) {
    size_t length = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->resource, y->resource, length);
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
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

/* What the node has of this kind, or NULL. */
static const struct rl_seen *find(const struct merging *m, size_t node, enum rl_key_kind kind,
                                  uint16_t slot) {
    const struct rl_seen wanted = {.kind = (uint8_t)kind, .slot = slot};
    return m->count[node] == 0
               ? NULL
               : bsearch(&wanted, m->first[node], m->count[node], sizeof wanted, compare_kinds);
}

/* -- Votes -- */

/* How long a quorum will hold it; without a quorum, the longest life. lives: of `votes` nodes. */
static int64_t life_of(int64_t *lives, size_t votes, size_t quorum) {
    for (size_t i = 1; i < votes; i++) { /* the longest first */
        int64_t life = lives[i];
        size_t at = i;
        for (; at > 0 && lives[at - 1] != RL_SEEN_FOR_EVER &&
               (life == RL_SEEN_FOR_EVER || lives[at - 1] < life);
             at--) {
            lives[at] = lives[at - 1];
        }
        lives[at] = life;
    }
    return votes == 0 ? 0 : lives[votes >= quorum ? quorum - 1 : 0];
}

static int64_t age_ms(const struct merging *m, uint64_t fence) {
    /* A fence begins as the client's wall clock, in us, and is counted up. */
    int64_t age_us = fence < INT64_MAX ? m->wall_us - (int64_t)fence : -YEAR_US;
    return age_us > 10 * YEAR_US || age_us < -YEAR_US / 366 ? -1 : age_us > 0 ? age_us / 1000 : 0;
}

static bool is_same(const struct node_value *a, const struct node_value *b) {
    return a->held.is_foreign == b->held.is_foreign && strcmp(a->held.token, b->held.token) == 0 &&
           (!a->held.is_foreign || strcmp(a->held.holder, b->held.holder) == 0);
}

static bool is_held(const struct node_value *value) {
    return value->is_there && (value->held.is_foreign || value->held.token[0] != '\0');
}

static const char *keep(struct merging *m, const char *text) {
    return rl_memory_text(&m->list->memory, text, strlen(text));
}

static void add_holding(struct merging *m, const struct rl_holder_reply *held, int slot,
                        uint32_t votes, int64_t remaining_ms, uint64_t fence) {
    const bool has_quorum = votes >= m->quorum;
    char name[RL_HOLDER_TEXT_MAX + 1];
    if (m->n_holdings == HOLDINGS_MAX) {
        return;
    }
    tool_utf8_clean(held->holder, strlen(held->holder), name, sizeof name);
    struct rl_holding holding = {.token = keep(m, held->token),
                                 .holder = keep(m, name),
                                 .slot = slot,
                                 .votes = votes,
                                 .has_quorum = has_quorum,
                                 .remaining_ms = remaining_ms,
                                 .fence = fence,
                                 .age_ms = fence > 0 ? age_ms(m, fence) : -1};
    size_t at = m->n_holdings++;
    for (; has_quorum && at > 0 && !m->holdings[at - 1].has_quorum; at--) {
        m->holdings[at] = m->holdings[at - 1];
    }
    m->holdings[at] = holding;
}

/* The holders of the key, or the slot, and on how many nodes. */
static void count_votes(struct merging *m, const struct node_value *values, int slot) {
    for (size_t i = 0; i < m->n; i++) {
        int64_t lives[REDLOCK_NODES_MAX];
        uint32_t votes = 0;
        uint64_t fence = 0;
        bool is_first = is_held(&values[i]);
        for (size_t j = 0; is_first && j < m->n; j++) {
            if (is_held(&values[j]) && is_same(&values[i], &values[j])) {
                is_first = j >= i;
                lives[votes++] = values[j].remaining_ms;
                fence = values[j].fence > fence ? values[j].fence : fence;
            }
        }
        if (is_first) {
            add_holding(m, &values[i].held, slot, votes, life_of(lives, votes, m->quorum), fence);
        }
    }
}

/* What all nodes have under the key, or the slot. Returns the number of nodes that keep it for the
 * next client. */
static size_t look(const struct merging *m, enum rl_key_kind kind, uint16_t slot,
                   struct node_value *values) {
    const enum rl_key_kind counter = kind == RL_KEY_SLOT ? RL_KEY_SLOT_FENCE : RL_KEY_FENCE;
    size_t reserved = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *seen = find(m, i, kind, slot), *fence = find(m, i, counter, slot);
        values[i].is_there = seen != NULL;
        values[i].fence = fence != NULL ? fence->number : 0;
        if (seen != NULL) {
            rl_holder_value_parse(seen->value, &values[i].held);
            values[i].remaining_ms = seen->remaining_ms;
            reserved += values[i].held.is_reserved;
        }
    }
    return reserved;
}

/* -- Readers -- */

/* The reader's lease on a node where readers have the key, or NULL. */
static const struct rl_member *lease_of(const struct merging *m, const struct node_value *values,
                                        size_t node, const char *value) {
    const struct rl_seen *readers = find(m, node, RL_KEY_READERS, 0);
    if (readers == NULL || !values[node].is_there || !values[node].held.is_shared) {
        return NULL;
    }
    for (size_t i = 0; i < readers->n_members; i++) {
        if (readers->members[i].ms > 0 && strcmp(readers->members[i].text, value) == 0) {
            return &readers->members[i];
        }
    }
    return NULL;
}

static void count_reader(struct merging *m, const struct node_value *values, size_t node,
                         const char *value) {
    int64_t lives[REDLOCK_NODES_MAX];
    char text[RL_HOLDER_TEXT_MAX + 1];
    struct rl_holder_reply held;
    uint32_t votes = 0;
    uint64_t fence = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_member *lease = lease_of(m, values, i, value);
        if (lease != NULL && i < node) {
            return; /* it has been counted */
        }
        if (lease != NULL) {
            lives[votes++] = lease->ms;
            fence = values[i].fence > fence ? values[i].fence : fence;
        }
    }
    if (votes > 0) {
        tool_utf8_clean(value, strlen(value), text, sizeof text);
        rl_holder_value_parse(text, &held);
        add_holding(m, &held, -1, votes, life_of(lives, votes, m->quorum), fence);
        /* A reader's fence is the last writer's, so it does not show the reader's age. */
        m->holdings[m->n_holdings - 1].age_ms = -1;
    }
}

/* Returns how many readers hold by a quorum, as far as they can be distinguished. */
static uint64_t count_readers(struct merging *m, const struct node_value *values) {
    uint64_t counts[REDLOCK_NODES_MAX], more = 0, with_quorum = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *readers = find(m, i, RL_KEY_READERS, 0);
        for (size_t j = 0; readers != NULL && j < readers->n_members; j++) {
            count_reader(m, values, i, readers->members[j].text);
        }
        if (readers != NULL && readers->number > RL_SEEN_READERS_MAX) {
            counts[n++] = readers->number;
        }
    }
    for (size_t i = 0; i < m->n_holdings; i++) {
        with_quorum += m->holdings[i].has_quorum && m->holdings[i].token[0] != '\0';
    }
    for (size_t i = 0; n >= m->quorum && i < n; i++) { /* the least: it must not be overstated */
        more = i == 0 || counts[i] < more ? counts[i] : more;
    }
    return more > with_quorum ? more : with_quorum;
}

/* -- Lines, notes -- */

static void count_line(const struct merging *m, enum rl_key_kind kind, struct rl_lock *lock) {
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *line = find(m, i, kind, 0);
        if (line == NULL || line->number == 0) {
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

/* The same note is on many nodes. */
static void find_kicks(struct merging *m, struct rl_lock *lock) {
    const char **kicks = NULL;
    size_t n = 0, room = m->n * RL_SEEN_KICKS_MAX;
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *seen = find(m, i, RL_KEY_KICKS, 0);
        for (size_t j = 0; seen != NULL && j < seen->n_members; j++) {
            bool is_known = false;
            kicks = kicks != NULL ? kicks : rl_memory_take(&m->list->memory, room * sizeof *kicks);
            for (size_t k = 0; k < n; k++) {
                is_known |= strcmp(kicks[k], seen->members[j].text) == 0;
            }
            if (!is_known && n < room) {
                kicks[n++] = seen->members[j].text;
            }
        }
    }
    lock->kicks = kicks;
    lock->n_kicks = n;
}

/* -- Locks -- */

/* Fills in what follows from the holdings. class: if none of them has a quorum. */
static void sum_up(struct merging *m, struct rl_lock *lock, enum rl_lock_class class) {
    bool has_quorum = m->n_holdings > 0 && m->holdings[0].has_quorum;
    size_t size = m->n_holdings * sizeof *m->holdings;
    struct rl_holding *kept = rl_memory_take(&m->list->memory, size);
    lock->class = has_quorum ? RL_LOCK_HELD : class;
    lock->age_ms = -1;
    memcpy(kept, m->holdings, size);
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
    m->n_holdings = 0;
    return (struct rl_lock){.name = m->name->resource,
                            .length = m->name->length,
                            .mode = mode,
                            .next = "",
                            .age_ms = -1};
}

/* Shared keys without a valid lease: on how many nodes. */
static void count_shared(struct rl_lock *lock, const struct node_value *values, size_t n) {
    for (size_t i = 0; i < n && lock->holders == 0; i++) {
        bool is_shared = values[i].is_there && values[i].held.is_shared;
        lock->votes += is_shared && lock->n_holdings == 0;
        if (is_shared && values[i].remaining_ms > lock->remaining_ms) {
            lock->remaining_ms = values[i].remaining_ms;
        }
    }
}

/* Whether there is a lock to be listed; kicks: the name has notes. */
static bool merge_lock(struct merging *m, struct rl_lock *lock, size_t kicks) {
    static const struct node_value none;
    struct node_value values[REDLOCK_NODES_MAX];
    size_t shared = 0, tokens = 0;
    *lock = begin_lock(m, RL_LOCK_EXCLUSIVE);
    for (size_t i = 0; i < m->n; i++) {
        values[i] = none;
    }
    size_t reserved = look(m, RL_KEY_LOCK, 0, values);
    for (size_t i = 0; i < m->n; i++) {
        shared += values[i].is_there && values[i].held.is_shared;
    }
    count_votes(m, values, -1);
    bool has_quorum = m->n_holdings > 0 && m->holdings[0].has_quorum;
    if (has_quorum) {
        m->n_holdings = 1; /* other values besides are no lock */
    }
    for (size_t i = 0; i < m->n_holdings; i++) {
        tokens += m->holdings[i].token[0] != '\0';
    }
    uint64_t readers = shared > 0 && !has_quorum ? count_readers(m, values) : 0;
    lock->mode = readers > 0 || shared > tokens ? RL_LOCK_SHARED : RL_LOCK_EXCLUSIVE;
    bool is_foreign = has_quorum ? tokens == 0 : m->n_holdings > 0 && tokens == 0 && shared == 0;
    count_line(m, RL_KEY_LINE, lock);
    count_line(m, RL_KEY_LINE_SHARED, lock);
    bool is_left = m->n_holdings > 0 || shared > 0;
    sum_up(m, lock,
           is_left                        ? RL_LOCK_LEFTOVER
           : lock->waiting + reserved > 0 ? RL_LOCK_FREE
                                          : RL_LOCK_KICKED);
    lock->class = is_foreign ? RL_LOCK_FOREIGN : lock->class;
    lock->holders = readers > lock->holders ? readers : lock->holders;
    count_shared(lock, values, m->n);
    return lock->class != RL_LOCK_KICKED || kicks > 0;
}

static bool merge_permits(struct merging *m, struct rl_lock *lock) {
    static const struct node_value none;
    struct node_value values[REDLOCK_NODES_MAX];
    size_t at[REDLOCK_NODES_MAX] = {0}, reserved = 0;
    *lock = begin_lock(m, RL_LOCK_PERMITS);
    for (size_t i = 0; i < m->n; i++) {
        const struct rl_seen *permits = find(m, i, RL_KEY_PERMITS, 0);
        lock->permits = permits != NULL && permits->number > lock->permits &&
                                permits->number <= REDLOCK_PERMITS_MAX
                            ? (uint32_t)permits->number
                            : lock->permits;
    }
    for (;;) { /* slot by slot, as the nodes have them in order */
        int slot = -1;
        for (size_t i = 0; i < m->n; i++) {
            while (at[i] < m->count[i] && m->first[i][at[i]].kind != RL_KEY_SLOT) {
                at[i]++;
            }
            if (at[i] < m->count[i] && (slot < 0 || m->first[i][at[i]].slot < slot)) {
                slot = m->first[i][at[i]].slot;
            }
        }
        if (slot < 0) {
            break;
        }
        for (size_t i = 0; i < m->n; i++) {
            values[i] = none;
            while (at[i] < m->count[i] && m->first[i][at[i]].kind == RL_KEY_SLOT &&
                   m->first[i][at[i]].slot == slot) {
                at[i]++;
            }
        }
        reserved += look(m, RL_KEY_SLOT, (uint16_t)slot, values);
        count_votes(m, values, slot);
    }
    count_line(m, RL_KEY_LINE_PERMITS, lock);
    sum_up(m, lock, m->n_holdings > 0 ? RL_LOCK_LEFTOVER : RL_LOCK_FREE);
    return m->n_holdings > 0 || reserved > 0 || lock->waiting > 0;
}

static void merge_name(struct merging *m) {
    struct rl_lock lock = {0}, permits = {0}, notes = {0};
    find_kicks(m, &notes);
    bool has_permits = merge_permits(m, &permits);
    bool has_lock = merge_lock(m, &lock, has_permits ? 0 : notes.n_kicks);
    struct rl_lock *first = has_lock ? &lock : &permits;
    first->kicks = notes.kicks;
    first->n_kicks = notes.n_kicks;
    if (has_lock) {
        add_lock(m, &lock);
    }
    if (has_permits) {
        add_lock(m, &permits);
    }
}

void rl_list_merge(struct rl_list *list, const struct rl_seen_node *nodes, size_t n,
                   int64_t wall_us) {
    struct merging *m = rl_must_alloc(1, sizeof *m);
    assert(n > 0 && n <= REDLOCK_NODES_MAX);
    *list = (struct rl_list){.nodes = n};
    size_t at[REDLOCK_NODES_MAX] = {0};
    *m = (struct merging){
        .list = list, .nodes = nodes, .n = n, .quorum = n / 2 + 1, .wall_us = wall_us};
    for (size_t i = 0; i < n; i++) {
        list->whole += nodes[i].is_whole;
    }
    for (;;) { /* the first of the remaining names */
        m->name = NULL;
        for (size_t i = 0; i < n; i++) {
            const struct rl_seen *seen = at[i] < nodes[i].n ? &nodes[i].seen[at[i]] : NULL;
            m->first[i] = seen;
            m->count[i] = 0;
            if (seen != NULL && (m->name == NULL || compare_names(seen, m->name) < 0)) {
                m->name = seen;
            }
        }
        if (m->name == NULL) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            while (at[i] < nodes[i].n && compare_names(&nodes[i].seen[at[i]], m->name) == 0) {
                at[i]++;
                m->count[i]++;
            }
        }
        merge_name(m);
    }
    free(m);
}

void rl_list_free(struct rl_list *list) {
    free(list->locks);
    rl_memory_free(&list->memory);
    *list = (struct rl_list){0};
}
