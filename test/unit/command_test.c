/* The commands as bytes: what goes over the wire, to the last of them. */
#include "redis/command.h"

#include "redis/scripts/scripts.h"
#include "redlock/redlock.h"
#include "server/sha1.h"
#include "unit/command_scene.h"
#include "unit/script_shas.h"

struct row {
    enum rl_command_kind kind;
    bool whole_script;
    uint32_t ttl_ms;
    struct sized resource;
    struct sized wanted;
    uint32_t n; /* resources: the one above, "next", CRLF */
    const char *holder;
};

static const struct row rows[] = {
    {RL_COMMAND_SET, false, 10000, SIZED("door"),
     SIZED("*6\r\n$3\r\nSET\r\n$4\r\ndoor\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n"),
     1, NULL},
    {RL_COMMAND_SET, false, 1, SIZED("a"),
     SIZED("*6\r\n$3\r\nSET\r\n$1\r\na\r\n$40\r\n" TOKEN "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n1\r\n"),
     1, NULL},
    {RL_COMMAND_SET, true, UINT32_MAX, SIZED("two words"), /* SET is no script */
     SIZED("*6\r\n$3\r\nSET\r\n$9\r\ntwo words\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$10\r\n4294967295\r\n"),
     1, NULL},
    /* bytes that would end an inline command or a C string */
    {RL_COMMAND_SET, false, 86400000, SIZED("a\0b\r\nDEL c\r\n\xff"),
     SIZED("*6\r\n$3\r\nSET\r\n$13\r\na\0b\r\nDEL c\r\n\xff\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$8\r\n86400000\r\n"),
     1, NULL},
    {RL_COMMAND_SET, false, 5, SIZED("\0"),
     SIZED("*6\r\n$3\r\nSET\r\n$1\r\n\0\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n5\r\n"),
     1, NULL},
    {RL_COMMAND_EXTEND, false, 10000, SIZED("door"),
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SHA "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$40\r\n" TOKEN
           "\r\n$5\r\n10000\r\n"),
     1, NULL},
    {RL_COMMAND_EXTEND, true, 20, SIZED("d\0\r\n"),
     SIZED("*6\r\n$4\r\nEVAL\r\n$146\r\n" RL_SCRIPT_EXTEND_TEXT
           "\r\n$1\r\n1\r\n$4\r\nd\0\r\n\r\n$40\r\n" TOKEN "\r\n$2\r\n20\r\n"),
     1, NULL},
    {RL_COMMAND_RELEASE, false, 10000, SIZED("door"),
     SIZED("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SHA "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$40\r\n" TOKEN
           "\r\n"),
     1, NULL},
    {RL_COMMAND_RELEASE, true, 0, SIZED("\r\n"),
     SIZED("*5\r\n$4\r\nEVAL\r\n$92\r\n" RL_SCRIPT_RELEASE_TEXT
           "\r\n$1\r\n1\r\n$2\r\n\r\n\r\n$40\r\n" TOKEN "\r\n"),
     1, NULL},
    {RL_COMMAND_DELIFEQ, false, 0, SIZED("d\0\r\n"),
     SIZED("*3\r\n$7\r\nDELIFEQ\r\n$4\r\nd\0\r\n\r\n$40\r\n" TOKEN "\r\n"), 1, NULL},
    {RL_COMMAND_DELEX, false, 0, SIZED("door"),
     SIZED("*4\r\n$5\r\nDELEX\r\n$4\r\ndoor\r\n$4\r\nIFEQ\r\n$40\r\n" TOKEN "\r\n"), 1, NULL},
    /* with a holder; several */
    {RL_COMMAND_DELIFEQ, false, 0, SIZED("a"),
     SIZED("*3\r\n$7\r\nDELIFEQ\r\n$1\r\na\r\n$44\r\n" TOKEN ":h:1\r\n"), 1, "h:1"},
    {RL_COMMAND_DELEX, false, 0, SIZED("a"),
     SIZED("*4\r\n$5\r\nDELEX\r\n$1\r\na\r\n$4\r\nIFEQ\r\n$44\r\n" TOKEN ":h:1\r\n"), 1, "h:1"},
    {RL_COMMAND_SET, false, 9, SIZED("a"),
     SIZED("*6\r\n$3\r\nSET\r\n$1\r\na\r\n$44\r\n" TOKEN
           ":h:1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n9\r\n"),
     1, "h:1"},
    {RL_COMMAND_EXTEND, false, 20, SIZED("a"),
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$42\r\n" TOKEN
           ":h\r\n$2\r\n20\r\n"),
     1, "h"},
    {RL_COMMAND_RELEASE, false, 20, SIZED("a"),
     SIZED("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$42\r\n" TOKEN
           ":h\r\n"),
     1, "h"},
    {RL_COMMAND_SET_ALL, false, 9, SIZED("a"),
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" SET_ALL_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\nnext\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"),
     2, NULL},
    /* each resource and its counter; the floor or the fence, and the retention */
    {RL_COMMAND_FENCE, false, 9, SIZED("a"),
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" SET_FENCED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n9\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL},
    {RL_COMMAND_FENCE, true, 9, SIZED("a"),
     SIZED("*11\r\n$4\r\nEVAL\r\n$565\r\n" RL_SCRIPT_SET_FENCED_TEXT
           "\r\n$1\r\n4\r\n$1\r\na\r\n$4\r\nnext\r\n$18\r\nlibredlock:fence:a\r\n"
           "$21\r\nlibredlock:fence:next\r\n$42\r\n" TOKEN ":h\r\n$1\r\n9\r\n"
           "$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     2, "h"},
    {RL_COMMAND_RAISE, false, 9, SIZED("a"),
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" RAISE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL},
    {RL_COMMAND_RAISE, true, 9, SIZED("a"),
     SIZED("*8\r\n$4\r\nEVAL\r\n$324\r\n" RL_SCRIPT_RAISE_TEXT
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL},
    {RL_COMMAND_EXTEND, false, 9, SIZED("a"),
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_FENCED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n9\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL},
    {RL_COMMAND_EXTEND, true, 9, SIZED("a"),
     SIZED("*11\r\n$4\r\nEVAL\r\n$453\r\n" RL_SCRIPT_EXTEND_FENCED_TEXT
           "\r\n$1\r\n4\r\n$1\r\na\r\n$4\r\nnext\r\n$18\r\nlibredlock:fence:a\r\n"
           "$21\r\nlibredlock:fence:next\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"
           "$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     2, NULL},
    {RL_COMMAND_SET_ALL, true, 9, SIZED("a"),
     SIZED("*8\r\n$4\r\nEVAL\r\n$191\r\n" RL_SCRIPT_SET_ALL_TEXT
           "\r\n$1\r\n3\r\n$1\r\na\r\n$4\r\nnext\r\n$2\r\n\r\n\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"),
     3, NULL},
    {RL_COMMAND_EXTEND, false, 9, SIZED("a"),
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_ALL_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\nnext\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"),
     2, NULL},
    /* who holds it: no value, no ttl */
    {RL_COMMAND_READ, false, 9, SIZED("a\0"),
     SIZED("*4\r\n$7\r\nEVALSHA\r\n$40\r\n" READ_SHA "\r\n$1\r\n1\r\n$2\r\na\0\r\n"), 1, "h"},
    {RL_COMMAND_READ, true, 9, SIZED("a"),
     SIZED("*4\r\n$4\r\nEVAL\r\n$245\r\n" RL_SCRIPT_READ_TEXT "\r\n$1\r\n1\r\n$1\r\na\r\n"), 1,
     NULL},
};

/* What the line's commands say, to the last byte. */
static const struct line_row line_rows[] = {
    {{.kind = RL_COMMAND_JOIN, .place = PLACE, .waited_ms = 0, .grace_ms = 250},
     1,
     NULL,
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" JOIN_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$32\r\n" PLACE
           "\r\n$0\r\n\r\n$1\r\n0\r\n$3\r\n250\r\n")},
    {{.kind = RL_COMMAND_JOIN, .place = PLACE, .waited_ms = 4294967295, .grace_ms = 9, .which = 1},
     2,
     "h:1",
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" JOIN_SHA "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$32\r\n" PLACE
           "\r\n$3\r\nh:1\r\n$10\r\n4294967295\r\n$1\r\n9\r\n")},
    {{.kind = RL_COMMAND_TAKE, .token = TOKEN, .ttl_ms = 10000, .place = PLACE},
     1,
     "h",
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" TAKE_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$42\r\n" TOKEN
           ":h\r\n$5\r\n10000\r\n$32\r\n" PLACE "\r\n")},
    {{.kind = RL_COMMAND_TAKE, .token = TOKEN, .ttl_ms = 5},
     2,
     NULL,
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" TAKE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\ndoor\r\n$40\r\n" TOKEN "\r\n$1\r\n5\r\n$0\r\n\r\n")},
    {{.kind = RL_COMMAND_TAKE, .token = TOKEN, .ttl_ms = 5, .counter = 3, .place = PLACE},
     1,
     NULL,
     SIZED("*10\r\n$7\r\nEVALSHA\r\n$40\r\n" TAKE_FENCED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n5\r\n$1\r\n3\r\n$8\r\n86400000\r\n$32\r\n" PLACE "\r\n")},
    {{.kind = RL_COMMAND_RELEASE_LINE, .token = TOKEN, .mode = RL_RELEASE_PLAIN},
     1,
     NULL,
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_LINE_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$40\r\n" TOKEN
           "\r\n$1\r\n0\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n")},
    {{.kind = RL_COMMAND_RELEASE_LINE,
      .token = TOKEN,
      .mode = RL_RELEASE_LOOK,
      .grace_ms = 250,
      .intent_ms = 1},
     2,
     "h",
     SIZED("*10\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_LINE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\ndoor\r\n$42\r\n" TOKEN
           ":h\r\n$3\r\n250\r\n$4\r\nlook\r\n$0\r\n\r\n$1\r\n1\r\n")},
    {{.kind = RL_COMMAND_RELEASE_LINE,
      .token = TOKEN,
      .mode = RL_RELEASE_SERVE,
      .announces = true,
      .intent_ms = RL_INTENT_DROP},
     1,
     NULL,
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_LINE_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$40\r\n" TOKEN
           "\r\n$1\r\n0\r\n$5\r\nserve\r\n$1\r\n1\r\n$1\r\n0\r\n")},
    {{.kind = RL_COMMAND_RELEASE_LINE,
      .token = TOKEN,
      .mode = RL_RELEASE_KEEP,
      .grace_ms = 40,
      .intent_ms = UINT32_MAX - 1,
      .place = PLACE},
     1,
     NULL,
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_LINE_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$40\r\n" TOKEN "\r\n$2\r\n40\r\n$32\r\n" PLACE
           "\r\n$0\r\n\r\n$10\r\n4294967294\r\n")},
    {{.kind = RL_COMMAND_LEAVE, .place = PLACE, .grace_ms = 250, .which = 1},
     2,
     "h",
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" LEAVE_SHA "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$32\r\n" PLACE
           "\r\n$1\r\nh\r\n$3\r\n250\r\n")},
    {{.kind = RL_COMMAND_WAITER, .index = 4294967295},
     1,
     "h",
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WAITER_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$10\r\n4294967295\r\n$0\r\n\r\n")},
};

static void writes_each_byte_of_the_line(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(line_rows); i++) {
        writes_each_byte_of(&line_rows[i]);
    }
}

