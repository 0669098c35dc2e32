/* Changes of the mode: which commands convert, which nodes an upgrade and the writer's extensions
 * count, and what an upgrade's result means. The argument is in mode/mode.h. */
#include "mode/mode.h"

#include <redlock/redlock.h>

#include "marks.h"
#include "unit/check.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define OTHER "1123456789abcdef0123456789abcdef01234567"
#define REASON (-77) /* why node 2 may not vote */

struct scene {
    redlock_client client;
    redlock_lock *lock;
    uint32_t duplicates[3];
    int16_t reasons[RL_SEATS_MAX]; /* an event's */
};

/* A lock of three nodes, made in this mode, that is held. */
static void hold(struct scene *s, const struct rl_mode_rules *made) {
    static redlock_lock lock;
    memset(s, 0, sizeof *s);
    memset(&lock, 0, sizeof lock);
    s->lock = &lock;
    s->client.n_nodes = 3;
    s->client.reasons[2] = REASON;
    s->lock->client = &s->client;
    s->lock->mode = made;
    rl_mode_begin(s->lock);
    memcpy(s->lock->core.token, TOKEN, sizeof TOKEN);
    s->lock->core.state = RL_HELD;
}

/* Sends an extension. Returns the nodes that must convert. */
static uint32_t extend(struct scene *s) {
    uint32_t converts = 0;
    s->lock->core.round.kind = RL_ROUND_EXTEND;
    for (uint32_t node = 0; node < 3; node++) {
        if (rl_mode_converts(s->lock, node)) {
            converts |= 1u << node;
            rl_mode_convert_sent(s->lock, node);
        }
    }
    return converts;
}

static void answer(struct scene *s, uint32_t node, bool converts, const char *token,
                   enum rl_verdict verdict) {
    struct rl_request request = {.kind = RL_COMMAND_EXTEND, .converts = converts};
    const struct rl_answer said = {.verdict = verdict};
    memcpy(request.token, token, RL_TOKEN_LEN);
    s->lock->mode->learn(s->lock, node, &request, &said);
}

static void upgrade_answer(struct scene *s, enum rl_verdict verdict, uint8_t code) {
    struct rl_request request = {.kind = RL_COMMAND_UPGRADE};
    const struct rl_answer said = {.verdict = verdict, .line = {.which = code}};
    memcpy(request.token, TOKEN, RL_TOKEN_LEN);
    s->lock->mode->learn(s->lock, 0, &request, &said);
}

/* An event with all nodes up, of which 0 and 1 may vote. */
static struct rl_event leave_out(struct scene *s, enum rl_event_type type) {
    struct rl_event event = {
        .type = type, .up = 7, .voters = 3, .reasons = s->reasons, .duplicates = s->duplicates};
    memcpy(s->reasons, s->client.reasons, sizeof s->reasons);
    rl_mode_leave_out(s->lock, &event, s->reasons);
    return event;
}

/* Its end, after which the core's words are its own, or not if it has failed. */
static int ended(struct scene *s, int status) {
    assert_true(rl_mode_is_upgrading(s->lock));
    const int what = rl_mode_extended(s->lock, status);
    assert_false(rl_mode_is_upgrading(s->lock));
    return what;
}

static int upgrade(struct scene *s, int status) {
    rl_mode_upgrade(s->lock);
    return ended(s, status);
}

/* -- Which commands -- */

TEST(a_reader_asks_as_one) {
    struct scene s;
    for (enum rl_call_kind kind = RL_CALL_SET; kind < RL_CALL_KINDS; kind++) {
        hold(&s, &rl_mode_reader);
        assert_ptr_equal(rl_mode_of(s.lock, kind), &rl_mode_reader);
        hold(&s, &rl_mode_writer);
        assert_ptr_equal(rl_mode_of(s.lock, kind),
                         kind == RL_CALL_UPGRADE ? &rl_mode_reader : &rl_mode_writer);
        hold(&s, &rl_mode_reader);
        rl_mode_upgrade(s.lock); /* of what has converted the counters are raised, as a writer's */
        assert_ptr_equal(rl_mode_of(s.lock, kind),
                         kind == RL_CALL_RAISE ? &rl_mode_writer : &rl_mode_reader);
    }
}

