/* The line's scripts on a real node, told as a story: what each command answers, who hears what,
 * and what no command does. The library writes the commands and judges the answers; the connections
 * are of our own. (server/differential compares the scripts with their twins over random
 * sequences.) */
#include "live/script_scene.h"

static struct rl_answer join(const struct live *live, const char *place, uint32_t waited_ms) {
    return say(
        live, (struct rl_command){.kind = RL_COMMAND_JOIN, .place = place, .waited_ms = waited_ms});
}

static struct rl_answer take(const struct live *live, const char *token, const char *place) {
    return say(live, (struct rl_command){
                         .kind = RL_COMMAND_TAKE, .token = token, .ttl_ms = 30000, .place = place});
}

static struct rl_answer release(const struct live *live, const char *token,
                                enum rl_release_mode mode) {
    return say(live, (struct rl_command){
                         .kind = RL_COMMAND_RELEASE_LINE, .token = token, .mode = (uint8_t)mode});
}

static void hands_on(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *a = listen_to(live, "SUBSCRIBE libredlock:client:" ID_A);
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    redisContext *c = listen_to(live, "SUBSCRIBE libredlock:client:" ID_C);
    assert_int_equal(take(live, first, NULL).verdict, RL_YES); /* free */

    struct rl_answer answer = join(live, A, 0);
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.rank, 0);
    assert_in_range(answer.line.life_ms, 15000, 30000);
    assert_int_equal(join(live, B, 0).line.rank, 1);
    assert_int_equal(join(live, C, 60000).line.rank, 0); /* by how long it has waited */
    assert_int_equal(join(live, B, 90000).line.rank, 2); /* as it came, not as it comes again */
    answer = say(live, (struct rl_command){.kind = RL_COMMAND_WAITER, .index = 0});
    assert_string_equal(answer.text, C ":h");
    assert_int_equal(answer.line.waiting, 3);
    assert_in_range(answer.line.first_waited_ms, 60000, 90000);
    answer = say(live, (struct rl_command){.kind = RL_COMMAND_WAITER, .index = 3});
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(take(live, first, NULL).line.waiting, 0); /* it has no place */
    assert_int_equal(take(live, first, A).line.waiting, 3);    /* its own key */
    live_tell(live, 0, "ZADD libredlock:line:shared:{key} 1 " A);
    assert_int_equal(take(live, first, A).line.waiting, 4); /* who would read waits, too */
    live_tell(live, 0, "DEL libredlock:line:shared:{key}");

    answer = release(live, first, RL_RELEASE_SERVE);
    assert_int_equal(answer.verdict, RL_YES);
    assert_true(answer.line.served);
    assert_int_equal(answer.line.waiting, 2);
    hears(c, "turn " C);
    hears(a, "heir " A);
    assert_key(live, "reserved:" C);
    answer = take(live, second, A); /* for another place */
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.which, 1);
    assert_in_range(answer.line.life_ms, 0, GRACE_MS);
    assert_int_equal(join(live, C, 60000).verdict, RL_YES); /* as often as it asks */
    answer = release(live, second, RL_RELEASE_LOOK);        /* of one who had other nodes' keys */
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.waiting, 3); /* whose turn it is waits, too */
    answer = take(live, second, C);
    assert_int_equal(answer.verdict, RL_YES);
    assert_int_equal(answer.line.waiting, 2);
    assert_in_range(live_pttl(live, 0, "key"), 15000, 30000); /* no reservation's */

    /* a release that comes again finds nothing; LEAVE leaves the token alone, and tells the next */
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_NO);
    answer = say(live, (struct rl_command){.kind = RL_COMMAND_LEAVE, .place = A});
    assert_int_equal(answer.verdict, RL_YES);
    hears(b, "heir " B);
    answer = say(live, (struct rl_command){.kind = RL_COMMAND_LEAVE, .place = C});
    assert_int_equal(answer.verdict, RL_NO);
    assert_true(live_integer(live, 0, "EXISTS key") == 1);

    /* who is gone is not served */
    redisFree(b);
    LIVE_POLL(live, live_integer(live, 0, "PUBLISH libredlock:client:" ID_B " x") == 0);
    answer = release(live, second, RL_RELEASE_SERVE);
    assert_false(answer.line.served);
    assert_int_equal(answer.line.waiting, 0);
    assert_int_equal(live_integer(live, 0, "DBSIZE"), 0);
    redisFree(a);
    redisFree(c);
    live_end(live);
}

