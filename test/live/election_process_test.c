/* Elections of three processes: one that is killed is followed within its ttl, one that resigns at
 * once, one that is stopped knows on waking that it does not lead. */
#include "live/candidates.h"
#include "live/live.h"

#define TTL_MS 1500
#define POLL_MS 400
#define N 3

static void start(struct live *live, struct candidates *c) {
    live_start(live, 5, NULL);
    candidates_start(c, live->urls, live->n, TTL_MS, POLL_MS);
    for (int i = 0; i < N; i++) {
        candidates_spawn(c, i);
    }
}

static void end(struct live *live, struct candidates *c) {
    candidates_end(c);
    live_end(live);
}

static struct candidate_record wait_for(struct candidates *c, enum candidate_event event,
                                        int index) {
    struct candidate_record record = {0};
    assert_true(candidates_wait(c, event, index, &record));
    return record;
}

/* All that wait have begun to listen on all nodes. */
static void until_listening(struct live *live, long long n) {
    for (size_t i = 0; i < live->n; i++) {
        for (bool enough = false; !enough;) {
            redisReply *reply = live_ask(live, i, "PUBSUB NUMSUB redlock:" CANDIDATE_NAME);
            enough = reply->type == REDIS_REPLY_ARRAY && reply->element[1]->integer >= n;
            freeReplyObject(reply);
            if (!enough) {
                live_run_for(live, LIVE_POLL_MS);
            }
        }
    }
}

static double ms_between(uint64_t from_ns, uint64_t to_ns) {
    return ((double)to_ns - (double)from_ns) / 1e6;
}

static void a_killed_leader_is_followed(void **state) {
    struct live *live = *state;
    struct candidates c;
    start(live, &c);
    struct candidate_record leader = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
    for (int i = 0; i < 3; i++) {
        until_listening(live, N - 1);
        uint64_t killed_ns = candidates_kill(&c, leader.index);
        struct candidate_record next = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
        double gap_ms = ms_between(killed_ns, next.at_ns);
        print_message("# %.1f ms without a leader\n", gap_ms);
        assert_int_not_equal(next.index, leader.index);
        assert_int_equal(next.status, 1);
        assert_true(gap_ms < TTL_MS + 4000); /* the machine may be busy */
        candidates_spawn(&c, leader.index);
        leader = next;
    }
    end(live, &c);
}

static void a_resigned_leader_is_followed(void **state) {
    struct live *live = *state;
    struct candidates c;
    start(live, &c);
    struct candidate_record leader = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
    for (int i = 0; i < 5; i++) {
        until_listening(live, N - 1);
        candidates_resign(&c, leader.index);
        struct candidate_record resigns = wait_for(&c, CANDIDATE_RESIGNS, leader.index);
        leader = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
        assert_int_not_equal(leader.index, resigns.index);
        print_message("# %.2f ms without a leader\n", ms_between(resigns.at_ns, leader.at_ns));
        assert_true(leader.at_ns > resigns.at_ns);
        wait_for(&c, CANDIDATE_CAMPAIGNS, resigns.index);
    }
    end(live, &c);
}

/* It stands still for longer than its ttl. Another leads meanwhile; on waking the first thing that
 * it can see is that it does not, and then it is told. */
static void a_stopped_leader_knows_on_waking(void **state) {
    struct live *live = *state;
    struct candidates c;
    start(live, &c);
    struct candidate_record first = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
    candidates_stop(&c, first.index);
    struct candidate_record second = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
    assert_int_not_equal(second.index, first.index);
    candidates_continue(&c, first.index);
    struct candidate_record wakes = wait_for(&c, CANDIDATE_WAKES, first.index);
    assert_int_equal(wakes.status, 0);
    assert_int_equal(wakes.fence, first.fence); /* with which it would be refused */
    assert_true(wakes.fence < second.fence);
    struct candidate_record lost = wait_for(&c, CANDIDATE_LOST, first.index);
    LIVE_STATUS(lost.status, REDLOCK_ERR_EXPIRED);
    for (int i = 0; i < N; i++) { /* it is a candidate again: the only one in the end */
        if (i != first.index) {
            candidates_kill(&c, i);
        }
    }
    wait_for(&c, CANDIDATE_ELECTED, first.index);
    end(live, &c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_killed_leader_is_followed),
        LIVE_TEST(a_resigned_leader_is_followed),
        LIVE_TEST(a_stopped_leader_knows_on_waking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
