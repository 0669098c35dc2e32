/* The reports to humans and programs: trace, messages, every node's outcome, statistics. */
#include <stdio.h>
#include <string.h>

#include "live/live.h"
#include "messages.h"
#include "redlock/token.h"

#define TTL_MS 30000

/* -- The trace -- */

#define EVENTS_MAX 256
#define STORY_MAX 2048

struct trace {
    size_t n;
    struct {
        enum redlock_event_type type;
        int status;
        uint64_t now_ns;
        uint32_t latency_us;
        uint64_t acquire_id;
        bool has_lock;
        bool has_node;
    } events[EVENTS_MAX];
};

static void trace_cb(const redlock_event *event, void *data) {
    struct trace *trace = data;
    assert_true(trace->n < EVENTS_MAX);
    trace->events[trace->n].type = event->type;
    trace->events[trace->n].status = event->status;
    trace->events[trace->n].now_ns = event->now_ns;
    trace->events[trace->n].latency_us = event->latency_us;
    trace->events[trace->n].acquire_id = event->acquire_id;
    trace->events[trace->n].has_lock = event->lock != NULL;
    trace->events[trace->n].has_node = event->node != NULL && event->node[0] != '\0';
    trace->n++;
}

/* As text: names, with the status of those that have one. */
static const char *story(const struct trace *trace, char *text) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < trace->n; i++) {
        const char *status = redlock_err_name(trace->events[i].status);
        bool is_plain = trace->events[i].status == 0;
        length += (size_t)snprintf(text + length, STORY_MAX - length, "%s%s%s%s", i > 0 ? " " : "",
                                   redlock_event_name(trace->events[i].type), is_plain ? "" : ":",
                                   is_plain ? "" : status);
        assert_true(length < STORY_MAX);
    }
    return text;
}

static size_t count_events(const struct trace *trace, enum redlock_event_type type) {
    size_t count = 0;
    for (size_t i = 0; i < trace->n; i++) {
        count += trace->events[i].type == type;
    }
    return count;
}

static size_t first_event(const struct trace *trace, enum redlock_event_type type) {
    size_t i = 0;
    while (i < trace->n && trace->events[i].type != type) {
        i++;
    }
    assert_true(i < trace->n);
    return i;
}

/* For one lock: the events of an acquire and its hold have the number of that acquire. */
static void check_ids(const struct trace *trace) {
    uint64_t id = 0;
    for (size_t i = 0; i < trace->n; i++) {
        id += trace->events[i].type == REDLOCK_EVENT_SUBMITTED;
        assert_int_equal(trace->events[i].acquire_id, trace->events[i].has_lock ? id : 0);
    }
    assert_true(id > 0);
}

static void open_traced(struct live *live, size_t n, struct trace *trace) {
    memset(trace, 0, sizeof(*trace));
    live_start(live, n, NULL);
    redlock_client_options options = live_options(live);
    options.trace = trace_cb;
    options.trace_data = trace;
    live_open_all(live, &options);
}

/* One node, so that there is one order. */
static void story_of_a_lock(void **state) {
    struct live *live = *state;
    struct trace trace;
    char text[STORY_MAX];
    open_traced(live, 1, &trace);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    live_tell(live, 0, "SET key thief");
    LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_LOST);
    LIVE_UNTIL(live, live_is_quiet(live->client, 1));
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 1));
    live_tell(live, 0, "DEL key");
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_string_equal(story(&trace, text),
                        "node_up submitted attempt vote acquired done extend vote done "
                        "extend vote:ERR_HELD release lost:ERR_LOST done:ERR_LOST "
                        "submitted attempt vote:ERR_HELD release failed:ERR_HELD done:ERR_HELD "
                        "submitted attempt vote acquired done released release vote done");
    check_ids(&trace);
    live_end(live);
}

