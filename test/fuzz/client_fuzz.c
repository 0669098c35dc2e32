/* libFuzzer: any bytes as what one node sends to a whole client, from connecting to closing.
 *
 * Input: messages, separated by bytes of 0xff. The node sends one message in each turn of the loop
 * in which the client has sent something, and one if the client has been silent for a while.
 * Instead of a message "H" it sends an honest handshake, so that the next ones answer SET, the
 * extension and the release. If the first message is "P", the lock takes two permits of three: the
 * next ones answer JOIN, TAKE, the extension and the release.
 *
 * What must hold: each callback comes once, a lock is held only if "+OK" was sent, or the yes of a
 * TAKE, its slots are two of the three, nothing is left on the loop. Sanitizers check memory. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "messages.h"
#include "redlock/redlock.h"
#include "redlock/semaphore.h"

#define PATIENT_TURNS 8 /* the node waits so many turns for the client to send, */
#define TURNS 12        /* and the test so many for a callback */
#define CONNECTIONS_MAX 3
#define SEPARATOR 0xff
#define K 3

struct told {
    int calls, status;
};

static struct {
    uv_loop_t loop;
    int listener;
    char folder[64];
    char path[80];
} world;

static struct { /* the node, reset for each input */
    int fds[CONNECTIONS_MAX];
    size_t n_fds;
    const uint8_t *begin, *next, *end; /* the input */
    bool has_said_ok;
    bool has_permits;
} node;

/* An assertion that NDEBUG does not remove. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

/* -- The node -- */

static void remove_path(void) {
    unlink(world.path);
    rmdir(world.folder);
}

static void prepare(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *folder = getenv("TMPDIR");
    snprintf(world.folder, sizeof(world.folder), "%.40s/client-fuzz.XXXXXX",
             folder != NULL ? folder : "/tmp");
    demand(mkdtemp(world.folder) != NULL);
    snprintf(world.path, sizeof(world.path), "%s/node", world.folder);
    memcpy(address.sun_path, world.path, strlen(world.path));
    world.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    demand(bind(world.listener, (struct sockaddr *)&address, sizeof(address)) == 0);
    demand(listen(world.listener, 16) == 0);
    demand(uv_loop_init(&world.loop) == 0);
    atexit(remove_path);
}

static void node_write(int fd, const void *bytes, size_t size) {
    ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n; /* the client may have closed */
}

/* Sends the next message. */
static void node_say(int fd) {
    static const char handshake[] = "+OK\r\n$1\r\na\r\n$1\r\nb\r\n+PONG\r\n";
    const uint8_t *begin = node.next;
    bool first = begin == node.begin;
    size_t left = (size_t)(node.end - begin);
    const uint8_t *stop = left > 0 ? memchr(begin, SEPARATOR, left) : NULL;
    size_t size = stop != NULL ? (size_t)(stop - begin) : left;
    node.next = stop != NULL ? stop + 1 : node.end;
    if (size == 1 && *begin == 'H') {
        node_write(fd, handshake, strlen(handshake));
        const bool may_answer_set = !first && !node.has_permits;
        node.has_said_ok = node.has_said_ok || may_answer_set;
    } else if (size > 0) {
        node_write(fd, begin, size);
    }
}

static void node_accept(void) {
    int fd = accept4(world.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0 && node.n_fds < CONNECTIONS_MAX) {
        node.fds[node.n_fds++] = fd;
    } else if (fd >= 0) {
        close(fd);
    }
}

/* Sends on the last connection, if the client has sent something or `anyway`. */
static void node_turn(bool anyway) {
    char buffer[4096];
    node_accept();
    if (node.n_fds > 0) {
        int fd = node.fds[node.n_fds - 1];
        if (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0 || anyway) {
            node_say(fd);
        }
    }
}

/* Whether a grant is in the input, perhaps in pieces. */
static bool says(const char *ok, const uint8_t *data, size_t size) {
    size_t found = 0;
    for (size_t i = 0; i < size && ok[found] != '\0'; i++) {
        if (data[i] != SEPARATOR) {
            found = data[i] == ok[found] ? found + 1 : data[i] == ok[0];
        }
    }
    return ok[found] == '\0';
}

