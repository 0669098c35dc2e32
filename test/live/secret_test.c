/* No copy of a password stays in memory once the client is closed, or has another one: not on the
 * heap, not on a stack, not in memory that hiredis freed. A separate process (this program, run
 * again) opens a client, uses it, closes it, and then searches all its writable memory. It gets the
 * password in a masked form, which the search does not find.
 *
 * The process binds its calls when it starts. With lazy binding the dynamic linker saves all
 * registers on the stack at the first call, with the end of a password that memcpy() has just
 * moved; this library is linked without it, but not every hiredis and libuv is. */
#include <inttypes.h>

#include "child.h"
#include "live/live.h"

/* The search looks for the end of the password, which is long, so that later commands in a reused
 * buffer do not overwrite all of it. */
#define LEAD                                                              \
    "0123456789012345678901234567890123456789012345678901234567890123456" \
    "0123456789012345678901234567890123456789012345678901234567890123456" \
    "0123456789012345678901234567890123456789012345678901234567890123456" \
    "0123456789012345678901234567890123456789012345678901234567890123456"
#define PASSWORD LEAD "hunter2-and-a-good-deal-more"
#define SOUGHT 28 /* bytes */
#define MASK 0x55
#define MAP_MAX (UINT64_C(1) << 30) /* larger ones are the sanitizers' */
#define URL_MAX 512
#define CHECK(condition)                 \
    do {                                 \
        if (!(condition)) {              \
            _exit(100 + __LINE__ % 100); \
        }                                \
    } while (0)

/* -- The process that looks -- */

static unsigned char masked[sizeof(PASSWORD)]; /* the password, each byte with MASK */
static size_t masked_length;

static void unmask(char *out) {
    for (size_t i = 0; i < masked_length; i++) {
        out[i] = (char)(masked[i] ^ MASK);
    }
}

/* Zeroes memory in a way that the compiler does not remove. */
static void wipe(void *memory, size_t size) {
    volatile char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = 0;
    }
}

static size_t count_in(const unsigned char *bytes, size_t size) {
    size_t count = 0;
    const unsigned char *sought = masked + masked_length - SOUGHT;
    const unsigned char *at = bytes, *end = bytes + size;
    while (end - at >= SOUGHT &&
           (at = memchr(at, sought[0] ^ MASK, (size_t)(end - at) - SOUGHT + 1)) != NULL) {
        size_t same = 0;
        while (same < SOUGHT && (at[same] ^ MASK) == sought[same]) {
            same++;
        }
        count += same == SOUGHT;
        at++;
    }
    return count;
}

/* Searches all memory that is readable and writable. */
static int count_copies(void) {
    static unsigned char page[65536 + SOUGHT - 1];
    size_t count = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    FILE *memory = fopen("/proc/self/mem", "r");
    CHECK(maps != NULL && memory != NULL);
    setvbuf(memory, NULL, _IONBF, 0);
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t from, to;
        char rights[5];
        CHECK(sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) == 3);
        bool is_looked_at = strncmp(rights, "rw", 2) == 0 && to - from < MAP_MAX;
        for (uintptr_t at = from; is_looked_at && at < to; at += 65536) {
            size_t left = to - at < sizeof page ? to - at : sizeof page;
            CHECK(fseeko(memory, (off_t)at, SEEK_SET) == 0);
            count += count_in(page, fread(page, 1, left, memory));
        }
    }
    fclose(maps);
    fclose(memory);
    wipe(page, sizeof page);
    return count < 90 ? (int)count : 90;
}

static void stop_cb(redlock_lock *lock, int status, void *data) {
    CHECK(status == 0);
    uv_stop(data);
}

static void opened_cb(redlock_client *client, int status, void *data) {
    (void)status; /* some clients are refused by every node */
    uv_stop(data);
}

static bool is_settled(redlock_client *client) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    CHECK(redlock_client_stats(client, &stats) == 0);
    return stats.credentials_pending == 0;
}

/* Gives the client another password; it is still open when the search for the first one runs. */
static int rotate(redlock_client *client, uv_loop_t *loop, char urls[][URL_MAX], size_t n) {
    wipe(urls, n * URL_MAX);
    CHECK(redlock_client_set_credentials(client, REDLOCK_ALL_NODES, NULL, "another") == 0);
    while (!is_settled(client)) {
        uv_run(loop, UV_RUN_ONCE);
    }
    return count_copies();
}

/* Opens a client with these URLs, uses it if the nodes accept it, and closes it. Returns how many
 * copies were found after a rotation. */