/* A release is announced of what was held, and where somebody may listen for it. */
static void announces_where_both_want_it(void **state) {
    (void)state;
    const struct rl_bytes name = {"a", 1};
    struct rl_target target = {.resources = &name, .n = 1, .retention_ms = 1};
    struct rl_command command = {
        .kind = RL_COMMAND_RELEASE_LINE, .target = &target, .token = TOKEN};
    for (unsigned both = 0; both < 4; both++) {
        char wire[ROOM];
        target.notifies = both & 1;
        command.announces = both >> 1;
        assert_true(rl_command_room(&target) <= sizeof wire);
        rl_command_format(wire, &command);
        const char *wanted = both == 3 ? "\r\n$1\r\n1\r\n$0\r\n\r\n" : "\r\n$0\r\n\r\n$0\r\n\r\n";
        assert_string_equal(wire + strlen(wire) - strlen(wanted), wanted);
    }
}

/* A request that is sent again whole says what the command said. */
static void keeps_what_it_said(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(line_rows); i++) {
        keeps_what_was_said(&line_rows[i]);
    }
}

static void says_what_a_command_is_for(void **state) {
    (void)state;
    unsigned acquiring = 0, releasing = 0, native = 0;
    for (enum rl_command_kind kind = RL_COMMAND_SET; kind <= RL_COMMAND_HANDSHAKE; kind++) {
        acquiring |= (unsigned)rl_command_acquires(kind) << kind;
        releasing |= (unsigned)rl_command_releases(kind) << kind;
        native |= (unsigned)rl_command_is_native_release(kind) << kind;
    }
    assert_int_equal(acquiring, 1u << RL_COMMAND_SET | 1u << RL_COMMAND_SET_ALL |
                                    1u << RL_COMMAND_FENCE | 1u << RL_COMMAND_TAKE);
    const unsigned natives = 1u << RL_COMMAND_DELIFEQ | 1u << RL_COMMAND_DELEX;
    assert_int_equal(releasing, natives | 1u << RL_COMMAND_RELEASE | 1u << RL_COMMAND_RELEASE_LINE |
                                    1u << RL_COMMAND_LEAVE);
    assert_int_equal(native, natives);
}

