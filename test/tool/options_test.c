/* The table of options: the order of precedence of the command line, the environment and the file;
 * every kind of value; and the error messages. */

#include "tool/options.h"
#include "testing.h"
#include "tool/config.h"
#include "tool/list.h"

struct settings {
    struct tool_list urls;
    const char *name;
    int64_t ttl_ms, slice_ms, count, pause_ms;
    int color;
    bool loud;
};

#define AT(field) offsetof(struct settings, field)

static const struct tool_option rows[] = {
    {.kind = TOOL_HEADING, .help = "What there is:"},
    {"url", 'u', TOOL_LIST, .at = AT(urls), .in_config = true, .is_secret = true,
     .variable = "TOOL_TEST_URLS", .value = "URL,..."},
    {"name", 0, TOOL_TEXT, .at = AT(name), .in_config = true, .variable = "TOOL_TEST_NAME",
     .value = "NAME"},
    {"ttl", 't', TOOL_DURATION, .at = AT(ttl_ms), .min = 1000, .max = 60000, .in_config = true,
     .value = "TIME"},
    {"slice", 0, TOOL_SECONDS, .at = AT(slice_ms), .min = 100, .max = 5000, .value = "S"},
    {"count", 0, TOOL_WHOLE, .at = AT(count), .min = 1, .max = 9, .uses = 1u << 1, .value = "N"},
    {"pause", 'p', TOOL_DURATION, .at = AT(pause_ms), .max = 60000, .is_optional = true,
     .value = "[=TIME]"},
    {"color", 0, TOOL_CHOICE, .at = AT(color), .choices = "red|green|blue", .in_config = true,
     .value = "WHAT"},
    {"loud", 'l', TOOL_FLAG, .at = AT(loud)},
    {"help", 'h', TOOL_STOP, .help = "this text"},
};

static struct settings settings;
static struct tool_options options;

static int setup(void **state) {
    settings = (struct settings){.ttl_ms = 30000, .color = 2, .pause_ms = 7};
    options = (struct tool_options){.rows = rows,
                                    .count = sizeof rows / sizeof rows[0],
                                    .target = &settings,
                                    .program = "prog sub",
                                    .name = "sub"};
    unsetenv("TOOL_TEST_URLS");
    unsetenv("TOOL_TEST_NAME");
    return 0;
}

static int teardown(void **state) {
    tool_list_free(&settings.urls);
    return 0;
}

#define OPTIONS_TEST(name) TEST_WITH(name, setup, teardown)

/* Parses the words of a line, which stay allocated: values point into them. */
static int parse(const char *line) {
    static char text[256], *argv[32];
    int argc = 0;
    char *place = NULL;
    snprintf(text, sizeof text, "sub %s", line);
    for (char *word = strtok_r(text, " ", &place); word != NULL;
         word = strtok_r(NULL, " ", &place)) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return tool_options_parse(&options, argc, argv);
}

static int read_config(const char *text, size_t length, char **kept) {
    FILE *file = fmemopen((char *)(uintptr_t)text, length, "r");
    assert_non_null(file);
    int result = tool_config_read(&options, file, "file", kept);
    fclose(file);
    return result;
}

OPTIONS_TEST(every_kind) {
    assert_int_equal(parse("-lt 5s word --slice=0.25 --count 9 --color green --url a,b -u c more"),
                     0);
    assert_true(settings.loud);
    assert_int_equal(settings.ttl_ms, 5000);
    assert_int_equal(settings.slice_ms, 250);
    assert_int_equal(settings.count, 9);
    assert_int_equal(settings.color, 1);
    assert_int_equal(tool_list_split(&settings.urls), 0);
    assert_int_equal(settings.urls.n, 3);
    assert_string_equal(settings.urls.items[2], "c");
    assert_int_equal(options.n_words, 2);
    assert_string_equal(options.words[1], "more");
    assert_int_equal(tool_options_from(&options, AT(ttl_ms)), TOOL_LINE);
    assert_int_equal(tool_options_from(&options, AT(name)), TOOL_DEFAULT);
}

OPTIONS_TEST(optional_values) {
    assert_int_equal(parse("--pause x"), 0);
    assert_int_equal(settings.pause_ms, 7);
    assert_int_equal(tool_options_from(&options, AT(pause_ms)), TOOL_LINE);
    assert_int_equal(options.n_words, 1);
    assert_int_equal(parse("-p3s"), 0);
    assert_int_equal(settings.pause_ms, 3000);
}

OPTIONS_TEST(stops) {
    assert_int_equal(parse("--loud --help --frob"), 0);
    assert_non_null(options.stop);
    assert_string_equal(options.stop->name, "help");
}

