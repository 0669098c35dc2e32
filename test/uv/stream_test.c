/* Streams of lib/uv: errors at once and delayed, and that each event reaches the right stream.
 * (Nodes that refuse, vanish, close or reset: fake/faults.) */
#include "uv/scene.h"

#include <sys/un.h>
#include <unistd.h>

#define BIG (4u << 20)

struct place {
    int listener;
    struct rl_address address;
    struct scene scene;
};

static void start(struct place *place) {
    scene_start(&place->scene);
    place->listener = peer_listen(&place->address, 16);
}

static void end(struct place *place) {
    scene_end(&place->scene);
    close(place->listener);
}

#define PLACE_TEST(name) TEST_ON(name, struct place, p, start, end)

/* -- Not connecting -- */

static void unix_address(struct rl_address *address, const char *path) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    memcpy(un.sun_path, path, strlen(path) + 1);
    memset(address, 0, sizeof *address);
    address->length = sizeof un;
    memcpy(&address->storage, &un, sizeof un);
}

/* A unix socket whose queue is full fails with EAGAIN, and no event would follow. */
TEST(refused_at_once) {
    struct place p;
    struct link link = {0}, first = {0};
    char folder[90], path[100];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.60s/redlock-uv.XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    start(&p);
    close(p.listener);
    unix_address(&p.address, path);
    link_dial(&link, &p.scene, &p.address);
    assert_null(link.stream);
    assert_int_equal(link.error, ENOENT);
    p.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p.listener, (struct sockaddr *)&p.address.storage, p.address.length), 0);
    assert_int_equal(listen(p.listener, 0), 0);
    link_dial(&first, &p.scene, &p.address);
    assert_non_null(first.stream);
    assert_int_equal(first.ups, 0); /* connected already, but reported in a turn */
    link_dial(&link, &p.scene, &p.address);
    assert_null(link.stream);
    assert_int_equal(link.error, EAGAIN);
    SCENE_UNTIL(&p.scene, first.ups == 1);
    link_close(&first);
    end(&p);
    unlink(path);
    rmdir(folder);
}

/* -- Room -- */

static char big[BIG];
static size_t sent;

static void send_more(struct link *link) {
    size_t taken = link_write(link, big + sent, BIG - sent);
    sent += taken;
}

PLACE_TEST(partial_writes_and_room) {
    struct link link = {.on_room = send_more};
    size_t got = 0;
    static char in[65536];
    for (size_t i = 0; i < BIG; i++) {
        big[i] = (char)(i * 7 + i / 251);
    }
    sent = 0;
    int peer = link_open(&link, &p->scene, p->listener, &p->address);
    send_more(&link);
    assert_true(sent > 0 && sent < BIG);
    scene_run_ms(&p->scene, 50);
    assert_int_equal(link.rooms, 0); /* the peer has read nothing */
    while (got < BIG) {
        ssize_t n = recv(peer, in, sizeof in, MSG_DONTWAIT);
        assert_true(n != 0 && (n > 0 || errno == EAGAIN));
        if (n > 0) {
            assert_memory_equal(in, big + got, (size_t)n);
            got += (size_t)n;
        }
        uv_run(&p->scene.loop, UV_RUN_NOWAIT);
    }
    assert_true(link.rooms > 0);
    assert_int_equal(sent, BIG);
    int rooms = link.rooms;
    scene_run_ms(&p->scene, 30);
    assert_true(link.rooms <= rooms + 1); /* not again and again */
    link_close(&link);
    close(peer);
}

/* -- Delayed errors -- */

static void close_other(struct link *link) {
    if (link->other->stream != NULL) {
        link_close(link->other);
    }
    link_close(link);
}

/* The peer has closed. */
static void write_until_it_fails(struct link *link) {
    uint64_t end_ns = redlock_now_ns() + PATIENCE_NS;
    while (link_write(link, "x", 1) == 1) {
        assert_true(redlock_now_ns() < end_ns);
    }
    assert_int_equal(link_write(link, "x", 1), 0); /* later writes take nothing */
    assert_int_equal(link->ends, 0);
}

static void break_both(struct link *a, struct link *b) {
    for (int i = 0; i < 2; i++) {
        struct link *link = i == 0 ? a : b;
        write_until_it_fails(link);
    }
}

PLACE_TEST(several_with_an_error) {
    for (int closes = 0; closes < 2; closes++) {
        struct link a = {.on_end = closes ? close_other : NULL};
        struct link b = {.on_end = a.on_end, .other = &a};
        a.other = &b;
        int peers[2] = {link_open(&a, &p->scene, p->listener, &p->address),
                        link_open(&b, &p->scene, p->listener, &p->address)};
        peer_reset(peers[0]);
        peer_reset(peers[1]);
        break_both(&a, &b);
        SCENE_UNTIL(&p->scene, a.ends + b.ends == (closes ? 1 : 2));
        scene_run_ms(&p->scene, 30);
        assert_int_equal(a.ends + b.ends, closes ? 1 : 2);
        assert_true((a.ends == 0 || a.error != 0) && (b.ends == 0 || b.error != 0));
        if (!closes) {
            link_close(&a);
            link_close(&b);
        }
    }
}

