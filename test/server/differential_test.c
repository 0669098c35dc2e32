/* The server in memory answers the library's commands as a real one does.
 *
 *     [REDLOCK_SEED=N] differential_test [SEQUENCES]
 *
 * Random sequences of the library's commands, and of similar ones, go to a redis-server
 * ($REDLOCK_SERVER, or the one in PATH) and to the server in memory, in each of the states that a
 * server can be in. The test compares the answers byte for byte, and the keys. A failure prints the
 * whole sequence, and the seed that repeats it.
 *
 * Then the test breaks each rule that the server in memory can break; the same sequences must find
 * each difference. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "server/pair.h"
#include "server/random_commands.h"
#include "server/states.h"

#define SEQUENCES_DEFAULT 40
#define STEPS 40
#define STEPS_PER_LOOK 8
#define CONTROL_SEED 1
#define CONTROL_SEQUENCES 1000
#define PASSWORD "secret"
#define DEBUG "--enable-debug-command", "yes"

static uint64_t seed;
static uint32_t sequences = SEQUENCES_DEFAULT;
static unsigned n_tests, n_failed;

static void result(bool is_good, const char *name, const char *detail) {
    n_tests++;
    n_failed += !is_good;
    printf("%s %u - %s%s%s\n", is_good ? "ok" : "not ok", n_tests, name,
           detail[0] != '\0' ? " # " : "", detail);
    fflush(stdout);
}

/* -- A sequence -- */

static bool one_step(struct pair *pair, struct random_commands *random, struct bytes *wire) {
    uint32_t which = random_pick(&random->state, PAIR_CONNECTIONS);
    const struct pair_connection *connection = &pair->connections[which];
    uint32_t n = random_pick(&random->state, 4) == 0 ? 1 + random_pick(&random->state, 6) : 1;
    wire->length = 0;
    pair_pass(pair, random_pick(&random->state, 1000));
    random->now_ms = pair->now_us / 1000;
    random->listens = which == 0;
    /* Redis 8.6.3 omits some errors: for an AUTH that fails after other commands, and for
     * garbage. */
    random->is_plain = n > 1 && pair->ours->words == SERVER_REDIS_8;
    random->is_bare = n == 1 && (connection->fd < 0 || connection->ours->n_channels <= 1);
    for (uint32_t i = 0; i < n; i++) {
        random_command(random, wire);
    }
    if (random_pick(&random->state, 100) == 0 && pair->ours->words != SERVER_REDIS_8) {
        random_garbage(random, wire);
    }
    return pair_say(pair, which, wire);
}

/* An exchange at the end: extra bytes from either side would come before its answer. */
static bool last_words(struct pair *pair, struct bytes *wire) {
    bool same = true;
    wire->length = 0;
    bytes_append_text(wire, "*1\r\n$4\r\nPING\r\n");
    for (uint32_t i = 0; i < PAIR_CONNECTIONS && same; i++) {
        same = pair_say(pair, i, wire);
    }
    return same;
}

static bool say_all(struct pair *pair, bool (*put)(size_t index, struct bytes *wire), bool looks) {
    struct bytes wire = {NULL, 0, 0};
    bool same = true;
    for (size_t i = 0; same && put(i, &wire); i++) {
        same = pair_say(pair, looks ? 0 : 3, &wire) && (!looks || pair_check_keys(pair));
        wire.length = 0;
    }
    bytes_free(&wire);
    return same;
}

static bool run_sequence(struct pair *pair, uint64_t number, const struct random_user *users) {
    struct random_commands random = {.state = number,
                                     .users = users,
                                     .is_line = number % 2,
                                     .is_permits = number % 4 == 2,
                                     .calls = number % 8 == 4};
    struct bytes wire = {NULL, 0, 0};
    pair_begin(pair, number);
    bool same = pair_check_keys(pair);
    if (number % 4 != 0) { /* mostly the scripts are loaded */
        same = same && say_all(pair, random_load, false);
    }
    for (uint32_t i = 0; i < STEPS && same; i++) {
        same = one_step(pair, &random, &wire);
        if (same && i % STEPS_PER_LOOK == STEPS_PER_LOOK - 1) {
            same = pair_check_keys(pair);
        }
    }
    same = same && last_words(pair, &wire);
    bytes_free(&wire);
    return same;
}

static void tell_story(struct pair *pair, uint64_t number) {
    fflush(pair->story);
    printf("# %s; again: differential_test %" PRIu64 " 1\n%.*s", pair->problem, number,
           (int)ftell(pair->story), pair->story_text);
}

static bool plant(struct pair *pair) {
    struct bytes wire = {NULL, 0, 0};
    bool same = say_all(pair, random_load, false);
    random_plant(&wire);
    same = same && pair_say(pair, 0, &wire) && pair_check_keys(pair);
    bytes_free(&wire);
    return same;
}

static bool hold(struct pair *pair) {
    pair_begin(pair, seed);
    return plant(pair) && say_all(pair, random_hold, true);
}

