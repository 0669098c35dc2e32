/* Every call from inside every callback.
 *
 * A script is a row of letters, each of them a call that is made inside one callback:
 *
 *     n lock_new   a acquire   e extend   r release   c cancel   f lock_free   x client_close
 *     p set_credentials
 *
 * Every script of one and two letters is run in every callback, and every one of three letters (but
 * p) in an acquire's callback. Whatever the calls return, these must hold afterwards: a callback
 * came exactly once for each call that returned 0 and never for another, never inside the call,
 * on_lost came at most once for each grant, closing came to its end, libuv has no handle left, and
 * no key of ours is on any node. */

#include "live/live.h"
#include "messages.h"

#define NODES 3
#define CALLS_MAX 32
#define SHORT_TTL_MS 25

enum when { OPENED, ACQUIRED, REFUSED, EXTENDED, RELEASED, LOST, CANCELED, CLOSED, WHENS };

static const char *const when_names[WHENS] = {"opened",   "acquired", "refused",  "extended",
                                              "released", "lost",     "canceled", "closed"};

struct story;

/* One submitted call, and its result. */
struct call {
    struct story *story;
    enum when kind; /* what its callback means if it succeeds */
    bool is_inside; /* the submitting function has not returned */
    bool is_submitted;
    int told;
};

struct story {
    struct live *live;
    redlock_client *client;
    redlock_lock *lock; /* NULL once freed */
    enum when when;
    const char *script;
    const char *resource;
    bool has_acted;
    bool is_closing;
    bool is_closed;
    int statuses[8]; /* what the calls of the script returned */
    int n_statuses;
    int grants;
    int losses;
    size_t n;
    struct call calls[CALLS_MAX];
};

static void act(struct story *s);

/* -- Callbacks -- */

static void told(struct call *call) {
    assert_false(call->is_inside);
    assert_true(call->is_submitted);
    call->told++;
    assert_int_equal(call->told, 1);
    live_wake();
}

static bool is_the_moment(const struct call *call, int status) {
    enum when when = call->story->when;
    if (call->story->has_acted) {
        return false;
    }
    if (call->kind == ACQUIRED && status == REDLOCK_ERR_HELD) {
        return when == REFUSED;
    }
    if (call->kind == ACQUIRED && status == REDLOCK_ERR_CANCELED) {
        return when == CANCELED;
    }
    return call->kind == when && status == 0;
}

static void lock_told(redlock_lock *lock, int status, void *data) {
    struct call *call = data;
    struct story *s = call->story;
    told(call);
    assert_ptr_equal(redlock_lock_client(lock), s->client);
    s->grants += call->kind == ACQUIRED && status == 0;
    if (is_the_moment(call, status)) {
        act(s);
    }
}

static void lost_told(redlock_lock *lock, int status, void *data) {
    struct story *s = data;
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    LIVE_STATUS(status, REDLOCK_ERR_EXPIRED);
    s->losses++;
    assert_true(s->losses <= s->grants);
    if (s->when == LOST && !s->has_acted) {
        act(s);
    }
    live_wake();
}

static void client_told(redlock_client *client, int status, void *data) {
    struct call *call = data;
    told(call);
    call->story->is_closed = call->story->is_closed || call->kind == CLOSED;
    if (is_the_moment(call, status)) {
        act(call->story);
    }
}

/* -- Calls -- */

static struct call *begin(struct story *s, enum when kind) {
    assert_true(s->n < CALLS_MAX);
    struct call *call = &s->calls[s->n++];
    *call = (struct call){.story = s, .kind = kind, .is_inside = true};
    return call;
}

static int end(struct call *call, int status) {
    call->is_inside = false;
    call->is_submitted = status == 0;
    assert_int_equal(call->told, 0);
    return status;
}

static int do_new(struct story *s) {
    redlock_lock *lock;
    int status = redlock_lock_new(s->client, s->resource, strlen(s->resource), &lock);
    if (status == 0 && s->lock == NULL) {
        s->lock = lock;
    } else {
        redlock_lock_free(lock);
    }
    return status;
}

