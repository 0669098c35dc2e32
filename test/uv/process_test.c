/* A child after fork() gets no events and harms no socket. (That a program inherits no socket:
 * syscall_fail.) */
#include "uv/scene.h"

#include <poll.h>

#include "child.h"

static bool is_there(const char *bytes, int fd) {
    char got[16];
    struct pollfd here = {.fd = fd, .events = POLLIN};
    size_t length = strlen(bytes);
    return poll(&here, 1, 5000) == 1 && recv(fd, got, sizeof got, 0) == (ssize_t)length &&
           memcmp(got, bytes, length) == 0;
}

/* Any event ends the child, by scene->calls. */
static _Noreturn void child(struct scene *s, struct link *link, int peer) {
    CHILD_CHECK(s->world->ops->is_forked(s->world));
    s->calls = 1000; /* any callback fails from now on */
    peer_send(peer, "to the parent", 13);
    CHILD_CHECK(uv_loop_fork(&s->loop) == 0);
    int turns = s->turns;
    for (int i = 0; i < 5; i++) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
    }
    CHILD_CHECK(s->turns == turns && link->received == 0 && link->ends == 0);
    s->world->ops->abandon(s->world);
    _exit(0);
}

SCENE_TEST(a_child_has_no_events) {
    struct link link = {0};
    struct rl_address address;
    int listener = peer_listen(&address, 4);
    int peer = link_open(&link, s, listener, &address);
    scene_wake(s);
    scene_arm(s, scene_now_ns(s) + MS);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        child(s, &link, peer);
    }
    child_expect_good(pid);
    SCENE_UNTIL(s, link.received == 13); /* the child has not read it */
    assert_int_equal(link_write(&link, "here", 4), 4);
    assert_true(is_there("here", peer)); /* nor has it closed the parent's connection */
    link_close(&link);
    close(peer);
    close(listener);
}

/* abandon() closes the child's copy: the peer sees the end when the parent has closed, too. */
SCENE_TEST(abandoned) {
    struct link link = {0};
    struct rl_address address;
    int ready[2], go[2];
    char byte = 0;
    int listener = peer_listen(&address, 4);
    int peer = link_open(&link, s, listener, &address);
    assert_true(pipe(ready) == 0 && pipe(go) == 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]); /* so that it ends with its parent */
        s->world->ops->abandon(s->world);
        CHILD_CHECK(write(ready[1], "x", 1) == 1);
        CHILD_CHECK(read(go[0], &byte, 1) >= 0);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    link_close(&link);
    struct pollfd here = {.fd = peer, .events = POLLIN};
    assert_int_equal(poll(&here, 1, 5000), 1);
    assert_int_equal(recv(peer, &byte, 1, 0), 0);
    assert_int_equal(write(go[1], "x", 1), 1);
    child_expect_good(pid);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
    close(peer);
    close(listener);
}