/* Returns the number of the first sequence that differs, or 0. */
static uint64_t first_difference(struct pair *pair, uint32_t n, const struct random_user *users) {
    for (uint32_t i = 0; i < n; i++) {
        if (!run_sequence(pair, seed + i, users)) {
            return seed + i;
        }
    }
    return 0;
}

static void compare(struct pair *pair, const char *name, uint32_t n,
                    const struct random_user *users) {
    char detail[96];
    uint64_t said = pair->said;
    bool same = users != NULL || hold(pair);
    uint64_t number = same ? first_difference(pair, n, users) : seed;
    if (number != 0) {
        tell_story(pair, number);
    }
    snprintf(detail, sizeof detail, "%" PRIu64 " exchanges", pair->said - said);
    result(number == 0, name, detail);
}

/* -- States of a server -- */

/* Prepares keys while the server is in its normal state, some of them locks'. */
static void in_state(struct pair *pair, size_t state) {
    const uint32_t rounds = server_states[state].is_quick ? sequences / 4 + 1 : 1;
    const uint32_t n = server_states[state].is_quick ? 1 : sequences / 4 + 1;
    const uint64_t begin = seed;
    uint64_t number = 0;
    for (uint32_t i = 0; i < rounds && number == 0; i++, seed++) {
        number = first_difference(pair, 1, NULL);
        if (number == 0) {
            pair_begin(pair, seed);
            number = plant(pair) ? 0 : seed;
            server_states[state].become(pair, true);
            number = number == 0 && !say_all(pair, random_hold, true) ? seed : number;
            number = number == 0 ? first_difference(pair, n, NULL) : number;
            server_states[state].become(pair, false);
            number = number == 0 && pair->problem[0] != '\0' ? seed : number;
        }
    }
    seed = begin;
    if (number != 0) {
        tell_story(pair, number);
        pair_take_over(pair); /* for the later sequences */
    }
    result(number == 0, server_states[state].name, "");
}

/* -- A replica that follows -- */

/* The primary writes, and the replica receives it. */
static void primary_writes(struct pair *pair, redisContext *primary, uint64_t number) {
    struct random_commands random = {.state = number};
    struct bytes wire = {NULL, 0, 0};
    for (uint32_t i = 0; i < 20; i++) {
        struct resp_command command;
        redisReply *reply;
        size_t at = 0;
        ssize_t length;
        wire.length = 0;
        random.now_ms = pair->now_us / 1000;
        random_command(&random, &wire);
        while ((length = resp_parse(wire.data + at, wire.length - at, false, &command)) > 0) {
            if (!resp_is(&command.args[0], "subscribe") &&
                !resp_is(&command.args[0], "unsubscribe") && !resp_is(&command.args[0], "script")) {
                redisAppendFormattedCommand(primary, wire.data + at, (size_t)length);
                if (redisGetReply(primary, (void **)&reply) == REDIS_OK) {
                    freeReplyObject(reply);
                }
            }
            at += (size_t)length;
        }
    }
    bytes_free(&wire);
    freeReplyObject(redisCommand(primary, "WAIT 1 5000"));
    pair_take_over(pair);
}

static void on_a_following_replica(void) {
    static const char *const args[] = {DEBUG, "--repl-diskless-sync-delay", "0", NULL};
    struct pair pair;
    pair_start(&pair, 2, args, NULL);
    redisContext *primary = pair_control(&pair, 1, NULL);
    freeReplyObject(redisCommand(primary, "DEBUG SET-ACTIVE-EXPIRE 0"));
    pair_tell(&pair, "REPLICAOF 127.0.0.1 %d", rl_local_nodes_port(pair.nodes, 1));
    while (!pair_info_says(&pair, "master_link_status:up")) {
    }
    pair.ours->is_replica = true;
    uint64_t number = 0;
    for (uint32_t i = 0; i < sequences / 4 + 1 && number == 0; i++) {
        primary_writes(&pair, primary, seed + i);
        number = run_sequence(&pair, seed + i, NULL) ? 0 : seed + i;
    }
    if (number != 0) {
        tell_story(&pair, number);
    }
    result(number == 0, "a replica that follows its primary", "");
    redisFree(primary);
    pair_stop(&pair);
}

/* -- Users -- */

static const struct random_user users[] = {
    {"default", PASSWORD, NULL},
    {"me", "mine", "~* &* +@all"},
    {"noget", "pw", "~* &* +@all -get"},
    {"noset", "pw", "~* &* +@all -set -del -pexpire"},
    {"nopttl", "pw", "~* &* +@all -pttl -type -publish"},
    {"noscript", "pw", "~* &* +@all -evalsha -eval -script|load -script|flush -script|exists"},
    {"nosay", "pw", "~* &* +@all -subscribe -info -client|setname -ping -select"},
    {"onlya", "pw", "~a* &redlock:* +@all"},
    {"nofence", "pw", "~a ~a* resetchannels +@all"},
    {"nolease", "pw", "~* &* +@all -pexpireat -zremrangebyscore"},
    {"noscore", "pw", "~* &* +@all -zscore -exists -zpopmin"},
    {"norange", "pw", "~* &* +@all -zadd -zcount -zrangebyscore"},
    {"nozset", "pw", "~* &* +@all -zrem -zrange -time"},
    {"nonative", "pw", "~* &* +@all"},
    {NULL, NULL, NULL},
};