static int do_acquire(struct story *s) {
    struct call *call = begin(s, ACQUIRED);
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = s->when == LOST && !s->has_acted ? SHORT_TTL_MS : 10000;
    options.tries = s->when == LOST ? REDLOCK_NO_LIMIT : 1;
    options.on_lost = lost_told;
    options.lost_data = s;
    return end(call, redlock_acquire(s->lock, &options, lock_told, call));
}

static int do_extend(struct story *s) {
    struct call *call = begin(s, EXTENDED);
    return end(call, redlock_extend(s->lock, 5000, lock_told, call));
}

static int do_release(struct story *s) {
    struct call *call = begin(s, RELEASED);
    return end(call, redlock_release(s->lock, lock_told, call));
}

static int do_free(struct story *s) {
    redlock_lock *lock = s->lock;
    s->lock = NULL;
    redlock_lock_free(lock);
    return 0;
}

static int do_close(struct story *s) {
    struct call *call = begin(s, CLOSED);
    int status = end(call, redlock_client_close(s->client, client_told, call));
    s->is_closing = s->is_closing || status == 0;
    return status;
}

static int do_cancel(struct story *s) {
    return redlock_cancel(s->lock);
}

/* Which the nodes refuse: they have no password. */
static int do_password(struct story *s) {
    return redlock_client_set_credentials(s->client, REDLOCK_ALL_NODES, NULL, "another");
}

static const struct {
    char letter;
    bool needs_lock;
    int (*call)(struct story *);
} calls[] = {
    {'n', false, do_new},    {'a', true, do_acquire},   {'e', true, do_extend},
    {'r', true, do_release}, {'c', true, do_cancel},    {'f', true, do_free},
    {'x', false, do_close},  {'p', false, do_password},
};
#define LETTERS (sizeof(calls) / sizeof(calls[0]))

/* Calls the getters, in whatever state the lock is. */
static void look(struct story *s) {
    (void)live_stats(s->client);
    assert_true(strlen(CLIENT_MESSAGE(s->client)) < REDLOCK_MESSAGE_MAX);
    for (size_t i = 0; i < NODES; i++) {
        assert_non_null(live_node(s->client, i).node);
    }
    if (s->lock != NULL) {
        int valid = redlock_lock_is_valid(s->lock);
        assert_true(!valid || redlock_lock_valid_until_ns(s->lock) > 0);
        assert_true(strlen(LOCK_MESSAGE(s->lock)) < REDLOCK_MESSAGE_MAX);
        assert_ptr_equal(redlock_lock_client(s->lock), s->client);
        (void)live_outcome(s->lock, NODES - 1);
    }
}

static void act(struct story *s) {
    s->has_acted = true;
    look(s);
    for (const char *at = s->script; *at != '\0'; at++) {
        for (size_t i = 0; i < LETTERS; i++) {
            if (calls[i].letter == *at && (s->lock != NULL || !calls[i].needs_lock)) {
                s->statuses[s->n_statuses++] = calls[i].call(s);
                look(s);
            }
        }
    }
}

/* -- A story: up to the callback, the script in it, and the end -- */

static void open_client(struct story *s) {
    redlock_client_options options = live_options(s->live);
    struct call *call = begin(s, OPENED);
    LIVE_STATUS(
        end(call, redlock_client_open(&s->client, &s->live->loop, &options, client_told, call)), 0);
    LIVE_STATUS(do_new(s), 0);
}

static bool all_told(const struct story *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->calls[i].is_submitted && s->calls[i].told == 0) {
            return false;
        }
    }
    return true;
}

static void lead_up(struct story *s) {
    struct live *live = s->live;
    LIVE_UNTIL(live, s->has_acted || s->calls[0].told == 1);
    if (s->when != OPENED && s->when != CLOSED) {
        LIVE_STATUS(do_acquire(s), 0);
    }
    if (s->when == CANCELED) {
        LIVE_STATUS(do_cancel(s), 0);
    }
    if (s->when == EXTENDED || s->when == RELEASED) {
        LIVE_UNTIL(live, all_told(s));
        LIVE_STATUS(s->when == EXTENDED ? do_extend(s) : do_release(s), 0);
    }
    if (s->when == CLOSED) {
        LIVE_STATUS(do_close(s), 0);
    }
    LIVE_UNTIL(live, s->has_acted && all_told(s));
}

