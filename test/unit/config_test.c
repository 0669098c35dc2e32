/* The text of a configuration: read from any bytes that a node may keep, and written again. */
#include "redis/config.h"

#include "core/quorum.h"

#include "unit/check.h"

#define A "redis://10.0.0.1:6379"
#define B "redis://10.0.0.2:6379"
#define C "redis://node-3:7000"

/* The lines in their order; the line of the old nodes exists only during a change. */
enum { VERSION, SET, EPOCH, CHANGE, MAX_TTL, OLD, NODES, SELF, LINES };
static const char *const good[LINES] = {
    [VERSION] = "libredlock-config 1", [SET] = "id 6f1c02d7a9b34e55", [EPOCH] = "epoch 7",
    [CHANGE] = "change 91d0c4ee",      [MAX_TTL] = "max_ttl 30000",   [OLD] = ("old " A " " B),
    [NODES] = ("nodes " B " " C),      [SELF] = ("self " B),
};

/* The valid lines, with one of them replaced; NULL: left out. */
static size_t compose(char *out, size_t size, int changed, const char *line) {
    size_t used = 0;
    for (int i = 0; i < LINES; i++) {
        const char *text = i == changed ? line : good[i];
        if (text != NULL) {
            used += (size_t)snprintf(out + used, size - used, "%s\n", text);
        }
        assert_true(used < size);
    }
    return used;
}

static bool read_changed(struct rl_config *config, int changed, const char *line) {
    static char text[8192];
    memset(config, 0x5a, sizeof *config);
    return rl_config_parse(config, text, compose(text, sizeof text, changed, line));
}

#define HEAD "libredlock-config 1\nid 6f1c02d7a9b34e55\nepoch 7\nchange 91d0c4ee\nmax_ttl 30000\n"

static bool read_sets(struct rl_config *config, const char *lines) {
    static char text[RL_CONFIG_TEXT_MAX];
    snprintf(text, sizeof text, HEAD "%sself " B "\n", lines);
    memset(config, 0x5a, sizeof *config);
    return rl_config_parse(config, text, strlen(text));
}

static const struct {
    const char *lines, *problem;
    unsigned n, old_sets, new_sets;
} several[] = {
    {"set a " A "\nset b " B "\n", "", 2, 2, 2},
    {"set a " B "\n", "", 1, 1, 1},
    {"old " A "\nset a " A "\nset b " B "\n", "", 2, 1, 2},
    {"old a " A "\nset a " A "\nset b " B "\n", "", 2, 1, 2},
    {"old a " A "\nold b " B "\nset b " B " " C "\n", "", 3, 2, 1},
    {"old a " A "\nold b " B "\nnodes " C "\n", "", 3, 2, 1},
    {"set a " A "\nset a " B "\n", "names a set twice", 0, 0, 0},
    {"set a " A "\nset b " A "\n", "names a node twice", 0, 0, 0},
    {"set a\n", "names no nodes", 0, 0, 0},
    {"set " A "\n", "has a bad name of a set", 0, 0, 0},
    {"set a/b " A "\n", "has a bad name of a set", 0, 0, 0},
    {"set 123456789012345678901234567890123 " B "\n", "has a bad name of a set", 0, 0, 0},
    {"nodes " A "\nset b " B "\n", "lacks a line, or has one too many", 0, 0, 0},
    {"set b " B "\nnodes " A "\n", "lacks a line, or has one too many", 0, 0, 0},
    {"old a " A "\n", "lacks a line, or has one too many", 0, 0, 0},
    {"old a " A "\nold " C "\nset b " B "\n", "has a bad name of a set", 0, 0, 0},
};

TEST(reads_several_sets) {
    static struct rl_config config;
    char again[RL_CONFIG_TEXT_MAX], lines[RL_CONFIG_TEXT_MAX];
    for (size_t i = 0; i < COUNT(several); i++) {
        read_sets(&config, several[i].lines);
        assert_string_equal(config.problem != NULL ? config.problem : "", several[i].problem);
        if (config.problem == NULL) {
            assert_int_equal(config.n, several[i].n);
            assert_int_equal(rl_config_count(&config, RL_CONFIG_OLD), several[i].old_sets);
            assert_int_equal(rl_config_count(&config, RL_CONFIG_NEW), several[i].new_sets);
            assert_int_not_equal(rl_config_format(&config, config.self, again), 0);
            snprintf(lines, sizeof lines, HEAD "%sself " B "\n", several[i].lines);
            assert_string_equal(again, lines);
        }
    }
}

/* -- Which set a resource belongs to -- */

