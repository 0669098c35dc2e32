/* A change of the nodes, under load: from the old nodes to the new ones, of one set or of several.
 * If there are several sets, "a majority" means one of each old set, or one of each new set.
 *
 *     meet     the joint text, which needs a majority of the old and one of the new nodes, is
 *              written to all of them, and the connections of each node are cut, until a majority
 *              of the old ones and one of the new ones have it
 *     carry    counters of fences and numbers of permits go to the new nodes (carry.c)
 *     wait     the longest ttl and its drift, since the cut of the last node of an old majority
 *     decide   the old nodes vote whether the change is done, or goes back
 *     finish   the stable text, of the new nodes or of the old ones, is written to its members
 *
 * Going back needs neither carry nor wait: every holder has an old majority. Any administrator may
 * repeat any step at any time.
 *
 * Why it is safe (test/model/proof/sets.py proves it, for any number of nodes):
 *   - meet: a vote counts only if its connection has read exactly the text that the client has.
 *     After the last cut, no client can win by a majority of the old nodes alone, since each such
 *     majority has a node that has met the joint text (has it, and has cut its older connections).
 *     It must be a majority: of two rival changes from one epoch, only one is met.
 *   - wait: afterwards, a lock that was won by the old nodes alone has ended, unless its holder has
 *     renewed it with the joint text. A node that restarts meanwhile must be cut again, and the
 *     wait is counted per node; nodes must keep the text (and the vote) once a majority has it.
 *   - decide: each old node votes once for a change, for "done" only after its administrator has
 *     waited. The change is done if a majority votes so, and goes back if such a majority has
 *     become impossible. Votes do not change, so all administrators reach the same end. An
 *     administrator with the other wish adopts the votes it meets, which makes ties rare; a tie
 *     means "back". A node that has lost its text never votes again (texts.c).
 *   - finish: a stable text exists only after the decision, so it may replace any earlier text.
 *     Holders by the joint text and holders by the new one share the new majority; holders by the
 *     joint text and by the old one share the old majority.
 *
 * With several sets, the old nodes of each resource are its old set, and its new nodes are its new
 * set, independently of other resources (nodes/sets.h). A change of one set therefore needs
 *   - the joint text on a majority of each old set, even of the unchanged ones: a rival change, of
 *     another set, needs the same, and shares a node with it in each. The text is written to the
 *     first set first, so that two rivals do not block each other by holding one set each;
 *   - the cut of all nodes, and the wait after the last cut in the last of these majorities: a
 *     resource that moves to an added set may have been locked in any of them;
 *   - a majority of each old set for "done". If one set can no longer give it, the change goes
 *     back;
 *   - the stable text on a majority of each new set, so that every client with joint majorities
 *     meets it.
 * Until then no client uses an added node alone: its vote counts only for clients that have read
 * the joint text, and those ask the old set as well. Clients ask the nodes of a removed set until
 * they read the stable text.
 *
 * Failure modes: too few nodes can be reached for a while: RL_EXIT_NO_QUORUM, and the message names
 * the nodes that must come back; the joint text stays, and locks need both majorities until an
 * administrator resumes or aborts. The administrator dies: as above, without a message. Another
 * administrator has made a later change: a message says so. */
#include "set/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "redlock/redlock.h"
#include "say.h"

#define PATIENCE_MS 5000 /* while too few nodes answer */
#define ROUND_MS 500

#define BOTH (RL_CONFIG_OLD | RL_CONFIG_NEW)

static const char *const words[] = {[RL_CHANGE_DONE] = "done", [RL_CHANGE_BACK] = "back"};

struct change {
    struct rl_set *set;
    struct rl_steps *steps;
    struct rl_config joint;
    enum rl_change_end wish;
    struct rl_config later; /* a later text that was read meanwhile; epoch 0: none */
    bool is_met, is_carried;
    uint64_t patient_ns; /* since when it waits for nodes; 0: it does not */
    rl_mask empty;       /* nodes without a text; empty_ns: since when none was added */
    uint64_t empty_ns;
};

