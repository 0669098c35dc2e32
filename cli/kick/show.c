/* See show.h. */
#include "kick/show.h"

#include <stdio.h>
#include <string.h>

#include "output.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

#define NODE_WIDTH_MAX 40
#define KEY_WIDTH 11

static const char *shown_key(const struct rl_kick_report *report, char out[256]) {
    const redlock_bytes key = report->found->look.key;
    return tool_utf8_clean(key.data, key.length, out, 256);
}

/* Who is next, or NULL. */
static const struct rl_line_place *next_of(const struct rl_kick_report *report) {
    const struct rl_line *line =
        report->targets->items[0].slot >= 0 ? &report->found->permits_line : &report->found->line;
    return line->n > 0 ? &line->places[0] : NULL;
}

/* -- Before -- */

/* A holder loses it. */
static void say_cost(const struct rl_kick_report *report, const char *key, const char *who) {
    const struct rl_kick_targets *targets = report->targets;
    char left[32];
    const bool ends = targets->left_ms > 0;
    rl_say("%s: held by %s%s%s, on %zu of %zu nodes", key, who, ends ? " for another " : "",
           ends ? rl_say_duration((double)targets->left_ms, left, sizeof left) : "",
           targets->items[0].votes, report->found->look.n);
    rl_say(
        "its holder is not asked, and does not notice before it renews, up to a third of its ttl "
        "from now;");
    rl_say(
        "the next one has the lock at once. What both write meanwhile only a fence keeps apart.");
    rl_say("Can it be ended where it runs? Then do that instead: it releases the lock itself");
}

void rl_kick_show_meaning(const struct rl_kick_report *report) {
    char key[256], whom[RL_KICK_WHOM_MAX], next[RL_LINE_WHO_MAX];
    const struct rl_kick_targets *targets = report->targets;
    const struct rl_look *look = &report->found->look;
    const struct rl_line_place *place = next_of(report);
    const char *who = rl_kick_targets_say(targets, whom);
    shown_key(report, key);
    if (strcmp(targets->what, "leftover") != 0) {
        say_cost(report, key, who);
    } else if (look->answered >= look->n / 2 + 1) {
        rl_say("%s: no client has a quorum; %s is deleted", key, who);
    } else {
        rl_say(
            "%s: only %zu of %zu nodes answer (%zu needed): %s may hold it by the others, and "
            "then keeps it",
            key, look->answered, look->n, look->n / 2 + 1, who);
    }
    if (place != NULL) {
        rl_say("next in line is %s", rl_line_who(place, next));
    }
    if (targets->unlisted > 0) {
        rl_say("%zu more read it, who are not kicked by this: kick again behind it",
               targets->unlisted);
    }
}

/* -- Behind it -- */

static void print_node(const struct rl_kick_report *report, size_t index, int node_width) {
    const redlock_node_outcome outcome = rl_kick_outcome(report->targets, index);
    const struct rl_kick_noted *noted = &report->noted[index];
    printf("  %-*s", node_width, report->found->look.node_holders[index].s.node);
    if (outcome.vote == REDLOCK_VOTE_GRANTED || outcome.vote == REDLOCK_VOTE_REFUSED) {
        printf("%-*s", KEY_WIDTH, outcome.vote == REDLOCK_VOTE_GRANTED ? "deleted" : "not there");
    } else {
        rl_say_painted(RL_PAINT_BAD,
                       outcome.vote == REDLOCK_VOTE_FAILED ? redlock_strerror(outcome.reason)
                                                           : "no answer in time",
                       KEY_WIDTH);
    }
    if (noted->is_noted) {
        printf("noted");
    } else {
        char why[RL_KICK_WHY_MAX + 16];
        snprintf(why, sizeof why, "%snot noted: %s",
                 outcome.vote == REDLOCK_VOTE_FAILED ? "; " : "", noted->why);
        rl_say_painted(RL_PAINT_WARN, why, 0);
    }
    printf("\n");
}

