/* The commands on the wire, as words, and as bytes where bytes matter. */
#include "redis/command.h"

#include "redlock/redlock.h"
#include "unit/check.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define NEXT "76543210fedcba9876543210fedcba9876543210"
#define FENCE 1795246000000001
#define ROOM 32768
#define SAID_MAX 1000

#define ONE \
    { .at = {7}, .n = 1 }
#define TWO \
    { .at = {0, 1023}, .n = 2 }

/* Of "a" and "door", n of them, or of a semaphore "a" with 1024 permits. */
struct row {
    struct rl_request command;
    uint32_t n;
    const char *holder;
    const char *said; /* T: the token, N: the next one's, ".": nothing; a script by its name */
};

#define SAYS(n, holder, said, ...) \
    { {__VA_ARGS__}, n, holder, said }

static const struct row rows[] = {
    SAYS(1, NULL, "SET a T NX PX 10000", .kind = RL_COMMAND_SET, .ttl_ms = 10000),
    SAYS(1, "h:1", "SET a T:h:1 NX PX 4294967295", .kind = RL_COMMAND_SET, .ttl_ms = UINT32_MAX),
    SAYS(1, "h", "DELIFEQ a T:h", .kind = RL_COMMAND_DELIFEQ),
    SAYS(1, NULL, "DELEX a IFEQ T", .kind = RL_COMMAND_DELEX),
    SAYS(1, "h", "release 1 a T:h", .kind = RL_COMMAND_RELEASE, .ttl_ms = 9),
    SAYS(1, "h", "read 1 a", .kind = RL_COMMAND_READ, .ttl_ms = 9),
    SAYS(1, "h", "read 1 a", .kind = RL_COMMAND_READ, .lock_mode = RL_SHARED),
    /* Extensions and raises: slots are ordinary keys. */
    SAYS(1, NULL, "extend 1 a T 9", .kind = RL_COMMAND_EXTEND, .ttl_ms = 9),
    SAYS(2, "h", "extend 2 a door T:h 9", .kind = RL_COMMAND_EXTEND, .ttl_ms = 9),
    SAYS(2, NULL,
         "extend 4 a door libredlock:fence:a libredlock:fence:door T 9 1795246000000001 86400000",
         .kind = RL_COMMAND_EXTEND, .ttl_ms = 9, .counter = FENCE),
    SAYS(2, NULL, "extend 2 a door T 9 . . shared", .kind = RL_COMMAND_EXTEND, .ttl_ms = 9,
         .lock_mode = RL_SHARED),
    SAYS(1, NULL, "extend 2 a libredlock:fence:a T 9 1795246000000001 86400000 convert",
         .kind = RL_COMMAND_EXTEND, .ttl_ms = 9, .counter = FENCE, .lock_mode = RL_SHARED,
         .converts = true),
    SAYS(1, NULL, "extend 2 libredlock:slot:0:{a} libredlock:slot:1023:{a} T 9",
         .kind = RL_COMMAND_EXTEND, .ttl_ms = 9, .lock_mode = RL_PERMIT, .slots = TWO),
    SAYS(1, NULL, "raise 2 a libredlock:fence:a T 1795246000000001 86400000",
         .kind = RL_COMMAND_RAISE, .counter = FENCE),
    SAYS(1, NULL, "raise 2 a libredlock:fence:a T 1795246000000001 86400000 shared",
         .kind = RL_COMMAND_RAISE, .counter = FENCE, .lock_mode = RL_SHARED),
    SAYS(1, NULL,
         "raise 2 libredlock:slot:7:{a} libredlock:fence:libredlock:slot:7:{a} T 1795246000000001 "
         "86400000",
         .kind = RL_COMMAND_RAISE, .counter = FENCE, .lock_mode = RL_PERMIT, .slots = ONE),
    SAYS(2, "h", "upgrade 2 a door T:h 9", .kind = RL_COMMAND_UPGRADE, .ttl_ms = 9,
         .lock_mode = RL_SHARED),
    SAYS(1, NULL, "upgrade 2 a libredlock:fence:a T 9 1795246000000001 86400000",
         .kind = RL_COMMAND_UPGRADE, .ttl_ms = 9, .counter = FENCE, .lock_mode = RL_SHARED),
    /* Votes. */
    SAYS(2, NULL, "take 2 a door T 9", .kind = RL_COMMAND_TAKE, .ttl_ms = 9),
    SAYS(1, "h", "take 2 a libredlock:fence:a T:h 9 1795246000000001 86400000",
         .kind = RL_COMMAND_TAKE, .ttl_ms = 9, .counter = FENCE),
    SAYS(1, "h", "take 1 a T:h 9 . . 1", .kind = RL_COMMAND_TAKE, .ttl_ms = 9, .has_turn = true),
    SAYS(1, NULL, "take 2 a libredlock:fence:a T 9 3 86400000 1", .kind = RL_COMMAND_TAKE,
         .ttl_ms = 9, .counter = 3, .has_turn = true),
    SAYS(1, NULL, "take 1 a T 9 . . . . shared", .kind = RL_COMMAND_TAKE, .ttl_ms = 9,
         .lock_mode = RL_SHARED),
    SAYS(2, NULL,
         "take 4 a door libredlock:fence:a libredlock:fence:door T 9 1795246000000001 86400000 1 "
         "2000 "
         "shared",
         .kind = RL_COMMAND_TAKE, .ttl_ms = 9, .counter = FENCE, .has_turn = true, .shut_ms = 2000,
         .lock_mode = RL_SHARED),
    SAYS(1, "h", "take 1 libredlock:slot:7:{a} T:h 9 . . 1 . 1024 a", .kind = RL_COMMAND_TAKE,
         .ttl_ms = 9, .has_turn = true, .lock_mode = RL_PERMIT, .slots = ONE),
    SAYS(1, NULL,
         "take 4 libredlock:slot:0:{a} libredlock:slot:1023:{a} "
         "libredlock:fence:libredlock:slot:0:{a} "
         "libredlock:fence:libredlock:slot:1023:{a} T 9 1795246000000001 86400000 1 . 1024 a",
         .kind = RL_COMMAND_TAKE, .ttl_ms = 9, .counter = FENCE, .has_turn = true,
         .lock_mode = RL_PERMIT, .slots = TWO),
    SAYS(1, NULL, "take 2 libredlock:slot:0:{a} libredlock:slot:1023:{a} T 9",
         .kind = RL_COMMAND_TAKE, .ttl_ms = 9, .lock_mode = RL_PERMIT, .slots = TWO),
    /* Releases. */
    SAYS(1, NULL, "release_line 1 a T 0", .kind = RL_COMMAND_RELEASE_LINE,
         .mode = RL_RELEASE_PLAIN),
    SAYS(2, "h", "release_line 2 a door T:h 250 look . 1", .kind = RL_COMMAND_RELEASE_LINE,
         .mode = RL_RELEASE_LOOK, .grace_ms = 250, .intent_ms = 1),
    SAYS(1, NULL, "release_line 1 a T 0 serve 1 0", .kind = RL_COMMAND_RELEASE_LINE,
         .mode = RL_RELEASE_SERVE, .announces = true, .intent_ms = RL_INTENT_DROP),
    SAYS(1, "h", "release_line 1 a T:h 250 serve . . . N:w:2 1000", .kind = RL_COMMAND_RELEASE_LINE,
         .mode = RL_RELEASE_SERVE, .grace_ms = 250, .successor = NEXT ":w:2", .lease_ms = 1000),
    SAYS(1, NULL, "release_line 1 a T 0 . 1 0 . N 7 1795246000000001 86400000",
         .kind = RL_COMMAND_RELEASE_LINE, .announces = true, .intent_ms = RL_INTENT_DROP,
         .successor = NEXT, .lease_ms = 7, .counter = FENCE),
    SAYS(1, NULL, "release_line 1 a T 9", .kind = RL_COMMAND_RELEASE_LINE, .grace_ms = 9,
         .successor = "", .lease_ms = 7),
    SAYS(1, NULL, "release_line 1 a T 0 serve . . shared", .kind = RL_COMMAND_RELEASE_LINE,
         .mode = RL_RELEASE_SERVE, .lock_mode = RL_SHARED),
    SAYS(1, NULL,
         "release_permit 2 libredlock:slot:0:{a} libredlock:slot:1023:{a} T 250 serve 1024 a",
         .kind = RL_COMMAND_RELEASE_PERMIT, .mode = RL_RELEASE_SERVE, .grace_ms = 250,
         .lock_mode = RL_PERMIT, .slots = TWO),
    SAYS(1, NULL, "release 1 libredlock:slot:7:{a} T", .kind = RL_COMMAND_RELEASE,
         .lock_mode = RL_PERMIT, .slots = ONE),
    /* The line. */
    SAYS(1, NULL, "join 1 a T 0 250", .kind = RL_COMMAND_JOIN, .grace_ms = 250),
    SAYS(2, "h:1", "join 1 door T:h:1 4294967295 9", .kind = RL_COMMAND_JOIN,
         .waited_ms = UINT32_MAX, .grace_ms = 9, .which = 1),
    SAYS(2, "h:1", "join 1 door T:h:1 3 250 . quiet shared", .kind = RL_COMMAND_JOIN,
         .waited_ms = 3, .grace_ms = 250, .which = 1, .join = RL_JOIN_QUIET,
         .lock_mode = RL_SHARED),
    SAYS(1, NULL, "join 1 libredlock:permits:{a} T 3 250 . peek 1024 a", .kind = RL_COMMAND_JOIN,
         .waited_ms = 3, .grace_ms = 250, .from = RL_NO_SLOT, .join = RL_JOIN_PEEK,
         .lock_mode = RL_PERMIT),
    SAYS(1, "h", "join 1 libredlock:permits:{a} T:h 0 9 2 . 1024 a", .kind = RL_COMMAND_JOIN,
         .grace_ms = 9, .from = 2, .lock_mode = RL_PERMIT),
    SAYS(2, "h", "leave 1 door T:h 250", .kind = RL_COMMAND_LEAVE, .grace_ms = 250, .which = 1),
    SAYS(1, NULL, "leave 1 a T 250 line shared", .kind = RL_COMMAND_LEAVE, .grace_ms = 250,
         .line_only = true, .lock_mode = RL_SHARED),
    SAYS(1, NULL, "leave 1 libredlock:permits:{a} T 250 . 1024 a", .kind = RL_COMMAND_LEAVE,
         .grace_ms = 250, .lock_mode = RL_PERMIT),
    SAYS(1, NULL, "set_permits 1 libredlock:permits:{a} 250 1024 a", .kind = RL_COMMAND_SET_PERMITS,
         .grace_ms = 250, .lock_mode = RL_PERMIT),
    /* Questions. */
    SAYS(1, "h", "waiter 1 a 4294967295", .kind = RL_COMMAND_WAITER, .index = UINT32_MAX),
    SAYS(1, "h", "waiter 1 a 7 shared", .kind = RL_COMMAND_WAITER, .index = 7,
         .lock_mode = RL_SHARED),
    SAYS(1, NULL, "waiter 1 a 3 permits", .kind = RL_COMMAND_WAITER, .index = 3,
         .lock_mode = RL_PERMIT),
    SAYS(2, "h", "readers 1 door 4294967295", .kind = RL_COMMAND_READER, .index = UINT32_MAX,
         .which = 1),
    SAYS(1, NULL, "slots 1 libredlock:permits:{a} . a", .kind = RL_COMMAND_SLOT,
         .index = RL_NO_SLOT, .lock_mode = RL_PERMIT),
    SAYS(1, NULL, "slots 1 libredlock:permits:{a} 1023 a", .kind = RL_COMMAND_SLOT, .index = 1023,
         .lock_mode = RL_PERMIT),
};

