/* A node's possible messages on a subscribed connection. The guard is driven through hiredis's own
 * reader, with bytes as they would come from the socket. */
#include "redis/guard.h"

#include "unit/check.h"

struct fixture {
    redisReader *reader;
    struct rl_reply_slot slot;
    struct rl_received heard;
    uint32_t waiting;
};

static void fixture_init(struct fixture *f, uint32_t waiting) {
    memset(f, 0x5a, sizeof *f);
    f->waiting = waiting;
    f->reader = redisReaderCreate();
    rl_reply_guard(f->reader, &f->slot, &f->waiting);
    f->slot.received = &f->heard;
}

static void fixture_free(struct fixture *f) {
    redisReaderFree(f->reader);
}

/* True if a reply is complete. */
static bool heard(struct fixture *f) {
    void *reply = NULL;
    int status = redisReaderGetReply(f->reader, &reply);
    assert_int_equal(status == REDIS_OK, f->reader->err == 0);
    assert_true(reply == NULL || reply == &f->slot.reply); /* nothing was allocated */
    return reply != NULL;
}

static bool hears(struct fixture *f, const char *wire, size_t length) {
    redisReaderFeed(f->reader, wire, length);
    return heard(f);
}

/* One line that describes the slot. */
static void describe(const struct fixture *f, char *out, size_t size) {
    static const char *const names[] = {"subscribed", "unsubscribed", "message"};
    const struct rl_received *h = &f->heard;
    const redisReply *reply = &f->slot.reply;
    bool is_line = reply->type != REDIS_REPLY_ARRAY;
    const char *name = reply->type == REDIS_REPLY_STATUS  ? "status"
                       : reply->type == REDIS_REPLY_ERROR ? "error"
                                                          : names[h->kind];
    int length = snprintf(out, size, "%s %.*s", name,
                          is_line ? (int)strlen(reply->str) : (int)h->channel_length,
                          is_line ? reply->str : h->channel);
    for (size_t i = 0; !is_line && i < h->payload_length; i++) { /* whatever bytes it has */
        length += snprintf(out + length, size - (size_t)length, i == 0 ? ": %02x" : " %02x",
                           (unsigned char)h->payload[i]);
    }
    snprintf(out + length, size - (size_t)length, "\n");
}

/* -- What is accepted -- */

static const char session[] =
    "+OK\r\n"
    "+PONG\r\n"
    "*3\r\n$9\r\nsubscribe\r\n$9\r\nredlock:a\r\n:1\r\n"
    "*3\r\n$9\r\nsubscribe\r\n$9\r\nredlock:b\r\n:2\r\n"
    "*3\r\n$7\r\nmessage\r\n$9\r\nredlock:a\r\n$0\r\n\r\n"
    "*3\r\n$7\r\nmessage\r\n$9\r\nredlock:b\r\n$5\r\na\r\nb\0\r\n"
    "-NOPERM no\r\n"
    "*3\r\n$11\r\nunsubscribe\r\n$9\r\nredlock:a\r\n:0\r\n";
static const char session_heard[] =
    "status OK\n"
    "status PONG\n"
    "subscribed redlock:a\n"
    "subscribed redlock:b\n"
    "message redlock:a\n"
    "message redlock:b: 61 0d 0a 62 00\n"
    "error NOPERM no\n"
    "unsubscribed redlock:a\n";

static void feed_session(struct fixture *f, size_t from, size_t to, char *out, size_t size) {
    size_t used = strlen(out);
    redisReaderFeed(f->reader, session + from, to - from);
    while (heard(f)) {
        describe(f, out + used, size - used);
        used += strlen(out + used);
    }
}

/* Cut at every two places, so that every byte arrives alone at some time, and in pieces of every
 * length. */
TEST(hears_a_session_in_every_fragmentation) {
    const size_t length = sizeof session - 1;
    for (size_t first = 0; first <= length; first++) {
        for (size_t second = first; second <= length; second++) {
            char out[512] = "";
            struct fixture f;
            fixture_init(&f, 1);
            feed_session(&f, 0, first, out, sizeof out);
            feed_session(&f, first, second, out, sizeof out);
            feed_session(&f, second, length, out, sizeof out);
            assert_string_equal(out, session_heard);
            fixture_free(&f);
        }
    }
    for (size_t piece = 1; piece <= length; piece++) {
        char out[512] = "";
        struct fixture f;
        fixture_init(&f, 1);
        for (size_t at = 0; at < length; at += piece) {
            feed_session(&f, at, at + piece < length ? at + piece : length, out, sizeof out);
        }
        assert_string_equal(out, session_heard);
        fixture_free(&f);
    }
}

