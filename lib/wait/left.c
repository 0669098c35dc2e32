/* See left.h. */
#include "wait/left.h"

#include "base/bits.h"
#include "lock/life.h"
#include "mode/mode.h"

static void drop(struct rl_left *left) {
    redlock_lock *lock = left->lock;
    left->lock = NULL;
    if (lock != NULL) {
        rl_lock_unref(lock);
    }
}

void rl_left_drop(redlock_client *client) {
    for (uint32_t i = 0; i < RL_LINES_LEFT; i++) {
        drop(&client->lines.left[i]);
    }
}

static struct rl_left *find(redlock_client *client, uint64_t place) {
    struct rl_left *found = NULL;
    for (uint32_t i = 0; i < RL_LINES_LEFT; i++) {
        struct rl_left *left = &client->lines.left[i];
        found = left->lock != NULL && left->place == place ? left : found;
    }
    return found;
}

/* rl_left_take() has something to find if a node of it both has no key and has passed it one. */
static void look(redlock_client *client, const struct rl_left *left) {
    client->lines.refuses = client->lines.refuses || (left->gone & left->passed) != 0;
}

void rl_left_add(redlock_lock *lock, uint64_t place, uint32_t gone, uint32_t passed) {
    struct rl_lines *lines = &lock->client->lines;
    struct rl_left *left = &lines->left[lines->left_next];
    if (lock->client->phase == RL_CLIENT_OPEN) {
        lines->left_next = (lines->left_next + 1) % RL_LINES_LEFT;
        rl_lock_ref(lock);
        drop(left);
        *left = (struct rl_left){.lock = lock, .place = place, .gone = gone, .passed = passed};
        look(lock->client, left);
    }
}

void rl_left_passed(redlock_client *client, uint32_t node, uint64_t place) {
    struct rl_left *left = find(client, place);
    if (left != NULL) {
        left->passed |= UINT32_C(1) << node;
        look(client, left);
    }
}

void rl_left_gone(redlock_client *client, uint32_t node, uint64_t place) {
    struct rl_left *left = place != 0 ? find(client, place) : NULL;
    if (left != NULL) {
        left->gone |= UINT32_C(1) << node;
        look(client, left);
    }
}

bool rl_left_take(redlock_client *client, struct rl_left_key *key) {
    for (uint32_t i = 0; client->lines.refuses && i < RL_LINES_LEFT; i++) {
        struct rl_left *left = &client->lines.left[i];
        const uint32_t due = left->lock != NULL ? left->gone & left->passed : 0;
        if (due != 0 && left->lock->mode->is_passed_on) {
            *key = (struct rl_left_key){left->lock, left->place, rl_bits_count((due - 1) & ~due)};
            left->passed &= ~(UINT32_C(1) << key->node);
            return true;
        }
    }
    client->lines.refuses = false;
    return false;
}
