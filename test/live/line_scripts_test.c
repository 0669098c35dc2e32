/* The line's scripts on a real node, as a story: the answer of each command, the messages and their
 * receivers, and what no command does. The library writes the commands and judges the answers; the
 * connections are of our own. (server/differential compares the scripts with their twins over
 * random sequences.) */
#include "base/sha1.h"
#include "live/script_scene.h"

static struct rl_answer join(const struct live *live, const char *token, uint32_t waited_ms) {
    return say(live, token, (struct rl_request){.kind = RL_COMMAND_JOIN, .waited_ms = waited_ms});
}

static struct rl_answer take(const struct live *live, const char *token, bool has_turn) {
    return say(live, token,
               (struct rl_request){.kind = RL_COMMAND_TAKE, .ttl_ms = 30000, .has_turn = has_turn});
}

static struct rl_answer release(const struct live *live, const char *token,
                                enum rl_release_mode mode) {
    return say(live, token,
               (struct rl_request){.kind = RL_COMMAND_RELEASE_LINE, .mode = (uint8_t)mode});
}

static struct rl_answer leave(const struct live *live, const char *token, bool line_only) {
    return say(live, token, (struct rl_request){.kind = RL_COMMAND_LEAVE, .line_only = line_only});
}

static void hands_on(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *a = listen_to(live, "SUBSCRIBE libredlock:client:" ID_A);
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    redisContext *c = listen_to(live, "SUBSCRIBE libredlock:client:" ID_C);
    redisContext *holder = listen_to(live, "SUBSCRIBE libredlock:client:1111111111111111");
    assert_int_equal(take(live, first, false).verdict, RL_YES); /* free */

    struct rl_answer answer = join(live, A, 0);
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.rank, 0);
    assert_in_range(answer.line.life_ms, 15000, 30000);
    assert_int_equal(join(live, B, 0).line.rank, 1);
    assert_int_equal(join(live, C, 60000).line.rank, 0); /* by how long it has waited */
    assert_int_equal(join(live, B, 90000).line.rank, 2); /* as it came, not as it comes again */
    hears(holder, "next 1111111111111111111111111111111111111111 " A ":h");
    hears(holder, "next 1111111111111111111111111111111111111111 " C ":h");
    answer = say(live, NULL, (struct rl_request){.kind = RL_COMMAND_WAITER, .index = 0});
    assert_string_equal(answer.text, C ":h");
    assert_int_equal(answer.line.waiting, 3);
    assert_in_range(answer.line.first_waited_ms, 60000, 90000);
    answer = say(live, NULL, (struct rl_request){.kind = RL_COMMAND_WAITER, .index = 3});
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(take(live, first, false).line.waiting, 0); /* it has no turn */
    assert_int_equal(take(live, first, true).line.waiting, 3);  /* its own key */
    live_tell(live, 0, "ZADD libredlock:line:shared:{key} 1 " A);
    assert_int_equal(take(live, first, true).line.waiting, 4); /* a reader waits, too */
    live_tell(live, 0, "DEL libredlock:line:shared:{key}");

    answer = release(live, first, RL_RELEASE_SERVE);
    assert_int_equal(answer.verdict, RL_YES);
    assert_true(answer.line.served);
    assert_int_equal(answer.line.waiting, 2);
    hears(c, "turn " C);
    hears(c, "next " C " " A ":h");
    hears(a, "heir " A);
    assert_key(live, C ":h");
    answer = take(live, A, true); /* another's */
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.which, 1);
    assert_in_range(answer.line.life_ms, 0, GRACE_MS);
    assert_int_equal(join(live, C, 60000).verdict, RL_YES); /* as often as it asks */
    answer = release(live, second, RL_RELEASE_LOOK);        /* it had other nodes' keys */
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.waiting, 3); /* the client that has the turn waits, too */
    answer = take(live, C, true);
    assert_int_equal(answer.verdict, RL_YES);
    assert_int_equal(answer.line.waiting, 2);
    assert_in_range(live_pttl(live, 0, "key"), 15000, 30000); /* no turn's */

    /* a repeated release finds nothing; LEAVE notifies the next client, and the holder */
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_NO);
    assert_int_equal(leave(live, A, false).verdict, RL_YES);
    hears(c, "next " C " " B ":h");
    hears(b, "heir " B);

    /* a dead client is not served */
    redisFree(b);
    LIVE_POLL(live, live_integer(live, 0, "PUBLISH libredlock:client:" ID_B " x") == 0);
    answer = release(live, C, RL_RELEASE_SERVE);
    assert_false(answer.line.served);
    assert_int_equal(answer.line.waiting, 0);
    assert_int_equal(live_keys(live, 0), 0);
    redisFree(a);
    redisFree(c);
    redisFree(holder);
    live_end(live);
}

static struct rl_answer pass(const struct live *live, const char *token, const char *successor,
                             uint64_t counter) {
    return say(live, token,
               (struct rl_request){.kind = RL_COMMAND_RELEASE_LINE,
                                   .mode = RL_RELEASE_SERVE,
                                   .successor = successor,
                                   .lease_ms = 5000,
                                   .counter = counter});
}