/* -- Rounds -- */

static int count(rl_mask which) {
    return (int)rl_bits_count(which);
}

/* Reads all nodes. Returns 0 or an exit status; later.key.epoch is not 0 if the change is over. */
static int look(struct change *c) {
    int status = rl_steps_caught(c->steps);
    status = status != 0 ? status : rl_set_look(c->set);
    const struct rl_config *latest = rl_set_latest(c->set);
    if (status == 0 && latest != NULL && latest->key.epoch > c->joint.key.epoch) {
        c->later = *latest;
    }
    return status;
}

/* "127.0.0.1:7001: connection refused; ...": the nodes that lack the text, and why; to be freed. */
static char *lacking(const struct rl_set *set, const struct rl_config *config, rl_mask which) {
    char *text = rl_must_print("%s", "");
    which &= ~rl_set_having(set, config, which);
    for (size_t i = 0; i < set->n; i++) {
        const struct rl_set_node *node = &set->nodes[i];
        if (which & rl_bit((uint32_t)i)) {
            text = rl_must_join(text, "; ", rl_set_name(node));
            text = rl_must_join(text, ": ",
                                !node->is_known                ? node->why
                                : node->config.problem != NULL ? node->config.problem
                                : node->config.key.epoch == 0  ? "it has no configuration"
                                                               : "it has another text");
        }
    }
    return text;
}

/* Too few nodes have the text: waits a moment for more. Returns 0, or an exit status after
 * PATIENCE_MS. */
static int be_patient(struct change *c, const char *what, const struct rl_config *config,
                      rl_mask which) {
    char *why = lacking(c->set, config, which);
    const uint64_t now_ns = redlock_now_ns();
    int status = rl_steps_caught(c->steps);
    c->patient_ns = c->patient_ns == 0 ? now_ns : c->patient_ns;
    if (status == 0 && now_ns - c->patient_ns > PATIENCE_MS * RL_NS_PER_MS) {
        status = rl_fail(RL_EXIT_NO_QUORUM,
                         "%s: too few nodes: %s. When they are back: redlock set resume%s", what,
                         why[0] != '\0' ? why : "a majority is needed",
                         config->is_joint ? ", or redlock set abort" : "");
    } else if (status == 0) {
        rl_steps_wait(c->steps, ROUND_MS, rl_text("%s: waits for nodes: %s", what, why));
        status = rl_steps_caught(c->steps);
    }
    free(why);
    return status;
}

/* -- Deciding -- */

/* The nodes that have the joint text and this vote. */
static rl_mask voted(const struct change *c, const char *word) {
    rl_mask which = 0;
    for (uint32_t i = 0; i < c->set->n; i++) {
        which |= strcmp(c->set->nodes[i].vote, word) == 0 ? rl_bit(i) : 0;
    }
    return rl_set_having(c->set, &c->joint, which);
}

/* Whether the known votes decide how the change ends. */
static bool is_decided(const struct change *c, enum rl_change_end *end) {
    const struct rl_set *set = c->set;
    const rl_mask old = rl_set_members(set, &c->joint, RL_CONFIG_OLD);
    const rl_mask done = voted(c, words[RL_CHANGE_DONE]), back = voted(c, words[RL_CHANGE_BACK]);
    const bool is_done = rl_set_is_majority(set, &c->joint, RL_CONFIG_OLD, done);
    *end = is_done ? RL_CHANGE_DONE : RL_CHANGE_BACK;
    return is_done || !rl_set_is_majority(set, &c->joint, RL_CONFIG_OLD, old & ~back);
}

