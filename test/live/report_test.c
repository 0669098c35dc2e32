/* The trace of whole stories. */

#include "live/live.h"
#include "redlock/token.h"

#define TTL_MS 30000
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

/* The trace as text: the names of its events, with a status where there is one. */
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

static size_t first_event(const struct trace *trace, enum redlock_event_type type) {
    size_t i = 0;
    while (i < trace->n && trace->events[i].type != type) {
        i++;
    }
    assert_true(i < trace->n);
    return i;
}

/* All events of an acquire and its hold have the number of that acquire. For one lock. */
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

/* With one node the order of events is fixed. */
LIVE_TEST(story_of_a_lock) {
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

/* The lock waits in line behind another client, which hands it over. */
LIVE_TEST(story_of_a_turn) {
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