/* The node has passed the key on to B: its message says so, since when, and who is next, if known;
 * and is signed. */
static void is_passed(const struct live *live, redisContext *b, struct rl_answer answer,
                      unsigned counter, const char *next) {
    char said[128], text[192], mac[RL_SHA1_LEN + 1];
    assert_true(answer.line.served && answer.line.secret > 0);
    snprintf(said, sizeof said, B " %llu 5000 %u", (unsigned long long)answer.line.time_us,
             counter);
    snprintf(text, sizeof text, "%llu %s key", (unsigned long long)answer.line.secret, said);
    rl_sha1_hex(text, strlen(text), mac);
    snprintf(text, sizeof text, "pass %s %s%s", said, mac, next);
    hears(b, text);
    assert_key(live, B ":h");
    assert_true(live_integer(live, 0, "PEXPIRETIME key") ==
                (long long)(answer.line.time_us / 1000 + 5000));
}

/* What redlock top and the metrics call hand-overs. */
static bool has_popped(const struct live *live, const char *calls) {
    redisReply *stats = live_ask(live, 0, "INFO commandstats");
    assert_int_equal(stats->type, REDIS_REPLY_STRING);
    const char *found = strstr(stats->str, "cmdstat_zpopmin:calls=");
    const size_t before = sizeof "cmdstat_zpopmin:calls=" - 1;
    const bool has = found != NULL && strncmp(found + before, calls, strlen(calls)) == 0;
    freeReplyObject(stats);
    return has;
}

static void passes_on(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    redisContext *c = listen_to(live, "SUBSCRIBE libredlock:client:" ID_C);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(join(live, B, 0).verdict, RL_NO);
    assert_int_equal(join(live, C, 0).verdict, RL_NO);
    is_passed(live, b, pass(live, first, B ":h", 0), 0, " " C ":h");
    assert_true(has_popped(live, "1,"));
    hears(c, "heir " C);
    assert_int_equal(pass(live, first, C ":h", 0).verdict, RL_NO); /* it is B's */
    assert_key(live, B ":h");
    assert_int_equal(leave(live, C, false).verdict, RL_YES);
    hears(b, "next " B);                                        /* nobody is behind it */
    assert_int_equal(pass(live, B, A ":h", 0).verdict, RL_YES); /* who does not listen */
    assert_int_equal(live_keys(live, 0), 0);

    /* ... which the node may not look up */
    live_tell(live, 0, "ACL SETUSER deaf on >pw ~* &* +@all -pubsub|numsub");
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    scene_user = "AUTH deaf pw";
    assert_int_equal(pass(live, first, A ":h", 0).verdict, RL_YES);
    scene_user = NULL;
    assert_int_equal(live_keys(live, 0), 0);

    /* with a fence; where no key was, too; and each number is for one alone */
    is_passed(live, b, pass(live, first, B ":h", 7), 7, "");
    live_tell(live, 0, "DEL key");
    is_passed(live, b, pass(live, first, B ":h", 3), 8, "");
    live_tell(live, 0, "DEL key");
    is_passed(live, b, pass(live, first, B ":h", 0), 0, "");
    live_tell(live, 0, "SET libredlock:secret stranger");
    assert_int_equal(pass(live, B, A ":h", 0).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "INCRBY libredlock:fence:key 0"), 9);
    live_tell(live, 0, "FLUSHALL");
    redisFree(b);
    redisFree(c);
    live_end(live);
}

/* -- The basis of a token -- */

static struct rl_answer take_for(const struct live *live, uint32_t ttl_ms, uint64_t counter) {
    return say(
        live, A,
        (struct rl_request){
            .kind = RL_COMMAND_TAKE, .ttl_ms = ttl_ms, .counter = counter, .has_turn = true});
}

/* A turn that lasts as long as the test. */
static struct rl_answer join_for_long(const struct live *live, const char *token) {
    return say(live, token, (struct rl_request){.kind = RL_COMMAND_JOIN, .grace_ms = 600000});
}

/* A vote that was counted stands as long as it was counted on: TAKE that finds its own key gives it
 * the longer of both lives, also where it is the short one of a turn. */
