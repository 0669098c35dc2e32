/* On a call from another thread than the loop's, a debug build ends the program and names the
 * function. Each call is tried in a separate process. Handing over a client with its loop is
 * allowed. */

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "fake/five.h"
#include "messages.h"
#include "redlock/redlock.h"
#include "redlock/token.h"

#define NOWHERE "redis://127.0.0.1:1"

struct shared {
    uv_loop_t loop;
    redlock_client *client;
    redlock_lock *lock;
    void (*call)(struct shared *s);
};

static void ignore_lock(redlock_lock *lock, int status, void *data) {
    (void)lock, (void)status, (void)data;
}

static void ignore_query(redlock_query *query, int status, void *data) {
    (void)query, (void)status, (void)data;
}

static void acquire(struct shared *s) {
    redlock_acquire(s->lock, NULL, ignore_lock, NULL);
}

static void release(struct shared *s) {
    redlock_release(s->lock, ignore_lock, NULL);
}

static void is_valid(struct shared *s) {
    redlock_lock_is_valid(s->lock);
}

static void lock_new(struct shared *s) {
    redlock_lock *lock;
    redlock_lock_new(s->client, "x", 1, &lock);
}

static void lock_free(struct shared *s) {
    redlock_lock_free(s->lock);
}

static void message(struct shared *s) {
    CLIENT_MESSAGE(s->client);
}

static void stats(struct shared *s) {
    redlock_stats figures = REDLOCK_STATS_INIT;
    redlock_client_stats(s->client, &figures);
}

static void query(struct shared *s) {
    redlock_query_holder(s->client, "x", 1, ignore_query, NULL);
}

static void close_client(struct shared *s) {
    redlock_client_close(s->client, NULL, NULL);
}

static void open_client(struct shared *s) {
    static const char *const nodes[] = {NOWHERE};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = nodes;
    options.n_nodes = 1;
    if (uv_loop_init(&s->loop) != 0 ||
        redlock_client_open(&s->client, &s->loop, &options, NULL, NULL) != 0 ||
        redlock_lock_new(s->client, "key", 3, &s->lock) != 0) {
        _exit(9);
    }
}

static void in_another(void *data) {
    struct shared *s = data;
    s->call(s);
}

static void run_thread(void (*body)(void *), struct shared *s) {
    uv_thread_t thread;
    if (uv_thread_create(&thread, body, s) != 0 || uv_thread_join(&thread) != 0) {
        _exit(8);
    }
}

/* Runs body in a separate process. Returns its wait status, and its output. */
static int in_a_process(void (*body)(struct shared *s), struct shared *s, char text[256]) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        body(s);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, 255 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void misuse(struct shared *s) {
    open_client(s);
    uv_run(&s->loop, UV_RUN_NOWAIT);
    run_thread(in_another, s);
}

TEST(names_the_function) {
    static const struct {
        void (*call)(struct shared *s);
        const char *name;
    } calls[] = {
        {acquire, "redlock_acquire()"},           {release, "redlock_release()"},
        {is_valid, "redlock_lock_is_valid()"},    {lock_new, "redlock_lock_new_with()"},
        {lock_free, "redlock_lock_free()"},       {message, "redlock_client_message()"},
        {stats, "redlock_client_stats()"},        {query, "redlock_query_holder()"},
        {close_client, "redlock_client_close()"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct shared s = {.call = calls[i].call};
        char text[256];
        int status = in_a_process(misuse, &s, text);
#ifdef NDEBUG
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        if (strstr(text, calls[i].name) == NULL) {
            fail_msg("\"%s\" does not name %s", text, calls[i].name);
        }
#endif
    }
}

static void use_and_close(void *data) {
    struct shared *s = data;
    for (int i = 0; i < 3; i++) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
    }
    acquire(s);
    is_valid(s);
    stats(s);
    close_client(s);
    if (uv_run(&s->loop, UV_RUN_DEFAULT) != 0 || uv_loop_close(&s->loop) != 0) {
        _exit(7);
    }
}

static void hand_over(struct shared *s) {
    open_client(s);
    acquire(s);
    run_thread(use_and_close, s);
}

static void hand_over_later(struct shared *s) {
    open_client(s);
    uv_run(&s->loop, UV_RUN_NOWAIT);
    acquire(s);
    run_thread(use_and_close, s);
}

/* The loop decides which thread owns the client. */
TEST(may_be_handed_over) {
    struct shared s = {.call = NULL};
    char text[256];
    assert_int_equal(in_a_process(hand_over, &s, text), 0);
    assert_int_equal(in_a_process(hand_over_later, &s, text), 0);
    assert_string_equal(text, "");
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    struct five_done *lost = data;
    lost->calls++;
    lost->status = status;
    assert_int_equal(redlock_lock_is_valid(lock), 0); /* a call */
}

/* Longer than the lock is valid. */
static void work_cb(uv_idle_t *idle) {
    uint64_t until_ns = redlock_now_ns() + UINT64_C(300) * 1000000;
    while (redlock_now_ns() < until_ns) {
    }
    uv_close((uv_handle_t *)idle, NULL);
}

static void turn_once(void *data) {
    struct five *f = data;
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

/* The client reports a loss in its new thread before it has polled there. */
FIVE_TEST_OPEN(may_be_told_of_a_loss_at_once) {
    struct five_done acquired = {0};
    uv_idle_t idle;
    uv_thread_t thread;
    redlock_acquire_options once = five_one_try(f);
    once.ttl_ms = 200;
    once.on_lost = lost_cb;
    once.lost_data = &f->lost;
    assert_int_equal(redlock_acquire(f->lock, &once, five_on_lock, &acquired), 0);
    assert_int_equal(five_wait(f, &acquired), 0);
    five_wait_repaid(f);
    five_run_ms(f, 20);
    uv_idle_init(&f->loop, &idle);
    uv_idle_start(&idle, work_cb);
    assert_int_equal(uv_thread_create(&thread, turn_once, f), 0);
    uv_thread_join(&thread);
    assert_int_equal(f->lost.calls, 1);
    five_run_ms(f, 20); /* back again */
}