/* Asks one node after the other, in the order of the text. */
static void ask_votes(struct change *c) {
    for (uint32_t j = 0; j < c->joint.n; j++) {
        const size_t i = rl_set_find(c->set, c->joint.members[j].url);
        const struct rl_set_node *node = &c->set->nodes[i];
        if (!(c->joint.members[j].sides & RL_CONFIG_OLD) || i == c->set->n ||
            !rl_set_has(node, &c->joint)) {
            continue;
        }
        rl_set_vote(c->set, i, &c->joint, words[c->wish]);
        if (strcmp(node->vote, words[RL_CHANGE_DONE]) == 0) {
            c->wish = RL_CHANGE_DONE;
        } else if (strcmp(node->vote, words[RL_CHANGE_BACK]) == 0) {
            c->wish = RL_CHANGE_BACK;
        }
    }
}

/* Whether all old nodes have answered, and the vote is undecided since some lost theirs; reports
 * that. */
static bool has_forgotten(const struct change *c) {
    const rl_mask old = rl_set_members(c->set, &c->joint, RL_CONFIG_OLD);
    const rl_mask forgot = old & voted(c, "forgot");
    if (forgot == 0 || rl_set_having(c->set, &c->joint, old) != old) {
        return false;
    }
    char *names = rl_set_names(c->set, forgot);
    rl_say(
        "%s lost the text during the change, and perhaps a vote on how it ends: too few are left. "
        "If no other administrator is at work: DEL " RL_SET_VOTE_KEY
        " on these, then redlock set resume, or redlock set abort",
        names);
    free(names);
    return true;
}

static int decide(struct change *c) {
    enum rl_change_end end;
    int status = 0;
    c->patient_ns = 0;
    while (status == 0 && c->later.key.epoch == 0) {
        ask_votes(c);
        if (is_decided(c, &end)) {
            c->wish = end;
            rl_steps_done(c->steps, "decided", rl_text("decided: %s", words[end]));
            return 0;
        }
        if (has_forgotten(c)) {
            return RL_EXIT_NO_QUORUM;
        }
        status = be_patient(c, rl_text("the decision of epoch %" PRIu64, c->joint.key.epoch),
                            &c->joint, rl_set_members(c->set, &c->joint, RL_CONFIG_OLD));
        status = status != 0 ? status : look(c);
    }
    return status;
}

/* -- Nodes that have forgotten -- */

/* Of these nodes, those that have no text and may have lost locks with it. After FLUSHALL, a node
 * is the same server as before, so a later client counts its votes as soon as it has a text again:
 * it gets the text only after every lock that it may have forgotten has ended. *ms: the time until
 * then. */
static rl_mask forgetful(struct change *c, rl_mask which, int64_t *ms) {
    rl_mask empty = 0;
    for (uint32_t i = 0; i < c->set->n; i++) {
        const struct rl_set_node *node = &c->set->nodes[i];
        const bool has_none = node->is_known && node->config.key.epoch == 0;
        empty |= has_none ? which & rl_bit(i) : 0;
    }
    if (empty & ~c->empty) { /* the wait begins again */
        c->empty_ns = redlock_now_ns();
    }
    c->empty = empty;
    *ms = rl_change_wait_ms(&c->joint) - (int64_t)((redlock_now_ns() - c->empty_ns) / RL_NS_PER_MS);
    return *ms > 0 ? empty : 0;
}

/* Waits a moment, since these nodes may not get the text yet. Returns 0 or an exit status. */
static int wait_for_forgetful(struct change *c, rl_mask which, int64_t ms) {
    char *names = rl_set_names(c->set, which);
    c->patient_ns = 0;
    rl_steps_wait(c->steps, ms < ROUND_MS ? ms : ROUND_MS,
                  rl_text("waits %" PRId64 " s: no configuration, and perhaps lost locks: %s",
                          (ms + 999) / 1000, names));
    free(names);
    return rl_steps_caught(c->steps);
}

/* -- Meeting and waiting -- */

/* The time until the cut of a majority of the old nodes is long enough ago. met: nodes with such a
 * majority. */