static void prolongs_its_own_key_and_never_shortens_it(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    for (uint64_t counter = 0; counter <= 7; counter += 7) { /* without a fence, and with one */
        assert_int_equal(take_for(live, 600000, counter).verdict, RL_YES);
        assert_int_equal(take_for(live, 1000, counter).verdict, RL_YES);
        assert_in_range(live_pttl(live, 0, "key"), 300000, 600000);
        assert_int_equal(take_for(live, 3600000, counter).verdict, RL_YES);
        assert_in_range(live_pttl(live, 0, "key"), 1800000, 3600000);
        assert_int_equal(release(live, A, RL_RELEASE_SERVE).verdict, RL_YES);
        assert_int_equal(join_for_long(live, A).verdict, RL_YES);
        assert_key(live, A ":h");
        assert_int_equal(take_for(live, 3600000, counter).verdict, RL_YES);
        assert_in_range(live_pttl(live, 0, "key"), 1800000, 3600000);
        assert_int_equal(release(live, A, RL_RELEASE_SERVE).verdict, RL_YES);
    }
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

/* LEAVE gives up the line, and the key of a turn that was not used: to the next. It leaves
 * another's key alone; and its own as well, where the nodes were asked with the token. */
static void leaves_tokens_alone(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *a = listen_to(live, "SUBSCRIBE libredlock:client:" ID_A);
    assert_int_equal(join_for_long(live, A).verdict, RL_YES);
    assert_int_equal(take(live, A, true).verdict, RL_YES);
    assert_int_equal(leave(live, A, true).verdict, RL_NO);
    assert_key(live, A ":h");
    assert_int_equal(release(live, A, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(join_for_long(live, B).verdict, RL_YES);
    assert_int_equal(leave(live, A, false).verdict, RL_NO);
    assert_int_equal(join_for_long(live, A).verdict, RL_NO);
    assert_int_equal(leave(live, A, false).verdict, RL_YES);
    assert_key(live, B ":h");
    assert_int_equal(join_for_long(live, A).verdict, RL_NO);
    assert_int_equal(leave(live, B, false).verdict, RL_YES);
    hears(a, "turn " A);
    assert_key(live, A ":h");
    assert_int_equal(leave(live, A, false).verdict, RL_YES);
    assert_int_equal(live_keys(live, 0), 0);
    redisFree(a);
    live_end(live);
}

/* PUBLISH also counts pattern subscribers. A monitor that subscribes to a pattern must not make
 * dead clients look alive. */
static void is_not_deceived_by_a_pattern(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *monitor = listen_to(live, "PSUBSCRIBE libredlock:*");
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(join(live, A, 1000).line.rank, 0); /* it does not listen */
    assert_int_equal(join(live, B, 0).line.rank, 0);    /* so it is dropped */
    assert_int_equal(join(live, A, 1000).line.rank, 0);
    assert_true(release(live, first, RL_RELEASE_SERVE).line.served);
    hears(b, "turn " B);
    hears(monitor, "turn " B);
    assert_key(live, B ":h");
    redisFree(monitor);
    redisFree(b);
    live_end(live);
}

/* A lock of several resources hands on wherever it finds a line, since each may have another home.
 * What another has reserved at a node that is none is not its to open. */
static void leaves_what_is_reserved_elsewhere(void **state) {
    struct live *live = *state;
    const struct rl_request serve = {.kind = RL_COMMAND_RELEASE_LINE, .mode = RL_RELEASE_SERVE};
    live_start(live, 1, NULL);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(release(live, first, RL_RELEASE_PLAIN).verdict, RL_YES);
    assert_key(live, "reserved");
    assert_int_equal(say_of(live, 2, second, serve).verdict,
                     RL_NO); /* an attempt that was refused here */
    assert_key(live, "reserved");
    live_tell(live, 0, "SET other %s:h", second);
    assert_int_equal(say_of(live, 2, second, serve).verdict, RL_YES);
    assert_key(live, "reserved");
    assert_int_equal(live_integer(live, 0, "EXISTS other"), 0);
    assert_int_equal(release(live, second, RL_RELEASE_SERVE).verdict, RL_NO); /* at its home */
    assert_int_equal(live_keys(live, 0), 0);
    live_end(live);
}

/* A node that is full takes no reservation; what was held is given up all the same. */
static void releases_where_there_is_no_room(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    live_tell(live, 0, "CONFIG SET maxmemory 1");
    assert_int_equal(take(live, second, false).verdict, RL_NO);
    assert_int_equal(release(live, first, RL_RELEASE_LOOK).verdict, RL_YES);
    assert_int_equal(live_keys(live, 0), 0);
    assert_int_equal(take(live, second, false).verdict, RL_ERROR);
    assert_int_equal(live_keys(live, 0), 0);
    live_end(live);
}

/* Whatever the value under the line's name: a vote is given, and a release is done. */
static void works_with_anything_in_the_lines_place(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    live_tell(live, 0, "SET libredlock:line:{key} stranger");
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(join(live, A, 0).verdict, RL_ERROR);
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "EXISTS key"), 0);
    live_tell(live, 0, "DEL libredlock:line:{key}");
    live_tell(live, 0, "ZADD libredlock:line:{key} -inf x inf y 0 %s", "");
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(take(live, first, true).line.first_waited_ms, UINT32_MAX);
    assert_int_equal(release(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(live_keys(live, 0), 0);
    live_end(live);
}

/* A value under a slot's name that is no string is no waiting client. */
static void counts_no_slot_of_another_type(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    live_tell(live, 0, "RPUSH libredlock:slot:0:{key} x");
    redisReply *reply = live_ask(live, 0, "EVAL %s 1 libredlock:slot:0:{key} %s 0 serve 3 key",
                                 rl_command_script(RL_COMMAND_RELEASE_PERMIT), first);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_string_equal(reply->str, "0 0 0 0 0 0");
    freeReplyObject(reply);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(hands_on),
        LIVE_TEST(passes_on),
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