/* A lock that was ever shared may have left leases: it is released as a reader's, and the next hold
 * has the mode in which the lock was made. */
TEST(is_released_as_what_it_was) {
    struct scene s;
    hold(&s, &rl_mode_writer);
    rl_mode_downgrade(s.lock);
    assert_ptr_equal(rl_mode_of(s.lock, RL_CALL_EXTEND), &rl_mode_reader);
    assert_int_equal(upgrade(&s, 0), 0);
    assert_ptr_equal(rl_mode_of(s.lock, RL_CALL_EXTEND), &rl_mode_writer);
    assert_ptr_equal(rl_mode_of(s.lock, RL_CALL_SET), &rl_mode_writer); /* a repair */
    assert_ptr_equal(rl_mode_of(s.lock, RL_CALL_RELEASE), &rl_mode_reader);
    s.lock->core.state = RL_IDLE;
    rl_mode_begin(s.lock);
    assert_ptr_equal(rl_mode_of(s.lock, RL_CALL_RELEASE), &rl_mode_writer);
    hold(&s, &rl_mode_reader);
    assert_int_equal(upgrade(&s, 0), 0);
    s.lock->core.state = RL_IDLE;
    rl_mode_begin(s.lock);
    assert_ptr_equal(rl_mode_of(s.lock, RL_CALL_SET), &rl_mode_reader);
}

/* -- Commands that convert, and nodes that count -- */

TEST(converts_only_what_may_be_the_writers) {
    struct scene s;
    hold(&s, &rl_mode_reader);
    assert_int_equal(extend(&s), 0);
    rl_mode_upgrade(s.lock);
    assert_int_equal(extend(&s), 7); /* in vain: that is a part of it */
    assert_int_equal(ended(&s, REDLOCK_ERR_HELD), REDLOCK_ERR_HELD);
    hold(&s, &rl_mode_reader);
    assert_int_equal(upgrade(&s, 0), 0);
    assert_int_equal(extend(&s), 0); /* it is the writer's, and shall be */
    hold(&s, &rl_mode_writer);
    assert_int_equal(extend(&s), 0);
    rl_mode_downgrade(s.lock);
    assert_int_equal(extend(&s), 7);
}

/* Each node has at most one conversion at a time: so any answer to one settles all. */
TEST(is_sure_when_it_was_answered) {
    struct scene s;
    hold(&s, &rl_mode_writer);
    rl_mode_downgrade(s.lock);
    assert_int_equal(extend(&s), 7);
    assert_int_equal(extend(&s), 0);
    answer(&s, 0, true, TOKEN, RL_YES);
    answer(&s, 1, true, TOKEN, RL_NO);
    answer(&s, 2, false, TOKEN, RL_YES); /* another extension's */
    answer(&s, 2, true, OTHER, RL_YES);  /* an earlier hold's */
    assert_int_equal(s.lock->holding.unsure, 4);
    assert_int_equal(extend(&s), 3);
}

/* An error is an answer: whatever the command has done, it will do no more. Without a valid answer,
 * the command may still run, even after another one that is sent in its place. */
TEST(stays_unsure_without_an_answer) {
    struct scene s;
    for (enum rl_verdict verdict = RL_YES; verdict <= RL_UNANSWERED; verdict++) {
        hold(&s, &rl_mode_writer);
        rl_mode_downgrade(s.lock);
        extend(&s);
        answer(&s, 0, true, TOKEN, verdict);
        const bool is_over = verdict != RL_UNANSWERED && verdict != RL_NOT_REDIS;
        assert_int_equal(s.lock->holding.unsure, 6);
        assert_int_equal(s.lock->holding.stray, is_over ? 0 : 1);
        assert_int_equal(extend(&s), 1); /* or it would keep readers out for ever */
        for (uint32_t i = 0; i < 3; i++) {
            answer(&s, i, true, TOKEN, RL_YES);
        }
        assert_int_equal(upgrade(&s, 0), 0);
        assert_int_equal(rl_mode_is_unsure(s.lock), !is_over);
        if (!is_over) {
            assert_int_equal(leave_out(&s, RL_EV_VOTE).voters, 2); /* of 0 and 1 */
        }
    }
}

/* Nodes 0 and 1 are one server: a conversion that may still run on one applies to the other as
 * well. */
