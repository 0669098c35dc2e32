/* The goal of a change of one set, as the command states it:
 *
 *     replace OLD NEW          the nodes of OLD's set, with NEW in place of OLD
 *     resize [NAME] URL...     this list; NAME is needed if there are several sets
 *     add-set NAME URL...      a set of this name, with these nodes
 *     remove-set NAME          no nodes: the set is to go
 *
 * Happy path: rl_set_goal_read(), which adds the new nodes to the list; rl_set_look();
 * rl_set_goal_settle().
 *
 * Failure modes: there is no such set, or it exists already; a node belongs to another set. */
#include "set/room.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

uint32_t rl_set_goal_at(const struct rl_config *now, const char *name) {
    const uint32_t n = rl_config_count(now, RL_CONFIG_NEW);
    uint32_t at = 0;
    while (at < n && strcmp(rl_config_name(now, RL_CONFIG_NEW, at), name) != 0) {
        at++;
    }
    return at;
}

static bool is_sub(const struct rl_set *set, const char *name) {
    return strcmp(set->args->words[0], name) == 0;
}

/* "a, b", to be freed. */
static char *names_of(const struct rl_config *now) {
    char *names = rl_must_print("%s", rl_config_name(now, RL_CONFIG_NEW, 0));
    for (uint32_t i = 1; i < rl_config_count(now, RL_CONFIG_NEW); i++) {
        names = rl_must_join(names, ", ", rl_config_name(now, RL_CONFIG_NEW, i));
    }
    return names;
}

/* -- Names -- */

static int check_new(const struct rl_config *now, const char *name) {
    const bool is_first = now->new_sets.n == 0 && strcmp(name, RL_SET_FIRST) == 0;
    if (is_first || rl_set_goal_at(now, name) < rl_config_count(now, RL_CONFIG_NEW)) {
        return rl_usage("add-set: \"%s\" is the set that there is%s", name,
                        is_first ? ", from then on" : "");
    }
    return rl_config_count(now, RL_CONFIG_NEW) == RL_CONFIG_SETS_MAX
               ? rl_usage("add-set: there are %d sets, and no more may be", RL_CONFIG_SETS_MAX)
               : 0;
}

static int check_present(const struct rl_set *set, const struct rl_config *now, const char *name) {
    const uint32_t n = rl_config_count(now, RL_CONFIG_NEW);
    if (n == 1) {
        return rl_usage("remove-set: there is only one set");
    }
    if (rl_set_goal_at(now, name) == n) {
        char *names = names_of(now);
        int status = rl_usage("%s: \"%s\" is no set; there are several: %s", set->args->words[0],
                              rl_text_clean(name, 64), names);
        free(names);
        return status;
    }
    return 0;
}

static int read_name(const struct rl_set *set, const struct rl_config *now, const char *word,
                     struct rl_set_goal *goal) {
    if (is_sub(set, "add-set") && !rl_config_is_name(word, strlen(word))) {
        return rl_usage("%s: \"%s\" is no name of a set: 1 to %d letters, digits, and any of .-_",
                        set->args->words[0], rl_text_clean(word, 64), RL_CONFIG_NAME_MAX);
    }
    snprintf(goal->name, sizeof goal->name, "%s", word);
    return is_sub(set, "add-set") ? check_new(now, word) : check_present(set, now, word);
}

int rl_set_goal_read(struct rl_set *set, const struct rl_config *now, struct rl_set_goal *goal) {
    const struct rl_args *args = set->args;
    const bool has_name = is_sub(set, "add-set") || is_sub(set, "remove-set") ||
                          (is_sub(set, "resize") && rl_config_count(now, RL_CONFIG_NEW) > 1);
    const int first = has_name ? 2 : 1;
    int status = 0;
    snprintf(goal->name, sizeof goal->name, "%s", rl_config_name(now, RL_CONFIG_NEW, 0));
    status = has_name ? read_name(set, now, args->words[1], goal) : 0;
    if (status == 0 && !is_sub(set, "remove-set") &&
        (args->n_words == first || args->n_words - first > RL_CONFIG_SIDE_MAX)) {
        return rl_usage("%s: a set has 1 to %d nodes", args->words[0], RL_CONFIG_SIDE_MAX);
    }
    for (int i = first; i < args->n_words && status == 0; i++) {
        const bool is_old = is_sub(set, "replace") && i == first; /* already in the list */
        status = rl_set_url(set, args->words[i], args->words[0], goal->urls[goal->n++]);
        status = status != 0 || is_old ? status : rl_set_add(set, args->words[i]);
    }
    return status;
}

