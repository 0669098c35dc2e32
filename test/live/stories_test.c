/* Plays the stories: see stories.h. */
#include <inttypes.h>

#include "live/live.h"
#include "live/stories.h"
#include "messages.h"
#include "redlock/semaphore.h"
#include "redlock/token.h"

#define TTL_MS 30000
#define CLIENTS 3
#define PLAYERS 26 /* by their letters */
#define NAMES_MAX 4
#define STEP_MAX 256

struct player {
    redlock_lock *lock;
    size_t n;
    char names[NAMES_MAX][16];
    char holder[16];
    int32_t permits;
    redlock_acquire_options acquire;
    struct live_done done, lost;
    bool asks;                            /* for as long as it takes */
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* of its last hold */
};

static struct live *live;
static redlock_client *clients[CLIENTS];
static struct player players[PLAYERS];
static char step[STEP_MAX]; /* the current one */

#define EXPECT(condition)                                      \
    do {                                                       \
        if (!(condition)) {                                    \
            print_error("\"%s\": not %s\n", step, #condition); \
            fail();                                            \
        }                                                      \
    } while (0)

static struct player *player_of(const char *letter) {
    EXPECT(letter[0] >= 'a' && letter[0] <= 'z');
    return &players[letter[0] - 'a'];
}

static long number(const char *word) {
    return strtol(word, NULL, 10);
}

static void expect_status(const struct player *p, int status, const char *wanted) {
    const char *name = redlock_err_name(status);
    name = status == 0 ? "" : name + strlen("ERR_");
    if (strcmp(name, wanted) != 0) {
        print_error("\"%s\": %s (%s)\n", step, name, LOCK_MESSAGE(p->lock));
        fail();
    }
}

static bool is_quiet(void) {
    for (size_t i = 0; i < CLIENTS; i++) {
        if (!live_is_quiet(clients[i], live->n)) {
            return false;
        }
    }
    return true;
}

/* -- Making -- */

static void make(struct player *p, char *words) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes names[NAMES_MAX];
    size_t client = 0;
    memset(p, 0, sizeof(*p));
    p->acquire = live_patient(TTL_MS);
    p->acquire.on_lost = live_lock_cb;
    p->acquire.lost_data = &p->lost;
    for (char *rest, *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (sscanf(word, "%dof%d", &options.take, &options.permits) == 2) {
            p->permits = options.permits;
        } else if (strcmp(word, "shared") == 0) {
            options.mode = REDLOCK_SHARED;
        } else if (strcmp(word, "fenced") == 0) {
            p->acquire.fencing = 1;
        } else if (sscanf(word, "owner=%" SCNu64, &p->acquire.owner) == 1 ||
                   sscanf(word, "@%zu", &client) == 1 ||
                   sscanf(word, "wait=%" SCNd64, &p->acquire.wait_ms) == 1 ||
                   sscanf(word, "max=%" SCNd64, &p->acquire.max_hold_ms) == 1 ||
                   sscanf(word, "ttl=%" SCNd64, &p->acquire.ttl_ms) == 1) {
            continue;
        } else if (sscanf(word, "holder=%15s", p->holder) == 1) {
            options.holder = p->holder;
        } else {
            for (int used = 0; sscanf(word, "%15[^,]%n", p->names[p->n], &used) == 1;
                 word += used + (word[used] == ',')) {
                names[p->n] = (redlock_bytes){p->names[p->n], strlen(p->names[p->n])};
                p->n++;
            }
            word = strchr(word, '\0');
        }
    }
    options.resources = names;
    options.n_resources = p->n;
    LIVE_STATUS(redlock_lock_new_with(clients[client], &options, &p->lock, NULL, 0), 0);
}

/* -- Calls -- */

