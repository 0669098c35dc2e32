/* The scripts of readers on a real node, as a story: the answer of each command, the messages and
 * their receivers, and what no command does. (server/differential compares them with their twins
 * over random sequences.) */
#include "live/script_scene.h"

#define TTL_MS 30000
#define LONG_MS 600000

static const char third[] = "3333333333333333333333333333333333333333";

static struct rl_answer share_with(const struct live *live, const char *token, uint32_t ttl_ms,
                                   bool has_turn, uint32_t shut_ms) {
    return say(live, token,
               (struct rl_request){.kind = RL_COMMAND_TAKE,
                                   .lock_mode = RL_SHARED,
                                   .ttl_ms = ttl_ms,
                                   .has_turn = has_turn,
                                   .shut_ms = shut_ms});
}

static struct rl_answer share(const struct live *live, const char *token, uint32_t ttl_ms) {
    return share_with(live, token, ttl_ms, false, 0);
}

static struct rl_answer extend(const struct live *live, const char *token, uint32_t ttl_ms,
                               bool converts) {
    return say(live, token,
               (struct rl_request){.kind = RL_COMMAND_EXTEND,
                                   .lock_mode = RL_SHARED,
                                   .ttl_ms = ttl_ms,
                                   .converts = converts});
}

static struct rl_answer give_up(const struct live *live, const char *token,
                                enum rl_release_mode mode) {
    return say(live, token,
               (struct rl_request){
                   .kind = RL_COMMAND_RELEASE_LINE, .lock_mode = RL_SHARED, .mode = (uint8_t)mode});
}

static struct rl_answer join(const struct live *live, enum rl_mode mode, const char *token,
                             uint32_t waited_ms) {
    return say(live, token,
               (struct rl_request){
                   .kind = RL_COMMAND_JOIN, .lock_mode = (uint8_t)mode, .waited_ms = waited_ms});
}

static struct rl_answer take(const struct live *live, const char *token, bool has_turn) {
    return say(
        live, token,
        (struct rl_request){.kind = RL_COMMAND_TAKE, .ttl_ms = TTL_MS, .has_turn = has_turn});
}

/* A writer's release, at home; intent_ms: what it says to readers. */
static struct rl_answer release(const struct live *live, const char *token, uint32_t intent_ms) {
    return say(
        live, token,
        (struct rl_request){
            .kind = RL_COMMAND_RELEASE_LINE, .mode = RL_RELEASE_SERVE, .intent_ms = intent_ms});
}

static struct rl_answer upgrade(const struct live *live, const char *token, uint64_t counter) {
    return say(live, token,
               (struct rl_request){.kind = RL_COMMAND_UPGRADE,
                                   .lock_mode = RL_SHARED,
                                   .ttl_ms = TTL_MS,
                                   .counter = counter});
}

static bool gets_in(const struct live *live) {
    redisReply *reply = live_ask(live, 0, "SET key stranger NX PX %d", TTL_MS);
    bool is_set = reply->type != REDIS_REPLY_NIL;
    freeReplyObject(reply);
    return is_set;
}

/* No writer and no plain client gets in. */
static void is_refused(const struct live *live, int64_t life_ms) {
    struct rl_answer answer = take(live, third, false);
    assert_int_equal(answer.verdict, RL_NO);
    assert_in_range(answer.line.life_ms, life_ms / 2, life_ms);
    assert_int_equal(take(live, third, true).verdict, RL_NO);
    assert_false(gets_in(live));
    assert_key(live, RL_SHARED_VALUE);
    assert_int_equal(live_integer(live, 0, "PEXPIRETIME key"),
                     live_integer(live, 0, "PEXPIRETIME libredlock:readers:{key}"));
}

static uint32_t reading(const struct live *live) {
    struct rl_answer answer = say(live, NULL, (struct rl_request){.kind = RL_COMMAND_READER});
    return answer.verdict == RL_YES ? answer.line.waiting : 0;
}

