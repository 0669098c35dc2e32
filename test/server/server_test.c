/* The server in memory: what the other tests rely on. differential_test.c shows that its answers
 * are Redis's. A command is one line, with words between single spaces. */
#include "server/server.h"

#include "base/sha1.h"
#include "redis/command.h"
#include "testing.h"

#define BEGIN_US UINT64_C(1700000000000000)
#define LINE_SIZE 1024

struct fixture {
    struct server *server;
    struct server_connection *connection;
    uint64_t now_us;
    char seen[4096]; /* what the hooks saw, a line each */
};

static void begin(struct fixture *f) {
    *f = (struct fixture){.now_us = BEGIN_US, .server = server_new(1, BEGIN_US)};
    f->connection = server_connect(f->server, NULL);
}

static void end(struct fixture *f) {
    while (f->server->first != NULL) {
        server_disconnect(f->server->first);
    }
    server_free(f->server);
}

#define SERVER_TEST(name) TEST_ON(name, struct fixture, f, begin, end)

/* Formats a line as RESP. */
static size_t format(const char *line, char wire[LINE_SIZE]) {
    size_t count = 1, used;
    for (const char *at = line; *at != '\0'; at++) {
        count += *at == ' ';
    }
    used = (size_t)snprintf(wire, LINE_SIZE, "*%zu\r\n", count);
    while (count-- > 0) {
        size_t length = strcspn(line, " ");
        used += (size_t)snprintf(wire + used, LINE_SIZE - used, "$%zu\r\n%.*s\r\n", length,
                                 (int)length, line);
        line += length + 1;
    }
    assert_true(used < LINE_SIZE);
    return used;
}

static void assert_output(struct server_connection *connection, const char *wanted) {
    bytes_append(&connection->output, "", 1);
    assert_string_equal(connection->output.data, wanted);
    connection->output.length = 0;
}

static void say(struct fixture *f, struct server_connection *connection, const char *line) {
    char wire[LINE_SIZE];
    size_t length = format(line, wire);
    server_receive(connection, wire, length, f->now_us);
}

static void assert_reply(struct fixture *f, const char *line, const char *wanted) {
    say(f, f->connection, line);
    assert_output(f->connection, wanted);
}

/* Sends EVALSHA of the script for one resource, with the arguments after its hash. */
static void assert_script(struct fixture *f, enum rl_command_kind kind, const char *args,
                          const char *wanted) {
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "EVALSHA %s %s", rl_command_script_sha1(kind), args);
    assert_reply(f, line, wanted);
}

static void load_scripts(struct fixture *f) {
    const char *sha1, *script;
    for (size_t i = 0; (script = rl_command_script_at(i, &sha1)) != NULL; i++) {
        struct resp_command command = {.count = 3};
        char wanted[64];
        command.args[0] = (struct resp_arg){"SCRIPT", 6};
        command.args[1] = (struct resp_arg){"LOAD", 4};
        command.args[2] = (struct resp_arg){script, strlen(script)};
        snprintf(wanted, sizeof wanted, "$40\r\n%s\r\n", sha1);
        server_execute(f->connection, &command, f->now_us);
        assert_output(f->connection, wanted);
    }
}

/* -- Bytes -- */

SERVER_TEST(takes_commands_in_any_pieces) {
    static const char wire[] =
        "*3\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$1\r\nv\r\n*0\r\n"
        "*2\r\n$3\r\nget\r\n$4\r\na\r\nb\r\n";
    for (size_t piece = 1; piece < sizeof wire; piece++) {
        server_forget_keys(f->server);
        for (size_t at = 0; at < sizeof wire - 1; at += piece) {
            size_t left = sizeof wire - 1 - at;
            server_receive(f->connection, wire + at, left < piece ? left : piece, f->now_us);
        }
        assert_output(f->connection, "+OK\r\n$1\r\nv\r\n");
        assert_int_equal(f->connection->input.length, 0);
    }
}