static void wind_up(struct story *s) {
    if (!s->is_closing) {
        LIVE_STATUS(do_close(s), 0);
    }
    LIVE_UNTIL(s->live, s->is_closed && all_told(s));
    for (size_t i = 0; i < s->n; i++) {
        assert_int_equal(s->calls[i].told, s->calls[i].is_submitted);
    }
    assert_int_equal(live_count_keys(s->live, "strange", "stranger"), NODES);
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(live_keys(s->live, i), 1);
    }
}

static void run(struct live *live, enum when when, const char *script, struct story *s) {
    memset(s, 0, sizeof(*s));
    s->live = live;
    s->when = when;
    s->script = script;
    s->resource = when == REFUSED ? "strange" : "key";
    open_client(s);
    lead_up(s);
    wind_up(s);
}

static void start(struct live *live) {
    live_start(live, NODES, NULL);
    live_tell_all(live, "SET strange stranger");
}

/* -- The tests -- */

/* What each call returns, made alone. */
LIVE_TEST(each_call_alone) {
    enum { OK = 0, HELD_ALREADY = REDLOCK_ERR_ALREADY_HELD, NOT = REDLOCK_ERR_NOT_HELD };
    enum { IDLE = REDLOCK_ERR_IDLE, GONE = REDLOCK_ERR_CLOSED };
    static const int wanted[WHENS][LETTERS] = {
        /* n, a, e, r, c, f, x, p */
        [OPENED] = {OK, OK, NOT, NOT, IDLE, OK, OK, OK},
        [ACQUIRED] = {OK, HELD_ALREADY, OK, OK, IDLE, OK, OK, OK},
        [REFUSED] = {OK, OK, NOT, NOT, IDLE, OK, OK, OK},
        [EXTENDED] = {OK, HELD_ALREADY, OK, OK, IDLE, OK, OK, OK},
        [RELEASED] = {OK, OK, NOT, NOT, IDLE, OK, OK, OK},
        [LOST] = {OK, OK, NOT, OK, IDLE, OK, OK, OK},
        [CANCELED] = {OK, OK, NOT, NOT, IDLE, OK, OK, OK},
        [CLOSED] = {GONE, GONE, GONE, GONE, GONE, OK, GONE, GONE},
    };
    struct story s;
    start(live);
    for (int when = 0; when < WHENS; when++) {
        for (size_t i = 0; i < LETTERS; i++) {
            char script[2] = {calls[i].letter, '\0'};
            run(live, (enum when)when, script, &s);
            if (s.statuses[0] != wanted[when][i]) {
                print_error("in '%s': %c\n", when_names[when], calls[i].letter);
            }
            LIVE_STATUS(s.statuses[0], wanted[when][i]);
            assert_int_equal(s.n_statuses, 1);
        }
    }
}

/* Runs in one callback all scripts of a length that use the first `letters` letters. Returns how
 * many. */
static unsigned run_all(struct live *live, enum when when, unsigned length, unsigned letters) {
    unsigned count = 1;
    struct story s;
    char script[8] = "";
    for (unsigned i = 0; i < length; i++) {
        count *= letters;
    }
    for (unsigned number = 0; number < count; number++) {
        unsigned rest = number;
        for (unsigned i = 0; i < length; i++, rest /= letters) {
            script[i] = calls[rest % letters].letter;
        }
        run(live, when, script, &s);
    }
    return count;
}

LIVE_TEST(two_calls) {
    unsigned count = 0;
    start(live);
    for (int when = 0; when < WHENS; when++) {
        count += run_all(live, (enum when)when, 2, LETTERS);
    }
    print_message("# %u scripts of two calls\n", count);
}

LIVE_TEST(three_calls) {
    start(live);
    unsigned count = run_all(live, ACQUIRED, 3, LETTERS - 1);
    print_message("# %u scripts of three calls\n", count);
}
