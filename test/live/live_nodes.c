/* The nodes of a live test: their processes and their keys. See live.h. */
#include <sys/time.h>

#include "live/live.h"
#include "live/secure.h"
#include "redis/config.h"

/* -- Processes -- */

void live_start(struct live *live, size_t n, const char *const *args) {
    struct rl_local_nodes_options options = {.n = n, .args = args};
    struct rl_local_nodes *set;
    char error[512];
    assert_true(live->n + n <= LIVE_NODES_MAX && live->n_sets < LIVE_NODES_MAX);
    if (rl_local_nodes_start(&set, &options, error, sizeof(error)) != 0) {
        print_error("%s\n", error);
        fail();
    }
    live->sets[live->n_sets++] = set;
    for (size_t i = 0; i < n; i++, live->n++) {
        live->node[live->n].set = set;
        live->node[live->n].index = i;
        snprintf(live->node[live->n].url, sizeof(live->node[0].url), "%s",
                 rl_local_nodes_urls(set)[i]);
        live->urls[live->n] = live->node[live->n].url;
    }
    if (getenv("REDLOCK_TEST_TLS") != NULL) {
        secure_silently(live, live->n - n);
    }
}

void live_kill(struct live *live, size_t i) {
    rl_local_nodes_kill(live->node[i].set, live->node[i].index);
}

void live_pause(struct live *live, size_t i) {
    assert_int_equal(rl_local_nodes_pause(live->node[i].set, live->node[i].index), 0);
}

void live_resume(struct live *live, size_t i) {
    assert_int_equal(rl_local_nodes_resume(live->node[i].set, live->node[i].index), 0);
}

void live_do(struct live *live, void (*what)(struct live *live, size_t i), size_t first, size_t n) {
    for (size_t i = first; i < first + n; i++) {
        what(live, i);
    }
}

void live_send(struct live *live, size_t first) {
    for (size_t i = first; i < live->n; i++) {
        live_pause(live, i);
    }
    uv_run(&live->loop, UV_RUN_NOWAIT);
    for (size_t i = first; i < live->n; i++) {
        live_resume(live, i);
    }
    for (size_t i = first; i < live->n; i++) {
        live_tell(live, i, "PING"); /* answered after all that was in the node's sockets */
    }
}

int live_port(const struct live *live, size_t i) {
    return rl_local_nodes_port(live->node[i].set, live->node[i].index);
}

static bool runs(const struct live *live, size_t i) {
    return rl_local_nodes_pid(live->node[i].set, live->node[i].index) != 0;
}

/* -- Questions -- */

static redisContext *connect_to(const struct live *live, size_t i) {
    struct timeval patience = {LIVE_PATIENCE_MS / 1000, 0};
    redisContext *context = redisConnectWithTimeout("127.0.0.1", live_port(live, i), patience);
    assert_non_null(context);
    if (context->err != 0) {
        print_error("node %zu: %s\n", i, context->errstr);
    }
    assert_int_equal(context->err, 0);
    assert_int_equal(redisSetTimeout(context, patience), 0);
    if (live->password != NULL) {
        redisReply *reply = redisCommand(context, "AUTH %s", live->password);
        assert_non_null(reply);
        assert_int_equal(reply->type, REDIS_REPLY_STATUS);
        freeReplyObject(reply);
    }
    return context;
}

static redisReply *ask(const struct live *live, size_t i, const char *format, va_list args) {
    redisContext *context = connect_to(live, i);
    redisReply *reply = redisvCommand(context, format, args);
    if (reply == NULL) {
        print_error("node %zu: %s: %s\n", i, format, context->errstr);
    }
    assert_non_null(reply);
    redisFree(context);
    return reply;
}

/* A node answers while it loads its AOF, but not everything. */
static bool is_loading(const struct live *live, size_t i) {
    redisReply *reply = live_ask(live, i, "PING");
    bool is = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "LOADING", 7) == 0;
    freeReplyObject(reply);
    return is;
}