/* -- What is refused -- */

TEST(refuses_everything_else) {
    static const char *const wires[] = {
        ":1\r\n",
        "$2\r\nOK\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*1\r\n$7\r\nmessage\r\n",
        "*2\r\n$7\r\nmessage\r\n$1\r\na\r\n",
        "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nx\r\n",
        "*3\r\n$10\r\npsubscribe\r\n$1\r\n*\r\n:1\r\n",
        "*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n",
        "*3\r\n$7\r\nMESSAGE\r\n$1\r\na\r\n$1\r\nx\r\n",
        "*3\r\n$6\r\nmessag\r\n$1\r\na\r\n$1\r\nx\r\n",
        "*3\r\n+message\r\n$1\r\na\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n+a\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$-1\r\n",
        "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n:1\r\n",
        "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n*1\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n$1\r\n1\r\n",
        "*3\r\n$9\r\nsubscribe\r\n:1\r\n:1\r\n",
        "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        "*3\r\n*3\r\n$7\r\nmessage\r\n",
        "*1\r\n*1\r\n*1\r\n+OK\r\n",
        "*2147483647\r\n",
        "*4294967296\r\n",
        "*4294967299\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n",
        "~3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "_\r\n",
        "(12345678901234567890\r\n",
        "=7\r\ntxt:abc\r\n",
        "!5\r\nERR x\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "\r\n",
        "$-5\r\n",
        "*x\r\n",
    };
    for (size_t i = 0; i < COUNT(wires); i++) {
        for (size_t piece = 1; piece <= strlen(wires[i]); piece++) {
            struct fixture f;
            bool any = false;
            fixture_init(&f, 1);
            for (size_t at = 0; at < strlen(wires[i]) && f.reader->err == 0; at += piece) {
                size_t left = strlen(wires[i]) - at;
                any = hears(&f, wires[i] + at, left < piece ? left : piece) || any;
            }
            if (any || f.reader->err == 0) {
                print_error("accepted: %s", wires[i]);
            }
            assert_false(any);
            assert_int_not_equal(f.reader->err, 0);
            fixture_free(&f);
        }
    }
}

/* -- Sizes -- */

static bool hears_sizes(size_t channel, size_t payload, struct fixture *f) {
    static char wire[4096];
    size_t used = (size_t)snprintf(wire, sizeof wire, "*3\r\n$7\r\nmessage\r\n$%zu\r\n", channel);
    memset(wire + used, 'c', channel);
    used += channel;
    used += (size_t)snprintf(wire + used, sizeof wire - used, "\r\n$%zu\r\n", payload);
    memset(wire + used, 'p', payload);
    used += payload;
    memcpy(wire + used, "\r\n", 2);
    fixture_init(f, 0);
    bool result = hears(f, wire, used + 2);
    assert_int_equal(result, f->reader->err == 0);
    return result;
}

TEST(is_bounded) {
    static const struct {
        size_t channel, payload;
        bool accepted;
    } rows[] = {
        {0, 0, true},
        {RL_CHANNEL_MAX, RL_PAYLOAD_MAX, true},
        {RL_CHANNEL_MAX + 1, 0, false},
        {1, RL_PAYLOAD_MAX + 1, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f;
        assert_int_equal(hears_sizes(rows[i].channel, rows[i].payload, &f), rows[i].accepted);
        if (rows[i].accepted) {
            assert_int_equal(f.heard.channel_length, rows[i].channel);
        }
        fixture_free(&f);
    }
    assert_int_equal(RL_CHANNEL_MAX, strlen("redlock:") + REDLOCK_RESOURCE_MAX);
}

TEST(keeps_printable_bytes_of_an_error) {
    struct fixture f;
    fixture_init(&f, 1);
    assert_true(hears(&f, "-E\033[31m\x80\r\n", 10));
    assert_string_equal(f.slot.reply.str, "E?[31m?");
    assert_int_equal(f.slot.reply.type, REDIS_REPLY_ERROR);
    fixture_free(&f);
    char wire[1000];
    memset(wire, 'a', sizeof wire);
    wire[0] = '-';
    memcpy(wire + sizeof wire - 2, "\r\n", 2);
    fixture_init(&f, 1);
    assert_true(hears(&f, wire, sizeof wire));
    assert_int_equal(strlen(f.slot.reply.str), RL_REPLY_TEXT_MAX - 1);
    fixture_free(&f);
}