TEST(the_part_in_braces_says_the_set) {
    static const struct {
        const char *name, *part;
    } rows[] = {{"orders", "orders"}, {"{a}:x", "a"}, {"x{a}{b}", "a"}, {"{}x", "{}x"},
                {"x{", "x{"},         {"x{a", "x{a"}, {"x}{a}", "a"},   {"{{a}}", "{a"},
                {"{}{a}", "{}{a}"},   {"}", "}"},     {"{a}", "a"},     {"x{a}y}", "a"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *part;
        const size_t length = rl_config_part(rows[i].name, strlen(rows[i].name), &part);
        assert_int_equal(length, strlen(rows[i].part));
        assert_memory_equal(part, rows[i].part, length);
    }
}

/* All clients must choose like this one: names and sets are fixed for ever. */
TEST(resources_have_their_sets) {
    static struct rl_config config;
    static const char *const sets[] = {"c", "c", "c", "a", "a"};
    assert_true(read_sets(&config, "set a " A "\nset b " B "\nset c " C "\n"));
    for (unsigned i = 0; i < COUNT(sets); i++) {
        char name[16];
        snprintf(name, sizeof name, "r%u", i);
        const uint32_t set = rl_config_set_of(&config, RL_CONFIG_NEW, name, strlen(name));
        assert_string_equal(rl_config_name(&config, RL_CONFIG_NEW, set), sets[i]);
        snprintf(name, sizeof name, "x{r%u}", i);
        assert_int_equal(rl_config_set_of(&config, RL_CONFIG_NEW, name, strlen(name)), set);
    }
}

TEST(a_client_has_so_many_nodes) {
    assert_int_equal(RL_CONFIG_CLIENT_MAX, RL_NODES_MAX);
    assert_true(rl_config_fits(&(struct rl_config){.n = RL_NODES_MAX}));
    assert_false(rl_config_fits(&(struct rl_config){.n = RL_NODES_MAX + 1}));
}

TEST(the_longest_text_is_written_and_read) {
    static struct rl_config config, again;
    char text[RL_CONFIG_TEXT_MAX];
    assert_true(read_changed(&config, -1, NULL));
    config.key.epoch = UINT64_C(9007199254740991);
    config.max_ttl_ms = 86400000;
    for (config.n = 0; config.n < 2 * RL_CONFIG_SIDE_MAX; config.n++) {
        struct rl_config_member *member = &config.members[config.n];
        snprintf(member->url, sizeof member->url, "rediss://%0253u:65535", (unsigned)config.n);
        member->sides = config.n < RL_CONFIG_SIDE_MAX ? RL_CONFIG_OLD : RL_CONFIG_NEW;
    }
    for (uint32_t self = 0; self < config.n; self++) {
        assert_true(rl_config_parse(&again, text, rl_config_format(&config, self, text)));
        assert_int_equal(again.self, self);
        assert_int_equal(again.n, config.n);
        assert_memory_equal(&again.key, &config.key, sizeof config.key);
        for (uint32_t i = 0; i < config.n; i++) {
            assert_string_equal(again.members[i].url, config.members[i].url);
            assert_int_equal(again.members[i].sides, config.members[i].sides);
        }
    }
}

#define EIGHT A " " B " " C " a b c d e"

static const struct {
    int changed;
    const char *line, *problem;
} bad[] = {
    {VERSION, "libredlock-config 2", "is not of a version that this one knows"},
    {VERSION, "libredlock-config 1 ", "is not of a version that this one knows"},
    {VERSION, "", "is not of a version that this one knows"},
    {VERSION, NULL, "is not of a version that this one knows"},
    {SET, NULL, "lacks a line, or has one too many"},
    {SET, "id", "has a bad id"},
    {SET, "id 6f1c02d7a9b34e5", "has a bad id"},
    {SET, "id 6f1c02d7a9b34e555", "has a bad id"},
    {SET, "id 6F1C02D7A9B34E55", "has a bad id"},
    {SET, "id 6f1c02d7a9b34e55 ", "has a bad id"},
    {SET, "ID 6f1c02d7a9b34e55", "lacks a line, or has one too many"},
    {SET, "id 6f1c02d7a9b34e55\nid 6f1c02d7a9b34e55", "lacks a line, or has one too many"},
    {EPOCH, NULL, "lacks a line, or has one too many"},
    {EPOCH, "epoch 0", "has a bad epoch"},
    {EPOCH, "epoch ", "has a bad epoch"},
    {EPOCH, "epoch -7", "has a bad epoch"},
    {EPOCH, "epoch 7 8", "has a bad epoch"},
    {EPOCH, "epoch 9007199254740992", "has a bad epoch"},
    {EPOCH, "epoch 00000000000000007", "has a bad epoch"},
    {EPOCH, "epoch 18446744073709551623", "has a bad epoch"},
    {CHANGE, NULL, "lacks a line, or has one too many"},
    {CHANGE, "change 91d0c4e", "has a bad change"},
    {CHANGE, "change 91d0c4eg", "has a bad change"},
    {MAX_TTL, NULL, "lacks a line, or has one too many"},
    {MAX_TTL, "max_ttl 0", "has a bad max_ttl"},
    {MAX_TTL, "max_ttl 86400001", "has a bad max_ttl"},
    {MAX_TTL, "max_ttl 1e3", "has a bad max_ttl"},
    {OLD, "old", "names no nodes"},
    {OLD, "old ", "names no nodes"},
    {OLD, "old  " A, "has a bad list of nodes"},
    {OLD, "old " A "\t" B, "has a bad list of nodes"},
    {OLD, "old " A " ", "has a bad list of nodes"},
    {OLD, "old " A " " A, "names a node twice"},
    {OLD, "old " EIGHT, "has a bad list of nodes"},
    {NODES, NULL, "lacks a line, or has one too many"},
    {NODES, "nodes", "names no nodes"},
    {NODES, "nodes " B " " C " " B, "names a node twice"},
    {NODES, "nodes " EIGHT, "has a bad list of nodes"},
    {SELF, NULL, "lacks a line, or has one too many"},
    {SELF, "self", "is of a node that it does not name"},
    {SELF, "self " B " ", "is of a node that it does not name"},
    {SELF, "self redis://10.0.0.9:6379", "is of a node that it does not name"},
    {SELF, "self " B "\n", "goes on after its end"},
    {SELF, "self " B "\nshade 3", "goes on after its end"},
};

TEST(says_what_is_wrong) {
    for (size_t i = 0; i < COUNT(bad); i++) {
        static struct rl_config config;
        if (read_changed(&config, bad[i].changed, bad[i].line)) {
            print_error("taken: %s\n", bad[i].line != NULL ? bad[i].line : "(left out)");
        }
        assert_string_equal(config.problem != NULL ? config.problem : "", bad[i].problem);
    }
}

TEST(no_url_is_too_long) {
    static struct rl_config config;
    char line[400];
    for (int length = RL_CONFIG_URL_MAX; length <= RL_CONFIG_URL_MAX + 1; length++) {
        snprintf(line, sizeof line, "nodes " B " %0*d", length, 0);
        assert_int_equal(read_changed(&config, NODES, line), length == RL_CONFIG_URL_MAX);
    }
}

/* Prefixes of a text with one byte changed are read safely, and a valid text is written back
 * unchanged. Only the last line end may be missing. */
TEST(any_bytes_may_come) {
    static struct rl_config config;
    uint64_t random = random_seed();
    char text[1024], again[RL_CONFIG_TEXT_MAX];
    for (int i = 0; i < 20000; i++) {
        size_t length = compose(text, sizeof text, -1, NULL);
        text[random_below(&random, (uint32_t)length)] ^=
            (char)(random_below(&random, 4) == 0 ? random_below(&random, 256) : 0);
        length =
            random_below(&random, 2) == 0 ? length : random_below(&random, (uint32_t)length + 1);
        char *exact = malloc(length + 1); /* so that a sanitizer sees a read past its end */
        assert_non_null(exact);
        memcpy(exact, text, length);
        if (rl_config_parse(&config, exact, length)) {
            const size_t written = rl_config_format(&config, config.self, again);
            assert_true(written == length || written == length + 1);
            assert_true(config.n <= RL_CONFIG_MEMBERS_MAX && config.self < config.n);
        }
        free(exact);
    }
}

TEST(are_told_apart) {
    static const struct rl_config_key none = {0}, ours = {5, "6f1c02d7a9b34e55", "91d0c4ee"},
                                      rival = {5, "6f1c02d7a9b34e55", "91d0c4ef"},
                                      older = {4, "6f1c02d7a9b34e55", "91d0c4ee"},
                                      newer = {6, "6f1c02d7a9b34e55", "00000000"},
                                      foreign = {9, "02aa17c4e0d95b3f", "91d0c4ee"};
    static const struct {
        const struct rl_config_key *ours, *theirs;
        enum rl_config_order order;
    } rows[] = {
        {&none, &none, RL_CONFIG_SAME},       {&none, &ours, RL_CONFIG_NEWER},
        {&ours, &none, RL_CONFIG_OLDER},      {&ours, &ours, RL_CONFIG_SAME},
        {&ours, &older, RL_CONFIG_OLDER},     {&ours, &newer, RL_CONFIG_NEWER},
        {&ours, &rival, RL_CONFIG_RIVAL},     {&ours, &foreign, RL_CONFIG_FOREIGN},
        {&foreign, &ours, RL_CONFIG_FOREIGN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(rl_config_compare(rows[i].ours, rows[i].theirs), rows[i].order);
    }
}
