/* See report.h. */
#include "conform/report.h"

#include <stdio.h>

#include "say.h"
#include "tool/json.h"

#define NAME_WIDTH 16
#define INDENT 6

static const char *const names[RL_VERDICTS] = {"PASS", "FAIL", "NOTE"};

void rl_report_list(bool json) {
    struct tool_json out = {.file = stdout};
    for (size_t i = 0; i < rl_stories_size; i++) {
        if (json) {
            tool_json_open(&out, NULL, '{');
            tool_json_text(&out, "story", rl_stories[i].name);
            tool_json_text(&out, "what", rl_stories[i].what);
            tool_json_close(&out, '}');
            tool_json_end(&out);
        } else {
            printf("%-*s %s\n", NAME_WIDTH, rl_stories[i].name, rl_stories[i].what);
        }
    }
}

static void show_json(const struct rl_story *story, const struct rl_result *result) {
    struct tool_json out = {.file = stdout};
    bool passes = result->verdict == RL_VERDICT_PASS;
    tool_json_open(&out, NULL, '{');
    tool_json_text(&out, "story", story->name);
    tool_json_text(&out, "what", story->what);
    tool_json_text(&out, "verdict", names[result->verdict]);
    tool_json_text(&out, "rule", passes ? NULL : result->rule);
    tool_json_text(&out, "text", passes ? NULL : result->text);
    tool_json_number(&out, "ms", result->ms);
    tool_json_close(&out, '}');
    tool_json_end(&out);
}

void rl_report_show(struct rl_report *report, const struct rl_story *story,
                    const struct rl_result *result) {
    static const enum rl_paint paints[RL_VERDICTS] = {RL_PAINT_GOOD, RL_PAINT_BAD, RL_PAINT_WARN};
    char text[RL_VERDICT_TEXT_MAX + RL_VERDICT_RULE_MAX + 2];
    report->counts[result->verdict]++;
    if (report->json) {
        show_json(story, result);
        return;
    }
    rl_say_painted(paints[result->verdict], names[result->verdict], INDENT);
    printf("%-*s ", NAME_WIDTH, story->name);
    rl_say_wrapped(story->what, INDENT + NAME_WIDTH + 1);
    if (result->verdict != RL_VERDICT_PASS) {
        snprintf(text, sizeof text, "%s: %s", result->rule, result->text);
        printf("%*s", INDENT, "");
        rl_say_wrapped(text, INDENT);
    }
}

void rl_report_end(const struct rl_report *report) {
    const int *counts = report->counts;
    if (!report->json) {
        printf("\n%d stories: %d PASS, %d FAIL, %d NOTE. The rules are in docs/protocol.md.\n",
               counts[0] + counts[1] + counts[2], counts[RL_VERDICT_PASS], counts[RL_VERDICT_FAIL],
               counts[RL_VERDICT_NOTE]);
    }
}