OPTIONS_TEST(who_wins) {
    char *kept = NULL;
    const char file[] = "name = file\n  ttl=2s\ncolor = red\nurl = f\n";
    setenv("TOOL_TEST_NAME", "environment", 1);
    setenv("TOOL_TEST_URLS", "e1 e2", 1);
    assert_int_equal(parse("--url l --color green"), 0);
    assert_int_equal(tool_options_environment(&options), 0);
    assert_int_equal(read_config(file, sizeof file - 1, &kept), 0);
    assert_string_equal(settings.name, "environment");
    assert_string_equal(settings.urls.text, "l");
    assert_int_equal(settings.color, 1);
    assert_int_equal(settings.ttl_ms, 2000);
    assert_int_equal(tool_options_from(&options, AT(name)), TOOL_ENVIRONMENT);
    assert_int_equal(tool_options_from(&options, AT(ttl_ms)), TOOL_FILE);
    free(kept);
}

OPTIONS_TEST(lists_of_a_file_add_up) {
    char *kept = NULL;
    const char file[] = "# two\nurl = a\n\nurl = b c"; /* and no newline at the end */
    assert_int_equal(read_config(file, sizeof file - 1, &kept), 0);
    assert_int_equal(tool_list_split(&settings.urls), 0);
    assert_int_equal(settings.urls.n, 3);
    free(kept);
}

static void bad(const char *line, const char *wanted) {
    setup(NULL);
    assert_int_equal(parse(line), -1);
    assert_string_equal(options.error, wanted);
    teardown(NULL);
}

OPTIONS_TEST(bad_arguments) {
    bad("--frob", "--frob is not an option of sub; see prog sub --help");
    bad("--fra", "--fra is not an option of sub; see prog sub --help");
    bad("--coolr", "--coolr is not an option of sub; did you mean --color?");
    bad("--tll=5s", "--tll is not an option of sub; did you mean --ttl?");
    bad("--cuont 3",
        "--cuont is not an option of sub; see prog sub --help"); /* --count is of use 1 */
    bad("-lx", "-x is not an option of sub; see prog sub --help");
    bad("--ttl", "--ttl needs a value; see prog sub --help");
    bad("--loud=1", "--loud takes no value; leave out what follows the =");
    bad("--ttl 1m1", "--ttl \"1m1\": the unit is not known: write ms, s, m, h or d");
    bad("--ttl 2m", "--ttl \"2m\": it takes 1s to 1m");
    bad("--slice 6", "--slice \"6\": it takes a number of seconds from 0.1 to 5");
    bad("--count 10", "--count \"10\": it takes a number from 1 to 9");
    bad("--color re", "--color \"re\": it takes one of red|green|blue");
    bad("--url pass,,word", "--url: a URL is missing before or after a comma; give URL,URL,...");
    bad("--color \033[31m", "--color \"?[31m\": it takes one of red|green|blue");
}

OPTIONS_TEST(has_no_meaning) {
    assert_int_equal(parse("--count 3"), 0);
    options.use = 1;
    assert_int_equal(tool_options_check(&options, "one"), 0);
    options.use = 0;
    assert_int_equal(tool_options_check(&options, "zero"), -1);
    assert_string_equal(options.error,
                        "--count does not apply to zero; leave it out, or see prog sub --help");
}

OPTIONS_TEST(bad_environment) {
    setenv("TOOL_TEST_URLS", ",", 1);
    assert_int_equal(tool_options_environment(&options), -1);
    assert_string_equal(options.error,
                        "TOOL_TEST_URLS: it is empty (an unset variable?); give URL,URL,...");
}

static void bad_file(const char *text, size_t length, const char *wanted) {
    char *kept = NULL;
    setup(NULL);
    assert_int_equal(parse("--color blue"), 0);
    assert_int_equal(read_config(text, length, &kept), -1);
    assert_string_equal(options.error, wanted);
    free(kept);
    teardown(NULL);
}
#define BAD_FILE(text, wanted) bad_file(text, sizeof(text) - 1, wanted)

OPTIONS_TEST(bad_files) {
    BAD_FILE("\nttl 3s",
             "file:2: \"ttl 3s\": no = in it; write name = value, and a comment after a #");
    BAD_FILE("colour = red", "file:1: \"colour\": not a setting; did you mean \"color\"?");
    BAD_FILE("count = 3", "file:1: \"count\": not a setting. There are: url name ttl color");
    BAD_FILE("ttl = 1s\nttl = 2s", "file:2: \"ttl\": set in line 1 already; remove one");
    BAD_FILE("color = x", "file:1: \"x\": it takes one of red|green|blue"); /* not used */
    BAD_FILE("url = a,",
             "file:1: \"url\": a URL is missing before or after a comma; give URL,URL,...");
    BAD_FILE("ttl\0 = 3s", "file:1: \"\": not text; is it the right file?");
}
