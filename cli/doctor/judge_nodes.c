/* Judges the facts of all nodes together: how many each set has, whether two names lead to one
 * server, whether enough nodes can be used. */
#include "doctor/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "redlock/redlock.h"
#include "say.h"

int64_t rl_doctor_quarantine_s(const struct rl_facts *facts) {
    const struct rl_args *args = facts->wire->args;
    /* The last second of the node's uptime may have only begun, so clients count one less. */
    int64_t quarantine_ms = args->client.max_ttl_ms + rl_args_drift_ms(args->client.max_ttl_ms);
    int64_t left_s = (quarantine_ms + 999) / 1000 + 1 - facts->info.uptime_s;
    return args->guard == REDLOCK_GUARD_STRICT && left_s > 0 ? left_s : 0;
}

/* Only a warning: clients connect all the same. */
void rl_doctor_judge_tls(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    static const char check[] = "tls";
    bool skips = facts->wire->tls.ca[0] != '\0' || facts->wire->tls.has_insecure
                     ? facts->wire->tls.insecure
                     : facts->wire->args->tls_insecure;
    if (facts->wire->url.is_tls && skips) {
        rl_findings_add(findings, check, RL_LEVEL_WARNING, node,
                        "name its authority (tls-ca), and its name (tls-server-name) if that is "
                        "not the URL's host, and leave tls_insecure_skip_verify out",
                        "its certificate is not verified: any machine on the way can be this node");
    } else if (facts->wire->url.is_tls && facts->is_reachable) {
        rl_findings_add(findings, check, RL_LEVEL_OK, node, NULL, "its certificate is good");
    }
}

#define SPREAD_MS_MAX 1000

/* Adds a finding about all nodes together. */
#define ADD(level, check, remedy, ...) \
    rl_findings_add(findings, check, RL_LEVEL_##level, RL_NODE_NONE, remedy, __VA_ARGS__)

static void judge_identity(struct rl_findings *findings, const struct rl_facts *facts, size_t n) {
    bool is_good = true;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            const struct rl_facts *a = &facts[i], *b = &facts[j];
            if (a->info.run_id[0] == '\0' || b->info.run_id[0] == '\0') {
                continue;
            }
            if (strcmp(a->info.run_id, b->info.run_id) == 0) {
                is_good = false;
                ADD(ERROR, "identity", "name each server once: it would have two votes",
                    "%s and %s are the same server", a->wire->url.name, b->wire->url.name);
            } else if (a->info.replid[0] != '\0' && strcmp(a->info.replid, b->info.replid) == 0) {
                is_good = false;
                ADD(ERROR, "identity",
                    "use servers that do not replicate each other: they fail together",
                    "%s and %s belong to one replication", a->wire->url.name, b->wire->url.name);
            }
        }
    }
    if (is_good && n > 1) {
        ADD(OK, "identity", NULL, "different servers, as far as they can be compared");
    }
}

/* Whether the node has no errors. */
static bool is_usable(const struct rl_findings *findings, size_t node) {
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].node == (int)node && findings->items[i].level == RL_LEVEL_ERROR) {
            return false;
        }
    }
    return true;
}

/* "set b: ", or "" if there is only one group. */
static const char *of_group(const struct rl_node_group *group) {
    return group->name[0] != '\0' ? rl_text("%s: ", group->name) : "";
}

/* Lists the quarantine of each usable node of the group, the shortest first. Returns how many there
 * are. */
static size_t find_usable(const struct rl_findings *findings, const struct rl_facts *facts,
                          rl_mask group, int64_t waits_s[REDLOCK_NODES_MAX]) {
    size_t usable = 0;
    for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        if (group & rl_bit((uint32_t)i) && is_usable(findings, i)) {
            int64_t wait_s = rl_doctor_quarantine_s(&facts[i]);
            size_t at = usable++;
            for (; at > 0 && waits_s[at - 1] > wait_s; at--) {
                waits_s[at] = waits_s[at - 1];
            }
            waits_s[at] = wait_s;
        }
    }
    return usable;
}