static bool names_a_counter(const struct sized *wire) {
    static const char prefix[] = RL_COMMAND_COUNTER_PREFIX;
    return wire->bytes != NULL && memmem(wire->bytes, wire->length, prefix, sizeof prefix - 1);
}

static size_t format(char *wire, const struct row *row) {
    struct rl_bytes names[3] = {
        {row->resource.bytes, row->resource.length}, {"next", 4}, {"\r\n", 2}};
    struct rl_target target = {.resources = names,
                               .n = row->n,
                               .retention_ms = 86400000,
                               .holder = row->holder,
                               .holder_length = row->holder ? (uint8_t)strlen(row->holder) : 0};
    struct rl_command command = {
        .kind = row->kind,
        .whole_script = row->whole_script,
        .ttl_ms = row->ttl_ms,
        .counter = names_a_counter(&row->wanted) ? 1795246000000001 : 0,
        .target = &target,
        .token = TOKEN,
    };
    return rl_command_format(wire, &command);
}

static void writes_each_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wire[ROOM];
        memset(wire, 0x5a, sizeof wire);
        size_t length = format(wire, &rows[i]);
        assert_int_equal(length, rows[i].wanted.length);
        assert_memory_equal(wire, rows[i].wanted.bytes, length);
        assert_int_equal(wire[length], '\0'); /* hiredis looks there */
        assert_int_equal(wire[length + 1], 0x5a);
    }
}