static void node_begin(const uint8_t *data, size_t size) {
    memset(&node, 0, sizeof(node));
    node.has_permits = size >= 2 && data[0] == 'P' && data[1] == SEPARATOR;
    if (node.has_permits) {
        data += 2;
        size -= 2;
    }
    node.begin = node.next = data;
    node.end = data + size;
    node.has_said_ok = says(node.has_permits ? "\r\n1 " : "+OK\r\n", data, size);
}

static void node_end(void) {
    for (size_t i = 0; i < node.n_fds; i++) {
        close(node.fds[i]);
    }
    for (int fd; (fd = accept4(world.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        close(fd);
    }
}

/* -- The client -- */

static void on_client(redlock_client *client, int status, void *data) {
    struct told *told = data;
    (void)client;
    told->calls++;
    told->status = status;
}

static void on_lock(redlock_lock *lock, int status, void *data) {
    struct told *told = data;
    (void)lock;
    told->calls++;
    told->status = status;
}

static void turn(const struct told *told) {
    for (int i = 0; i < TURNS && told->calls == 0; i++) {
        uv_run(&world.loop, UV_RUN_NOWAIT);
        node_turn(i >= PATIENT_TURNS);
    }
    uv_run(&world.loop, UV_RUN_NOWAIT);
}

static void check_message(const char *message) {
    demand(strlen(message) < REDLOCK_MESSAGE_MAX);
    for (const char *c = message; *c != '\0'; c++) {
        demand(*c >= 0x20 && *c < 0x7f);
    }
}

static redlock_lock *new_lock(redlock_client *client) {
    redlock_lock *lock = NULL;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    const redlock_bytes name = {"r", 1};
    options.resources = &name;
    options.n_resources = 1;
    options.permits = node.has_permits ? K : 0;
    options.take = 2;
    demand(redlock_lock_new_with(client, &options, &lock, NULL, 0) == 0);
    return lock;
}

static void check_slots(const redlock_lock *lock) {
    const int32_t a = redlock_lock_slot(lock, 0), b = redlock_lock_slot(lock, 1);
    if (node.has_permits) {
        demand(a >= 0 && a < K && b >= 0 && b < K && a != b);
    } else {
        demand(a == REDLOCK_NO_SLOT && b == REDLOCK_NO_SLOT);
    }
    demand(redlock_lock_slot(lock, 2) == REDLOCK_NO_SLOT);
}

/* Returns while operations may be pending. */
static void use(redlock_client *client, struct told told[3], bool submitted[3]) {
    redlock_lock *lock = new_lock(client);
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 0;
    submitted[0] = redlock_acquire(lock, &options, on_lock, &told[0]) == 0;
    demand(submitted[0]);
    turn(&told[0]);
    check_message(LOCK_MESSAGE(lock));
    if (redlock_lock_is_valid(lock)) {
        demand(node.has_said_ok);
        check_slots(lock);
        submitted[1] = redlock_extend(lock, 0, on_lock, &told[1]) == 0;
        turn(&told[1]);
        check_message(LOCK_MESSAGE(lock));
        submitted[2] = redlock_release(lock, on_lock, &told[2]) == 0;
        turn(&told[2]);
    }
    check_message(CLIENT_MESSAGE(client));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct told opened = {0, 0}, closed = {0, 0}, told[3] = {{0, 0}};
    bool submitted[3] = {false};
    char url[128];
    const char *urls[] = {url};
    redlock_client *client = NULL;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    if (world.path[0] == '\0') {
        prepare();
    }
    snprintf(url, sizeof(url), "unix://%s", world.path);
    options.nodes = urls;
    options.guard = REDLOCK_GUARD_OFF; /* info_fuzz.c has what INFO can say */
    options.n_nodes = 1;
    options.node_timeout_ms = 1;
    options.connect_timeout_ms = 50;
    options.reconnect_min_ms = options.reconnect_max_ms = 1;
    node_begin(data, size);
    demand(redlock_client_open(&client, &world.loop, &options, on_client, &opened) == 0);
    turn(&opened);
    use(client, told, submitted);
    demand(redlock_client_close(client, on_client, &closed) == 0);
    node_end();
    uv_run(&world.loop, UV_RUN_DEFAULT);
    demand(!uv_loop_alive(&world.loop));
    demand(opened.calls == 1 && closed.calls == 1 && closed.status == 0);
    for (int i = 0; i < 3; i++) {
        demand(told[i].calls == (submitted[i] ? 1 : 0));
    }
    return 0;
}
