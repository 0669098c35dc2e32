/* See report.h. */
#include "watch/report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "found.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

/* -- Lines -- */

static void begin_line(const struct rl_watch_report *report) {
    char at[RL_WHEN_MAX], key[256];
    printf("%s", rl_when_show(rl_when_now_ms(), true, at));
    if (report->key.data != NULL) {
        printf(" %s", tool_utf8_clean(report->key.data, report->key.length, key, sizeof key));
    }
    printf(": ");
}

static void end_line(void) {
    printf("\n");
    rl_output_flush();
}

/* "slot 3 ", or "". */
static const char *slot_of(const struct rl_item *item, char out[32]) {
    out[0] = '\0';
    if (item->kind == RL_ITEM_SLOT) {
        snprintf(out, 32, "slot %" PRIu32 " ", item->number);
    }
    return out;
}

/* ", on 4 of 5 nodes", and how long it lives. */
static void print_votes(const struct rl_watch_report *report, const struct rl_item *item,
                        bool with_left) {
    char left[32];
    if (with_left && item->left_ms >= 0) {
        printf(" for another %s", rl_say_duration((double)item->left_ms, left, sizeof left));
    }
    printf(", on %" PRIu32 " of %zu nodes", item->votes, report->args->nodes.n);
}

static void print_wait(const struct rl_item *item) {
    char waited[32];
    printf("%s waits", item->who);
    if (item->kind == RL_ITEM_WAITS_FOR_PERMITS) {
        printf(" for %" PRIu32 " permit%s", item->number, item->number == 1 ? "" : "s");
    } else if (item->kind == RL_ITEM_WAITS_TO_READ) {
        printf(" to read");
    }
    if (item->waited_ms >= 1000) {
        printf(", for %s by now", rl_say_duration((double)item->waited_ms, waited, sizeof waited));
    }
}

static void print_change(const struct rl_watch_report *report, const struct rl_change *change) {
    const struct rl_item *item = change->item;
    const bool reads = item->kind == RL_ITEM_READER;
    char slot[32];
    switch (change->type) {
        case RL_CHANGE_RELEASED:
            printf(reads ? "%s%s reads no longer" : "%sreleased by %s", slot_of(item, slot),
                   item->who);
            break;
        case RL_CHANGE_ENDED:
            printf("%sno longer %s by %s, whose time was over: not renewed, or just released",
                   slot_of(item, slot), reads ? "read" : "held", item->who);
            break;
        case RL_CHANGE_HANDED_OVER:
            printf("%shanded over from %s to %s", slot_of(item, slot), change->from->who,
                   item->who);
            print_votes(report, item, false);
            break;
        case RL_CHANGE_HELD:
            printf("%s%s by %s", slot_of(item, slot), reads ? "read" : "held", item->who);
            print_votes(report, item, true);
            break;
        case RL_CHANGE_WAITS:
            print_wait(item);
            break;
        default:
            assert(change->type == RL_CHANGE_LEFT);
            printf("%s waits no longer", item->who);
    }
}

/* -- JSON -- */

#define EVENT(report, event, ...) put_event((report)->key, event, JSON_MEMBERS(__VA_ARGS__))

static void put_event(redlock_bytes key, const char *event,
                      const struct tool_json_member *members) {
    struct tool_json json = {.file = stdout};
    char at[RL_WHEN_MAX];
    tool_json_open(&json, NULL, '{');
    tool_json_put(&json, JSON_TEXT("at", rl_when_utc(rl_when_now_ms(), at)),
                  JSON_TEXT("event", event),
                  JSON_IF(key.data != NULL, JSON_BYTES("key", key.data, key.length)));
    tool_json_put_all(&json, members);
    tool_json_close(&json, '}');
    tool_json_end(&json);
    rl_output_flush();
}

static void change_json(const struct rl_watch_report *report, const struct rl_change *change) {
    static const char *const events[] = {"released", "ended", "handed_over",
                                         "held",     "waits", "left"};
    static const char *const kinds[] = {"exclusive", "shared", "slot",
                                        "exclusive", "shared", "permits"};
    const struct rl_item *item = change->item;
    const bool waits = item->kind >= RL_ITEM_WAITS;
    const bool has = change->type == RL_CHANGE_HELD || change->type == RL_CHANGE_HANDED_OVER;
    EVENT(report, events[change->type], JSON_TEXT("kind", kinds[item->kind]),
          JSON_TEXT("holder", item->who),
          JSON_IF(item->kind == RL_ITEM_SLOT, JSON_INT("slot", item->number)),
          JSON_IF(item->kind == RL_ITEM_WAITS_FOR_PERMITS, JSON_INT("permits", item->number)),
          JSON_IF(waits, JSON_TEXT("client", item->id)),
          JSON_IF(waits, JSON_INT("waited_ms", item->waited_ms)),
          JSON_IF(!waits, JSON_TEXT_OR_NULL("token", item->token)),
          JSON_IF(has, JSON_INT("remaining_ms", item->left_ms)),
          JSON_IF(has, JSON_INT("votes", item->votes)),
          JSON_IF(change->from != NULL, JSON_TEXT("from", change->from->who)));
}

/* -- Events -- */

void rl_watch_report_change(const struct rl_watch_report *report, const struct rl_change *change) {
    if (report->args->json) {
        change_json(report, change);
    } else {
        begin_line(report);
        print_change(report, change);
        end_line();
    }
}

void rl_watch_report_free(const struct rl_watch_report *report, size_t left_over) {
    if (report->args->json) {
        EVENT(report, left_over > 0 ? "left_over" : "free", JSON_INT("keys", left_over));
        return;
    }
    begin_line(report);
    if (left_over > 0) {
        printf("no client has a quorum; keys are left on %zu of %zu nodes", left_over,
               report->args->nodes.n);
    } else {
        printf("free");
    }
    end_line();
}

void rl_watch_report_unknown(const struct rl_watch_report *report, size_t answered) {
    const size_t quorum = report->args->nodes.n / 2 + 1;
    if (report->args->json) {
        EVENT(report, "unknown", JSON_INT("answered", answered), JSON_INT("quorum", quorum));
        return;
    }
    begin_line(report);
    printf("not known, %zu of %zu nodes answer (%zu needed)", answered, report->args->nodes.n,
           quorum);
    end_line();
}

void rl_watch_report_kicked(const struct rl_watch_report *report, const struct rl_kick_note *note) {
    char said[RL_KICK_SAY_MAX], at[RL_WHEN_MAX];
    if (report->args->json) {
        EVENT(report, "kicked", RL_KICK_NOTE_JSON(note, at));
        return;
    }
    begin_line(report);
    printf("%s", rl_kick_note_say(note, said));
    end_line();
}

void rl_watch_report_node(const struct rl_watch_report *report, const redlock_node_info *info,
                          uint64_t voting) {
    const size_t n = report->args->nodes.n;
    char what[RL_LOOK_WHY_MAX + 32];
    if (report->args->json) {
        EVENT(report, "node", JSON_TEXT("node", info->node), JSON_BOOL("up", info->up != 0),
              JSON_BOOL("voting", info->voting != 0),
              JSON_TEXT("status", redlock_err_name(info->reason)),
              JSON_INT("votes_in_ms", info->votes_in_ms), JSON_INT("nodes_voting", voting),
              JSON_INT("quorum", n / 2 + 1));
        return;
    }
    begin_line(report);
    printf("node %s %s", info->node, rl_look_state(info, "is up", what));
    printf("; %" PRIu64 " of %zu nodes can vote, %zu are needed", voting, n, n / 2 + 1);
    end_line();
}