static struct rl_target target_of(const struct row *row) {
    static const struct rl_bytes names[REDLOCK_RESOURCES_MAX + 1] = {{"a", 1}, {"door", 4}};
    const bool is_permit = row->command.lock_mode == RL_PERMIT;
    return (struct rl_target){.resources = names,
                              .n = row->n,
                              .notifies = true,
                              .retention_ms = 86400000,
                              .permits = is_permit ? RL_PERMITS_MAX : 0,
                              .take = is_permit ? 2 : 0,
                              .holder = row->holder,
                              .holder_length = row->holder ? (uint8_t)strlen(row->holder) : 0};
}

static size_t format(char *wire, const struct row *row, bool whole) {
    struct rl_target target = target_of(row);
    struct rl_request command = row->command;
    command.target = &target;
    memcpy(command.token, TOKEN, sizeof command.token);
    command.whole_script = whole;
    assert_true(rl_command_room(&target) <= ROOM);
    return rl_command_format(wire, &command);
}

static void add_word(char *said, const char *word, size_t length) {
    static const char *const names[] = {[RL_COMMAND_TAKE] = "take",
                                        [RL_COMMAND_RAISE] = "raise",
                                        [RL_COMMAND_EXTEND] = "extend",
                                        [RL_COMMAND_EXTEND_MANY] = "extend_many",
                                        [RL_COMMAND_UPGRADE] = "upgrade",
                                        [RL_COMMAND_RELEASE] = "release",
                                        [RL_COMMAND_READ] = "read",
                                        [RL_COMMAND_JOIN] = "join",
                                        [RL_COMMAND_RELEASE_LINE] = "release_line",
                                        [RL_COMMAND_LEAVE] = "leave",
                                        [RL_COMMAND_RELEASE_PERMIT] = "release_permit",
                                        [RL_COMMAND_WAITER] = "waiter",
                                        [RL_COMMAND_READER] = "readers",
                                        [RL_COMMAND_SET_PERMITS] = "set_permits",
                                        [RL_COMMAND_SLOT] = "slots"};
    const size_t before = strlen(said);
    for (enum rl_command_kind kind = 0; kind < COUNT(names); kind++) {
        if (names[kind] != NULL && length == 40 &&
            memcmp(word, rl_command_script_sha1(kind), 40) == 0) {
            word = names[kind];
            length = strlen(word);
        }
    }
    const bool is_token = length >= 40 && memcmp(word, TOKEN, 40) == 0;
    const bool is_next = length >= 40 && memcmp(word, NEXT, 40) == 0;
    const size_t skip = is_token || is_next ? 40 : 0;
    snprintf(said + before, SAID_MAX - before, "%s%s%.*s", before == 0 ? "" : " ",
             is_token      ? "T"
             : is_next     ? "N"
             : length == 0 ? "."
                           : "",
             (int)(length - skip), word + skip);
}