/* The largest of each kind fits into the room that was asked for. */
static void has_room_for_every_command(void **state) {
    (void)state;
    static char name[REDLOCK_RESOURCE_MAX];
    static char holder[REDLOCK_HOLDER_MAX];
    struct rl_bytes names[REDLOCK_RESOURCES_MAX];
    memset(name, '\n', sizeof name);
    memset(holder, 'h', sizeof holder);
    for (uint32_t n = 1; n <= REDLOCK_RESOURCES_MAX; n++) {
        names[n - 1] = (struct rl_bytes){name, n % 3 ? sizeof name : 1};
        struct rl_target target = {.resources = names,
                                   .n = n,
                                   .holder_length = sizeof holder,
                                   .notifies = n % 2,
                                   .retention_ms = UINT32_MAX,
                                   .holder = holder};
        char *wire = malloc(rl_command_room(&target)); /* ASan sees a byte too many */
        for (enum rl_command_kind kind = RL_COMMAND_SET; kind < RL_COMMAND_HANDSHAKE; kind++) {
            bool is_of_one = kind == RL_COMMAND_SET || kind == RL_COMMAND_READ ||
                             kind == RL_COMMAND_RELEASE || rl_command_is_native_release(kind);
            if ((n > 1 && is_of_one) || (n == 1 && kind == RL_COMMAND_SET_ALL) ||
                kind == RL_COMMAND_SET_PERMITS ||
                kind == RL_COMMAND_SLOT) { /* see command_permit_test.c */
                continue;
            }
            struct rl_command command = {.kind = kind,
                                         .whole_script = true,
                                         .lock_mode = kind == RL_COMMAND_UPGRADE,
                                         .announces = kind == RL_COMMAND_RELEASE_LINE,
                                         .ttl_ms = UINT32_MAX,
                                         .counter = UINT64_MAX,
                                         .target = &target,
                                         .token = TOKEN,
                                         .place = PLACE,
                                         .waited_ms = UINT32_MAX,
                                         .grace_ms = UINT32_MAX,
                                         .index = UINT32_MAX,
                                         .mode = RL_RELEASE_KEEP,
                                         .which = (uint8_t)(n - 1)};
            size_t length = rl_command_format(wire, &command);
            assert_int_equal(wire[length], '\0');
            assert_memory_equal(wire + length - 2, "\r\n", 2);
            assert_non_null(memmem(wire, length, name, names[n - 1].length));
        }
        free(wire);
    }
}

