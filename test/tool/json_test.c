/* The JSON writer: every byte of a text comes out as JSON, and commas stand where they belong. */

#include <math.h>

#include "testing.h"
#include "tool/json.h"

static char *written;
static size_t size;

static struct tool_json begin(void) {
    FILE *file = open_memstream(&written, &size);
    assert_non_null(file);
    return (struct tool_json){.file = file};
}

static void check(struct tool_json *json, const char *wanted) {
    assert_int_equal(fclose(json->file), 0);
    assert_string_equal(written, wanted);
    free(written);
}

TEST(nests) {
    struct tool_json json = begin();
    tool_json_open(&json, NULL, '{');
    tool_json_open(&json, "list", '[');
    tool_json_put(&json, JSON_INT(NULL, -1));
    tool_json_open(&json, NULL, '{');
    tool_json_close(&json);
    tool_json_put(&json, JSON_BOOL(NULL, true));
    tool_json_close(&json);
    tool_json_put(&json, JSON_KNOWN(false, TEXT, "none", NULL), JSON_TEXT("text", NULL));
    tool_json_end(&json);
    tool_json_open(&json, NULL, '[');
    tool_json_end(&json);
    check(&json, "{\"list\": [-1, {}, true], \"none\": null, \"text\": null}\n[]\n");
}

static void text(const char *bytes, size_t length, const char *wanted) {
    struct tool_json json = begin();
    tool_json_put(&json, JSON_BYTES(NULL, bytes, length));
    check(&json, wanted);
}

TEST(escapes) {
    text("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    text("\n\0\x7f", 3, "\"\\u000a\\u0000\\u007f\"");
    text("\xc3\xa4\xf0\x9f\x94\x92", 6, "\"\xc3\xa4\xf0\x9f\x94\x92\"");
    text("\xff", 1, "\"\\ufffd\"");
    text("\xc3", 1, "\"\\ufffd\"");                       /* cut off */
    text("\xc0\x80", 2, "\"\\ufffd\\ufffd\"");            /* longer than needed */
    text("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    text("\xc2\x9b", 2, "\"\\ufffd\\ufffd\"");            /* what terminals obey */
}

TEST(numbers) {
    struct tool_json json = begin();
    tool_json_open(&json, NULL, '[');
    tool_json_put(&json, JSON_REAL(NULL, 1.0 / 3), JSON_REAL(NULL, (double)NAN),
                  JSON_REAL(NULL, (double)INFINITY), JSON_INT(NULL, INT64_MIN));
    tool_json_close(&json);
    check(&json, "[0.333, null, null, -9223372036854775808]");
}

TEST(objects) {
    const int32_t slots[] = {0, 3};
    struct tool_json json = begin();
    tool_json_line(json.file, JSON_TEXT("a", ""), JSON_TEXT_OR_NULL("b", ""),
                   JSON_TEXT_OR_NULL("c", "x"), JSON_IF(false, JSON_INT("d", 1)),
                   JSON_IF(true, JSON_INT("e", 1)), JSON_INTS("f", slots, 2),
                   JSON_INTS("g", slots, 0), JSON_KNOWN(true, BOOL, "h", false));
    tool_json_object(&json, NULL, JSON_IF(false, JSON_INT("d", 1)));
    check(&json,
          "{\"a\": \"\", \"b\": null, \"c\": \"x\", \"e\": 1, \"f\": [0, 3], \"g\": [], "
          "\"h\": false}\n{}");
}