/* -- Nodes -- */

/* Replaces a node's alias by its own URL. */
static void resolve(const struct rl_set *set, char url[RL_CONFIG_URL_MAX + 1]) {
    const size_t i = rl_set_find(set, url);
    if (i < set->n) {
        memcpy(url, set->nodes[i].url, RL_CONFIG_URL_MAX + 1);
    }
}

static const struct rl_config_member *member_of(const struct rl_config *now, const char *url) {
    const uint32_t i = rl_set_member_at(now, url);
    return i < now->n ? &now->members[i] : NULL;
}

/* Turns OLD and NEW into the new list of nodes of their set. */
static int settle_replace(const struct rl_config *now, struct rl_set_goal *goal) {
    char new[RL_CONFIG_URL_MAX + 1];
    const char *old = goal->urls[0];
    const struct rl_config_member *leaving = member_of(now, old);
    if (leaving == NULL) {
        return rl_usage("%s is not in the set; redlock set show has its nodes", old);
    }
    memcpy(new, goal->urls[1], sizeof new);
    if (member_of(now, new) != NULL) {
        return rl_usage("%s is already in the set", new);
    }
    goal->n = 0;
    for (uint32_t i = 0; i < now->n; i++) {
        if (rl_config_is_in(now, i, RL_CONFIG_NEW, leaving->new_set) &&
            &now->members[i] != leaving) {
            memcpy(goal->urls[goal->n++], now->members[i].url, sizeof new);
        }
    }
    memcpy(goal->urls[goal->n++], new, sizeof new);
    snprintf(goal->name, sizeof goal->name, "%s",
             rl_config_name(now, RL_CONFIG_NEW, leaving->new_set));
    return 0;
}

int rl_set_goal_settle(const struct rl_set *set, const struct rl_config *now,
                       struct rl_set_goal *goal) {
    int status = 0;
    for (uint32_t i = 0; i < goal->n; i++) {
        resolve(set, goal->urls[i]);
    }
    if (is_sub(set, "replace")) {
        return settle_replace(now, goal);
    }
    const uint32_t at = rl_set_goal_at(now, goal->name);
    const bool is_new = at == rl_config_count(now, RL_CONFIG_NEW);
    if (is_new != is_sub(set, "add-set")) { /* the sets have changed since the words were read */
        return rl_fail(
            RL_EXIT_HELD,
            "another administrator has changed the sets meanwhile: first redlock set show");
    }
    for (uint32_t i = 0; i < goal->n && status == 0; i++) {
        const struct rl_config_member *member = member_of(now, goal->urls[i]);
        for (uint32_t j = 0; j < i && status == 0; j++) {
            if (strcmp(goal->urls[i], goal->urls[j]) == 0) {
                status = rl_usage("%s: %s is named twice", set->args->words[0], goal->urls[i]);
            }
        }
        if (status == 0 && member != NULL && member->new_set != at) {
            const char *name = rl_config_name(now, RL_CONFIG_NEW, member->new_set);
            status = rl_usage("%s is a node of %s%s", goal->urls[i],
                              name[0] != '\0' ? "set " : "the set", name);
        }
    }
    return status;
}

/* -- The texts of a change -- */

/* The joint text, from the sets as they are to the goal, and the stable text that ends the change.
 * change.c runs the change. */

static uint32_t find_member(struct rl_config *config, const char *url) {
    const uint32_t i = rl_set_member_at(config, url);
    if (i == config->n) {
        assert(config->n < RL_CONFIG_MEMBERS_MAX);
        config->members[config->n] = (struct rl_config_member){.sides = 0};
        memcpy(config->members[config->n++].url, url, strlen(url) + 1);
    }
    return i;
}