static int64_t left_ms(const struct change *c, rl_mask met) {
    const struct rl_set_node *nodes = c->set->nodes;
    uint64_t since_ns = 0;
    for (rl_mask cut = 0; !rl_set_is_majority(c->set, &c->joint, RL_CONFIG_OLD, cut);) {
        uint32_t next = REDLOCK_NODES_MAX;
        for (uint32_t i = 0; i < c->set->n; i++) { /* the next one in the order of the cuts */
            const bool is_left = met & ~cut & rl_bit(i);
            if (is_left && (next == REDLOCK_NODES_MAX || nodes[i].cut_ns < nodes[next].cut_ns)) {
                next = i;
            }
        }
        assert(next < REDLOCK_NODES_MAX);
        cut |= rl_bit(next);
        since_ns = nodes[next].cut_ns;
    }
    const int64_t passed_ms = (int64_t)((redlock_now_ns() - since_ns) / RL_NS_PER_MS);
    return rl_change_wait_ms(&c->joint) - passed_ms;
}

static void report_met(struct change *c) {
    const rl_mask all = rl_set_members(c->set, &c->joint, BOTH);
    if (!c->is_met) {
        rl_steps_done(
            c->steps, "joint",
            rl_text("epoch %" PRIu64 ", old and new nodes: on %d of %d", c->joint.key.epoch,
                    count(rl_set_having(c->set, &c->joint, all)), count(all)));
    }
    c->is_met = true;
    c->patient_ns = 0;
}

/* Writes to the first set before all others: if a rival has a majority of it, this change gets no
 * further. */
static void write_joint(const struct change *c, rl_mask which) {
    const rl_mask first = rl_set_members_of(c->set, &c->joint, RL_CONFIG_OLD, 0);
    rl_set_write(c->set, which & first, &c->joint);
    if (count(rl_set_having(c->set, &c->joint, first)) >= count(first) / 2 + 1) {
        rl_set_write(c->set, which & ~first, &c->joint);
    }
}

/* One round of meet, carry and wait. *is_ready: all three are complete. */
static int prepare(struct change *c, bool *is_ready) {
    int64_t ms;
    enum rl_change_end end;
    struct rl_set *set = c->set;
    const struct rl_config *joint = &c->joint;
    *is_ready = is_decided(c, &end);
    if (voted(c, words[RL_CHANGE_BACK]) != 0) { /* no administrator need wait then */
        c->wish = RL_CHANGE_BACK;
    }
    const bool goes_back = c->wish == RL_CHANGE_BACK;
    const rl_mask old = rl_set_members(set, joint, RL_CONFIG_OLD);
    const rl_mask needed = goes_back ? old : rl_set_members(set, joint, BOTH);
    if (*is_ready) {
        return 0;
    }
    const rl_mask waiting = forgetful(c, old, &ms);
    write_joint(
        c, needed & rl_set_known(set) & ~waiting &
               ~(goes_back ? rl_set_having(set, joint, needed) : rl_set_met(set, joint, needed)));
    if (waiting != 0) {
        return wait_for_forgetful(c, waiting, ms);
    }
    const rl_mask having = rl_set_having(set, joint, needed);
    const rl_mask met = goes_back ? having : rl_set_met(set, joint, old);
    if (!rl_set_is_majority(set, joint, RL_CONFIG_OLD, met) ||
        (!goes_back && !rl_set_is_majority(set, joint, RL_CONFIG_NEW, having))) {
        return be_patient(c, rl_text("epoch %" PRIu64, joint->key.epoch), joint, needed);
    }
    report_met(c);
    if (goes_back) {
        *is_ready = true;
        return 0;
    }
    ms = left_ms(c, met);
    if (!c->is_carried) {
        c->is_carried = rl_carry(set, c->steps, joint, met);
        return c->is_carried ? 0 : be_patient(c, "fences", joint, needed);
    }
    *is_ready = ms <= 0;
    if (ms > 0) {
        rl_steps_wait(
            c->steps, ms < ROUND_MS ? ms : ROUND_MS,
            rl_text("waits %" PRId64 " s: until no lock is left that old nodes alone have granted",
                    (ms + 999) / 1000));
    }
    return 0;
}