static void story_of_a_dead_node(void **state) {
    struct live *live = *state;
    struct trace trace;
    char text[STORY_MAX];
    open_traced(live, 1, &trace);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    live_kill(live, 0);
    LIVE_UNTIL(live, live_up(live->client) == 0);
    LIVE_STATUS(live_extend(live, lock, 0), REDLOCK_ERR_UNKNOWN);
    LIVE_STATUS(live_release(live, lock), REDLOCK_ERR_NO_QUORUM);
    live_restart(live, 0);
    LIVE_UNTIL(live, live_stats(live->client).releases_retried == 1);
    assert_string_equal(story(&trace, text),
                        "node_up submitted attempt vote acquired done "
                        "node_down:ERR_NODE_DISCONNECTED done:ERR_UNKNOWN "
                        "released release_pending done:ERR_NO_QUORUM node_up release_retried");
    live_end(live);
}

static void counted_cb(redlock_query *query, int status, void *data) {
    LIVE_STATUS(status, 0);
    *(int *)data = (int)redlock_query_waiting(query);
    live_wake();
}

static int waiting_for(struct live *live, const char *name) {
    int waiting = -1;
    LIVE_STATUS(redlock_query_waiters(live->client, name, strlen(name), 1, counted_cb, &waiting),
                0);
    LIVE_UNTIL(live, waiting >= 0);
    return waiting;
}

/* Another client has it, is waited for in line, and hands it over. */
static void story_of_a_turn(void **state) {
    struct live *live = *state;
    struct trace trace;
    struct live_done done = {0};
    char text[STORY_MAX];
    open_traced(live, 1, &trace);
    redlock_client *other = live_another(live);
    redlock_lock *its = live_lock(other, "key");
    LIVE_STATUS(live_acquire(live, its, NULL), 0);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, waiting_for(live, "key") == 1);
    redlock_stats s = live_stats(live->client);
    assert_int_equal(s.joins, 1);
    assert_int_equal(s.turns + s.turns_missed + s.handover_us, 0);
    LIVE_STATUS(live_release(live, its), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    s = live_stats(live->client);
    assert_int_equal(s.joins, 1);
    assert_int_equal(s.turns, 1);
    assert_int_equal(s.turns_missed, 0);
    assert_int_equal(s.attempts, 2);
    assert_true(s.handover_us > 0 && s.handover_us < LIVE_PATIENCE_MS * 1000);
    assert_int_equal(s.handover_max_us, s.handover_us);
    assert_int_equal(live_stats(other).joins, 0);
    assert_string_equal(story(&trace, text),
                        "node_up submitted attempt vote:ERR_HELD release waiting listen_up join "
                        "place turn take vote acquired done");
    check_ids(&trace);
    const enum redlock_event_type of_a_node[] = {REDLOCK_EVENT_JOIN, REDLOCK_EVENT_PLACE,
                                                 REDLOCK_EVENT_TURN};
    for (size_t i = 0; i < 3; i++) {
        size_t at = first_event(&trace, of_a_node[i]);
        assert_true(trace.events[at].has_lock && trace.events[at].has_node);
    }
    LIVE_STATUS(live_release(live, lock), 0);
    live_close(live, other);
    live_end(live);
}

/* Five nodes: each votes once, a quorum before the grant. */
static void story_of_a_quorum(void **state) {
    struct live *live = *state;
    struct trace trace;
    open_traced(live, 5, &trace);
    assert_int_equal(count_events(&trace, REDLOCK_EVENT_NODE_UP), 5);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    size_t attempt = first_event(&trace, REDLOCK_EVENT_ATTEMPT);
    size_t acquired = first_event(&trace, REDLOCK_EVENT_ACQUIRED);
    assert_int_equal(attempt, 6);
    assert_true(acquired >= attempt + 1 + 3);
    size_t votes = count_events(&trace, REDLOCK_EVENT_VOTE);
    size_t late = count_events(&trace, REDLOCK_EVENT_LATE_VOTE);
    assert_int_equal(votes, 3);
    assert_int_equal(late, 2);
    assert_int_equal(live_stats(live->client).late_votes, late);
    uint64_t now_ns = trace.events[0].now_ns;
    for (size_t i = 0; i < trace.n; i++) {
        bool is_vote = trace.events[i].type == REDLOCK_EVENT_VOTE ||
                       trace.events[i].type == REDLOCK_EVENT_LATE_VOTE;
        bool is_node = trace.events[i].type == REDLOCK_EVENT_NODE_UP;
        assert_true(trace.events[i].now_ns >= now_ns);
        now_ns = trace.events[i].now_ns;
        assert_int_equal(trace.events[i].has_lock, !is_node);
        assert_int_equal(trace.events[i].has_node, is_node || is_vote);
        assert_int_equal(trace.events[i].latency_us > 0, is_vote);
        LIVE_STATUS(trace.events[i].status, 0);
    }
    live_end(live);
}

