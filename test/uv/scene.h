/* A world of lib/uv on its own loop, with owners that record every event and check the rules of
 * base/world.h at each: none from inside a call, at most one `end`, nothing after `end` or close(),
 * `turn` and `before_wait` never inside each other, `closed` last.
 *
 * All calls of the table go through this file, so that it knows when one is in progress. */
#ifndef UV_SCENE_H
#define UV_SCENE_H

#include <errno.h>
#include <uv.h>

#include "base/world.h"
#include "redlock/redlock.h"
#include "testing.h"

#define PATIENCE_NS UINT64_C(10000000000)
#define MS UINT64_C(1000000) /* in ns */

struct scene {
    uv_loop_t loop;
    struct rl_world *world;
    uint64_t deadline_ns;
    int calls; /* calls of the table in progress */
    int turns, waits, closed;
    bool in_turn;
    bool is_closing;
    bool (*on_turn)(struct scene *scene); /* NULL: nothing, and false */
    bool (*on_wait)(struct scene *scene);
    void *data;
};

/* A stream with its owner. The functions may be NULL. */
struct link {
    struct scene *scene;
    struct rl_stream *stream; /* NULL once it is closed */
    int ups, rooms, ends, error;
    size_t received;
    void (*on_up)(struct link *link);
    void (*on_bytes)(struct link *link, const char *bytes, size_t length);
    void (*on_room)(struct link *link);
    void (*on_end)(struct link *link);
    struct link *other;
};

#define SCENE_TEST(name) TEST_ON(name, struct scene, s, scene_start, scene_end)

void scene_start(struct scene *scene);
/* Closes the world, unless it is closed, and the loop. */
void scene_end(struct scene *scene);
void scene_close_world(struct scene *scene);

/* One iteration of the loop; fails when patience ends. */
void scene_run_once(struct scene *scene);
void scene_run_ms(struct scene *scene, uint64_t ms);

#define SCENE_UNTIL(scene, condition)                             \
    do {                                                          \
        (scene)->deadline_ns = redlock_now_ns() + PATIENCE_NS;    \
        while (!(condition)) {                                    \
            assert_true(redlock_now_ns() < (scene)->deadline_ns); \
            scene_run_once(scene);                                \
        }                                                         \
    } while (0)

uint64_t scene_now_ns(struct scene *scene);
void scene_wake(struct scene *scene);
void scene_arm(struct scene *scene, uint64_t at_ns);

/* link->stream is NULL if that failed; then link->error says why. */
void link_dial(struct link *link, struct scene *scene, const struct rl_address *to);
size_t link_write(struct link *link, const char *bytes, size_t length);
void link_close(struct link *link);

/* -- The other side: plain blocking sockets -- */

/* Listens on a free port of 127.0.0.1; *address is its address. */
int peer_listen(struct rl_address *address, int backlog);
int peer_accept(int listener);
void peer_send(int fd, const char *bytes, size_t length);
/* Closes it with a reset. */
void peer_reset(int fd);

/* Dials, accepts, and waits for `up`. Returns the peer's socket. */
int link_open(struct link *link, struct scene *scene, int listener,
              const struct rl_address *address);

#endif