/* A write error is reported in the next turn, and the loop does not block before it. */
PLACE_TEST(a_failed_write_ends_in_a_turn) {
    struct link link = {0};
    int peer = link_open(&link, &p->scene, p->listener, &p->address);
    peer_reset(peer);
    write_until_it_fails(&link);
    assert_int_equal(uv_backend_timeout(&p->scene.loop), 0);
    uv_run(&p->scene.loop, UV_RUN_NOWAIT);
    assert_int_equal(link.ends, 1);
    assert_true(link.error == ECONNRESET || link.error == EPIPE);
    link_close(&link);
}

static void close_on_bytes(struct link *link, const char *bytes, size_t length) {
    (void)bytes, (void)length;
    link_close(link);
}

/* Data that the peer sent before it closed is delivered first, even if it was unread at the
 * write. */
PLACE_TEST(a_failed_write_is_told_after_what_came_before) {
    for (int closes = 0; closes < 2; closes++) {
        struct link link = {.on_bytes = closes ? close_on_bytes : NULL};
        int peer = link_open(&link, &p->scene, p->listener, &p->address);
        peer_send(peer, "answer", 6);
        peer_reset(peer);
        write_until_it_fails(&link);
        SCENE_UNTIL(&p->scene, link.ends == 1 || link.stream == NULL);
        assert_int_equal(link.received, 6);
        assert_int_equal(link.ends, !closes);
        if (!closes) {
            assert_true(link.error == ECONNRESET || link.error == EPIPE);
            link_close(&link);
        }
    }
}

/* -- Closing anywhere -- */

static void close_other_on_bytes(struct link *link, const char *bytes, size_t length) {
    (void)bytes, (void)length;
    if (link->other->stream != NULL) {
        link_close(link->other);
    }
}

PLACE_TEST(closes_itself) {
    struct link at_up = {.on_up = link_close}, at_bytes = {.on_bytes = close_on_bytes};
    struct link at_room = {.on_room = link_close}, at_end = {.on_end = link_close};
    int peers[4] = {link_open(&at_up, &p->scene, p->listener, &p->address),
                    link_open(&at_bytes, &p->scene, p->listener, &p->address),
                    link_open(&at_room, &p->scene, p->listener, &p->address),
                    link_open(&at_end, &p->scene, p->listener, &p->address)};
    assert_null(at_up.stream);
    peer_send(peers[1], "ab", 2);
    close(peers[1]);
    assert_true(link_write(&at_room, big, BIG) < BIG);
    peer_send(peers[2], "cd", 2);
    close(peers[3]);
    SCENE_UNTIL(&p->scene, at_bytes.stream == NULL && at_end.stream == NULL);
    static char in[65536];
    while (at_room.stream != NULL) {
        (void)!recv(peers[2], in, sizeof in, MSG_DONTWAIT);
        scene_run_once(&p->scene);
    }
    scene_run_ms(&p->scene, 30);
    close(peers[0]);
    close(peers[2]);
}

/* Two streams have bytes in the same poll: the first one's event closes the other, and the number
 * of the closed socket is reused at once. */
PLACE_TEST(closes_another) {
    for (int i = 0; i < 20; i++) {
        struct link a = {.on_bytes = close_other_on_bytes};
        struct link b = {.on_bytes = close_other_on_bytes, .other = &a};
        struct link next = {0};
        a.other = &b;
        int peers[2] = {link_open(&a, &p->scene, p->listener, &p->address),
                        link_open(&b, &p->scene, p->listener, &p->address)};
        peer_send(peers[0], "x", 1);
        peer_send(peers[1], "x", 1);
        SCENE_UNTIL(&p->scene, a.stream == NULL || b.stream == NULL);
        assert_int_equal(a.received + b.received, 1);
        int peer = link_open(&next, &p->scene, p->listener, &p->address);
        scene_run_once(&p->scene);
        assert_int_equal(a.received + b.received, 1);
        assert_int_equal(next.received, 0);
        link_close(&next);
        link_close(a.stream != NULL ? &a : &b);
        close(peer);
        close(peers[0]);
        close(peers[1]);
    }
}

/* -- What had arrived -- */

/* A turn reads one piece of each stream. While more is unread, heard() does not advance; but an
 * endless peer does not stop it for ever. */
PLACE_TEST(heard_waits_for_what_is_unread) {
    struct link link = {0};
    int peer = link_open(&link, &p->scene, p->listener, &p->address);
    scene_run_ms(&p->scene, 5);
    peer_send(peer, big, 100000);
    uint64_t sent_ns = scene_now_ns(&p->scene);
    uv_run(&p->scene.loop, UV_RUN_NOWAIT);
    assert_true(link.received > 0 && link.received < 100000);
    assert_true(p->scene.world->ops->heard_ns(p->scene.world) < sent_ns);
    SCENE_UNTIL(&p->scene, link.received == 100000);
    scene_run_once(&p->scene);
    assert_true(p->scene.world->ops->heard_ns(p->scene.world) >= sent_ns);
    int advanced = 0;
    for (int i = 0; i < 100; i++) {
        while (send(peer, big, 65536, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        }
        uint64_t before_ns = p->scene.world->ops->heard_ns(p->scene.world);
        uv_run(&p->scene.loop, UV_RUN_NOWAIT);
        advanced += p->scene.world->ops->heard_ns(p->scene.world) > before_ns;
    }
    assert_true(advanced >= 3);
    link_close(&link);
    close(peer);
}
