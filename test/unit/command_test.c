/* The commands as bytes: what goes over the wire, to the last of them. */
#include "redis/command.h"

#include "redlock/redlock.h"
#include "unit/check.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"

struct sized {
    const char *bytes;
    size_t length;
};

#define SIZED(text) \
    { text, sizeof(text) - 1 }

struct row {
    enum rl_command_kind kind;
    bool whole_script;
    uint32_t ttl_ms;
    struct sized resource;
    struct sized wanted;
    uint32_t n; /* resources: the one above, "next", CRLF */
    const char *holder;
    bool notifies;
};

#define EXTEND_SHA "fc8b88d55f5a871d02ac6a3637e8ef9b3c053acb"
#define RELEASE_SHA "fab5aabdaac7aab1eaa85bbed1724dee07d7744a"
#define SET_SEVERAL_TEXT                                                        \
    "for i=1,#KEYS do local v=redis.call('get',KEYS[i]) "                       \
    "if v and v~=ARGV[1] then return 0 end end "                                \
    "for i=1,#KEYS do redis.call('set',KEYS[i],ARGV[1],'NX','PX',ARGV[2]) end " \
    "return 1"
#define SET_SEVERAL_SHA "ff753c1c8cfc9059e370674d77bfbf5f152aa401"
#define FENCE_SHA "5af8c42701cef82bde58dd2a90d2dfe34595a8ac"
#define FENCE_TEXT                                                                     \
    "local n,f=#KEYS/2,tonumber(ARGV[3]) for i=1,n do "                                \
    "local v=redis.call('get',KEYS[i]) if v and v~=ARGV[1] then return 0 end end "     \
    "for i=n+1,2*n do local c=redis.call('get',KEYS[i]) if c then c=tonumber(c) "      \
    "if not c or c<0 or c>=9007199254740991 then "                                     \
    "return redis.error_reply('ERR '..KEYS[i]..' is not the counter of a fence') end " \
    "if c>=f then f=c+1 end end end "                                                  \
    "local s=string.format('%.0f',f) "                                                 \
    "for i=1,n do redis.call('set',KEYS[i],ARGV[1],'NX','PX',ARGV[2]) "                \
    "redis.call('set',KEYS[n+i],s,'PX',ARGV[4]) end return f"
#define RAISE_SHA "9720c23f1e2496fb876eca070273e37e7fdda767"
#define RAISE_TEXT                                                       \
    "local n,f=#KEYS/2,tonumber(ARGV[2]) for i=1,n do "                  \
    "if redis.call('get',KEYS[i])~=ARGV[1] then return 0 end end "       \
    "for i=n+1,2*n do local c=tonumber(redis.call('get',KEYS[i]) or 0) " \
    "if not c or c>f then return 0 end end "                             \
    "for i=n+1,2*n do redis.call('set',KEYS[i],ARGV[2],'PX',ARGV[3]) end return 1"
#define EXTEND_FENCED_SHA "a9e0c18568bb11afb25973b78f1d6cf9fbd7e7b0"
#define EXTEND_FENCED_TEXT                                                        \
    "local n,f=#KEYS/2,tonumber(ARGV[3]) "                                        \
    "for i=1,n do if redis.call('get',KEYS[i])~=ARGV[1] then return 0 end end "   \
    "for i=1,n do "                                                               \
    "redis.call('pexpire',KEYS[i],math.max(redis.call('pttl',KEYS[i]),ARGV[2])) " \
    "local k=KEYS[n+i] local c=redis.pcall('get',k) "                             \
    "if type(c)~='table' then c=tonumber(c or 0) if c and c<f then "              \
    "redis.pcall('set',k,ARGV[3],'PX',ARGV[4]) "                                  \
    "elseif c then redis.pcall('pexpire',k,ARGV[4]) end end end return 1"
#define EXTEND_SEVERAL_SHA "079fed628bfbb9944983410404b5351764a2e000"
#define RELEASE_SEVERAL_SHA "da14326bf607ac1dc20e1aa96b204e87677d044d"
#define ANNOUNCED_SHA "a8c6293086a71651ea4eaaec47d7ae2e96b041b0"
#define READ_SHA "459a6f17e5ef77b303561f0e93163b4dc12bdbd1"
#define EXTEND_TEXT                                            \
    "if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end " \
    "redis.call('pexpire',KEYS[1],math.max(redis.call('pttl',KEYS[1]),ARGV[2])) return 1"
#define RELEASE_TEXT \
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
#define READ_TEXT                                                                  \
    "local t=redis.call('type',KEYS[1]).ok if t=='none' then return false end "    \
    "local p=string.format('%.0f ',redis.call('pttl',KEYS[1])) "                   \
    "if t=='string' then return p..'s'..redis.call('getrange',KEYS[1],0,105) end " \
    "return p..'t'..t"

