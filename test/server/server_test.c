/* What of the server in memory no history of the simulator would miss. That its answers are Redis's
 * is shown by differential_test.c; its hooks, evictions and pieces by the simulator. */
#include "server/server.h"

#include "testing.h"

#define BEGIN_US UINT64_C(1700000000000000)

TEST(keeps_thousands_of_keys) {
    struct server *server = server_new(1, BEGIN_US);
    char name[32];
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < 5000; i++) {
            int length = snprintf(name, sizeof name, "key-%u", i);
            server_put(server, i % 3, name, (size_t)length, name, (size_t)length, SERVER_NEVER_MS);
        }
        assert_int_equal(server_count(server, BEGIN_US), 5000);
        for (uint32_t i = turn % 2; i < 5000; i += 2) {
            int length = snprintf(name, sizeof name, "key-%u", i);
            assert_string_equal(
                server_get(server, i % 3, name, (size_t)length, BEGIN_US)->value.data, name);
            assert_null(server_get(server, (i + 1) % 3, name, (size_t)length, BEGIN_US));
            server_remove(server, i % 3, name, (size_t)length);
        }
        assert_int_equal(server_count(server, BEGIN_US), 2500);
    }
    server_put(server, 0, "", 0, "", 0, SERVER_NEVER_MS);
    assert_int_equal(server_get(server, 0, "", 0, BEGIN_US)->value.length, 0);
    server_free(server);
}

static void put(struct server *server, const char *name, const char *value, uint64_t expires_ms) {
    server_put(server, 0, name, strlen(name), value, strlen(value), expires_ms);
}

TEST(copies_keys_for_a_replica) {
    struct server *server = server_new(1, BEGIN_US);
    struct server_keys past = {.size = 0};
    put(server, "k", "v", BEGIN_US / 1000 + 1000);
    server_keys_copy(&past, &server->keys);
    put(server, "k", "w", SERVER_NEVER_MS);
    put(server, "l", "w", SERVER_NEVER_MS);
    server_restart(server, 2, BEGIN_US, &past);
    const struct server_key *key = server_get(server, 0, "k", 1, BEGIN_US);
    assert_string_equal(key->value.data, "v");
    assert_int_equal(key->expires_ms, BEGIN_US / 1000 + 1000);
    assert_int_equal(server_count(server, BEGIN_US), 1);
    server_keys_free(&past);
    server_free(server);
}

TEST(lets_keys_end_early) {
    struct server *server = server_new(1, BEGIN_US);
    put(server, "k", "v", BEGIN_US / 1000 + 1000);
    assert_int_equal(server_count(server, BEGIN_US + 1000000), 1);
    server->ends_early = true;
    assert_int_equal(server_count(server, BEGIN_US + 1000000), 0);
    server_free(server);
}

/* Scripts of a client that redlock conform tests. */
TEST(answers_odd_scripts) {
    static const struct {
        const char *script, *answer;
    } rows[] = {
        {"local t = {} t[1] = t return t", "\r\n-ERR reached lua stack limit\r\n"},
        {"return setmetatable({}, {__index = function() error('no') end})", "*0\r\n"},
        {"return {ok = string.rep('x', 1000)}", "xxxx\r\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct server *server = server_new(1, BEGIN_US);
        struct server_connection *connection = server_connect(server, NULL);
        char wire[200];
        int length = snprintf(wire, sizeof wire, "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
                              strlen(rows[i].script), rows[i].script);
        server_receive(connection, wire, (size_t)length, BEGIN_US);
        assert_non_null(strstr(connection->output.data, rows[i].answer));
        server_disconnect(connection);
        server_free(server);
    }
    server_forget_compiled();
}