/* -- Sentences -- */

static void check_message(redlock_lock *lock, const char *beginning) {
    const char *message = LOCK_MESSAGE(lock);
    if (strncmp(message, beginning, strlen(beginning)) != 0) {
        assert_string_equal(message, beginning); /* to be shown both */
    }
    assert_true(strlen(message) < REDLOCK_MESSAGE_MAX);
}

static void sentences(void **state) {
    struct live *live = *state;
    redlock_acquire_options options = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    check_message(lock, "no request has been sent yet");
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    check_message(lock, "success: ");
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_message(lock, "success: 5 of 5 granted, 3 needed");
    LIVE_STATUS(redlock_acquire(lock, &options, NULL, NULL), REDLOCK_ERR_ALREADY_HELD);
    check_message(lock, "it is already held");
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_message(lock, "success: 5 of 5 renewed, 3 needed");
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_message(lock, "success: 5 of 5 deleted, 3 needed");
    live_tell_all(live, "SET key stranger");
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    check_message(lock, "held by another: 0 of 5 granted, 3 needed; 127.0.0.1:");
    assert_string_equal(CLIENT_MESSAGE(live->client), "5 of 5 nodes up");
    live_tell_all(live, "DEL key");
    live_end(live);
}

/* The error of a refused call, in words. */
static void refused_options(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    static const struct {
        int64_t ttl_ms, tries, wait_ms, min_validity_ms;
        const char *message;
    } bad[] = {
        {0, 1, 0, 1, "ttl_ms is 0: "},
        {-1, 1, 0, 1, "ttl_ms is -1: "},
        {86400001, 1, 0, 1, "ttl_ms is 86400001: "},
        {INT64_MIN, 1, 0, 1, "ttl_ms is -9223372036854775808: "},
        {2, 1, 0, 1, "ttl_ms is 2: the drift allowance"},
        {100, 1, 0, 98, "ttl_ms is 100: the drift allowance"},
        {100, 0, 0, 1, "tries is 0: "},
        {100, -2, 0, 1, "tries is -2: "},
        {100, 1, -2, 1, "wait_ms is -2: "},
        {100, 1, 0, -1, "min_validity_ms is -1: "},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
        options.ttl_ms = bad[i].ttl_ms;
        options.tries = bad[i].tries;
        options.wait_ms = bad[i].wait_ms;
        options.min_validity_ms = bad[i].min_validity_ms;
        LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, NULL), REDLOCK_ERR_INVALID);
        check_message(lock, bad[i].message);
    }
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_STATUS(redlock_extend(lock, -1, live_lock_cb, NULL), REDLOCK_ERR_INVALID);
    check_message(lock, "ttl_ms is -1: ");
    LIVE_STATUS(redlock_extend(lock, 2, live_lock_cb, NULL), REDLOCK_ERR_INVALID);
    check_message(lock, "ttl_ms is 2: ");
    assert_int_equal(redlock_lock_is_valid(lock), 1);
    LIVE_STATUS(redlock_lock_new(live->client, "", 0, &lock), REDLOCK_ERR_INVALID);
    assert_null(lock);
    live_end(live);
    assert_true(live_no_keys(live));
}

