/* The fake node itself: it answers like Redis, and departs from that exactly as the test says. The
 * client here is a bare socket that is read between two turns of the loop. */
#include "server/fake_node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "redis/command.h"

#define PATIENCE_NS 10000000000u

struct fixture {
    uv_loop_t loop;
    struct fake_node *node;
    int fd;
};

static void turn(struct fixture *f) {
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

/* -- The bare client -- */

static int connect_to(const struct fake_node *node) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    unsigned port = (unsigned)strtoul(strrchr(fake_node_url(node), ':') + 1, NULL, 10);
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        assert_true(errno == EINPROGRESS || errno == ECONNREFUSED);
    }
    return fd;
}

/* Sends the words as one command. */
static void say(struct fixture *f, const char *const *words) {
    struct bytes wire = {NULL, 0, 0};
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    bytes_append_format(&wire, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        bytes_append_format(&wire, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    }
    assert_int_equal(send(f->fd, wire.data, wire.length, MSG_NOSIGNAL), wire.length);
    bytes_free(&wire);
}

#define SAY(f, ...) say(f, (const char *const[]){__VA_ARGS__, NULL})

/* Reads exactly what is expected and nothing behind it. Returns how many reads it took. */
static size_t expect(struct fixture *f, const char *wanted) {
    char got[4096];
    size_t used = 0, reads = 0, length = strlen(wanted);
    uint64_t end_ns = uv_hrtime() + PATIENCE_NS;
    assert_true(length < sizeof(got));
    while (used < length && uv_hrtime() < end_ns) {
        turn(f);
        ssize_t n = recv(f->fd, got + used, sizeof(got) - 1 - used, 0);
        if (n > 0) {
            used += (size_t)n;
            reads++;
        } else if (n == 0) {
            break;
        }
    }
    got[used] = '\0';
    assert_string_equal(got, wanted);
    return reads;
}

/* Turns the loop for a while; nothing must come. */
static void expect_silence(struct fixture *f, unsigned ms) {
    char byte;
    uint64_t end_ns = uv_hrtime() + ms * UINT64_C(1000000);
    while (uv_hrtime() < end_ns) {
        turn(f);
        assert_int_equal(recv(f->fd, &byte, 1, 0), -1);
        assert_int_equal(errno, EAGAIN);
    }
}

/* Turns the loop until the connection has ended. Returns 0 if in good order, ECONNRESET if not. */
static int expect_end(struct fixture *f) {
    uint64_t end_ns = uv_hrtime() + PATIENCE_NS;
    while (uv_hrtime() < end_ns) {
        char bytes[65536];
        turn(f);
        ssize_t n = recv(f->fd, bytes, sizeof(bytes), 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            return n == 0 ? 0 : errno;
        }
    }
    return ETIMEDOUT;
}

static void reconnect(struct fixture *f) {
    close(f->fd);
    f->fd = connect_to(f->node);
}

static void again(struct fixture *f) { /* a fresh connection and no rules */
    fake_node_clear_rules(f->node);
    reconnect(f);
    SAY(f, "PING");
    expect(f, "+PONG\r\n");
}

static int set_up(void **state) {
    struct fixture *f = calloc(1, sizeof(*f));
    uv_loop_init(&f->loop);
    f->node = fake_node_start(&f->loop);
    f->fd = connect_to(f->node);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    close(f->fd);
    fake_node_close(f->node);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    int leaked = uv_loop_close(&f->loop);
    free(f);
    return leaked;
}

/* -- Redis -- */

static void answers_like_redis(void **state) {
    struct fixture *f = *state;
    SAY(f, "PING");
    expect(f, "+PONG\r\n");
    SAY(f, "SET", "k", "v", "NX", "PX", "60000");
    expect(f, "+OK\r\n");
    fake_node_step_clock(f->node, 59000);
    assert_string_equal(fake_node_get(f->node, "k"), "v");
    fake_node_step_clock(f->node, 1002);
    assert_null(fake_node_get(f->node, "k"));
    assert_int_equal(send(f->fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    expect(f, "-ERR Protocol error: this server knows no inline commands\r\n");
    assert_int_equal(expect_end(f), 0);
}

/* -- Rules -- */

static void replaces_answers(void **state) {
    struct fixture *f = *state;
    fake_node_rule(f->node, (struct fake_rule){.command = "SET",
                                               .skip = 1,
                                               .times = 2,
                                               .action = FAKE_INSTEAD,
                                               .bytes = "-OOM no\r\n"});
    fake_node_rule(f->node,
                   (struct fake_rule){
                       .command = "set", .times = 2, .action = FAKE_REPLACE, .bytes = ":7\r\n"});
    SAY(f, "SET", "a", "v");
    expect(f, ":7\r\n");
    SAY(f, "SET", "b", "v");
    expect(f, "-OOM no\r\n");
    SAY(f, "GET", "b");
    expect(f, "$-1\r\n");
    SAY(f, "SET", "b", "v");
    expect(f, "-OOM no\r\n");
    SAY(f, "SET", "b", "v");
    expect(f, ":7\r\n");
    SAY(f, "SET", "c", "v");
    expect(f, "+OK\r\n");
    assert_non_null(fake_node_get(f->node, "a"));
    assert_non_null(fake_node_get(f->node, "b"));
    fake_node_rule(f->node,
                   (struct fake_rule){.action = FAKE_REPLACE, .bytes = "a\0b", .length = 3});
    SAY(f, "PING");
    char got[4] = "";
    for (int i = 0; i < 1000 && recv(f->fd, got, 3, MSG_PEEK) < 3; i++) {
        turn(f);
    }
    assert_int_equal(recv(f->fd, got, sizeof(got), 0), 3);
    assert_memory_equal(got, "a\0b", 3);
}

static void keeps_silent(void **state) {
    struct fixture *f = *state;
    fake_node_rule(f->node,
                   (struct fake_rule){.command = "SET", .times = 1, .action = FAKE_SWALLOW});
    fake_node_rule(f->node,
                   (struct fake_rule){.command = "SET", .times = 1, .action = FAKE_IGNORE});
    SAY(f, "SET", "a", "v");
    SAY(f, "SET", "b", "v");
    expect_silence(f, 20);
    assert_non_null(fake_node_get(f->node, "a"));
    assert_null(fake_node_get(f->node, "b"));
    assert_int_equal(fake_node_count(f->node, "set"), 2);
}

static void delays_in_order(void **state) {
    struct fixture *f = *state;
    fake_node_rule(f->node, (struct fake_rule){.command = "SET", .times = 1, .delay_ms = 40});
    uint64_t sent_ns = uv_hrtime();
    SAY(f, "SET", "a", "v");
    SAY(f, "GET", "a");
    expect(f, "+OK\r\n$1\r\nv\r\n");
    assert_true(uv_hrtime() - sent_ns >= 40000000);
}

static void ends_connections_as_told(void **state) {
    struct fixture *f = *state;
    static const struct {
        enum fake_action action;
        int end;
        bool executed;
    } rows[] = {
        {FAKE_CLOSE, 0, false},
        {FAKE_EXECUTE_CLOSE, 0, true},
        {FAKE_RESET, ECONNRESET, false},
        {FAKE_EXECUTE_RESET, ECONNRESET, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        server_forget_keys(fake_node_server(f->node));
        again(f);
        fake_node_rule(f->node, (struct fake_rule){.nth = 3, .action = rows[i].action});
        SAY(f, "PING");
        expect(f, "+PONG\r\n");
        SAY(f, "SET", "a", "v");
        SAY(f, "SET", "b", "v");
        assert_int_equal(expect_end(f), rows[i].end);
        assert_int_equal(fake_node_keys(f->node), rows[i].executed ? 1 : 0);
    }
    again(f);
    fake_node_rule(f->node, (struct fake_rule){.command = "GET", .action = FAKE_CUT});
    fake_node_put(f->node, "k", "12345", 0);
    SAY(f, "GET", "k");
    expect(f, "$5\r\n1");
    assert_int_equal(expect_end(f), 0);
    again(f);
    fake_node_rule(f->node, (struct fake_rule){.action = FAKE_CLOSE, .bytes = "-ERR bye\r\n"});
    SAY(f, "GET", "k");
    expect(f, "-ERR bye\r\n");
    assert_int_equal(expect_end(f), 0);
}

static void floods_for_as_long_as_it_is_read(void **state) {
    struct fixture *f = *state;
    fake_node_rule(f->node, (struct fake_rule){.action = FAKE_ENDLESS, .bytes = "$9\r\n"});
    SAY(f, "PING");
    SAY(f, "PING");
    uint64_t got = 0;
    char bytes[65536];
    while (got < 20000000) {
        turn(f);
        ssize_t n = recv(f->fd, bytes, sizeof(bytes), 0);
        assert_true(n > 0 || errno == EAGAIN);
        got += n > 0 ? (uint64_t)n : 0;
    }
    assert_int_equal(fake_node_count(f->node, NULL), 1);
    reconnect(f); /* the old connection closes; the node has to notice */
    for (int i = 0; i < 1000 && fake_node_connections(f->node) != 1; i++) {
        turn(f);
    }
    assert_int_equal(fake_node_connections(f->node), 1);
}

/* -- The whole node -- */

static void writes_in_pieces(void **state) {
    struct fixture *f = *state;
    fake_node_put(f->node, "k", "1234567890", 0);
    fake_node_set_fragment(f->node, 1);
    SAY(f, "GET", "k");
    SAY(f, "PING");
    assert_int_equal(expect(f, "$10\r\n1234567890\r\n+PONG\r\n"), 24);
    fake_node_set_fragment(f->node, 5);
    SAY(f, "GET", "k");
    assert_int_equal(expect(f, "$10\r\n1234567890\r\n"), 4);
    fake_node_set_fragment(f->node, 0);
    SAY(f, "GET", "k");
    assert_int_equal(expect(f, "$10\r\n1234567890\r\n"), 1);
}

static void refuses_and_listens_again(void **state) {
    struct fixture *f = *state;
    struct pollfd watched = {.events = POLLOUT};
    again(f);
    fake_node_refuse(f->node);
    SAY(f, "PING"); /* what is established stays */
    expect(f, "+PONG\r\n");
    reconnect(f);
    assert_int_equal(expect_end(f), ECONNREFUSED);
    fake_node_vanish(f->node);
    reconnect(f);
    watched.fd = f->fd;
    assert_int_equal(poll(&watched, 1, 50), 0);
    fake_node_listen(f->node);
    again(f);
    fake_node_drop(f->node, true);
    assert_int_equal(expect_end(f), ECONNRESET);
    again(f);
    fake_node_drop(f->node, false);
    assert_int_equal(expect_end(f), 0);
    assert_int_equal(fake_node_connections(f->node), 0);
}

static void pauses_like_a_stopped_process(void **state) {
    struct fixture *f = *state;
    again(f);
    fake_node_pause(f->node);
    SAY(f, "SET", "a", "v");
    expect_silence(f, 20);
    assert_int_equal(fake_node_keys(f->node), 0);
    fake_node_resume(f->node);
    expect(f, "+OK\r\n");
    fake_node_pause(f->node);
    SAY(f, "SET", "b", "v");
    reconnect(f); /* and the old connection is closed: its command runs all the same */
    SAY(f, "SET", "c", "v");
    expect_silence(f, 20);
    assert_int_equal(fake_node_keys(f->node), 1);
    fake_node_resume(f->node);
    expect(f, "+OK\r\n");
    assert_int_equal(fake_node_keys(f->node), 3);
    assert_int_equal(fake_node_connections(f->node), 1);
}

static void reads_nothing_while_deaf(void **state) {
    struct fixture *f = *state;
    again(f);
    fake_node_set_deaf(f->node, true);
    SAY(f, "PING");
    expect_silence(f, 20);
    uint64_t before = fake_node_bytes_in(f->node);
    fake_node_set_deaf(f->node, false);
    expect(f, "+PONG\r\n");
    assert_int_equal(fake_node_bytes_in(f->node) - before, 14);
}

static void greets_and_speaks_unasked(void **state) {
    struct fixture *f = *state;
    again(f);
    fake_node_send(f->node, "+OK\r\n", 5);
    expect(f, "+OK\r\n");
    fake_node_send_repeated(f->node, "*1\r\n", 3);
    expect(f, "*1\r\n*1\r\n*1\r\n");
    fake_node_set_greeting(f->node, "-ERR max number of clients reached\r\n", true);
    reconnect(f);
    expect(f, "-ERR max number of clients reached\r\n");
    assert_int_equal(expect_end(f), 0);
    fake_node_set_greeting(f->node, NULL, false);
    again(f);
}

static void restarts_empty(void **state) {
    const char *script = rl_command_script(RL_COMMAND_RELEASE);
    const char *sha1 = rl_command_script_sha1(RL_COMMAND_RELEASE);
    struct fixture *f = *state;
    again(f);
    SAY(f, "SET", "a", "v");
    SAY(f, "EVAL", script, "1", "a", "other");
    SAY(f, "EVALSHA", sha1, "1", "a", "other");
    expect(f, "+OK\r\n:0\r\n:0\r\n");
    fake_node_restart(f->node);
    assert_int_equal(fake_node_keys(f->node), 0);
    assert_int_equal(fake_node_connections(f->node), 0);
    assert_int_equal(expect_end(f), ECONNRESET);
    again(f);
    SAY(f, "EVALSHA", sha1, "1", "a", "other");
    expect(f, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}

/* By the script that it runs, known or not, by its hash or whole. */
static void tells_scripts_apart(void **state) {
    const char *script = rl_command_script(RL_COMMAND_RELEASE);
    const char *sha1 = rl_command_script_sha1(RL_COMMAND_RELEASE);
    struct fixture *f = *state;
    again(f);
    SAY(f, "EVALSHA", sha1, "1", "a", "other");
    expect(f, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    fake_node_rule(f->node, (struct fake_rule){
                                .command = "read", .action = FAKE_INSTEAD, .bytes = "+READ\r\n"});
    fake_node_rule(
        f->node,
        (struct fake_rule){.command = "release", .action = FAKE_INSTEAD, .bytes = "+RELEASE\r\n"});
    SAY(f, "EVAL", script, "1", "a", "other");
    SAY(f, "EVALSHA", sha1, "1", "a", "other");
    SAY(f, "EVALSHA", rl_command_script_sha1(RL_COMMAND_READ), "1", "a");
    SAY(f, "PING");
    expect(f, "+RELEASE\r\n+RELEASE\r\n+READ\r\n+PONG\r\n");
    assert_int_equal(fake_node_count(f->node, "release"), 3);
    assert_int_equal(fake_node_count(f->node, "read"), 1);
    assert_int_equal(fake_node_count(f->node, "EVALSHA"), 3);
    fake_node_clear_rules(f->node);
}

static void remembers_what_came_in(void **state) {
    struct fixture *f = *state;
    again(f);
    size_t first = fake_node_count(f->node, NULL);
    SAY(f, "SET", "a\r\nb", "v");
    SAY(f, "get", "x");
    expect(f, "+OK\r\n$-1\r\n");
    assert_string_equal(fake_node_log(f->node, first), "SET a..b v");
    assert_string_equal(fake_node_log(f->node, first + 1), "get x");
    assert_string_equal(fake_node_log(f->node, first + 2), "");
    assert_int_equal(fake_node_count(f->node, "GET"), 1);
    assert_int_equal(fake_node_count(f->node, "DEL"), 0);
    assert_int_equal(fake_node_accepted(f->node), 2);
    assert_true(fake_node_bytes_out(f->node) > 0);
}

static void listens_on_a_path(void **state) {
    struct fixture *f = *state;
    char path[64];
    snprintf(path, sizeof(path), "/tmp/fake_node_%d.sock", (int)getpid());
    struct fake_node *node = fake_node_start_unix(&f->loop, path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    close(f->fd);
    f->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(f->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    SAY(f, "PING");
    expect(f, "+PONG\r\n");
    assert_string_equal(fake_node_name(node), path);
    fake_node_close(node);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_like_redis, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaces_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_silent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(delays_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_connections_as_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(floods_for_as_long_as_it_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_and_listens_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pauses_like_a_stopped_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_nothing_while_deaf, set_up, tear_down),
        cmocka_unit_test_setup_teardown(greets_and_speaks_unasked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(restarts_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_scripts_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(remembers_what_came_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listens_on_a_path, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("fake_node", tests, NULL, NULL);
}
