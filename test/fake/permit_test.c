/* A semaphore whose home lies about free slots, the number of permits and turns. This may cost
 * order and time, but a client never holds a slot outside of its semaphore, and an acquire that the
 * other nodes would grant goes on. */

#include "client/state.h"
#include "fake/five.h"
#include "marks.h"
#include "messages.h"
#include "mode/mode.h"
#include "redlock/semaphore.h"
#include "wait/line_call.h"

#define K 3

struct scene {
    struct five f;
    size_t order[FIVE]; /* the nodes in the order in which they become home */
    struct five_done done;
};

static redlock_lock *new_lock(struct scene *s, int32_t permits, int32_t take) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    const redlock_bytes name = {FIVE_RESOURCE, strlen(FIVE_RESOURCE)};
    redlock_lock *lock = NULL;
    options.resources = &name;
    options.n_resources = 1;
    options.permits = permits;
    options.take = take;
    assert_int_equal(redlock_lock_new_with(s->f.client, &options, &lock, NULL, 0), 0);
    return lock;
}

static void start_with(struct scene *s, int64_t node_timeout_ms) {
    memset(s, 0, sizeof *s);
    five_start(&s->f);
    s->f.options.node_timeout_ms = node_timeout_ms;
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_server(s->f.nodes[i])->broken |= SERVER_BREAK_LOADED_SCRIPTS;
    }
    assert_int_equal(five_open(&s->f), 0);
    five_wait_up(&s->f, FIVE);
    five_homes(&s->f, s->order);
}

static void start(struct scene *s) {
    start_with(s, FIVE_TIMEOUT_MS);
}

/* Tests wait for home's timeout, which is shorter than the one that ends its connection. */
static void start_quick(struct scene *s) {
    start_with(s, 1000);
}

/* The node timeout is longer than the test's patience. */
static void start_patient(struct scene *s) {
    start_with(s, 2 * FIVE_PATIENCE_MS);
}

static void stop(struct scene *s) {
    five_wait_repaid(&s->f);
    five_stop(&s->f);
}

#define SCENE_TEST(name) TEST_ON(name, struct scene, s, start, stop)
#define SCENE_EACH(name, times) TEST_ON_EACH(name, times, struct scene, s, start, stop)

static struct fake_node *node_at(struct scene *s, size_t rank) {
    return s->f.nodes[s->order[rank]];
}

/* Home's answer to every JOIN: RESP is sent as it is, other text as a bulk string. */
static void home_says(struct scene *s, const char *text) {
    char bytes[128];
    if (strchr("-:*$", text[0]) != NULL) {
        snprintf(bytes, sizeof bytes, "%s\r\n", text);
    } else {
        snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    }
    node_rule(node_at(s, 0), .command = "join", .action = FAKE_INSTEAD, .bytes = bytes);
}

static bool is_held_on(struct scene *s, size_t node, uint32_t slot) {
    char key[64];
    snprintf(key, sizeof key, "libredlock:slot:%u:{" FIVE_RESOURCE "}", slot);
    return fake_node_get(s->f.nodes[node], key) != NULL;
}

/* The slots that the lock reports are of the semaphore, and no node has a key in any other slot. */
static void check_slots(struct scene *s, const redlock_lock *lock, int32_t take) {
    bool held[RL_PERMITS_MAX] = {false};
    for (int32_t i = 0; i < take; i++) {
        const int32_t slot = redlock_lock_slot(lock, (size_t)i);
        assert_in_range(slot, 0, K - 1);
        assert_false(held[slot]);
        held[slot] = true;
    }
    assert_int_equal(redlock_lock_slot(lock, (size_t)take), REDLOCK_NO_SLOT);
    for (size_t node = 0; node < FIVE; node++) {
        for (uint32_t slot = 0; slot < RL_PERMITS_MAX; slot++) {
            assert_true(held[slot] || !is_held_on(s, node, slot));
        }
    }
}

/* -- Invalid slots -- */

/* Home's answers to a client that wants two of three. Garbage ends its connection. (unit/line_reply
 * has malformed lists of slots.) */
static const char *const answers[] = {
    "1",          "1 0",          "1 0 1 2",
    "1 0 3",      "1 1023 1022",  "1 0 1024",
    "0 -1 5",     "-PERMITS",     "-PERMITS this semaphore has 99999999999999999999 permits, not 3",
    "-NOPERM no", "-NOSCRIPT no", ":1",
    "*-1",
};