/* The words of a command, whose counts and lengths must be right. */
static void words_of(const char *wire, size_t length, char *said) {
    const char *end = wire + length;
    char *at;
    unsigned long count = strtoul(wire + 1, &at, 10);
    assert_int_equal(*wire, '*');
    said[0] = '\0';
    for (unsigned long i = 0; i < count; i++) {
        assert_memory_equal(at, "\r\n$", 3);
        size_t word = strtoul(at + 3, &at, 10);
        assert_memory_equal(at, "\r\n", 2);
        assert_true(at + 2 + word + 2 <= end);
        if (i > 0 || memcmp(at + 2, "EVALSHA", word) != 0) {
            add_word(said, at + 2, word);
        }
        at += 2 + word;
    }
    assert_true(at + 2 == end);
    assert_memory_equal(at, "\r\n", 3); /* and a zero: hiredis looks there */
}

TEST(says_what_it_should) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wire[ROOM], said[SAID_MAX];
        memset(wire, 0x5a, sizeof wire);
        size_t length = format(wire, &rows[i], false);
        words_of(wire, length, said);
        assert_string_equal(said, rows[i].said);
        assert_int_equal(wire[length + 1], 0x5a);
    }
}

/* With the whole script, the command is the same except for the script itself. */
TEST(says_the_same_with_its_script) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wire[ROOM], whole[ROOM];
        const size_t length = format(wire, &rows[i], false);
        const size_t whole_length = format(whole, &rows[i], true);
        if (!rl_command_is_script(rows[i].command.kind)) {
            assert_int_equal(whole_length, length);
            assert_memory_equal(whole, wire, length);
            continue;
        }
        const char *script = rl_command_script(rows[i].command.kind);
        const char *behind = strstr(wire, "EVALSHA") + sizeof "EVALSHA\r\n$40\r\n" - 1 + 40;
        const size_t rest = length - (size_t)(behind - wire);
        assert_contains(whole, "\r\n$4\r\nEVAL\r\n$");
        assert_memory_equal(whole + whole_length - rest - strlen(script), script, strlen(script));
        assert_memory_equal(whole + whole_length - rest, behind, rest);
    }
}