/* Users cannot be forbidden a command that the server does not know. */
static struct random_user user_of(const struct pair *pair, struct random_user user) {
    static const char *const acls[] = {[SERVER_SCRIPT_ONLY] = "~* &* +@all",
                                       [SERVER_DELIFEQ] = "~* &* +@all -delifeq",
                                       [SERVER_DELEX] = "~* &* +@all -delex"};
    user.acl = strcmp(user.name, "nonative") == 0 ? acls[pair->ours->native] : user.acl;
    return user;
}

/* The same for the server in memory, from the same ACL. */
static void add_user(struct server *server, const struct random_user *user) {
    struct server_user *made = server_add_user(server, user->name, user->password);
    char words[128];
    snprintf(words, sizeof words, "%s", user->acl);
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        size_t length = strlen(word);
        if (word[0] == '-') {
            server_deny(made, word + 1);
        } else if (strcmp(word, "resetchannels") == 0) {
            server_deny_channels(made, "no channel begins so");
        } else if (word[0] != '+' && length > 2) { /* "~a*" */
            word[length - 1] = '\0';
            (word[0] == '~' ? server_deny_keys : server_deny_channels)(made, word + 1);
        }
    }
}

static void with_users(void) {
    static const char *const args[] = {DEBUG, "--requirepass", PASSWORD, NULL};
    struct pair pair;
    pair_start(&pair, 1, args, PASSWORD);
    server_set_password(pair.ours, NULL, PASSWORD);
    for (size_t i = 1; users[i].name != NULL; i++) {
        const struct random_user user = user_of(&pair, users[i]);
        char command[256];
        snprintf(command, sizeof command, "ACL SETUSER %s on >%s %s", user.name, user.password,
                 user.acl);
        pair_tell(&pair, command);
        add_user(pair.ours, &user);
    }
    compare(&pair, "users, passwords and what is forbidden", sequences, users);
    pair_stop(&pair);
}

/* -- The end of a ttl -- */

/* In its last millisecond a key exists with a ttl of 0; then it is gone. */
static void in_the_last_millisecond(struct pair *pair) {
    static const char set[] = "*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nv\r\n$2\r\nPX\r\n$1\r\n2\r\n";
    static const char pttl[] = "*2\r\n$4\r\nPTTL\r\n$1\r\na\r\n";
    struct bytes wire = {NULL, 0, 0};
    pair_begin(pair, 1);
    bytes_append_text(&wire, set);
    bool same = pair_say(pair, 0, &wire);
    for (int ms = 0; same && ms <= 3; ms++) {
        wire.length = 0;
        bytes_append_text(&wire, pttl);
        same = pair_say(pair, 0, &wire);
        pair_pass(pair, 1000);
    }
    if (!same) {
        tell_story(pair, 0);
    }
    result(same, "a key in its last millisecond", "");
    bytes_free(&wire);
}

/* -- Controls -- */

static void find_what_is_broken(struct pair *pair) {
    const uint64_t begin = seed;
    seed = CONTROL_SEED;
    const char *broken, *what;
    for (size_t i = 0; (broken = server_break_name(i, &what)) != NULL; i++) {
        char name[96], detail[64];
        if (strcmp(broken, "permits-twice") == 0) {
            continue; /* no single command reveals it here: the simulator has this control */
        }
        pair->ours->broken = UINT64_C(1) << i;
        uint64_t number = hold(pair) ? first_difference(pair, CONTROL_SEQUENCES, NULL) : seed;
        pair->ours->broken = 0;
        snprintf(name, sizeof name, "control: %s", what);
        snprintf(detail, sizeof detail, "sequence %" PRIu64, number - seed + 1);
        result(number != 0, name, detail);
        pair_tell(pair, "FLUSHALL");
        server_forget_keys(pair->ours);
    }
    seed = begin;
}

int main(int argc, char **argv) {
    static const char *const args[] = {DEBUG, "--dbfilename", "folder", NULL};
    struct pair pair;
    seed = random_seed();
    sequences = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : SEQUENCES_DEFAULT;
    pair_start(&pair, 1, args, NULL);
    compare(&pair, "all commands", 3 * sequences, NULL);
    in_the_last_millisecond(&pair);
    for (size_t i = 0; i < SERVER_STATES; i++) {
        in_state(&pair, i);
    }
    find_what_is_broken(&pair);
    pair_stop(&pair);
    with_users();
    on_a_following_replica();
    printf("1..%u\n", n_tests);
    return n_failed == 0 ? 0 : 1;
}