static int call(struct player *p, const char *verb, const char *with) {
    redlock_acquire_options once = p->acquire;
    once.tries = 1;
    if (strcmp(verb, "acquire") == 0) {
        return redlock_acquire(p->lock, &once, live_lock_cb, &p->done);
    }
    if (strcmp(verb, "extend") == 0) {
        return redlock_extend(p->lock, TTL_MS, live_lock_cb, &p->done);
    }
    if (strcmp(verb, "release") == 0) {
        return redlock_release(p->lock, live_lock_cb, &p->done);
    }
    if (strcmp(verb, "downgrade") == 0) {
        return redlock_downgrade(p->lock, live_lock_cb, &p->done);
    }
    if (strcmp(verb, "upgrade") == 0) {
        return redlock_try_upgrade(p->lock, live_lock_cb, &p->done);
    }
    const struct player *other = player_of(with);
    if (p->permits > 0) {
        const int32_t slot = redlock_lock_slot(other->lock, 0);
        LIVE_STATUS(redlock_lock_set_slots(p->lock, &slot, 1), 0);
    }
    return strcmp(verb, "adopts") == 0
               ? redlock_adopt(p->lock, other->token, &p->acquire, live_lock_cb, &p->done)
               : redlock_release_token(p->lock, other->token, live_lock_cb, &p->done);
}

static void play_call(struct player *p, const char *verb, const char *with, const char *status) {
    p->done = (struct live_done){0};
    int result = call(p, verb, with);
    if (result == 0) {
        LIVE_UNTIL(live, p->done.count == 1);
        result = p->done.status;
    }
    expect_status(p, result, status);
    if (redlock_lock_is_valid(p->lock)) {
        memcpy(p->token, redlock_lock_token(p->lock), sizeof(p->token));
    }
}

/* -- Looking -- */

static size_t on_nodes(const struct player *p) {
    size_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        size_t has = 0;
        for (size_t name = 0; name < p->n; name++) {
            if (redlock_lock_mode(p->lock) == REDLOCK_SHARED) {
                redisReply *reply = live_ask(live, i, "ZSCORE libredlock:readers:{%s} %s",
                                             p->names[name], redlock_lock_token(p->lock));
                has += reply->type != REDIS_REPLY_NIL;
                freeReplyObject(reply);
                continue;
            }
            char key[64], value[64];
            snprintf(key, sizeof(key), "%s", p->names[name]);
            if (p->permits > 0) {
                snprintf(key, sizeof(key), "libredlock:slot:%d:{%s}", redlock_lock_slot(p->lock, 0),
                         p->names[name]);
            }
            snprintf(value, sizeof(value), "%s%s%s", redlock_lock_token(p->lock),
                     p->holder[0] != '\0' ? ":" : "", p->holder);
            has += live_key_is(live, i, key, value);
        }
        count += has == p->n;
    }
    return count;
}

static enum redlock_vote vote_of(const char *word) {
    static const char *const words[] = {
        [REDLOCK_VOTE_GRANTED] = "GRANTED",
        [REDLOCK_VOTE_REFUSED] = "REFUSED",
        [REDLOCK_VOTE_FAILED] = "FAILED",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i] != NULL && strcmp(words[i], word) == 0) {
            return (enum redlock_vote)i;
        }
    }
    fail();
    return REDLOCK_VOTE_PENDING;
}

static bool play_look(struct player *p, const char *verb, const char *with, const char *rest) {
    if (strcmp(verb, "on") == 0) {
        const size_t wanted = (size_t)number(with);
        LIVE_POLL(live, on_nodes(p) == wanted);
    } else if (strcmp(verb, "says") == 0) {
        if (strstr(LOCK_MESSAGE(p->lock), rest) == NULL) {
            print_error("\"%s\": %s\n", step, LOCK_MESSAGE(p->lock));
            fail();
        }
    } else if (strcmp(verb, "valid") == 0 || strcmp(verb, "over") == 0) {
        EXPECT(redlock_lock_is_valid(p->lock) == (verb[0] == 'v'));
    } else if (strcmp(verb, "unfenced") == 0) {
        EXPECT(redlock_lock_fence(p->lock) == 0);
    } else if (strcmp(verb, "slot") == 0) {
        EXPECT(redlock_lock_slot(p->lock, 0) == number(with));
    } else if (strcmp(verb, "voted") == 0) {
        EXPECT(live_votes(p->lock, live->n, vote_of(with)) == (size_t)number(strchr(rest, ' ')));
    } else if (strcmp(verb, "like") == 0 || strcmp(verb, "unlike") == 0) {
        const char *token = redlock_lock_token(player_of(with)->lock);
        EXPECT((strcmp(redlock_lock_token(p->lock), token) == 0) == (verb[0] == 'l'));
    } else if (strcmp(verb, "above") == 0) {
        EXPECT(redlock_lock_fence(p->lock) > redlock_lock_fence(player_of(with)->lock));
    } else if (strcmp(verb, "below") == 0) {
        EXPECT(redlock_lock_fence(p->lock) < strtoull(with, NULL, 10));
    } else if (strcmp(verb, "level") == 0) {
        EXPECT(redlock_lock_fence(p->lock) == redlock_lock_fence(player_of(with)->lock));
    } else {
        return false;
    }
    return true;
}