/* -- The frame -- */

/* The members on which the text is complete. A client that knows of no set counts votes by its own
 * list, which may name only three of the nodes: no such client may be left when the first text is
 * reported as written, so every node must have cut its connections. A later text is known to a
 * majority of the members of its predecessor. */
static rl_mask done_with(const struct rl_set *set, const struct rl_config *stable, rl_mask all) {
    return stable->key.epoch == 1 ? rl_set_met(set, stable, all) : rl_set_having(set, stable, all);
}

int rl_change_spread(struct rl_set *set, struct rl_steps *steps, const struct rl_config *config) {
    struct change c = {.set = set, .steps = steps, .joint = *config};
    const struct rl_config *stable = &c.joint;
    int64_t ms;
    /* The text of an init, before which no node had one to lose. */
    const bool is_first =
        stable->key.epoch == 1 &&
        rl_set_having(set, stable, rl_set_members(set, stable, RL_CONFIG_NEW)) == 0;
    for (;;) {
        const rl_mask all = rl_set_members(set, stable, RL_CONFIG_NEW);
        const rl_mask waiting = is_first ? 0 : forgetful(&c, all, &ms);
        rl_set_write(set, all & ~done_with(set, stable, all) & ~waiting, stable);
        const rl_mask done = done_with(set, stable, all);
        const bool is_on_enough = stable->key.epoch == 1
                                      ? done == all
                                      : rl_set_is_majority(set, stable, RL_CONFIG_NEW, done);
        if (is_on_enough && waiting == 0) {
            rl_steps_done(steps, "stable",
                          rl_text("epoch %" PRIu64 ": on %d of %d nodes", stable->key.epoch,
                                  count(done), count(all)));
            char *why = lacking(set, stable, all);
            if (why[0] != '\0') {
                rl_say("not on all: %s. When they are back: redlock set resume", why);
            }
            free(why);
            return 0;
        }
        const char *what = rl_text("epoch %" PRIu64 "%s", stable->key.epoch,
                                   stable->key.epoch == 1 ? ", which all nodes must have" : "");
        int status =
            waiting != 0 ? wait_for_forgetful(&c, waiting, ms) : be_patient(&c, what, stable, all);
        status = status != 0 ? status : look(&c);
        if (status != 0 || c.later.key.epoch != 0) {
            return status != 0 ? status
                               : rl_fail(RL_EXIT_HELD,
                                         "another administrator has begun epoch %" PRIu64
                                         " meanwhile: redlock set show",
                                         c.later.key.epoch);
        }
    }
}

int rl_change_run(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
                  enum rl_change_end *end) {
    struct change c = {.set = set, .steps = steps, .joint = *joint, .wish = *end};
    struct rl_config stable;
    bool is_ready = false;
    int status = look(&c);
    while (status == 0 && c.later.key.epoch == 0 && !is_ready) {
        status = prepare(&c, &is_ready);
        status = status != 0 ? status : look(&c);
    }
    if (is_ready && c.is_carried) {
        rl_steps_done(steps, "waited", "waited: no lock is left that old nodes alone have granted");
    }
    status = status != 0 ? status : decide(&c);
    if (status != 0) {
        return status;
    }
    *end = c.wish;
    rl_change_stable(&stable, joint, c.wish);
    if (c.later.key.epoch != 0) {
        if (!rl_change_is_end(&c.later, joint, end)) {
            return rl_fail(RL_EXIT_HELD,
                           "another administrator has ended this change, and begun epoch %" PRIu64
                           ": redlock set show",
                           c.later.key.epoch);
        }
        stable = c.later;
    }
    return rl_change_spread(set, steps, &stable);
}