static int use(char urls[][URL_MAX], size_t n, bool is_let_in, bool is_rotated) {
    int found = 0;
    uv_loop_t loop;
    redlock_client *client;
    redlock_lock *lock;
    const char *nodes[LIVE_NODES_MAX];
    for (size_t i = 0; i < n; i++) {
        nodes[i] = urls[i];
    }
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_lock_options lock_options = REDLOCK_LOCK_OPTIONS_INIT;
    const redlock_bytes name = {"key", 3};
    options.nodes = nodes;
    options.n_nodes = n;
    options.guard = REDLOCK_GUARD_OFF;
    lock_options.resources = &name;
    lock_options.n_resources = 1;
    CHECK(uv_loop_init(&loop) == 0);
    CHECK(redlock_client_open(&client, &loop, &options, opened_cb, &loop) == 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    if (is_rotated) {
        found = rotate(client, &loop, urls, n);
    }
    if (is_let_in) {
        CHECK(redlock_lock_new_with(client, &lock_options, &lock, NULL, 0) == 0);
        CHECK(redlock_acquire(lock, NULL, stop_cb, &loop) == 0);
        uv_run(&loop, UV_RUN_DEFAULT);
        CHECK(redlock_release(lock, stop_cb, &loop) == 0);
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    CHECK(redlock_client_close(client, NULL, NULL) == 0);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&loop) == 0);
    return found;
}

/* arguments: "in", "out" or "rotated", the masked password in hexadecimal, ports. */
static int look(int argc, char **argv) {
    static char urls[LIVE_NODES_MAX][URL_MAX];
    masked_length = strlen(argv[2]) / 2;
    CHECK(masked_length < sizeof masked);
    for (size_t i = 0; i < masked_length; i++) {
        const char digits[3] = {argv[2][2 * i], argv[2][2 * i + 1], '\0'};
        masked[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    for (int i = 3; i < argc; i++) {
        char *at = urls[i - 3];
        memcpy(at, "redis://default:", 16);
        unmask(at + 16);
        CHECK(snprintf(at + 16 + masked_length, 40, "@127.0.0.1:%s", argv[i]) > 0);
    }
    CHECK(count_copies() >= argc - 3); /* the search finds copies that exist */
    bool is_rotated = strcmp(argv[1], "rotated") == 0;
    int found = use(urls, (size_t)argc - 3, strcmp(argv[1], "out") != 0, is_rotated);
    if (is_rotated) {
        return found != 0 ? found : count_copies();
    }
    redlock_client *client;
    uv_loop_t loop;
    const char *broken = urls[0];
    urls[0][strlen(urls[0]) - 1] = 'x'; /* no port any more */
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = &broken;
    options.n_nodes = 1;
    CHECK(uv_loop_init(&loop) == 0);
    CHECK(redlock_client_open(&client, &loop, &options, NULL, NULL) == REDLOCK_ERR_URL);
    CHECK(uv_loop_close(&loop) == 0);
    wipe(urls, sizeof urls);
    return count_copies();
}

/* -- The test -- */

static int run(struct live *live, const char *how, const char *password, size_t n) {
    char hex[2 * sizeof(masked) + 1] = "", ports[LIVE_NODES_MAX][8];
    char *argv[4 + LIVE_NODES_MAX] = {(char[]){"secret_test"}, (char *)(uintptr_t)how, hex};
    for (size_t i = 0; password[i] != '\0'; i++) {
        snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)(password[i] ^ MASK));
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(ports[i], sizeof ports[i], "%d", live_port(live, i));
        argv[3 + i] = ports[i];
    }
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("MALLOC_PERTURB_"); /* it would overwrite what is freed */
        setenv("LD_BIND_NOW", "1", 1);
        execv("/proc/self/exe", argv);
        _exit(99);
    }
    return child_exit_code(pid);
}

static void start(struct live *live) {
    const char *args[] = {"--requirepass", PASSWORD, NULL};
    live->password = PASSWORD;
    live_start(live, 3, args);
}

LIVE_TEST(after_use) {
    start(live);
    assert_int_equal(run(live, "in", PASSWORD, 3), 0);
}

/* Once a node has accepted a new password, no copy of the old one is left. */
LIVE_TEST(after_a_rotation) {
    start(live);
    live_tell_all(live, "ACL SETUSER default >another");
    assert_int_equal(run(live, "rotated", PASSWORD, 3), 0);
}

LIVE_TEST(after_a_wrong_one) {
    start(live);
    assert_int_equal(run(live, "out", LEAD "not-hunter2-or-anything-near", 3), 0);
}

LIVE_TEST(with_nodes_that_are_down) {
    start(live);
    live_kill(live, 1);
    live_pause(live, 2);
    assert_int_equal(run(live, "out", PASSWORD, 3), 0);
    live_resume(live, 2);
}

int main(int argc, char **argv) {
    if (argc > 3) {
        return look(argc, argv);
    }
    return test_run(0);
}
