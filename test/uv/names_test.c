/* Names, with a getaddrinfo() of the test's own that returns when the test lets it: a name's
 * addresses, and a look-up that outlives its owner. (A name that nobody knows: live/address.) */
#include "uv/scene.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

/* -- Called by libuv's thread -- */

static uv_sem_t gate;  /* posted: one look-up may return */
static uv_sem_t begun; /* posted by each look-up that has begun */
static bool is_gated;

/* Returns the same two addresses twice, without a name server. */
int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict list) {
    static struct sockaddr_in at[2];
    static struct addrinfo found[4];
    (void)node, (void)hints;
    if (is_gated) {
        uv_sem_post(&begun);
        uv_sem_wait(&gate);
    }
    for (size_t i = 0; i < 4; i++) {
        at[i % 2].sin_family = AF_INET;
        at[i % 2].sin_port = htons((uint16_t)strtol(service, NULL, 10));
        at[i % 2].sin_addr.s_addr = htonl(INADDR_LOOPBACK + (in_addr_t)(i % 2));
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_addr = (struct sockaddr *)&at[i % 2],
                                     .ai_addrlen = sizeof at[0],
                                     .ai_next = i < 3 ? &found[i + 1] : NULL};
    }
    *list = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list) {
    (void)list; /* static */
}

/* -- Their owner -- */

struct look {
    struct scene *scene;
    void *resolving;
    int answers;
    uint32_t n;
    struct rl_address addresses[RL_ADDRESSES_MAX];
};

static void on_resolved(void *owner, const struct rl_address *addresses, uint32_t n,
                        const char *error) {
    struct look *look = owner;
    assert_int_equal(look->scene->calls, 0);
    assert_non_null(look->resolving);
    look->resolving = NULL;
    look->answers++;
    look->n = n;
    memcpy(look->addresses, addresses, n * sizeof *addresses);
}

static void begin(struct look *look, struct scene *scene, uint16_t port) {
    char host[] = "node.example";
    const char *error = NULL;
    *look = (struct look){.scene = scene};
    scene->calls++;
    look->resolving =
        scene->world->ops->resolve(scene->world, host, port, on_resolved, look, &error);
    scene->calls--;
    memset(host, 'x', sizeof host); /* it was copied */
    assert_non_null(look->resolving);
}

static void forget(struct look *look) {
    void *resolving = look->resolving;
    look->resolving = NULL;
    look->scene->calls++;
    look->scene->world->ops->forget(look->scene->world, resolving);
    look->scene->calls--;
}

static int set_up(void **state) {
    is_gated = false;
    return uv_sem_init(&gate, 0) || uv_sem_init(&begun, 0);
}

static int tear_down(void **state) {
    uv_sem_destroy(&gate);
    uv_sem_destroy(&begun);
    return 0;
}

/* -- The tests -- */

TEST_WITH(addresses_with_the_port, set_up, tear_down) {
    struct scene s;
    struct look look;
    scene_start(&s);
    begin(&look, &s, 6380);
    assert_int_equal(look.answers, 0);
    SCENE_UNTIL(&s, look.answers == 1);
    assert_int_equal(look.n, 2); /* each once */
    for (uint32_t i = 0; i < 2; i++) {
        struct sockaddr_in at;
        assert_int_equal(look.addresses[i].length, sizeof at);
        memcpy(&at, &look.addresses[i].storage, sizeof at);
        assert_int_equal(ntohs(at.sin_port), 6380);
        assert_int_equal(ntohl(at.sin_addr.s_addr), INADDR_LOOPBACK + i);
    }
    scene_end(&s);
}

/* No event comes for a forgotten look-up, whether it has begun or waits for a thread. */
TEST_WITH(forgotten, set_up, tear_down) {
    struct scene s;
    struct look looks[8];
    scene_start(&s);
    is_gated = true;
    for (size_t i = 0; i < 8; i++) {
        begin(&looks[i], &s, 6379); /* the pool has four threads */
    }
    uv_sem_wait(&begun);
    for (size_t i = 0; i < 7; i++) {
        forget(&looks[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        uv_sem_post(&gate);
    }
    SCENE_UNTIL(&s, looks[7].answers == 1);
    scene_end(&s); /* on_resolved() fails for the others */
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(looks[i].answers, 0);
    }
}

/* The world waits for the thread, and `closed` is still the last event. */
TEST_WITH(closed_while_it_looks, set_up, tear_down) {
    struct scene s;
    struct look look;
    scene_start(&s);
    is_gated = true;
    begin(&look, &s, 6379);
    uv_sem_wait(&begun);
    forget(&look);
    scene_close_world(&s);
    for (int i = 0; i < 10; i++) {
        uv_run(&s.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(s.closed, 0);
    uv_sem_post(&gate);
    scene_end(&s);
    assert_int_equal(look.answers, 0);
}