static void reads_beside_others(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_YES);
    is_refused(live, TTL_MS);
    assert_int_equal(share(live, second, LONG_MS).verdict, RL_YES);
    is_refused(live, LONG_MS);
    struct rl_answer answer = say(live, NULL, (struct rl_request){.kind = RL_COMMAND_READER});
    assert_int_equal(answer.line.waiting, 2);
    assert_in_range(answer.line.first_waited_ms, TTL_MS / 2, TTL_MS);
    assert_string_equal(answer.text, "1111111111111111111111111111111111111111:h");
    answer = say(live, NULL, (struct rl_request){.kind = RL_COMMAND_READER, .index = 2});
    assert_int_equal(answer.verdict, RL_NO);

    /* a writer keeps readers out, whichever client has the turn */
    assert_int_equal(give_up(live, second, RL_RELEASE_SERVE).verdict, RL_YES);
    is_refused(live, TTL_MS); /* as long as the remaining reader */
    assert_int_equal(give_up(live, second, RL_RELEASE_SERVE).verdict, RL_NO);
    assert_int_equal(give_up(live, third, RL_RELEASE_SERVE).verdict, RL_NO);
    is_refused(live, TTL_MS);
    assert_int_equal(give_up(live, first, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(live_keys(live, 0), 0);
    assert_int_equal(take(live, third, false).verdict, RL_YES);
    answer = share_with(live, first, TTL_MS, true, 0);
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.which, 1);
    assert_in_range(answer.line.life_ms, TTL_MS / 2, TTL_MS);
    assert_int_equal(share(live, third, TTL_MS).verdict, RL_NO); /* the writer itself as well */
    assert_int_equal(live_keys(live, 0), 1);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

/* A counted vote stays valid for the time counted on, whichever clients come, leave or die. */
static void lasts_as_long_as_it_was_counted_on(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_int_equal(share(live, first, LONG_MS).verdict, RL_YES);
    assert_int_equal(share(live, first, 1000).verdict, RL_YES);
    assert_int_equal(extend(live, first, 1000, false).verdict, RL_YES);
    assert_int_equal(extend(live, first, 1000, true).verdict, RL_YES);
    is_refused(live, LONG_MS);
    assert_int_equal(share(live, second, 20).verdict, RL_YES); /* and is gone silently */
    is_refused(live, LONG_MS);
    LIVE_POLL(live, reading(live) == 1);
    assert_int_equal(extend(live, second, TTL_MS, true).verdict, RL_NO);
    assert_int_equal(upgrade(live, second, 0).line.which, RL_UPGRADE_NO_READER);
    is_refused(live, LONG_MS);
    assert_int_equal(give_up(live, first, RL_RELEASE_PLAIN).verdict, RL_YES);
    assert_key(live, RL_RESERVED);
    live_tell(live, 0, "FLUSHALL");

    /* the one that has died keeps writers out for its own life and no longer */
    assert_int_equal(share(live, first, LONG_MS).verdict, RL_YES);
    assert_int_equal(share(live, second, 50).verdict, RL_YES);
    assert_int_equal(give_up(live, first, RL_RELEASE_PLAIN).verdict, RL_YES);
    LIVE_POLL(live, gets_in(live));
    live_tell(live, 0, "FLUSHALL");

    /* without its key a lease is nothing, and comes to nothing */
    assert_int_equal(share(live, first, LONG_MS).verdict, RL_YES);
    live_tell(live, 0, "DEL key");
    assert_int_equal(extend(live, first, TTL_MS, true).verdict, RL_NO);
    assert_int_equal(share(live, second, TTL_MS).verdict, RL_YES);
    assert_int_equal(reading(live), 1);
    is_refused(live, TTL_MS);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

/* One phase after the other: all readers that wait after a writer, then the writer that waits. */
static void takes_turns(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *a = listen_to(live, "SUBSCRIBE libredlock:client:" ID_A);
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    redisContext *c = listen_to(live, "SUBSCRIBE libredlock:client:" ID_C);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(join(live, RL_SHARED, A, 0).line.rank, 0);
    assert_int_equal(join(live, RL_SHARED, B, 0).line.rank, 1);
    struct rl_answer answer = join(live, RL_EXCLUSIVE, C, 60000);
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.rank, 0);
    answer =
        say(live, NULL,
            (struct rl_request){.kind = RL_COMMAND_WAITER, .lock_mode = RL_SHARED, .index = 1});
    assert_string_equal(answer.text, B ":h");
    assert_int_equal(answer.line.waiting, 2);

    answer = release(live, first, 0);
    assert_true(answer.line.served);
    assert_int_equal(answer.line.waiting, 1);
    hears(a, "shut " A);
    hears(b, "shut " B);
    assert_key(live, RL_RESERVED_SHARED);
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_NO); /* without a turn */
    assert_int_equal(take(live, C, true).verdict, RL_NO);
    assert_int_equal(share_with(live, first, TTL_MS, true, 2000).verdict, RL_YES);
    assert_int_equal(share_with(live, second, TTL_MS, true, 2000).line.waiting, 1);
    answer = share(live, third, TTL_MS); /* the door is shut */
    assert_int_equal(answer.verdict, RL_NO);
    assert_in_range(answer.line.life_ms, 1, 2000);
    answer = join(live, RL_SHARED, A, 0);
    assert_int_equal(answer.verdict, RL_NO);
    answer = join(live, RL_EXCLUSIVE, C, 60000);
    assert_in_range(answer.line.life_ms, 1000, TTL_MS);

    answer = give_up(live, first, RL_RELEASE_SERVE);
    assert_int_equal(answer.verdict, RL_YES);
    assert_false(answer.line.served);
    assert_int_equal(answer.line.waiting, 2);
    answer = give_up(live, second, RL_RELEASE_SERVE);
    assert_true(answer.line.served);
    hears(c, "turn " C);
    assert_key(live, C ":h");
    assert_int_equal(share_with(live, first, TTL_MS, true, 0).verdict, RL_NO);
    assert_int_equal(take(live, C, true).verdict, RL_YES);
    answer = release(live, C, RL_INTENT_DROP);
    hears(a, "turn " A); /* nobody waits behind: the door stays open */
    assert_key(live, RL_RESERVED_SHARED);
    assert_int_equal(live_integer(live, 0, "EXISTS libredlock:intent:{key}"), 0);
    redisFree(a);
    redisFree(b);
    redisFree(c);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

static void lets_readers_in_when_no_writer_waits(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *a = listen_to(live, "SUBSCRIBE libredlock:client:" ID_A);
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    assert_int_equal(join(live, RL_SHARED, A, 0).verdict, RL_YES); /* free */
    assert_key(live, RL_RESERVED_SHARED);
    assert_int_equal(share_with(live, first, TTL_MS, true, 0).verdict, RL_YES);
    assert_int_equal(join(live, RL_SHARED, B, 0).verdict, RL_YES); /* read by others */
    assert_int_equal(join(live, RL_EXCLUSIVE, C, 0).verdict, RL_NO);
    assert_int_equal(join(live, RL_SHARED, B, 0).verdict, RL_YES); /* C's client is gone */
    assert_int_equal(join(live, RL_EXCLUSIVE, A, 10000).verdict, RL_NO);
    assert_int_equal(join(live, RL_SHARED, B, 60000).verdict, RL_YES); /* came before the writer */
    assert_int_equal(join(live, RL_SHARED, B, 0).verdict, RL_NO);
    const struct rl_request leave = {.kind = RL_COMMAND_LEAVE};
    assert_int_equal(say(live, A, leave).verdict, RL_YES);
    hears(b, "turn " B); /* the last writer has left */
    assert_key(live, RL_SHARED_VALUE);

    /* readers that have waited longer go first, and else the writer */
    assert_int_equal(join(live, RL_EXCLUSIVE, A, 0).verdict, RL_NO);
    assert_int_equal(join(live, RL_SHARED, B, 0).verdict, RL_NO);
    live_tell(live, 0, "DEL key");
    assert_int_equal(join(live, RL_SHARED, B, 0).verdict, RL_NO);
    hears(a, "turn " A);
    assert_key(live, A ":h");
    live_tell(live, 0, "DEL key");
    assert_int_equal(join(live, RL_EXCLUSIVE, A, 0).verdict, RL_NO);
    hears(b, "shut " B);
    assert_key(live, RL_RESERVED_SHARED);
    const struct rl_request gone = {.kind = RL_COMMAND_LEAVE, .lock_mode = RL_SHARED};
    assert_int_equal(say(live, B, gone).verdict, RL_NO);
    redisFree(a);
    redisFree(b);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

/* An intent keeps out only new readers. */
static void waits_for_a_writer(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_int_equal(release(live, third, 5000).verdict, RL_NO);
    assert_int_equal(live_keys(live, 0), 0); /* nobody reads: there is none */
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_YES);
    assert_int_equal(release(live, third, LONG_MS).verdict, RL_NO);
    assert_int_equal(release(live, third, 5000).verdict, RL_NO);
    struct rl_answer answer = share(live, second, TTL_MS);
    assert_int_equal(answer.verdict, RL_NO);
    assert_in_range(answer.line.life_ms, LONG_MS / 2, LONG_MS);
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_YES); /* reads already */
    assert_int_equal(extend(live, first, TTL_MS, false).verdict, RL_YES);
    assert_int_equal(share_with(live, second, TTL_MS, true, 0).verdict, RL_YES);
    assert_int_equal(release(live, third, RL_INTENT_DROP).verdict, RL_NO);
    assert_int_equal(live_integer(live, 0, "EXISTS libredlock:intent:{key}"), 0);
    assert_int_equal(share(live, third, TTL_MS).verdict, RL_YES);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

static void becomes_the_other(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    live_tell(live, 0, "PEXPIRE key %d", LONG_MS);
    assert_int_equal(extend(live, first, 1000, false).verdict, RL_YES); /* late: stays a writer's */
    assert_key(live, "1111111111111111111111111111111111111111:h");
    assert_in_range(live_pttl(live, 0, "key"), LONG_MS / 2, LONG_MS);
    assert_int_equal(extend(live, second, 1000, true).verdict, RL_NO);
    assert_int_equal(extend(live, first, 1000, true).verdict, RL_YES);
    is_refused(live, LONG_MS);
    assert_int_equal(share(live, second, TTL_MS).verdict, RL_YES);

    struct rl_answer answer = upgrade(live, first, 0);
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.which, RL_UPGRADE_OTHERS);
    assert_in_range(answer.line.life_ms, LONG_MS / 2, LONG_MS);
    assert_int_equal(upgrade(live, first, 0).line.which, RL_UPGRADE_OTHERS); /* itself */
    assert_int_equal(upgrade(live, second, 0).line.which, RL_UPGRADE_MEETS_UPGRADE);
    assert_int_equal(upgrade(live, third, 0).line.which, RL_UPGRADE_NO_READER);
    is_refused(live, LONG_MS);
    assert_int_equal(share(live, third, TTL_MS).verdict, RL_YES);
    assert_int_equal(give_up(live, first, RL_RELEASE_PLAIN).verdict, RL_YES);
    assert_int_equal(upgrade(live, second, 0).line.which,
                     RL_UPGRADE_OTHERS); /* the client that asked is gone */
    assert_int_equal(give_up(live, third, RL_RELEASE_PLAIN).verdict, RL_YES);
    assert_int_equal(release(live, third, 5000).verdict, RL_NO);
    assert_int_equal(upgrade(live, second, 0).verdict, RL_YES);
    assert_key(live, "2222222222222222222222222222222222222222:h");
    assert_in_range(live_pttl(live, 0, "key"), TTL_MS / 2, TTL_MS);
    assert_int_equal(live_keys(live, 0), 1);
    assert_int_equal(upgrade(live, second, 0).verdict, RL_YES); /* as often as it asks */
    assert_int_equal(share_with(live, first, TTL_MS, true, 0).verdict, RL_NO);
    assert_int_equal(give_up(live, second, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(live_keys(live, 0), 0);
    live_end(live);
}

/* A writer that becomes a reader begins a reading phase: behind it is the writer that waits. */
static void lets_readers_in_beside_it(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    redisContext *a = listen_to(live, "SUBSCRIBE libredlock:client:" ID_A);
    redisContext *b = listen_to(live, "SUBSCRIBE libredlock:client:" ID_B);
    assert_int_equal(take(live, first, false).verdict, RL_YES);
    assert_int_equal(join(live, RL_EXCLUSIVE, B, 60000).verdict, RL_NO);
    assert_int_equal(join(live, RL_SHARED, A, 0).verdict, RL_NO);
    assert_int_equal(extend(live, first, TTL_MS, false).verdict, RL_YES); /* stays a writer's */
    assert_int_equal(live_integer(live, 0, "ZCARD libredlock:line:shared:{key}"), 1);
    assert_int_equal(extend(live, first, TTL_MS, true).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "ZCARD libredlock:line:shared:{key}"), 0);
    hears(a, "shut " A);
    assert_key(live, RL_SHARED_VALUE);
    assert_int_equal(share_with(live, second, TTL_MS, true, 2000).verdict, RL_YES);
    assert_int_equal(join(live, RL_SHARED, A, 0).verdict, RL_NO);
    assert_int_equal(extend(live, first, TTL_MS, true).verdict, RL_YES); /* no second phase */
    assert_int_equal(live_integer(live, 0, "ZCARD libredlock:line:shared:{key}"), 1);
    assert_false(give_up(live, first, RL_RELEASE_SERVE).line.served);
    assert_true(give_up(live, second, RL_RELEASE_SERVE).line.served);
    hears(b, "turn " B);
    assert_key(live, B ":h");
    redisFree(a);
    redisFree(b);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

static struct rl_answer share_fenced(const struct live *live, const char *token, uint64_t least) {
    return say_of(
        live, 2, token,
        (struct rl_request){
            .kind = RL_COMMAND_TAKE, .lock_mode = RL_SHARED, .ttl_ms = TTL_MS, .counter = least});
}

static struct rl_answer raise_fence(const struct live *live, const char *token, uint64_t fence) {
    return say_of(
        live, 2, token,
        (struct rl_request){.kind = RL_COMMAND_RAISE, .lock_mode = RL_SHARED, .counter = fence});
}

/* No smaller than any writer's before, smaller than the next one's; an upgrade gets a new one. */
static void has_a_fence(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    assert_true(share_fenced(live, first, 1000).counter == 1000);
    assert_true(share_fenced(live, second, 2000).counter == 1000); /* not counted up */
    live_tell(live, 0, "DEL libredlock:fence:key"); /* one of two: it is not known which */
    assert_true(share_fenced(live, third, 3000).counter == 3000);
    assert_int_equal(live_integer(live, 0, "INCRBY libredlock:fence:other 0"), 3000);
    assert_int_equal(raise_fence(live, first, 1000).verdict,
                     RL_YES); /* another reader's is above */
    assert_int_equal(live_integer(live, 0, "INCRBY libredlock:fence:key 0"), 3000);
    assert_int_equal(raise_fence(live, third, 4000).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "INCRBY libredlock:fence:key 0"), 4000);
    const struct rl_request last = {
        .kind = RL_COMMAND_RELEASE_LINE, .lock_mode = RL_SHARED, .mode = RL_RELEASE_SERVE};
    assert_int_equal(say_of(live, 2, second, last).verdict, RL_YES);
    assert_int_equal(say_of(live, 2, third, last).verdict, RL_YES);
    assert_int_equal(raise_fence(live, third, 5000).verdict, RL_NO);
    struct rl_answer answer = say_of(
        live, 2, first,
        (struct rl_request){
            .kind = RL_COMMAND_UPGRADE, .lock_mode = RL_SHARED, .ttl_ms = TTL_MS, .counter = 1001});
    assert_int_equal(answer.verdict, RL_YES);
    assert_true(answer.counter == 4001);
    live_tell(live, 0, "FLUSHALL");
    live_tell(live, 0, "SET libredlock:fence:other text");
    assert_int_equal(share_fenced(live, first, 1000).verdict, RL_ERROR);
    assert_int_equal(live_keys(live, 0), 1); /* and nothing else */
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

/* Order may be forbidden: a vote is given and a release is done without it. Leases may not: then
 * there is no vote, and no key is left that would keep others out. */
static void works_with_what_is_allowed(void **state) {
    struct live *live = *state;
    live_start(live, 1, NULL);
    live_tell(live, 0, "ACL SETUSER reader on >pw ~key ~libredlock:readers:* +@all");
    scene_user = "AUTH reader pw";
    assert_int_equal(share_with(live, first, TTL_MS, false, 2000).verdict, RL_YES);
    assert_int_equal(live_integer(live, 0, "EXISTS libredlock:intent:{key}"), 0);
    assert_int_equal(share(live, second, TTL_MS).verdict, RL_YES);
    assert_int_equal(upgrade(live, first, 0).line.which, RL_UPGRADE_OTHERS);
    assert_int_equal(give_up(live, second, RL_RELEASE_SERVE).verdict, RL_YES);
    assert_int_equal(upgrade(live, first, 0).verdict, RL_YES);
    assert_int_equal(release(live, first, 5000).verdict, RL_YES);
    assert_int_equal(live_keys(live, 0), 0);
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_YES);
    assert_int_equal(give_up(live, first, RL_RELEASE_LOOK).verdict, RL_YES);
    live_tell(live, 0, "FLUSHALL");

    live_tell(live, 0, "ACL SETUSER writer on >pw ~key +@all");
    live_tell(live, 0, "ACL SETUSER halfway on >pw ~* +@all -pexpireat");
    scene_user = "AUTH writer pw";
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_ERROR);
    assert_int_equal(live_keys(live, 0), 0);
    scene_user = "AUTH halfway pw";
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_ERROR);
    assert_int_equal(live_integer(live, 0, "EXISTS key"), 0);
    scene_user = NULL;

    live_tell(live, 0, "FLUSHALL");
    assert_int_equal(share(live, first, TTL_MS).verdict, RL_YES);
    live_tell(live, 0, "CONFIG SET maxmemory 1");
    assert_int_equal(share(live, second, TTL_MS).verdict, RL_ERROR);
    assert_int_equal(reading(live), 1);
    assert_int_equal(give_up(live, first, RL_RELEASE_LOOK).verdict, RL_YES);
    LIVE_POLL(live, live_keys(live, 0) == 0); /* a reservation, or not even that */
    live_end(live);
}

