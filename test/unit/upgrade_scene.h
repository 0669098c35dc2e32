/* Upgrades of a lock that is held, for the tests of 8 in core/lock.h. */
#ifndef UNIT_UPGRADE_SCENE_H
#define UNIT_UPGRADE_SCENE_H

#include "unit/lock_explore.h"

#define VALID_NS (9898 * MS) /* of the usual ttl of 10000 ms, from the sending on */
#define LONG_NS (59398 * MS) /* of 60000 ms */

static inline void upgrade(struct world *w, uint64_t now_ns, uint32_t up) {
    world_simple(w, RL_EV_UPGRADE, now_ns, up);
}

static inline void votes(struct world *w, const char *answers, uint64_t now_ns) {
    for (uint32_t node = 0; answers[node] != '\0'; node++) {
        world_vote(w, node, (enum answer)(strchr("ynel", answers[node]) - "ynel"), now_ns);
    }
}

/* Every upgrade that can be begun on a lock that is held; of the one that fails also the votes on
 * what converts back. */
static inline void upgrade_it(const struct world *w, struct exploration *exploration) {
    const uint32_t ups[] = {world_all(w), world_all(w) & 0x16};
    for (size_t i = 0; i < COUNT(ups); i++) {
        for (uint32_t extended = 0; extended < 2; extended++) {
            struct world next;
            world_copy(&next, w);
            if (extended) { /* to more than an extension brings */
                world_extend(&next, 60000, w->lock.now_ns + 2 * MS, world_all(w));
                for (uint32_t node = 0; next.extending; node++) {
                    world_vote(&next, node, GRANTS, w->lock.now_ns + 3 * MS);
                }
            }
            upgrade(&next, w->lock.now_ns + 5 * MS, ups[i]);
            world_explore(&next, exploration);
        }
    }
}

#endif
