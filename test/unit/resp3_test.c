/* RESP3: what the guard accepts after HELLO 3, and the push that reports that all keys were
 * deleted. hiredis 0.14 reads none of it. */
#include "unit/reply_scene.h"

#if RL_HAS_RESP3
#define HELLO "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n"
#define MODULES "%1\r\n+modules\r\n*1\r\n%3\r\n+a\r\n*2\r\n$-1\r\n#t\r\n+v\r\n,1.5\r\n+n\r\n_\r\n"
#define FLUSH ">2\r\n$10\r\ninvalidate\r\n_\r\n"

TEST(speaks_resp3_after_hello) {
    static const struct {
        const char *hello, *wire;
        uint32_t waiting;
        int type; /* 0: refused */
        const char *text;
    } rows[] = {
        {HELLO, "_\r\n", 1, REDIS_REPLY_NIL, ""},
        {MODULES, "_\r\n", 1, REDIS_REPLY_NIL, ""},
        {HELLO, "$-1\r\n", 1, REDIS_REPLY_NIL, ""},
        {HELLO, FLUSH, 1, RL_REPLY_FLUSHED, ""},
        {HELLO, FLUSH, 0, RL_REPLY_FLUSHED, ""},
        {HELLO, ">2\r\n+invalidate\r\n$-1\r\n", 0, RL_REPLY_FLUSHED, ""},
        {HELLO, "+OK\r\n", 1, REDIS_REPLY_STATUS, "OK"},
        /* no keys are tracked, and nothing else is subscribed to */
        {HELLO, ">2\r\n+invalidate\r\n*1\r\n+k\r\n", 1, 0, NULL},
        {HELLO, ">2\r\n+message\r\n_\r\n", 1, 0, NULL},
        {HELLO, ">2\r\n_\r\n+invalidate\r\n", 1, 0, NULL},
        {HELLO, ">1\r\n+invalidate\r\n", 1, 0, NULL},
        {HELLO, ">3\r\n+invalidate\r\n_\r\n_\r\n", 1, 0, NULL},
        {HELLO, "_\r\n", 0, 0, NULL},
        {HELLO, "=6\r\ntxt:OK\r\n", 1, 0, NULL}, /* INFO is not due */
        {HELLO, "#t\r\n", 1, 0, NULL},
        {HELLO, ",1.5\r\n", 1, 0, NULL},
        {HELLO, HELLO, 1, 0, NULL}, /* only once */
        {"-NOPROTO unsupported\r\n", "_\r\n", 1, 0, NULL},
        {"+OK\r\n", FLUSH, 1, 0, NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f;
        fixture_init(&f, 1);
        f.slot.due.hello = true;
        const redisReply *reply = read_text(&f, rows[i].hello);
        assert_non_null(reply);
        assert_true(reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_ERROR);
        f.slot.due.hello = false;
        f.waiting = rows[i].waiting;
        reply = read_text(&f, rows[i].wire);
        assert_int_equal(reply != NULL ? reply->type : 0, rows[i].type);
        assert_int_equal(f.reader->err == 0, rows[i].type != 0);
        if (reply != NULL) {
            assert_ptr_equal(reply, &f.slot.reply);
            assert_string_equal(reply->str, rows[i].text);
        }
        fixture_free(&f);
    }
}

FIXTURE_TEST(reads_the_info_of_resp3) {
    struct rl_info info;
    rl_info_init(&info);
    f->slot.due.hello = true;
    assert_non_null(read_text(f, HELLO));
    f->slot.due.hello = false;
    f->slot.due.info = &info;
    const redisReply *reply = read_text(f, "=25\r\ntxt:redis_version:7.0.0\r\n\r\n");
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, 21); /* without "txt:" */
    assert_int_equal(info.redis, RL_INFO_VERSION(7, 0));
}

#else
int main(void) {
    puts("1..0 # SKIP hiredis 0.14 reads no RESP3");
    return 0;
}
#endif