/* All or none; a release that finds one key of another type does the rest. */
static void is_one_vote_of_several(void **state) {
    struct live *live = *state;
    struct rl_request both = {.kind = RL_COMMAND_TAKE, .lock_mode = RL_SHARED, .ttl_ms = TTL_MS};
    live_start(live, 1, NULL);
    live_tell(live, 0, "SET other stranger PX %d", TTL_MS);
    struct rl_answer answer = say_of(live, 2, first, both);
    assert_int_equal(answer.verdict, RL_NO);
    assert_int_equal(answer.line.which, 2);
    assert_int_equal(live_keys(live, 0), 1);
    live_tell(live, 0, "DEL other");
    live_tell(live, 0, "RPUSH other x");
    assert_int_equal(say_of(live, 2, first, both).verdict, RL_ERROR);
    assert_int_equal(live_keys(live, 0), 1);
    live_tell(live, 0, "DEL other");
    assert_int_equal(say_of(live, 2, first, both).verdict, RL_YES);
    both.kind = RL_COMMAND_EXTEND;
    assert_int_equal(say_of(live, 2, first, both).verdict, RL_YES);
    live_tell(live, 0, "DEL other libredlock:readers:{other}");
    assert_int_equal(say_of(live, 2, first, both).verdict, RL_NO);
    live_tell(live, 0, "RPUSH other x");
    both = (struct rl_request){.kind = RL_COMMAND_RELEASE_LINE, .lock_mode = RL_SHARED};
    assert_int_equal(say_of(live, 2, first, both).verdict, RL_YES);
    assert_key(live, RL_RESERVED);
    live_tell(live, 0, "FLUSHALL");
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(reads_beside_others),
        LIVE_TEST(lasts_as_long_as_it_was_counted_on),
        LIVE_TEST(takes_turns),
        LIVE_TEST(lets_readers_in_when_no_writer_waits),
        LIVE_TEST(waits_for_a_writer),
        LIVE_TEST(becomes_the_other),
        LIVE_TEST(lets_readers_in_beside_it),
        LIVE_TEST(has_a_fence),
        LIVE_TEST(works_with_what_is_allowed),
        LIVE_TEST(is_one_vote_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