/* -- Steps -- */

/* How many stand in a line on any node. */
static uint64_t count_in_line(void) {
    static const char script[] =
        "local n = 0 "
        "for _, k in ipairs(redis.call('keys', 'libredlock:line:*')) do "
        "  n = n + redis.call('zcard', k) "
        "end "
        "return n";
    uint64_t count = 0;
    for (size_t i = 0; i < live->n; i++) {
        count += (uint64_t)live_integer(live, i, "EVAL %s 0", script);
    }
    return count;
}

/* Whether another lock of its client holds its first name, or waits for it. */
static bool is_behind_another(const struct player *p) {
    for (size_t i = 0; i < PLAYERS; i++) {
        const struct player *q = &players[i];
        if (q != p && q->lock != NULL &&
            redlock_lock_client(q->lock) == redlock_lock_client(p->lock) &&
            strcmp(q->names[0], p->names[0]) == 0 && (redlock_lock_is_valid(q->lock) || q->asks)) {
            return true;
        }
    }
    return false;
}

/* Submits an acquire, and waits until it stands in line, on a node or in its client, or has
 * ended. */
static void play_ask(struct player *p) {
    const uint64_t before = count_in_line();
    const bool is_behind = is_behind_another(p);
    const redlock_client *client = redlock_lock_client(p->lock);
    const uint64_t waited = live_stats(client).waiting;
    p->done = (struct live_done){0};
    p->asks = true;
    LIVE_STATUS(redlock_acquire(p->lock, &p->acquire, live_lock_cb, &p->done), 0);
    LIVE_POLL(live, p->done.count > 0 || count_in_line() > before ||
                        (is_behind && live_stats(client).waiting > waited));
}

static void play_player(struct player *p, const char *verb, const char *with, const char *rest) {
    if (strcmp(verb, "asks") == 0) {
        play_ask(p);
    } else if (strcmp(verb, "waits") == 0) {
        EXPECT(p->done.count == 0);
    } else if (strcmp(verb, "gets") == 0) {
        LIVE_UNTIL(live, p->done.count == 1);
        p->asks = false;
        expect_status(p, p->done.status, with);
    } else if (strcmp(verb, "lost") == 0) {
        LIVE_UNTIL(live, p->lost.count == 1);
        expect_status(p, p->lost.status, with);
        p->lost.count = 0;
    } else if (strcmp(verb, "cancel") == 0) {
        expect_status(p, redlock_cancel(p->lock), with);
    } else if (strcmp(verb, "disown") == 0) {
        expect_status(p, redlock_disown(p->lock), with);
    } else if (strcmp(verb, "owner") == 0) {
        p->acquire.owner = (uint64_t)number(with);
    } else if (strcmp(verb, "free") == 0) {
        redlock_lock_free(p->lock);
        p->lock = NULL;
    } else if (!play_look(p, verb, with, rest)) {
        const bool takes = strcmp(verb, "adopts") == 0 || strcmp(verb, "ends") == 0;
        const char *status = with;
        if (takes) {
            status = strchr(rest, ' ') != NULL ? strchr(rest, ' ') + 1 : "";
        }
        play_call(p, verb, with, status);
    }
}

