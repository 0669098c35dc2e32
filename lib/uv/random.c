/* See random.h. */
#include "uv/random.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"

/* A kernel with such pages also has this call, which is older. */
static bool refill(unsigned char *bytes, size_t length) {
    for (size_t at = 0; at < length;) {
        ssize_t n = getrandom(bytes + at, length - at, 0);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool rl_uv_random(struct rl_uv_world *w, void *bytes, size_t length) {
    unsigned char *page = rl_fork_room(&w->fork);
    if (page == NULL || length > RL_FORK_ROOM || rl_fork_is_child(&w->fork)) {
        return uv_random(NULL, NULL, bytes, length, 0, NULL) == 0;
    }
    assert(w->random_left <= RL_FORK_ROOM);
    if (length > w->random_left) {
        w->random_left = 0;
        if (!refill(page, RL_FORK_ROOM)) {
            return false;
        }
        w->random_left = RL_FORK_ROOM;
    }
    assert(length <= w->random_left);
    unsigned char *from = page + RL_FORK_ROOM - w->random_left;
    memcpy(bytes, from, length);
    rl_wipe(from, length);
    w->random_left -= length;
    return true;
}