/* -- What a token rests on -- */

static struct rl_answer take_for(const struct live *live, uint32_t ttl_ms, uint64_t counter) {
    return say(live, (struct rl_command){.kind = RL_COMMAND_TAKE,
                                         .token = first,
                                         .ttl_ms = ttl_ms,
                                         .counter = counter,
                                         .place = A});
}

/* What is reserved lasts as long as the test. */
static struct rl_answer join_for_long(const struct live *live, const char *place) {
    return say(live,
               (struct rl_command){.kind = RL_COMMAND_JOIN, .place = place, .grace_ms = 600000});
}

/* A vote that was counted stands as long as it was counted on: TAKE that finds its own key gives it
 * the longer of both lives; and a reservation's ends with the reservation. */
static void prolongs_its_own_key_and_never_shortens_it(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    for (uint64_t counter = 0; counter <= 7; counter += 7) { /* without a fence, and with one */
        assert_int_equal(take_for(live, 600000, counter).verdict, RL_YES);
        assert_int_equal(take_for(live, 1000, counter).verdict, RL_YES);
        assert_in_range(live_pttl(live, 0, "key"), 300000, 600000);
        assert_int_equal(take_for(live, 3600000, counter).verdict, RL_YES);
        assert_in_range(live_pttl(live, 0, "key"), 1800000, 3600000);
        assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
        assert_int_equal(join_for_long(live, A).verdict, RL_YES);
        assert_key(live, "reserved:" A);
        assert_int_equal(take_for(live, 3600000, counter).verdict, RL_YES);
        assert_in_range(live_pttl(live, 0, "key"), 1800000, 3600000);
        assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    }
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

/* A LEAVE may be late: its place has had its turn, and holds; or asks again. It gives up what is
 * reserved for this very place, and no token, its own client's or another's. */
static void leaves_tokens_alone(void **state) {
    struct live *live = *state;
    const struct rl_command leave = {.kind = RL_COMMAND_LEAVE, .place = A};
    live_start(live, 1, NULL);
    assert_int_equal(join_for_long(live, A).verdict, RL_YES);
    assert_int_equal(take(live, first, A).verdict, RL_YES);
    assert_int_equal(say(live, leave).verdict, RL_NO);
    assert_key(live, "1111111111111111111111111111111111111111:h");
    assert_in_range(live_pttl(live, 0, "key"), 15000, 30000);
    assert_int_equal(join_for_long(live, A).verdict, RL_NO); /* stands in line for its own key */
    assert_int_equal(say(live, leave).verdict, RL_YES);
    assert_key(live, "1111111111111111111111111111111111111111:h");
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(join_for_long(live, B).verdict, RL_YES);
    assert_int_equal(say(live, leave).verdict, RL_NO); /* reserved, and not for A */
    assert_key(live, "reserved:" B);
    assert_int_equal(join_for_long(live, A).verdict, RL_NO);
    assert_int_equal(say(live, leave).verdict, RL_YES);
    assert_key(live, "reserved:" B);
    live_end(live);
}

/* PUBLISH counts those who listen to a pattern as well. A monitor that does must not make clients
 * that are gone look alive. */
static void is_not_deceived_by_a_pattern(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *monitor = listen_to(live, "PSUBSCRIBE libredlock:*");
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    assert_int_equal(take(live, first, NULL).verdict, RL_YES);
    assert_int_equal(join(live, A, 1000).line.rank, 0); /* it does not listen */
    assert_int_equal(join(live, B, 0).line.rank, 0);    /* so it is dropped */
    assert_int_equal(join(live, A, 1000).line.rank, 0);
    assert_true(release(live, first, RL_RELEASE_SERVE).line.served);
    hears(b, "turn " B);
    hears(monitor, "turn " B);
    assert_key(live, "reserved:" B);
    redisFree(monitor);
    redisFree(b);
    live_end(live);
}

/* A lock of several resources hands on wherever it finds a line, since each may have another home.
 * What another has reserved at a node that is none is not its to open. */
static void leaves_what_is_reserved_elsewhere(void **state) {
    struct live *live = *state;
    const struct rl_command serve = {
        .kind = RL_COMMAND_RELEASE_LINE, .token = second, .mode = RL_RELEASE_SERVE};
    live_start(live, 1, NULL);
    assert_int_equal(take(live, first, NULL).verdict, RL_YES);
    assert_int_equal(release(live, first, RL_RELEASE_PLAIN).verdict, RL_YES);
    assert_key(live, "reserved");
    assert_int_equal(say_of(live, 2, serve).verdict, RL_NO); /* an attempt that was refused here */
    assert_key(live, "reserved");
    live_tell(live, 0, "SET other %s:h", second);
    assert_int_equal(say_of(live, 2, serve).verdict, RL_YES);
    assert_key(live, "reserved");
    assert_int_equal(live_integer(live, 0, "EXISTS other"), 0);
    assert_int_equal(release(live, second, RL_RELEASE_SERVE).verdict, RL_NO); /* at its home */
    assert_int_equal(live_integer(live, 0, "DBSIZE"), 0);
    live_end(live);
}

/* A node that is full takes no reservation; what was held is given up all the same. */
static void releases_where_there_is_no_room(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_int_equal(take(live, first, NULL).verdict, RL_YES);
    live_tell(live, 0, "CONFIG SET maxmemory 1");
    assert_int_equal(take(live, second, NULL).verdict, RL_NO);
    assert_int_equal(release(live, first, RL_RELEASE_LOOK).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "DBSIZE"), 0);
    assert_int_equal(take(live, second, NULL).verdict, RL_ERROR);
    assert_int_equal(live_integer(live, 0, "DBSIZE"), 0);
    live_end(live);
}