/* A message with more to say than it may ends in "...". */
static void long_sentences(void **state) {
    struct live *live = *state;
    char names[31][64];
    const char *urls[31];
    for (int i = 0; i < 31; i++) {
        snprintf(names[i], sizeof(names[i]), "unix:///nonexistent/a-rather-long-path/node-%d", i);
        urls[i] = names[i];
    }
    redlock_client_options options = live_options(live);
    options.nodes = urls;
    options.n_nodes = 31;
    LIVE_STATUS(live_open(live, &options, &live->client), REDLOCK_ERR_NO_QUORUM);
    const char *message = CLIENT_MESSAGE(live->client);
    assert_int_equal(strlen(message), REDLOCK_MESSAGE_MAX - 1);
    assert_string_equal(message + strlen(message) - 3, "...");
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, lock, &once), REDLOCK_ERR_NO_QUORUM);
    message = LOCK_MESSAGE(lock);
    check_message(lock, "no quorum of nodes: 0 of 31 granted, 16 needed; /nonexistent/");
    assert_string_equal(message + strlen(message) - 3, "...");
    live_end(live);
}

/* -- Figures -- */

static void check_sums(const redlock_stats *s) {
    assert_int_equal(s->acquires, s->granted + s->held_by_another + s->no_quorum + s->expired +
                                      s->deadline + s->canceled);
    assert_true(s->attempts >= s->granted);
}

static void figures(void **state) {
    struct live *live = *state;
    redlock_client *client = live->client;
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *a = live_lock(client, "a");
    redlock_lock *b = live_lock(client, "a"); /* the same resource: behind a in line */
    redlock_lock *c = live_lock(client, "c");
    struct live_done done = {0};
    LIVE_STATUS(live_acquire(live, a, &once), 0);
    LIVE_STATUS(live_acquire(live, b, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(redlock_acquire(c, &once, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_cancel(c), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(live_extend(live, a, 0), 0);
    redlock_lock_free(c);
    redlock_stats s = live_stats(client);
    check_sums(&s);
    assert_int_equal(s.acquires, 3);
    assert_int_equal(s.attempts, 2); /* b need not ask */
    assert_int_equal(s.granted, 1);
    assert_int_equal(s.held_by_another, 1);
    assert_int_equal(s.canceled, 1);
    assert_int_equal(s.renewed, 1);
    assert_int_equal(s.locks, 2);
    assert_int_equal(s.held, 1);
    assert_int_equal(s.nodes_up, 5);
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_UNTIL(live, live_is_quiet(client, 5));
    s = live_stats(client);
    assert_int_equal(s.released, 1);
    assert_int_equal(s.held, 0);
    assert_int_equal(
        s.pending_releases + s.releases_retried + s.releases_dropped + s.lost + s.repaired, 0);
    for (size_t i = 0; i < 5; i++) {
        redlock_node_info info = live_node(client, i);
        assert_string_equal(info.node, strchr(live->urls[i], '/') + 2);
        assert_int_equal(info.up, 1);
        LIVE_STATUS(info.reason, 0);
        assert_int_equal(info.connects, 1);
        assert_int_equal(info.failures, 0);
        /* a: set, extend, release; c: set and release */
        assert_int_equal(info.requests, 5);
        assert_true(info.outstanding == 0 && info.pending_releases == 0);
    }
    live_end(live);
}

static void wrong_questions(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    redlock_stats stats = REDLOCK_STATS_INIT;
    LIVE_STATUS(redlock_client_node(live->client, 5, &info), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_client_node(live->client, 0, NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_outcome(lock, 5, &outcome), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_outcome(NULL, 0, &outcome), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_client_stats(NULL, &stats), REDLOCK_ERR_INVALID);
    info.size = outcome.size = stats.size = 3;
    LIVE_STATUS(redlock_client_node(live->client, 0, &info), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_lock_outcome(lock, 0, &outcome), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_client_stats(live->client, &stats), REDLOCK_ERR_INVALID);
    assert_int_equal(live_outcome(lock, 0).vote, REDLOCK_VOTE_NONE);
    LIVE_STATUS(redlock_acquire(NULL, NULL, NULL, NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_client_close(NULL, NULL, NULL), REDLOCK_ERR_INVALID);
    redlock_lock_free(NULL);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(story_of_a_lock),      LIVE_TEST(story_of_a_dead_node),
        LIVE_TEST(story_of_a_quorum),    LIVE_TEST(story_of_a_turn),
        LIVE_TEST_FIVE(sentences),       LIVE_TEST_FIVE(refused_options),
        LIVE_TEST(long_sentences),       LIVE_TEST_FIVE(figures),
        LIVE_TEST_FIVE(wrong_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
