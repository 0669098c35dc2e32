/* See scene.h. */
#include "uv/scene.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "uv/world.h"

/* -- The world's events -- */

static bool run_inside(struct scene *scene, bool (*run)(struct scene *scene)) {
    assert_int_equal(scene->calls, 0);
    assert_false(scene->in_turn);
    assert_false(scene->is_closing);
    scene->in_turn = true;
    bool ran = run != NULL && run(scene);
    scene->in_turn = false;
    return ran;
}

static bool on_turn(void *owner) {
    struct scene *scene = owner;
    scene->turns++;
    return run_inside(scene, scene->on_turn);
}

static bool on_wait(void *owner) {
    struct scene *scene = owner;
    scene->waits++;
    return run_inside(scene, scene->on_wait);
}

static void on_closed(void *owner) {
    struct scene *scene = owner;
    assert_int_equal(scene->calls, 0);
    assert_true(scene->is_closing);
    scene->closed++;
    scene->world = NULL;
}

static const struct rl_world_events world_events = {.turn = on_turn,
                                                    .before_wait = on_wait,
                                                    .closed = on_closed};

/* -- The streams' events -- */

static struct link *link_of(void *owner) {
    struct link *link = owner;
    assert_int_equal(link->scene->calls, 0);
    assert_non_null(link->stream); /* nothing after close() */
    assert_int_equal(link->ends, 0);
    return link;
}

static void on_up(void *owner) {
    struct link *link = link_of(owner);
    link->ups++;
    assert_int_equal(link->ups, 1);
    if (link->on_up != NULL) {
        link->on_up(link);
    }
}

static void on_bytes(void *owner, const char *bytes, size_t length) {
    struct link *link = link_of(owner);
    assert_int_equal(link->ups, 1);
    assert_true(length > 0);
    link->received += length;
    if (link->on_bytes != NULL) {
        link->on_bytes(link, bytes, length);
    }
}

static void on_room(void *owner) {
    struct link *link = link_of(owner);
    link->rooms++;
    if (link->on_room != NULL) {
        link->on_room(link);
    }
}

static void on_end(void *owner, int error, const char *detail) {
    struct link *link = link_of(owner);
    assert_non_null(detail);
    assert_true(error >= 0);
    link->ends++;
    link->error = error;
    if (link->on_end != NULL) {
        link->on_end(link);
    }
}

static const struct rl_stream_events stream_events = {.up = on_up,
                                                      .bytes = on_bytes,
                                                      .room = on_room,
                                                      .end = on_end};

/* -- The frame -- */

void scene_start(struct scene *scene) {
    memset(scene, 0, sizeof *scene);
    assert_int_equal(uv_loop_init(&scene->loop), 0);
    scene->world = rl_uv_world_new(&scene->loop, NULL);
    assert_non_null(scene->world);
    scene->world->events = &world_events;
    scene->world->owner = scene;
    scene->deadline_ns = redlock_now_ns() + PATIENCE_NS;
}

void scene_close_world(struct scene *scene) {
    scene->is_closing = true;
    scene->calls++;
    scene->world->ops->close(scene->world);
    scene->calls--;
}

void scene_end(struct scene *scene) {
    if (!scene->is_closing) {
        scene_close_world(scene);
    }
    assert_int_equal(uv_run(&scene->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(scene->closed, 1);
    assert_int_equal(uv_loop_close(&scene->loop), 0);
}

/* Ends an iteration even before it polls: libuv before 1.45 runs timers first. */
static void stop_loop(uv_timer_t *timer) {
    uv_stop(timer->loop);
}

static void ignore_close(uv_handle_t *handle) {
}

/* Waits for at most 20 ms. */
void scene_run_once(struct scene *scene) {
    uv_timer_t timer;
    uv_timer_init(&scene->loop, &timer);
    uv_update_time(&scene->loop);
    uv_timer_start(&timer, stop_loop, 20, 0);
    uv_run(&scene->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, ignore_close);
    uv_run(&scene->loop, UV_RUN_NOWAIT);
}

void scene_run_ms(struct scene *scene, uint64_t ms) {
    uint64_t end_ns = redlock_now_ns() + ms * MS;
    while (redlock_now_ns() < end_ns) {
        scene_run_once(scene);
    }
}

uint64_t scene_now_ns(struct scene *scene) {
    return scene->world->ops->now_ns(scene->world);
}

void scene_wake(struct scene *scene) {
    scene->calls++;
    scene->world->ops->wake(scene->world);
    scene->calls--;
}

void scene_arm(struct scene *scene, uint64_t at_ns) {
    scene->calls++;
    scene->world->ops->arm(scene->world, at_ns);
    scene->calls--;
}

/* -- Links -- */

void link_dial(struct link *link, struct scene *scene, const struct rl_address *to) {
    link->scene = scene;
    link->ups = link->rooms = link->ends = link->error = 0;
    link->received = 0;
    scene->calls++;
    link->stream = scene->world->ops->dial(scene->world, to, &stream_events, link, &link->error);
    scene->calls--;
    assert_true((link->stream == NULL) == (link->error != 0));
}

size_t link_write(struct link *link, const char *bytes, size_t length) {
    link->scene->calls++;
    size_t taken = link->stream->ops->write(link->stream, bytes, length);
    link->scene->calls--;
    assert_true(taken <= length);
    return taken;
}

void link_close(struct link *link) {
    struct rl_stream *stream = link->stream;
    link->stream = NULL;
    link->scene->calls++;
    stream->ops->close(stream);
    link->scene->calls--;
}

/* -- The other side -- */

int peer_listen(struct rl_address *address, int backlog) {
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t length = sizeof here;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &length), 0);
    memset(address, 0, sizeof *address);
    address->length = length;
    memcpy(&address->storage, &here, length);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

int peer_accept(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

void peer_send(int fd, const char *bytes, size_t length) {
    assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
}

void peer_reset(int fd) {
    struct linger linger = {.l_onoff = 1};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close(fd);
}

int link_open(struct link *link, struct scene *scene, int listener,
              const struct rl_address *address) {
    link_dial(link, scene, address);
    assert_non_null(link->stream);
    int fd = peer_accept(listener);
    SCENE_UNTIL(scene, link->ups == 1);
    return fd;
}