SCENE_EACH(holds_none_but_its_own, COUNT(answers)) {
    home_says(s, answers[row]);
    redlock_lock *lock = new_lock(s, K, 2);
    const int status = five_acquire(&s->f, lock);
    if (status != 0) {
        print_error("\"%s\": %s, %s\n", answers[row], redlock_err_name(status), LOCK_MESSAGE(lock));
    }
    assert_int_equal(status, 0);
    check_slots(s, lock, 2);
    assert_int_equal(five_release(&s->f, lock), 0);
}

/* -- Another number -- */

#define FIVE_PERMITS "-PERMITS this semaphore has 5 permits, not 3\r\n"

static void keeps_another_number(struct scene *s, size_t rank, const char *command) {
    node_rule(node_at(s, rank), .command = command, .action = FAKE_INSTEAD, .bytes = FIVE_PERMITS);
}

/* The nodes from `first` on keep the number 5. */
static void differ_from(struct scene *s, size_t first) {
    for (size_t rank = first; rank < FIVE; rank++) {
        keeps_another_number(s, rank, "join");
        keeps_another_number(s, rank, "take");
    }
}

static void ask(struct scene *s, redlock_lock *lock, int64_t tries) {
    redlock_acquire_options options = five_one_try(&s->f);
    options.tries = tries;
    options.wait_ms = REDLOCK_NO_LIMIT;
    s->done = (struct five_done){0, 0};
    assert_int_equal(redlock_acquire(lock, &options, five_on_lock, &s->done), 0);
    assert_int_equal(s->done.calls, 0);
}

/* If a quorum keeps our number, the other nodes are ignored, home or not. If a quorum keeps another
 * number, the acquire ends, however long it would wait. */
SCENE_EACH(a_quorum_says_how_many_there_are, 2 * (FIVE + 1)) {
    const size_t first = row / 2;
    differ_from(s, first);
    redlock_lock *lock = new_lock(s, K, 1);
    ask(s, lock, row % 2 == 0 ? 1 : REDLOCK_NO_LIMIT);
    const int status = five_wait(&s->f, &s->done);
    assert_int_equal(status, first < 3 ? REDLOCK_ERR_PERMITS : 0);
    if (status != 0) {
        assert_string_equal(LOCK_MESSAGE(lock),
                            "the semaphore has another number of permits: 5, and this "
                            "lock is of 3");
    } else {
        assert_int_equal(five_release(&s->f, lock), 0);
    }
}

/* Home and the next node were down when the number was changed. */
SCENE_TEST(a_few_that_keep_another_are_passed_over) {
    for (size_t rank = 0; rank < 2; rank++) {
        keeps_another_number(s, rank, "join");
        keeps_another_number(s, rank, "take");
    }
    redlock_lock *lock = new_lock(s, K, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(five_acquire(&s->f, lock), 0);
        assert_int_equal(five_release(&s->f, lock), 0);
    }
    five_wait_repaid(&s->f);
    assert_int_equal(fake_node_count(node_at(s, 0), "join"), 3);
    assert_int_equal(fake_node_count(node_at(s, 1), "join"), 3);
    assert_int_equal(fake_node_count(node_at(s, 2), "join"), 3);
    assert_int_equal(fake_node_count(node_at(s, 3), "join"), 0);
}

/* -- In line -- */

static void hold_all(struct scene *s, int32_t permits, const char *value) {
    for (size_t node = 0; node < FIVE; node++) {
        for (int32_t slot = 0; slot < permits; slot++) {
            char key[64];
            snprintf(key, sizeof key, "libredlock:slot:%d:{" FIVE_RESOURCE "}", slot);
            if (value != NULL) {
                fake_node_put(s->f.nodes[node], key, value, 3600000);
            } else {
                server_remove(fake_node_server(s->f.nodes[node]), 0, key, strlen(key));
            }
        }
    }
}

static const struct rl_place *line_of(const redlock_lock *lock) {
    return rl_resource_place(rl_ticket_resource(&lock->tickets[0]));
}

static bool stands(struct five *f, void *data) {
    return line_of(data)->state == RL_PLACE_WAITING;
}

static bool asks(struct five *f, void *data) {
    const redlock_lock *lock = data;
    return rl_permit_of(lock)->asks;
}

static bool has_no_keys(struct five *f, void *data) {
    return fake_node_keys(data) == 0 && f != NULL;
}

static bool waits_behind(struct five *f, void *data) {
    const redlock_lock *lock = data;
    return lock->core.state == RL_WAITING;
}