static const struct row rows[] = {
    {RL_COMMAND_SET, false, 10000, SIZED("door"),
     SIZED("*6\r\n$3\r\nSET\r\n$4\r\ndoor\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n"),
     1, NULL, false},
    {RL_COMMAND_SET, false, 1, SIZED("a"),
     SIZED("*6\r\n$3\r\nSET\r\n$1\r\na\r\n$40\r\n" TOKEN "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n1\r\n"),
     1, NULL, false},
    {RL_COMMAND_SET, true, UINT32_MAX, SIZED("two words"), /* SET is no script */
     SIZED("*6\r\n$3\r\nSET\r\n$9\r\ntwo words\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$10\r\n4294967295\r\n"),
     1, NULL, false},
    /* bytes that would end an inline command or a C string */
    {RL_COMMAND_SET, false, 86400000, SIZED("a\0b\r\nDEL c\r\n\xff"),
     SIZED("*6\r\n$3\r\nSET\r\n$13\r\na\0b\r\nDEL c\r\n\xff\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$8\r\n86400000\r\n"),
     1, NULL, false},
    {RL_COMMAND_SET, false, 5, SIZED("\0"),
     SIZED("*6\r\n$3\r\nSET\r\n$1\r\n\0\r\n$40\r\n" TOKEN
           "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n5\r\n"),
     1, NULL, false},
    {RL_COMMAND_EXTEND, false, 10000, SIZED("door"),
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SHA "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$40\r\n" TOKEN
           "\r\n$5\r\n10000\r\n"),
     1, NULL, false},
    {RL_COMMAND_EXTEND, true, 20, SIZED("d\0\r\n"),
     SIZED("*6\r\n$4\r\nEVAL\r\n$139\r\n" EXTEND_TEXT
           "\r\n$1\r\n1\r\n$4\r\nd\0\r\n\r\n$40\r\n" TOKEN "\r\n$2\r\n20\r\n"),
     1, NULL, false},
    {RL_COMMAND_RELEASE, false, 10000, SIZED("door"),
     SIZED("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SHA "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$40\r\n" TOKEN
           "\r\n"),
     1, NULL, false},
    {RL_COMMAND_RELEASE, true, 0, SIZED("\r\n"),
     SIZED("*5\r\n$4\r\nEVAL\r\n$88\r\n" RELEASE_TEXT "\r\n$1\r\n1\r\n$2\r\n\r\n\r\n$40\r\n" TOKEN
           "\r\n"),
     1, NULL, false},
    /* with a holder; announced; several */
    {RL_COMMAND_SET, false, 9, SIZED("a"),
     SIZED("*6\r\n$3\r\nSET\r\n$1\r\na\r\n$44\r\n" TOKEN
           ":h:1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$1\r\n9\r\n"),
     1, "h:1", true},
    {RL_COMMAND_EXTEND, false, 20, SIZED("a"),
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$42\r\n" TOKEN
           ":h\r\n$2\r\n20\r\n"),
     1, "h", true},
    {RL_COMMAND_RELEASE, false, 20, SIZED("a"),
     SIZED("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" ANNOUNCED_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$42\r\n" TOKEN
           ":h\r\n"),
     1, "h", true},
    {RL_COMMAND_SET_ALL, false, 9, SIZED("a"),
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" SET_SEVERAL_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\nnext\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"),
     2, NULL, false},
    /* each resource and its counter; the floor or the fence, and the retention */
    {RL_COMMAND_FENCE, false, 9, SIZED("a"),
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" FENCE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n9\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL, false},
    {RL_COMMAND_FENCE, true, 9, SIZED("a"),
     SIZED("*11\r\n$4\r\nEVAL\r\n$507\r\n" FENCE_TEXT
           "\r\n$1\r\n4\r\n$1\r\na\r\n$4\r\nnext\r\n$18\r\nlibredlock:fence:a\r\n"
           "$21\r\nlibredlock:fence:next\r\n$42\r\n" TOKEN ":h\r\n$1\r\n9\r\n"
           "$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     2, "h", false},
    {RL_COMMAND_RAISE, false, 9, SIZED("a"),
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" RAISE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL, false},
    {RL_COMMAND_RAISE, true, 9, SIZED("a"),
     SIZED("*8\r\n$4\r\nEVAL\r\n$289\r\n" RAISE_TEXT
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL, false},
    {RL_COMMAND_EXTEND, false, 9, SIZED("a"),
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_FENCED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n9\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     1, NULL, false},
    {RL_COMMAND_EXTEND, true, 9, SIZED("a"),
     SIZED("*11\r\n$4\r\nEVAL\r\n$415\r\n" EXTEND_FENCED_TEXT
           "\r\n$1\r\n4\r\n$1\r\na\r\n$4\r\nnext\r\n$18\r\nlibredlock:fence:a\r\n"
           "$21\r\nlibredlock:fence:next\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"
           "$16\r\n1795246000000001\r\n$8\r\n86400000\r\n"),
     2, NULL, false},
    {RL_COMMAND_SET_ALL, true, 9, SIZED("a"),
     SIZED("*8\r\n$4\r\nEVAL\r\n$174\r\n" SET_SEVERAL_TEXT
           "\r\n$1\r\n3\r\n$1\r\na\r\n$4\r\nnext\r\n$2\r\n\r\n\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"),
     3, NULL, false},
    {RL_COMMAND_EXTEND, false, 9, SIZED("a"),
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SEVERAL_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\nnext\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n"),
     2, NULL, true},
    {RL_COMMAND_RELEASE, false, 9, SIZED("a"),
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SEVERAL_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\nnext\r\n$40\r\n" TOKEN "\r\n"),
     2, NULL, false},
    /* who holds it: no value, no ttl */
    {RL_COMMAND_READ, false, 9, SIZED("a\0"),
     SIZED("*4\r\n$7\r\nEVALSHA\r\n$40\r\n" READ_SHA "\r\n$1\r\n1\r\n$2\r\na\0\r\n"), 1, "h", true},
    {RL_COMMAND_READ, true, 9, SIZED("a"),
     SIZED("*4\r\n$4\r\nEVAL\r\n$223\r\n" READ_TEXT "\r\n$1\r\n1\r\n$1\r\na\r\n"), 1, NULL, false},
};

static bool names_a_counter(const struct sized *wire) {
    static const char prefix[] = RL_COMMAND_COUNTER_PREFIX;
    return wire->bytes != NULL && memmem(wire->bytes, wire->length, prefix, sizeof prefix - 1);
}

static size_t format(char *wire, const struct row *row) {
    struct rl_bytes names[3] = {
        {row->resource.bytes, row->resource.length}, {"next", 4}, {"\r\n", 2}};
    struct rl_target target = {.resources = names,
                               .n = row->n,
                               .notifies = row->notifies,
                               .retention_ms = 86400000,
                               .holder = row->holder,
                               .holder_length = row->holder ? (uint8_t)strlen(row->holder) : 0};
    struct rl_command command = {
        .kind = row->kind,
        .whole_script = row->whole_script,
        .announces = true,
        .ttl_ms = row->ttl_ms,
        .counter = names_a_counter(&row->wanted) ? 1795246000000001 : 0,
        .target = &target,
        .token = TOKEN,
    };
    if (row->kind == RL_COMMAND_RELEASE && !row->notifies) { /* both must want it */
        char also[2048];
        assert_true(rl_command_room(&target) <= sizeof also);
        target.notifies = true;
        command.announces = false;
        size_t length = rl_command_format(also, &command);
        target.notifies = false;
        command.announces = true;
        assert_int_equal(rl_command_format(wire, &command), length);
        assert_memory_equal(also, wire, length);
    }
    return rl_command_format(wire, &command);
}

static void writes_each_byte(void **state) {
    (void)state;
    assert_int_equal(strlen(EXTEND_TEXT), 139);
    assert_int_equal(strlen(RELEASE_TEXT), 88);
    assert_int_equal(strlen(READ_TEXT), 223);
    assert_int_equal(strlen(SET_SEVERAL_TEXT), 174);
    assert_int_equal(strlen(FENCE_TEXT), 507);
    assert_int_equal(strlen(RAISE_TEXT), 289);
    assert_int_equal(strlen(EXTEND_FENCED_TEXT), 415);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wire[2048];
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
        for (enum rl_command_kind kind = RL_COMMAND_SET; kind <= RL_COMMAND_READ; kind++) {
            bool is_of_one = kind == RL_COMMAND_SET || kind == RL_COMMAND_READ;
            if ((n > 1 && is_of_one) || (n == 1 && kind == RL_COMMAND_SET_ALL)) {
                continue;
            }
            struct rl_command command = {kind, true, true, UINT32_MAX, UINT64_MAX, &target, TOKEN};
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
    assert_string_equal(rl_command_script(RL_COMMAND_EXTEND), EXTEND_TEXT);
    assert_string_equal(rl_command_script(RL_COMMAND_RELEASE), RELEASE_TEXT);
    assert_string_equal(rl_command_script_sha1(RL_COMMAND_EXTEND), EXTEND_SHA);
    assert_string_equal(rl_command_script_sha1(RL_COMMAND_RELEASE), RELEASE_SHA);
    size_t count = 0;
    const char *sha1;
    while (rl_command_script_at(count, &sha1) != NULL) {
        assert_int_equal(strlen(sha1), 40);
        count++;
    }
    assert_int_equal(count, 10);
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
        {RL_COMMAND_SET, false, 1, SIZED("a"), {NULL, 0}, 0, NULL, false},
        {RL_COMMAND_SET, false, 1, SIZED("a"), {NULL, 0}, REDLOCK_RESOURCES_MAX + 1, NULL, false},
        {RL_COMMAND_HANDSHAKE, false, 1, SIZED("a"), {NULL, 0}, 1, NULL, false},
        {RL_COMMAND_READ, false, 1, SIZED("a"), {NULL, 0}, 2, NULL, false},
    };
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        assert_true(dies(format_wrong, &wrongs[i]));
    }
    assert_true(dies(script_of_set, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_each_byte),     cmocka_unit_test(has_room_for_every_command),
        cmocka_unit_test(writes_any_arguments), cmocka_unit_test(writes_nothing_beyond_its_buffer),
        cmocka_unit_test(names_its_scripts),    cmocka_unit_test(asserts_what_it_is_given),
    };
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
