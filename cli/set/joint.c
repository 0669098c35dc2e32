/* The texts of a change: the joint one, from the sets as they are to the goal, and the stable one
 * that ends it. change.c has the change. */
#include "set/room.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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

/* Whether their texts are the same, but for "self". */
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