static void print_screen(const struct rl_kick_report *report, enum rl_kick_verdict verdict) {
    const struct rl_look *look = &report->found->look;
    const struct rl_line_place *place = next_of(report);
    char key[256], whom[RL_KICK_WHOM_MAX], next[RL_LINE_WHO_MAX];
    const char *who = rl_kick_targets_say(report->targets, whom);
    int node_width = 4;
    size_t noted = 0;
    for (size_t i = 0; i < look->n; i++) {
        const int columns = rl_say_columns(look->node_holders[i].s.node);
        node_width = columns > node_width ? columns : node_width;
        noted += report->noted[i].is_noted;
    }
    node_width = (node_width < NODE_WIDTH_MAX ? node_width : NODE_WIDTH_MAX) + 2;
    printf("  %-*s%-*s%s\n", node_width, "node", KEY_WIDTH, "key", "note");
    for (size_t i = 0; i < look->n; i++) {
        print_node(report, i, node_width);
    }
    printf("\n%s: ", shown_key(report, key));
    if (verdict == RL_KICK_DONE) {
        printf("%s %s kicked", who, report->targets->n == 1 ? "was" : "were");
        if (place != NULL) {
            printf("; next in line was %s", rl_line_who(place, next));
        }
        printf("%s\n", noted == 0 ? ". No node has noted it: write it down elsewhere" : "");
    } else if (verdict == RL_KICK_GONE) {
        printf("%s did not hold it any more: nothing was kicked, and nothing is noted\n", who);
    } else {
        printf(
            "not known whether %s was kicked: too few nodes answer. If they answer its holder, it "
            "keeps the lock, and gives it back to the others. Kick again when they are back\n",
            who);
    }
}

static void print_json(const struct rl_kick_report *report, enum rl_kick_verdict verdict) {
    static const char *const verdicts[] = {"ERR_LOST", "OK", "ERR_NO_QUORUM"};
    const struct rl_look *look = &report->found->look;
    const struct rl_line_place *place = next_of(report);
    struct tool_json json = {.file = stdout};
    tool_json_open(&json, NULL, '{');
    tool_json_bytes(&json, "key", look->key.data, look->key.length);
    tool_json_text(&json, "status", verdicts[verdict]);
    rl_kick_note_json(&json, report->note);
    tool_json_number(&json, "count", (int64_t)report->targets->n);
    tool_json_text(&json, "next", place != NULL && place->who[0] != '\0' ? place->who : NULL);
    tool_json_open(&json, "nodes", '[');
    for (size_t i = 0; i < look->n; i++) {
        const redlock_node_outcome outcome = rl_kick_outcome(report->targets, i);
        const bool is_answered =
            outcome.vote == REDLOCK_VOTE_GRANTED || outcome.vote == REDLOCK_VOTE_REFUSED;
        tool_json_open(&json, NULL, '{');
        tool_json_text(&json, "node", look->node_holders[i].s.node);
        if (is_answered) {
            tool_json_bool(&json, "deleted", outcome.vote == REDLOCK_VOTE_GRANTED);
        } else {
            tool_json_null(&json, "deleted");
        }
        tool_json_text(
            &json, "status",
            redlock_err_name(is_answered                           ? 0
                             : outcome.vote == REDLOCK_VOTE_FAILED ? outcome.reason
                                                                   : REDLOCK_ERR_NODE_TIMEOUT));
        tool_json_bool(&json, "noted", report->noted[i].is_noted);
        tool_json_close(&json, '}');
    }
    tool_json_close(&json, ']');
    tool_json_close(&json, '}');
    tool_json_end(&json);
}

void rl_kick_show_outcome(const struct rl_kick_report *report, enum rl_kick_verdict verdict) {
    if (report->args->json) {
        print_json(report, verdict);
    } else {
        print_screen(report, verdict);
    }
    rl_output_flush();
}