static void remove_name(struct rl_config_sets *sets, uint32_t at) {
    sets->n--;
    memmove(sets->names[at], sets->names[at + 1], (sets->n - at) * sizeof sets->names[0]);
}

static void add_name(struct rl_config_sets *sets, const char *name) {
    if (sets->n == 0) {
        snprintf(sets->names[sets->n++], sizeof sets->names[0], RL_SET_FIRST);
    }
    assert(sets->n < RL_CONFIG_SETS_MAX);
    snprintf(sets->names[sets->n++], sizeof sets->names[0], "%s", name);
}

void rl_change_joint(struct rl_config *joint, const struct rl_config *now,
                     const struct rl_set_goal *goal, const char *change) {
    const uint32_t at = rl_set_goal_at(now, goal->name);
    assert(!now->is_joint && goal->n <= RL_CONFIG_SIDE_MAX);
    *joint = *now;
    joint->is_joint = true;
    joint->key.epoch++;
    snprintf(joint->key.change, sizeof joint->key.change, "%s", change);
    joint->old_sets = now->new_sets;
    if (goal->n == 0) {
        remove_name(&joint->new_sets, at);
    } else if (at == rl_config_count(now, RL_CONFIG_NEW)) {
        add_name(&joint->new_sets, goal->name);
    }
    for (uint32_t i = 0; i < joint->n; i++) {
        struct rl_config_member *member = &joint->members[i];
        member->old_set = member->new_set;
        member->sides = member->new_set == at ? RL_CONFIG_OLD : RL_CONFIG_OLD | RL_CONFIG_NEW;
        if (goal->n == 0 && member->new_set > at) {
            member->new_set--;
        }
    }
    for (uint32_t i = 0; i < goal->n; i++) {
        struct rl_config_member *member = &joint->members[find_member(joint, goal->urls[i])];
        member->sides |= RL_CONFIG_NEW;
        member->new_set = (uint8_t)at;
    }
}

void rl_change_stable(struct rl_config *stable, const struct rl_config *joint,
                      enum rl_change_end end) {
    const bool is_done = end == RL_CHANGE_DONE;
    const int side = is_done ? RL_CONFIG_NEW : RL_CONFIG_OLD;
    *stable = *joint;
    stable->is_joint = false;
    stable->new_sets = is_done ? joint->new_sets : joint->old_sets;
    stable->key.epoch++;
    stable->n = 0;
    for (uint32_t i = 0; i < joint->n; i++) {
        if (joint->members[i].sides & side) {
            struct rl_config_member *member = &stable->members[stable->n++];
            *member = joint->members[i];
            member->sides = RL_CONFIG_NEW;
            member->new_set = is_done ? member->new_set : member->old_set;
        }
    }
}

/* Whether their texts are the same except for "self". */
static bool are_same(const struct rl_config *one, const struct rl_config *other) {
    char texts[2][RL_CONFIG_TEXT_MAX];
    rl_config_format(one, 0, texts[0]);
    rl_config_format(other, 0, texts[1]);
    *strstr(texts[0], "\nself ") = *strstr(texts[1], "\nself ") = '\0';
    return strcmp(texts[0], texts[1]) == 0;
}

bool rl_change_is_none(const struct rl_config *joint) {
    struct rl_config done, back;
    rl_change_stable(&done, joint, RL_CHANGE_DONE);
    rl_change_stable(&back, joint, RL_CHANGE_BACK);
    return are_same(&done, &back);
}

bool rl_change_is_end(const struct rl_config *later, const struct rl_config *joint,
                      enum rl_change_end *end) {
    struct rl_config stable;
    if (later->is_joint || later->key.epoch != joint->key.epoch + 1 ||
        strcmp(later->key.change, joint->key.change) != 0) {
        return false;
    }
    rl_change_stable(&stable, joint, RL_CHANGE_DONE);
    *end = are_same(later, &stable) ? RL_CHANGE_DONE : RL_CHANGE_BACK;
    return true;
}

int64_t rl_change_wait_ms(const struct rl_config *joint) {
    return joint->max_ttl_ms + rl_args_drift_ms(joint->max_ttl_ms);
}