static void on_set(redlock_query *query, int status, void *data) {
    struct live_done *set = data;
    set->count++;
    set->status = status;
    live_wake();
}

static void set_permits(int32_t permits) {
    struct live_done set = {0};
    LIVE_STATUS(redlock_set_permits(clients[0], "key", 3, permits, on_set, &set), 0);
    LIVE_UNTIL(live, set.count == 1);
    LIVE_STATUS(set.status, 0);
}

/* A step for the nodes; or false. */
static bool play_nodes(void) {
    size_t first = 0, last = 0, wanted = 0, node = 0;
    long from_ms = 0, to_ms = 0;
    int at = 0, permits = 0;
    char value[64];
    if (sscanf(step, "nodes %zu-%zu %n", &first, &last, &at) == 2 ||
        sscanf(step, "node %zu %n", &first, &at) == 1) {
        for (size_t i = first; i <= (last > first ? last : first); i++) {
            live_tell(live, i, step + at);
        }
    } else if (sscanf(step, "value %63s %zu %n", value, &wanted, &at) == 2) {
        LIVE_POLL(live, live_count_keys(live, step + at, value) == wanted);
    } else if (sscanf(step, "life %ld-%ld %zu %n", &from_ms, &to_ms, &node, &at) == 3) {
        assert_in_range(live_pttl(live, node, step + at), from_ms, to_ms);
    } else if (sscanf(step, "permits %d", &permits) == 1) {
        set_permits(permits);
    } else {
        return false;
    }
    return true;
}

static void play_step(void) {
    char letter[2] = "", verb[16] = "", with[32] = "";
    int made = 0, rest = 0;
    if (!play_nodes()) {
        sscanf(step, "%1[a-z]: %n", letter, &made);
        if (made > 0) {
            char words[STEP_MAX];
            snprintf(words, sizeof(words), "%s", step + made);
            make(player_of(letter), words);
        } else {
            EXPECT(sscanf(step, "%1[a-z] %15s %n%31s", letter, verb, &rest, with) >= 2);
            play_player(player_of(letter), verb, with, rest > 0 ? step + rest : "");
        }
    }
    LIVE_UNTIL(live, is_quiet());
}

static void play(void **state) {
    const struct story *story = *state;
    for (const char *at = story->steps; *at != '\0'; at += *at == ';') {
        at += strspn(at, " ");
        const size_t length = strcspn(at, ";");
        snprintf(step, sizeof(step), "%.*s", (int)length, at);
        at += length;
        if (length > 0) {
            play_step();
        }
    }
    snprintf(step, sizeof(step), "the end");
    for (size_t i = 0; i < PLAYERS; i++) {
        EXPECT(players[i].lost.count == 0);
    }
}

/* What is held is released, all nodes are empty, and the next story begins. */
static int end_story(void **state) {
    for (size_t i = 0; i < PLAYERS; i++) {
        redlock_lock_free(players[i].lock);
    }
    LIVE_UNTIL(live, is_quiet());
    LIVE_POLL(live, live_no_keys(live));
    live_tell_all(live, "FLUSHALL");
    memset(players, 0, sizeof(players));
    return 0;
}

/* With a group state, cmocka would pass that to each test in place of its own. */
static int begin(void **state) {
    void *five = NULL;
    if (live_setup_five(&five) != 0) {
        return -1;
    }
    live = five;
    clients[0] = live->client;
    clients[1] = live_another(live);
    clients[2] = live_another(live);
    return 0;
}

static int end(void **state) {
    void *five = live;
    live_close(live, clients[1]);
    live_close(live, clients[2]);
    live_end(live);
    return live_teardown(&five);
}

int main(void) {
    struct CMUnitTest tests[80] = {{0}};
    assert_true(stories_count <= sizeof(tests) / sizeof(tests[0]));
    for (size_t i = 0; i < stories_count; i++) {
        tests[i] = (struct CMUnitTest){.name = stories[i].name,
                                       .test_func = play,
                                       .teardown_func = end_story,
                                       .initial_state = (void *)(uintptr_t)&stories[i]};
    }
    return _cmocka_run_group_tests("stories", tests, stories_count, begin, end);
}