static void tell(struct scene *s, const redlock_lock *lock, const char *slots) {
    char channel[64], payload[128], token[RL_TOKEN_LEN];
    rl_line_place(s->f.client, line_of(lock)->id, token);
    snprintf(channel, sizeof channel, "libredlock:client:%s", s->f.client->id);
    snprintf(payload, sizeof payload, "turn %.*s%s", RL_TOKEN_LEN, token, slots);
    assert_int_equal(fake_node_publish(node_at(s, 0), channel, payload), 1);
}

/* The lock's last try asks home for free slots, and home does not answer; a turn that was on its
 * way still gives it the slots. */
TEST_ON(a_turn_ends_the_question, struct scene, s, start_patient, stop) {
    redlock_lock *lock = new_lock(s, K, 2);
    hold_all(s, K, "a stranger's");
    ask(s, lock, 3);
    assert_true(five_run_until(&s->f, stands, lock));
    fake_node_pause(node_at(s, 0));
    assert_true(five_run_until(&s->f, asks, lock));
    hold_all(s, K, NULL);
    tell(s, lock, " 2 0");
    assert_int_equal(five_wait(&s->f, &s->done), 0);
    assert_int_equal(redlock_lock_slot(lock, 0), 2);
    assert_int_equal(redlock_lock_slot(lock, 1), 0);
    fake_node_resume(node_at(s, 0));
    five_wait_repaid(&s->f);
    assert_int_equal(five_release(&s->f, lock), 0);
    five_wait_repaid(&s->f);
    /* Home reserved slots for the late question; the reservation expires. */
    assert_true(five_run_until(&s->f, has_no_keys, node_at(s, 0)));
}

/* A lock that pauses asks home again, while another lock of its client has joined the line. */
SCENE_TEST(a_question_does_not_cost_its_client_the_place) {
    redlock_lock *pauses = new_lock(s, K, 1), *waits = new_lock(s, K, 1);
    redlock_acquire_options options = five_one_try(&s->f);
    struct five_done first = {0, 0};
    for (size_t rank = 0; rank < FIVE; rank++) {
        node_rule(node_at(s, rank), .command = "take", .times = 1, .action = FAKE_INSTEAD,
                  .bytes = "-OOM no\r\n");
    }
    options.tries = options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = 500;
    assert_int_equal(redlock_acquire(pauses, &options, five_on_lock, &first), 0);
    five_wait_count(&s->f, s->order[0], "release_permit", 1); /* its attempt has failed */
    hold_all(s, K, "a stranger's");
    ask(s, waits, REDLOCK_NO_LIMIT);
    assert_true(five_run_until(&s->f, stands, waits));
    const uint64_t place = line_of(waits)->id;
    assert_true(five_run_until(&s->f, asks, pauses));
    assert_true(five_run_until(&s->f, waits_behind, pauses));
    assert_int_equal(fake_node_lines(node_at(s, 0)), 1);
    assert_true(line_of(waits)->id == place);
    hold_all(s, K, NULL);
    assert_int_equal(five_wait(&s->f, &s->done), 0);
    assert_int_equal(five_wait(&s->f, &first), 0);
    assert_int_equal(five_release(&s->f, pauses), 0);
    assert_int_equal(five_release(&s->f, waits), 0);
}

/* -- Behind its own release -- */

/* Home has forgotten the script of the release, which is sent again, whole, behind the question. */
SCENE_TEST(a_no_from_before_the_release_is_none) {
    struct fake_node *home = node_at(s, 0);
    fake_node_server(home)->broken &= ~(unsigned)SERVER_BREAK_LOADED_SCRIPTS;
    redlock_lock *lock = new_lock(s, 1, 1);
    MARK_FROM(PEEK_AGAIN);
    assert_int_equal(five_acquire(&s->f, lock), 0);
    five_wait_repaid(&s->f);
    assert_int_equal(five_release(&s->f, lock), 0);
    assert_int_equal(five_acquire(&s->f, lock), 0);
    five_wait_repaid(&s->f);
    server_forget_scripts(fake_node_server(home));
    redlock_lock *other = new_lock(s, 1, 1); /* loads the script of JOIN again */
    assert_int_not_equal(five_acquire(&s->f, other), 0);
    fake_node_pause(home);
    assert_int_equal(five_release(&s->f, lock), 0);
    ask(s, lock, 1);
    five_run_ms(&s->f, 5);
    assert_int_equal(s->done.calls, 0);
    fake_node_resume(home);
    assert_int_equal(five_wait(&s->f, &s->done), 0);
    MARK_TO(PEEK_AGAIN);
    assert_int_equal(five_release(&s->f, lock), 0);
}