TEST(counts_no_other_address_of_it) {
    struct scene s;
    hold(&s, &rl_mode_writer);
    s.duplicates[0] = 2;
    s.duplicates[1] = 1;
    rl_mode_downgrade(s.lock);
    extend(&s);
    answer(&s, 0, true, TOKEN, RL_UNANSWERED);
    answer(&s, 1, true, TOKEN, RL_YES);
    answer(&s, 2, true, TOKEN, RL_YES);
    rl_mode_upgrade(s.lock);
    assert_int_equal(leave_out(&s, RL_EV_VOTE).voters & 3, 0);
}

TEST(counts_them_in_no_upgrade) {
    struct scene s;
    MARK_FROM(UNSURE_NOT_COUNTED);
    hold(&s, &rl_mode_writer);
    rl_mode_downgrade(s.lock);
    extend(&s);
    answer(&s, 0, true, TOKEN, RL_YES);
    assert_false(rl_mode_is_unsure(s.lock)); /* a reader: it keeps writers out either way */
    rl_mode_upgrade(s.lock);
    assert_true(rl_mode_is_unsure(s.lock));
    struct rl_event event = leave_out(&s, RL_EV_VOTE);
    assert_int_equal(event.voters, 1);
    assert_int_equal(event.reasons[0], 0);
    assert_int_equal(event.reasons[1], REDLOCK_ERR_NODE_TIMEOUT);
    assert_int_equal(event.reasons[2], REASON); /* its own */
    assert_int_equal(s.client.reasons[1], 0);
    answer(&s, 1, true, TOKEN, RL_NO);
    answer(&s, 2, true, TOKEN, RL_YES);
    assert_false(rl_mode_is_unsure(s.lock));
    MARK_TO(UNSURE_NOT_COUNTED);
}

/* After a downgrade node 1 has the value, and a conversion that may run: it says yes to the writer
 * that was upgraded by the others, and lets readers in a moment later. */
TEST(counts_them_in_no_writers_extension) {
    struct scene s;
    hold(&s, &rl_mode_writer);
    rl_mode_downgrade(s.lock);
    extend(&s);
    answer(&s, 0, true, TOKEN, RL_YES);
    assert_int_equal(upgrade(&s, 0), 0);
    extend(&s);
    assert_true(rl_mode_is_unsure(s.lock));
    struct rl_event event = leave_out(&s, RL_EV_VOTE);
    assert_int_equal(event.voters, 1);
    assert_int_equal(event.up, 7); /* it is asked, since it has the key, and may be repaired */
    assert_int_equal(event.reasons[1], REDLOCK_ERR_NODE_TIMEOUT);
    rl_mode_downgrade(s.lock);
    assert_false(rl_mode_is_unsure(s.lock));
    assert_int_equal(extend(&s), 1); /* no second one is sent to the others */
}

/* -- Its end -- */

TEST(says_what_it_came_to) {
    static const struct {
        int status, wanted;
    } rows[] = {
        {0, 0},
        {REDLOCK_ERR_HELD, REDLOCK_ERR_WOULD_DEADLOCK},
        {REDLOCK_ERR_UNKNOWN, REDLOCK_ERR_UNKNOWN},
        {REDLOCK_ERR_LOST, REDLOCK_ERR_LOST},
        {REDLOCK_ERR_CANCELED, REDLOCK_ERR_CANCELED},
    };
    struct scene s;
    for (size_t i = 0; i < COUNT(rows); i++) {
        hold(&s, &rl_mode_reader);
        rl_mode_upgrade(s.lock);
        upgrade_answer(&s, RL_NO, 1);
        assert_false(s.lock->holding.meets_upgrade);
        upgrade_answer(&s, RL_NO, RL_UPGRADE_MEETS_UPGRADE);
        assert_true(s.lock->holding.meets_upgrade);
        assert_int_equal(ended(&s, rows[i].status), rows[i].wanted);
        assert_ptr_equal(rl_mode_now(s.lock),
                         rows[i].status == 0 ? &rl_mode_writer : &rl_mode_reader);
        assert_false(s.lock->holding.is_upgrading);
        if (rows[i].status != 0) { /* the next upgrade reports its own result */
            assert_int_equal(upgrade(&s, REDLOCK_ERR_HELD), REDLOCK_ERR_HELD);
        }
    }
}