static int64_t judge_quorum(struct rl_findings *findings, const struct rl_facts *facts,
                            const struct rl_node_group *group) {
    int64_t waits_s[REDLOCK_NODES_MAX];
    const size_t n = rl_bits_count(group->nodes), quorum = rl_quorum((uint32_t)n);
    const size_t usable = find_usable(findings, facts, group->nodes, waits_s);
    const char *of = of_group(group);
    const char *text = rl_text("%zu of %zu nodes are usable, %zu are needed", usable, n, quorum);
    assert(usable <= n);
    int64_t wait_s = usable >= quorum ? waits_s[quorum - 1] : 0;
    if (usable < quorum) {
        ADD(ERROR, "quorum",
            of[0] == '\0' ? "fix the errors above: no lock can be acquired"
                          : "fix the errors above: none of its locks can be acquired",
            "%s%s", of, n == 1 ? "the node is not usable" : text);
    } else if (wait_s > 0) {
        ADD(WARNING, "quorum", "see guard",
            "%sstrict clients are granted nothing for another %" PRId64
            " s: until then fewer than %zu nodes vote for them",
            of, wait_s, quorum);
    } else if (usable < n) {
        ADD(OK, "quorum", NULL, "%s%s", of, text);
    } else if (n > 1) {
        ADD(OK, "quorum", NULL, "%sall %zu are usable, %zu are needed", of, n, quorum);
    } else {
        ADD(OK, "quorum", NULL, "%sit is usable", of);
    }
    return wait_s;
}

static void judge_count(struct rl_findings *findings, const struct rl_node_group *group) {
    const size_t n = rl_bits_count(group->nodes);
    const char *of = of_group(group);
    if (n <= 2) {
        ADD(WARNING, "number", "use 3 or 5 independent nodes", "%s%s", of,
            n == 1 ? "one node: if it fails there are no locks, if it forgets there are two holders"
                   : "two nodes: both are needed, so neither may fail");
    } else if (n % 2 == 0) {
        ADD(NOTE, "number",
            "one node less would do the same, one more would tolerate another failure",
            "%san even number: %zu may fail, as with %zu nodes", of, (n - 1) / 2, n - 1);
    } else {
        ADD(OK, "number", NULL, "%san odd number: %zu may fail", of, (n - 1) / 2);
    }
}

static void judge_clocks(struct rl_findings *findings, const struct rl_facts *facts, size_t n) {
    const struct rl_facts *first = NULL, *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (facts[i].clock.is_known) {
            first = first == NULL || facts[i].clock.ahead_ms < first->clock.ahead_ms ? &facts[i]
                                                                                     : first;
            last =
                last == NULL || facts[i].clock.ahead_ms > last->clock.ahead_ms ? &facts[i] : last;
        }
    }
    if (first == NULL || first == last) {
        return;
    }
    double spread_ms = last->clock.ahead_ms - first->clock.ahead_ms;
    double error_ms = last->clock.error_ms + first->clock.error_ms;
    if (spread_ms - error_ms > SPREAD_MS_MAX) {
        ADD(WARNING, "clock", "run NTP on both: one of them may be set soon, and end locks early",
            "%s is %s ahead of %s", last->wire->url.name, rl_say_duration(spread_ms),
            first->wire->url.name);
    }
}

#define SET_REMEDY "redlock set show says more; redlock set resume writes it to all"

/* Returns false if the node's configuration cannot be read, or is invalid. */
static bool judge_text(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    if (facts->no_set[0] != '\0') {
        rl_findings_add(findings, "set", RL_LEVEL_ERROR, node,
                        "allow its user +get ~" RL_CONFIG_KEY ": clients read it first of all",
                        "its configuration cannot be read: %s", facts->no_set);
    } else if (facts->set.problem != NULL) {
        rl_findings_add(findings, "set", RL_LEVEL_WARNING, node, SET_REMEDY, "its configuration %s",
                        facts->set.problem);
    }
    return facts->no_set[0] == '\0' && facts->set.problem == NULL;
}

/* "10.0.0.1:6379, 10.0.0.2:6379", and "..." for those that do not fit. */
static const char *members_of(const struct rl_config *config) {
    char text[RL_TEXT_MAX - 64] = "";
    bool fits = true;
    for (size_t i = 0, used = 0; i < config->n && fits; i++) {
        fits = used + RL_CONFIG_URL_MAX < sizeof text - sizeof ", ...";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                                 fits ? strstr(config->members[i].url, "://") + 3 : "...");
    }
    return rl_text("%s", text);
}