/* Whatever is under the line's name: a vote is given, and a release is done. */
static void works_with_anything_in_the_lines_place(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    live_tell(live, 0, "SET libredlock:line:{key} stranger");
    assert_int_equal(take(live, first, NULL).verdict, RL_YES);
    assert_int_equal(join(live, A, 0).verdict, RL_ERROR);
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "EXISTS key"), 0);
    live_tell(live, 0, "DEL libredlock:line:{key}");
    live_tell(live, 0, "ZADD libredlock:line:{key} -inf x inf y 0 %s", "");
    assert_int_equal(take(live, first, NULL).verdict, RL_YES);
    assert_int_equal(take(live, first, A).line.first_waited_ms, UINT32_MAX);
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "DBSIZE"), 0);
    live_end(live);
}

/* What is under a slot's name and is no string is nobody who waits. */
static void counts_no_slot_of_another_type(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    live_tell(live, 0, "RPUSH libredlock:slot:0:{key} x");
    redisReply *reply = live_ask(live, 0, "EVAL %s 1 libredlock:slot:0:{key} %s 0 serve 3 key",
                                 rl_command_script(RL_COMMAND_RELEASE_PERMIT), first);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_string_equal(reply->str, "0 0 0 0");
    freeReplyObject(reply);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(hands_on),
        LIVE_TEST(prolongs_its_own_key_and_never_shortens_it),
        LIVE_TEST(leaves_tokens_alone),
        LIVE_TEST(is_not_deceived_by_a_pattern),
        LIVE_TEST(leaves_what_is_reserved_elsewhere),
        LIVE_TEST(releases_where_there_is_no_room),
        LIVE_TEST(works_with_anything_in_the_lines_place),
        LIVE_TEST(counts_no_slot_of_another_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
