/* Random bytes: fetched by the page, never used twice, and a child never uses its parent's. (None
 * there, and no page: syscall_fail.) */
#include "uv/scene.h"

#include <sys/random.h>
#include <sys/syscall.h>

#include "child.h"

#define TOKEN 16

static int calls;                /* of getrandom() */
static unsigned char last[4096]; /* its last result */

ssize_t getrandom(void *bytes, size_t length, unsigned flags) {
    calls++;
    ssize_t n = (ssize_t)syscall(SYS_getrandom, bytes, length, flags);
    if (n > 0) {
        memcpy(last, bytes, (size_t)n < sizeof last ? (size_t)n : sizeof last);
    }
    return n;
}

static void draw(struct scene *s, unsigned char bytes[TOKEN]) {
    assert_true(s->world->ops->random(s->world, bytes, TOKEN));
}

static bool is_zero(const unsigned char bytes[TOKEN]) {
    static const unsigned char zero[TOKEN];
    return memcmp(bytes, zero, TOKEN) == 0;
}

SCENE_TEST(one_call_for_many) {
    static unsigned char all[1000][TOKEN];
    calls = 0;
    for (size_t i = 0; i < 1000; i++) {
        draw(s, all[i]);
        assert_false(is_zero(all[i]));
        assert_true(i == 0 || memcmp(all[i - 1], all[i], TOKEN) != 0);
    }
    assert_int_equal(calls, 4); /* 255 of a page */
}

/* The child cannot know the parent's next bytes: it neither draws them nor has them in memory. */
SCENE_TEST(not_the_parents) {
    unsigned char first[TOKEN], child[TOKEN], next[TOKEN];
    int pipes[2];
    draw(s, first);
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool drawn = s->world->ops->random(s->world, child, TOKEN);
        bool told = write(pipes[1], child, TOKEN) == TOKEN;
        _exit(drawn && told && s->world->ops->is_forked(s->world) ? 0 : 1);
    }
    assert_int_equal(read(pipes[0], child, TOKEN), TOKEN);
    child_expect_good(pid);
    draw(s, next);
    assert_memory_equal(next, last + TOKEN, TOKEN); /* of the page */
    assert_memory_not_equal(child, next, TOKEN);
    assert_false(is_zero(child));
    assert_false(s->world->ops->is_forked(s->world));
    close(pipes[0]);
    close(pipes[1]);
}