static void writes_any_arguments(void **state) {
    (void)state;
    static const char *const args[] = {"AUTH", "", "p\r\nw"};
    static const char wanted[] = "*3\r\n$4\r\nAUTH\r\n$0\r\n\r\n$4\r\np\r\nw\r\n";
    char wire[64];
    size_t length = rl_command_format_args(wire, sizeof wire, args, COUNT(args));
    assert_int_equal(length, sizeof wanted - 1);
    assert_memory_equal(wire, wanted, sizeof wanted);
}

static void writes_nothing_beyond_its_buffer(void **state) {
    (void)state;
    static const char *const args[] = {"SCRIPT", "LOAD", "return 1"};
    char wanted[64];
    size_t needed = rl_command_format_args(wanted, sizeof wanted, args, COUNT(args)) + 1;
    for (size_t capacity = 1; capacity < sizeof wanted; capacity++) {
        char *wire = malloc(capacity);
        size_t length = rl_command_format_args(wire, capacity, args, COUNT(args));
        assert_int_equal(length, capacity >= needed ? needed - 1 : 0);
        free(wire);
    }
}

static void names_its_scripts(void **state) {
    (void)state;
    assert_string_equal(rl_command_script(RL_COMMAND_EXTEND), RL_SCRIPT_EXTEND_TEXT);
    assert_string_equal(rl_command_script(RL_COMMAND_RELEASE), RL_SCRIPT_RELEASE_TEXT);
    assert_string_equal(rl_command_script_sha1(RL_COMMAND_EXTEND), EXTEND_SHA);
    assert_string_equal(rl_command_script_sha1(RL_COMMAND_RELEASE), RELEASE_SHA);
}

/* The same bytes and hashes whoever builds, and no comment among them. */
static void has_the_scripts_of_this_version(void **state) {
    (void)state;
    static const char *const shas[] = {SCRIPT_SHAS};
    const char *script, *sha1;
    size_t count = 0, longest = 0;
    while ((script = rl_command_script_at(count, &sha1)) != NULL) {
        char hex[SHA1_HEX_SIZE];
        sha1_hex(script, strlen(script), hex);
        assert_string_equal(sha1, hex);
        bool is_known = false;
        for (size_t i = 0; i < COUNT(shas); i++) {
            is_known = is_known || strcmp(sha1, shas[i]) == 0;
        }
        assert_true(is_known);
        assert_null(strstr(script, "--"));
        assert_null(strstr(script, "\n "));
        longest = strlen(script) > longest ? strlen(script) : longest;
        count++;
    }
    assert_int_equal(count, COUNT(shas));
    assert_int_equal(longest, RL_SCRIPT_LENGTH_MAX);
}

static void format_wrong(void *data) {
    static char wire[80000];
    format(wire, data);
}

static void script_of_set(void *data) {
    (void)data;
    rl_command_script(RL_COMMAND_SET);
}

static void asserts_what_it_is_given(void **state) {
    (void)state;
    struct row wrongs[] = {
        {RL_COMMAND_SET, false, 1, SIZED("a"), {NULL, 0}, 0, NULL},
        {RL_COMMAND_SET, false, 1, SIZED("a"), {NULL, 0}, REDLOCK_RESOURCES_MAX + 1, NULL},
        {RL_COMMAND_HANDSHAKE, false, 1, SIZED("a"), {NULL, 0}, 1, NULL},
        {RL_COMMAND_READ, false, 1, SIZED("a"), {NULL, 0}, 2, NULL},
        {RL_COMMAND_RELEASE, false, 1, SIZED("a"), {NULL, 0}, 2, NULL},
    };
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        assert_true(dies(format_wrong, &wrongs[i]));
    }
    assert_true(dies(script_of_set, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_each_byte),
        cmocka_unit_test(writes_each_byte_of_the_line),
        cmocka_unit_test(announces_where_both_want_it),
        cmocka_unit_test(keeps_what_it_said),
        cmocka_unit_test(says_what_a_command_is_for),
        cmocka_unit_test(has_room_for_every_command),
        cmocka_unit_test(writes_any_arguments),
        cmocka_unit_test(writes_nothing_beyond_its_buffer),
        cmocka_unit_test(names_its_scripts),
        cmocka_unit_test(has_the_scripts_of_this_version),
        cmocka_unit_test(asserts_what_it_is_given),
    };
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