TEST(extends_many_at_once) {
    const struct rl_bytes names[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    const struct rl_target plain = {.resources = &names[0], .n = 1, .retention_ms = 5},
                           held = {.resources = &names[1],
                                   .n = 1,
                                   .retention_ms = 5,
                                   .holder = "h",
                                   .holder_length = 1},
                           permits = {.resources = &names[2], .n = 1, .permits = 3, .take = 1};
    struct rl_request many[] = {
        {.kind = RL_COMMAND_EXTEND, .target = &plain, .token = TOKEN, .ttl_ms = 9},
        {.kind = RL_COMMAND_EXTEND, .target = &held, .token = TOKEN, .ttl_ms = 8, .counter = 7},
        {.kind = RL_COMMAND_EXTEND,
         .target = &permits,
         .token = TOKEN,
         .ttl_ms = 6,
         .lock_mode = RL_PERMIT,
         .slots = {{2}, 1}},
    };
    char wire[ROOM], said[SAID_MAX];
    many[0].next = &many[1];
    many[1].next = &many[2];
    for (size_t i = 0; i < COUNT(many); i++) {
        assert_true(rl_command_extends_one_key(&many[i]));
    }
    assert_true(rl_command_many_room(many, 3) <= sizeof wire);
    words_of(wire, rl_command_format_many(wire, sizeof wire, many, 3), said);
    assert_string_equal(said,
                        "extend_many 4 a b libredlock:fence:b libredlock:slot:2:{c} "
                        "T 9 . . T:h 8 7 5 T 6 . .");
    many[0].lock_mode = RL_SHARED;
    assert_false(rl_command_extends_one_key(&many[0]));
    many[2].slots = (struct rl_slots){{1, 2}, 2};
    assert_false(rl_command_extends_one_key(&many[2]));
}

TEST(says_what_a_command_is_for) {
    unsigned acquiring = 0, releasing = 0, native = 0, scripts = 0;
    for (enum rl_command_kind kind = RL_COMMAND_SET; kind <= RL_COMMAND_HANDSHAKE; kind++) {
        acquiring |= (unsigned)rl_command_acquires(kind) << kind;
        releasing |= (unsigned)rl_command_releases(kind) << kind;
        native |= (unsigned)rl_command_is_native_release(kind) << kind;
        scripts |= (unsigned)rl_command_is_script(kind) << kind;
    }
    const unsigned natives = 1u << RL_COMMAND_DELIFEQ | 1u << RL_COMMAND_DELEX;
    assert_int_equal(acquiring, 1u << RL_COMMAND_SET | 1u << RL_COMMAND_TAKE);
    assert_int_equal(releasing, natives | 1u << RL_COMMAND_RELEASE | 1u << RL_COMMAND_RELEASE_LINE |
                                    1u << RL_COMMAND_RELEASE_PERMIT | 1u << RL_COMMAND_LEAVE);
    assert_int_equal(native, natives);
    assert_int_equal(scripts, ((1u << RL_COMMAND_HANDSHAKE) - 1) & ~natives & ~1u);
}

/* The largest command of each row fits into the requested room. */
TEST(has_room_for_every_command) {
    static char name[REDLOCK_RESOURCE_MAX];
    static char holder[REDLOCK_HOLDER_MAX], successor[RL_VALUE_MAX + 1];
    struct rl_bytes names[REDLOCK_RESOURCES_MAX];
    struct rl_slots slots = {.n = RL_SLOTS_MAX};
    memset(name, '\n', sizeof name);
    memset(holder, 'h', sizeof holder);
    memset(successor, 's', RL_VALUE_MAX);
    for (uint16_t i = 0; i < RL_SLOTS_MAX; i++) {
        slots.at[i] = RL_PERMITS_MAX - 1 - i;
    }
    for (uint32_t n = 1; n <= REDLOCK_RESOURCES_MAX; n++) {
        names[n - 1] = (struct rl_bytes){name, n % 3 ? sizeof name : 1};
        for (size_t i = 0; i < COUNT(rows); i++) {
            struct rl_request command = rows[i].command;
            const bool is_permit = command.lock_mode == RL_PERMIT;
            const bool is_single =
                command.kind == RL_COMMAND_RELEASE || !rl_command_is_script(command.kind);
            struct rl_target target = {.resources = names,
                                       .n = is_permit || is_single ? 1 : n,
                                       .holder_length = sizeof holder,
                                       .notifies = n % 2,
                                       .retention_ms = UINT32_MAX,
                                       .permits = is_permit ? RL_PERMITS_MAX : 0,
                                       .take = is_permit ? RL_SLOTS_MAX : 0,
                                       .holder = holder};
            command.target = &target;
            memcpy(command.token, TOKEN, sizeof command.token);
            command.whole_script = true;
            command.ttl_ms = command.waited_ms = command.grace_ms = command.lease_ms = UINT32_MAX;
            command.successor = target.n == 1 ? successor : "";
            command.counter = UINT64_MAX;
            command.which = (uint8_t)(target.n - 1);
            command.slots = is_permit && !is_single ? slots : command.slots;
            char *wire = malloc(rl_command_room(&target)); /* ASan sees a byte too many */
            assert_non_null(wire);
            size_t length = rl_command_format(wire, &command);
            assert_memory_equal(wire + length - 2, "\r\n", 3);
            assert_non_null(memmem(wire, length, name, names[target.n - 1].length));
            free(wire);
        }
    }
}

/* The room that an acquire reserves is enough for its release: node_state.c. */
TEST(reserves_what_its_release_takes) {
    static char successor[RL_VALUE_MAX + 1];
    static struct rl_bytes names[REDLOCK_RESOURCES_MAX];
    memset(successor, 's', RL_VALUE_MAX);
    for (uint32_t n = 1; n <= REDLOCK_RESOURCES_MAX; n++) {
        names[n - 1] = (struct rl_bytes){"a", 1};
        for (uint8_t mode = RL_EXCLUSIVE; mode <= RL_PERMIT; mode++) {
            const bool is_permit = mode == RL_PERMIT;
            struct rl_target target = {.resources = names,
                                       .n = is_permit ? 1 : n,
                                       .notifies = true,
                                       .retention_ms = UINT32_MAX,
                                       .permits = is_permit ? RL_PERMITS_MAX : 0,
                                       .take = is_permit ? 1 : 0};
            struct rl_request command = {
                .kind = n == 1 && mode == RL_EXCLUSIVE ? RL_COMMAND_SET : RL_COMMAND_TAKE,
                .ttl_ms = 1,
                .target = &target,
                .token = TOKEN,
                .lock_mode = mode,
                .slots = ONE};
            char wire[ROOM];
            const size_t length = rl_command_format(wire, &command);
            command.kind = is_permit ? RL_COMMAND_RELEASE_PERMIT : RL_COMMAND_RELEASE_LINE;
            command.grace_ms = command.lease_ms = UINT32_MAX;
            command.counter = UINT64_MAX;
            command.mode = RL_RELEASE_SERVE;
            command.announces = true;
            command.intent_ms = mode == RL_EXCLUSIVE ? UINT32_MAX - 1 : 0;
            command.successor = n == 1 ? successor : "";
            assert_true(rl_command_format(wire, &command) <= length + RL_COMMAND_RELEASE_MORE);
            command.whole_script = true;
            assert_true(rl_command_format(wire, &command) <= length + RL_COMMAND_RELEASE_WHOLE);
        }
    }
}

TEST(writes_any_arguments) {
    static const char *const args[] = {"AUTH", "", "p\r\nw"};
    static const char wanted[] = "*3\r\n$4\r\nAUTH\r\n$0\r\n\r\n$4\r\np\r\nw\r\n";
    char wire[64];
    size_t length = rl_command_format_args(wire, sizeof wire, args, COUNT(args));
    assert_int_equal(length, sizeof wanted - 1);
    assert_memory_equal(wire, wanted, sizeof wanted);
}