/* The connection breaks before the answer: after the reconnection the slots that home has reserved
 * are given back before it is asked again. */
TEST(what_was_reserved_in_vain_is_given_back) {
    struct scene s = {.order = {0}};
    five_start(&s.f);
    fake_node_server(s.f.nodes[0])->broken |= SERVER_BREAK_LOADED_SCRIPTS;
    assert_int_equal(five_open_n(&s.f, 1), 0);
    redlock_lock *lock = new_lock(&s, 1, 1);
    five_rule(&s.f, 0, .command = "join", .times = 1, .action = FAKE_EXECUTE_RESET);
    assert_int_equal(five_acquire(&s.f, lock), REDLOCK_ERR_NO_QUORUM);
    five_wait_up(&s.f, 1);
    assert_int_equal(five_acquire(&s.f, lock), 0);
    assert_int_equal(fake_node_count(s.f.nodes[0], "leave"), 1);
    assert_int_equal(five_release(&s.f, lock), 0);
    five_wait_repaid(&s.f);
    five_stop(&s.f);
}

/* -- A home that is silent or wrong -- */

TEST_ON(a_silent_home_costs_a_moment, struct scene, s, start_quick, stop) {
    redlock_lock *lock = new_lock(s, K, 2);
    fake_node_pause(node_at(s, 0));
    assert_int_equal(five_acquire(&s->f, lock), 0);
    check_slots(s, lock, 2);
    assert_int_equal(five_info(&s->f, s->order[0]).connects, 1);
    assert_int_equal(fake_node_count(node_at(s, 1), "join"), 0); /* random slots */
    fake_node_resume(node_at(s, 0));
    assert_int_equal(five_release(&s->f, lock), 0);
}

/* The slots that home reserves for the cancelled question are given back. */
SCENE_TEST(cancelled_while_it_asks) {
    redlock_lock *lock = new_lock(s, 1, 1), *next = new_lock(s, 1, 1);
    fake_node_pause(node_at(s, 0));
    ask(s, lock, REDLOCK_NO_LIMIT);
    assert_true(five_run_until(&s->f, asks, lock));
    assert_int_equal(redlock_cancel(lock), 0);
    assert_int_equal(five_wait(&s->f, &s->done), REDLOCK_ERR_CANCELED);
    fake_node_resume(node_at(s, 0));
    five_wait_repaid(&s->f);
    assert_int_equal(fake_node_count(node_at(s, 0), "leave"), 1);
    assert_int_equal(five_acquire(&s->f, next), 0);
    assert_int_equal(five_release(&s->f, next), 0);
}

/* Home has lost its keys. It names slots that others hold on the other nodes, until it names the
 * free one. */
SCENE_TEST(home_has_forgotten_the_holders) {
    redlock_lock *lock = new_lock(s, K, 1);
    hold_all(s, K - 1, "a stranger's");
    server_forget_keys(fake_node_server(node_at(s, 0)));
    ask(s, lock, REDLOCK_NO_LIMIT);
    assert_int_equal(five_wait(&s->f, &s->done), 0);
    assert_int_equal(redlock_lock_slot(lock, 0), K - 1);
    assert_int_equal(five_release(&s->f, lock), 0);
    hold_all(s, K, NULL);
}

/* An owner holds the fifth slot of a semaphore of five, which a semaphore of three does not
 * have. */
SCENE_TEST(an_owner_shares_no_other_semaphore) {
    redlock_acquire_options options = five_one_try(&s->f);
    redlock_lock *a = new_lock(s, 5, 1), *b = new_lock(s, K, 1);
    options.owner = 7;
    home_says(s, "1 4");
    assert_int_equal(redlock_acquire(a, &options, five_on_lock, &s->done), 0);
    assert_int_equal(five_wait(&s->f, &s->done), 0);
    assert_int_equal(redlock_lock_slot(a, 0), 4);
    fake_node_clear_rules(node_at(s, 0));
    five_wait_repaid(&s->f);
    s->done = (struct five_done){0, 0};
    assert_int_equal(redlock_acquire(b, &options, five_on_lock, &s->done), 0);
    assert_int_equal(five_wait(&s->f, &s->done), REDLOCK_ERR_PERMITS);
    assert_int_equal(redlock_lock_slot(b, 0), REDLOCK_NO_SLOT);
    assert_int_equal(five_release(&s->f, a), 0);
}