/* Whether the node has left the set of the latest configuration. */
static bool has_left(const struct rl_facts *latest, const struct rl_facts *other) {
    const struct rl_config *now = &latest->set, *its = &other->set;
    bool is_member = its->key.epoch == 0 || strcmp(its->key.id, now->key.id) != 0 || now->is_joint;
    for (uint32_t i = 0; i < now->n && !is_member; i++) {
        is_member = strcmp(now->members[i].url, its->members[its->self].url) == 0;
    }
    return !is_member;
}

static void judge_left(struct rl_findings *findings, const struct rl_config *now, int node) {
    rl_findings_add(findings, "set", RL_LEVEL_WARNING, node,
                    rl_text("list the nodes of the set: %s", members_of(now)),
                    "it has left the set");
}

/* All nodes have a joint text: the change is pending, or these are the nodes that it has left
 * behind. */
static void judge_pending(struct rl_findings *findings, const struct rl_facts *facts, size_t n) {
    bool are_old = true;
    for (size_t i = 0; i < n; i++) {
        const struct rl_config *config = &facts[i].set;
        are_old = are_old &&
                  (!facts[i].is_reachable || config->members[config->self].sides == RL_CONFIG_OLD);
    }
    rl_findings_add(findings, "set", RL_LEVEL_WARNING, RL_NODE_NONE,
                    are_old ? "redlock set show says which, and the nodes of the set"
                            : "redlock set resume, or redlock set abort",
                    are_old ? "a change of the nodes is pending, or these have left the set"
                            : "a change of the nodes is pending: locks need both majorities");
}

static void judge_difference(struct rl_findings *findings, const struct rl_facts *latest,
                             const struct rl_facts *other) {
    const struct rl_config_key *key = &latest->set.key, *theirs = &other->set.key;
    if (theirs->epoch != 0 && strcmp(key->id, theirs->id) != 0) {
        ADD(WARNING, "set", "name the nodes of one set", "%s belongs to set %s, and %s to %s",
            latest->wire->url.name, key->id, other->wire->url.name, theirs->id);
    } else {
        ADD(WARNING, "set", SET_REMEDY,
            "the configuration of %s is of epoch %" PRIu64 ", and %s has %s",
            latest->wire->url.name, key->epoch, other->wire->url.name,
            theirs->epoch == 0 ? "none" : "another");
    }
}

/* Judges whether all nodes have the same configuration (redis/config.h), or none. */
static void judge_set(struct rl_findings *findings, const struct rl_facts *facts, size_t n) {
    const struct rl_facts *latest = NULL, *other = NULL;
    for (size_t i = 0; i < n; i++) {
        const bool is_known = !facts[i].is_reachable || judge_text(findings, &facts[i], (int)i);
        if (!is_known) {
            return;
        }
        if (facts[i].is_reachable &&
            (latest == NULL || facts[i].set.key.epoch > latest->set.key.epoch)) {
            latest = &facts[i];
        }
    }
    for (size_t i = 0; i < n && latest != NULL; i++) {
        if (facts[i].is_reachable && has_left(latest, &facts[i])) {
            judge_left(findings, &latest->set, (int)i);
        } else if (facts[i].is_reachable &&
                   rl_config_compare(&latest->set.key, &facts[i].set.key) != RL_CONFIG_SAME) {
            other = &facts[i];
        }
    }
    if (other != NULL) {
        judge_difference(findings, latest, other);
    } else if (latest != NULL && latest->set.is_joint) {
        judge_pending(findings, facts, n);
    } else if (latest != NULL) {
        ADD(OK, "set", NULL, "%s",
            latest->set.key.epoch != 0
                ? "all have the same configuration"
                : "no configuration: all clients have to list the same nodes");
    }
}

int64_t rl_doctor_judge_nodes(struct rl_findings *findings, const struct rl_facts *facts,
                              const struct rl_wires *wires) {
    struct rl_node_group groups[RL_GROUPS_MAX];
    const size_t n = rl_members_groups(&wires->members, groups);
    int64_t longest_s = 0;
    assert(wires->n > 0);
    judge_identity(findings, facts, wires->n);
    judge_set(findings, facts, wires->n);
    judge_clocks(findings, facts, wires->n);
    for (size_t i = 0; i < n; i++) {
        judge_count(findings, &groups[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t wait_s = judge_quorum(findings, facts, &groups[i]);
        longest_s = wait_s > longest_s ? wait_s : longest_s;
    }
    return longest_s;
}