void live_restart(struct live *live, size_t i) {
    char error[512];
    if (rl_local_nodes_restart(live->node[i].set, live->node[i].index, error, sizeof(error)) != 0) {
        print_error("%s\n", error);
        fail();
    }
    while (is_loading(live, i)) {
    }
    if (live->node[i].tls_port != 0) {
        secure_again(live, i);
    }
}

redisReply *live_ask(const struct live *live, size_t i, const char *format, ...) {
    va_list args;
    va_start(args, format);
    redisReply *reply = ask(live, i, format, args);
    va_end(args);
    return reply;
}

void live_tell(const struct live *live, size_t i, const char *format, ...) {
    va_list args;
    va_start(args, format);
    redisReply *reply = ask(live, i, format, args);
    va_end(args);
    if (reply->type == REDIS_REPLY_ERROR) {
        print_error("node %zu: %s: %s\n", i, format, reply->str);
    }
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

void live_cut(const struct live *live, size_t i) {
    live_tell(live, i, "CLIENT KILL TYPE normal");
    live_tell(live, i, "CLIENT KILL TYPE pubsub");
}

void live_configure(const struct live *live, size_t i, const char *text) {
    live_tell(live, i, "SET %s %s", RL_CONFIG_KEY, text);
    live_cut(live, i);
}

void live_tell_all(const struct live *live, const char *command) {
    for (size_t i = 0; i < live->n; i++) {
        live_tell(live, i, command);
    }
}

long long live_integer(const struct live *live, size_t i, const char *format, ...) {
    va_list args;
    va_start(args, format);
    redisReply *reply = ask(live, i, format, args);
    va_end(args);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}

bool live_key_is(const struct live *live, size_t i, const char *key, const char *value) {
    redisReply *reply = live_ask(live, i, "GET %s", key);
    bool is = reply->type == REDIS_REPLY_STRING && strcmp(reply->str, value) == 0;
    freeReplyObject(reply);
    return is;
}

long long live_pttl(const struct live *live, size_t i, const char *key) {
    return live_integer(live, i, "PTTL %s", key);
}

size_t live_count_keys(const struct live *live, const char *key, const char *value) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += runs(live, i) && live_key_is(live, i, key, value);
    }
    return count;
}

long long live_keys(const struct live *live, size_t i) {
    return live_integer(live, i, "DBSIZE") - live_integer(live, i, "EXISTS libredlock:secret");
}

/* Keys that may outlive a lock do not count: counters of fences, a reservation of less than a
 * second for the next client, a line with places whose LEAVE did not arrive, the intent of a
 * waiting writer, the number of permits, and the node's secret. */
static bool has_keys(const struct live *live, size_t i) {
    static const char script[] =
        "local n = 0 "
        "for _, k in ipairs(redis.call('keys', '*')) do "
        "  local s = redis.call('type', k).ok == 'string' and redis.call('get', k) or '' "
        "  local reserved = string.sub(s, 1, 8) == 'reserved' and redis.call('pttl', k) < 1000 "
        "  local line = string.sub(k, 1, 16) == 'libredlock:line:' "
        "  local fence = string.sub(k, 1, 17) == 'libredlock:fence:' "
        "  local wish = string.find(k, 'libredlock:intent:', 1, true) == 1 "
        "      or string.find(k, 'libredlock:upgrade:', 1, true) == 1 "
        "      or string.find(k, 'libredlock:permits:', 1, true) == 1 "
        "      or k == 'libredlock:secret' "
        "  if not reserved and not line and not fence and not wish then n = n + 1 end "
        "end "
        "return n";
    return live_integer(live, i, "EVAL %s 0", script) > 0;
}

bool live_no_keys(const struct live *live) {
    for (size_t i = 0; i < live->n; i++) {
        if (runs(live, i) && has_keys(live, i)) {
            return false;
        }
    }
    return true;
}