TEST(hashes_as_the_standard_says) {
    char hex[RL_SHA1_LEN + 1];
    rl_sha1_hex("abc", 3, hex); /* FIPS 180-4's own examples */
    assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
    rl_sha1_hex("", 0, hex);
    assert_string_equal(hex, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    rl_sha1_hex(two_blocks, strlen(two_blocks), hex);
    assert_string_equal(hex, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

/* -- Keys -- */

SERVER_TEST(lets_keys_expire) {
    f->now_us = BEGIN_US + 999;
    assert_reply(f, "SET k v NX PX 60000", "+OK\r\n");
    f->now_us = BEGIN_US + UINT64_C(60000000) - 1;
    assert_reply(f, "PTTL k", ":1\r\n");
    f->now_us += 1000; /* in Redis a key lives through its last millisecond */
    assert_reply(f, "PTTL k", ":0\r\n");
    assert_int_equal(server_count(f->server, f->now_us), 1);
    f->server->ends_early = true;
    assert_int_equal(server_count(f->server, f->now_us), 0);
    f->server->ends_early = false;
    f->now_us += 1;
    assert_int_equal(server_count(f->server, f->now_us), 0);
    assert_null(server_get(f->server, 0, "k", 1, f->now_us));
    assert_reply(f, "SET k w NX PX 60000", "+OK\r\n");
    f->server->is_loading = true;
    assert_non_null(server_get(f->server, 0, "k", 1, f->now_us + UINT64_C(70000000)));
}

SERVER_TEST(keeps_thousands_of_keys) {
    char name[32];
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < 5000; i++) {
            int length = snprintf(name, sizeof name, "key-%u", i);
            server_put(f->server, i % 3, name, (size_t)length, name, (size_t)length,
                       SERVER_NEVER_MS);
        }
        assert_int_equal(server_count(f->server, f->now_us), 5000);
        for (uint32_t i = turn % 2; i < 5000; i += 2) {
            int length = snprintf(name, sizeof name, "key-%u", i);
            assert_string_equal(
                server_get(f->server, i % 3, name, (size_t)length, f->now_us)->value.data, name);
            assert_null(server_get(f->server, (i + 1) % 3, name, (size_t)length, f->now_us));
            server_remove(f->server, i % 3, name, (size_t)length);
        }
        assert_int_equal(server_count(f->server, f->now_us), 2500);
    }
    server_put(f->server, 0, "", 0, "", 0, SERVER_NEVER_MS);
    assert_int_equal(server_get(f->server, 0, "", 0, f->now_us)->value.length, 0);
}

SERVER_TEST(copies_keys_for_a_replica) {
    struct server_keys past = {.size = 0};
    assert_reply(f, "SET k v PX 1000", "+OK\r\n");
    server_keys_copy(&past, &f->server->keys);
    assert_reply(f, "SET k w", "+OK\r\n");
    assert_reply(f, "SET l w", "+OK\r\n");
    server_restart(f->server, 2, f->now_us, &past);
    const struct server_key *key = server_get(f->server, 0, "k", 1, f->now_us);
    assert_string_equal(key->value.data, "v");
    assert_int_equal(key->expires_ms, f->now_us / 1000 + 1000);
    assert_int_equal(key->writer, f->connection->id);
    assert_int_equal(server_count(f->server, f->now_us), 1);
    server_keys_free(&past);
}

SERVER_TEST(evicts_what_its_policy_lets_go) {
    f->server->is_full = true;
    assert_reply(f, "SET a v", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    f->server->is_full = false;
    assert_reply(f, "SET a v", "+OK\r\n");
    assert_reply(f, "SET b v PX 1000", "+OK\r\n");
    assert_false(server_evict(f->server));
    f->server->policy = "volatile-lru";
    f->server->is_full = true;
    assert_reply(f, "SET c v", "+OK\r\n"); /* b went */
    assert_null(server_get(f->server, 0, "b", 1, f->now_us));
    assert_reply(f, "SET d v", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    f->server->policy = "allkeys-lru";
    assert_true(server_evict(f->server));
    assert_true(server_evict(f->server));
    assert_false(server_evict(f->server));
    assert_int_equal(f->server->evicted, 3);
}

/* -- Identity -- */

SERVER_TEST(refuses_more_than_its_clients) {
    f->server->max_clients = 1;
    struct server_connection *second = server_connect(f->server, NULL);
    assert_true(second->ended);
    assert_output(second, "-ERR max number of clients reached\r\n");
    server_disconnect(second);
    assert_reply(f, "PING", "+PONG\r\n");
}

/* -- Hooks -- */

static void see(struct fixture *f, const char *what, const char *which) {
    size_t used = strlen(f->seen);
    snprintf(f->seen + used, sizeof f->seen - used, "%s %s\n", what, which);
}

static void on_changed(void *owner, const struct server_key *key, enum server_change change,
                       const struct server_connection *by) {
    static const char *const names[] = {"set", "expiry", "deleted", "expired", "evicted"};
    char which[64];
    snprintf(which, sizeof which, "%.*s by %u", (int)key->name.length, key->name.data,
             by != NULL ? (unsigned)by->id : 0);
    see(owner, names[change], which);
}

static void on_ran(void *owner, const struct server_ran *ran) {
    char which[64];
    snprintf(which, sizeof which, "%.*s", (int)ran->reply_length - 2, ran->reply);
    see(owner, ran->script != NULL ? ran->script : "ran", which);
}

static const char *on_refuse(void *owner, struct server_connection *connection,
                             const struct resp_command *command) {
    (void)owner;
    (void)connection;
    return resp_is(&command->args[0], "DEL") ? "-ERR not today" : NULL;
}

static void on_told(void *owner, struct server_connection *connection) {
    char which[16];
    snprintf(which, sizeof which, "%u", (unsigned)connection->id);
    see(owner, "told", which);
}

SERVER_TEST(shows_what_happens) {
    static const struct server_hooks hooks = {on_changed, on_ran, on_refuse, on_told};
    struct server_connection *second = server_connect(f->server, NULL);
    load_scripts(f);
    f->server->hooks = &hooks;
    f->server->owner = f;
    say(f, second, "SUBSCRIBE c");
    second->output.length = 0;
    assert_reply(f, "SET k v PX 10", "+OK\r\n");
    assert_script(f, RL_COMMAND_EXTEND, "1 k v 20", ":1\r\n");
    assert_script(f, RL_COMMAND_RELEASE, "1 k v", ":1\r\n");
    assert_reply(f, "DEL k", "-ERR not today\r\n");
    assert_reply(f, "PUBLISH c x", ":1\r\n");
    assert_output(second, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n");
    assert_reply(f, "SET k v PX 10", "+OK\r\n");
    f->now_us += 11000;
    assert_reply(f, "GET k", "$-1\r\n");
    const char *seen = strchr(f->seen, '\n') + 1; /* after SUBSCRIBE's */
    seen = strstr(seen, "set k");
    assert_string_equal(seen,
                        "set k by 1\nran +OK\nexpiry k by 1\nextend :1\ndeleted k by 1\n"
                        "release :1\nran -ERR not today\ntold 2\nran :1\n"
                        "set k by 1\nran +OK\nexpired k by 0\nran $-1\n");
}
