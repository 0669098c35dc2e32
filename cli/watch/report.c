/* The events of redlock status --watch, a line each on stdout, written at once:
 *
 *     2026-11-23 02:31:07.123 backup: handed over from vm:860 to vm:871, on 5 of 5 nodes
 *
 * and with --json an object each.
 *
 * Failure modes: stdout cannot be written: the next rl_output_flush() reports it. */
#include "watch/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

#define TEXT_MAX (3 * RL_ITEM_TEXT_MAX)

/* -- An event, as a line or an object -- */

__attribute__((format(printf, 2, 0))) static void put_line(redlock_bytes key, const char *format,
                                                           va_list args) {
    char at[RL_WHEN_MAX], shown[256];
    printf("%s", rl_when_show(rl_when_now_ms(), true, at));
    if (key.data != NULL) {
        printf(" %s", tool_utf8_clean(key.data, key.length, shown, sizeof shown));
    }
    printf(": ");
    vprintf(format, args);
    printf("\n");
}

static void put_json(redlock_bytes key, const char *event, const struct tool_json_member *members) {
    struct tool_json json = {.file = stdout};
    char at[RL_WHEN_MAX];
    tool_json_open(&json, NULL, '{');
    tool_json_put(&json, JSON_TEXT("at", rl_when_utc(rl_when_now_ms(), at)),
                  JSON_TEXT("event", event),
                  JSON_IF(key.data != NULL, JSON_BYTES("key", key.data, key.length)));
    tool_json_put_all(&json, members);
    tool_json_close(&json, '}');
    tool_json_end(&json);
}

/* members: its own, of JSON; format: of its line. */
__attribute__((format(printf, 4, 5))) static void tell(const struct rl_watch_report *report,
                                                       const char *event,
                                                       const struct tool_json_member *members,
                                                       const char *format, ...) {
    if (report->args->json) {
        put_json(report->key, event, members);
    } else {
        va_list args;
        va_start(args, format);
        put_line(report->key, format, args);
        va_end(args);
    }
    rl_output_flush();
}

/* -- Changes -- */

static void say_wait(const struct rl_item *item, char out[TEXT_MAX]) {
    char waited[32], by_now[64] = "", what[64] = "";
    if (item->kind == RL_ITEM_WAITS_FOR_PERMITS) {
        snprintf(what, sizeof what, " for %" PRIu32 " permit%s", item->number,
                 rl_say_plural(item->number));
    } else if (item->kind == RL_ITEM_WAITS_TO_READ) {
        snprintf(what, sizeof what, " to read");
    }
    if (item->waited_ms >= 1000) {
        snprintf(by_now, sizeof by_now, ", for %s by now",
                 rl_say_duration((double)item->waited_ms, waited, sizeof waited));
    }
    snprintf(out, TEXT_MAX, "%s waits%s%s", item->who, what, by_now);
}

static const char *say_change(const struct rl_change *change, size_t nodes, char out[TEXT_MAX]) {
    const struct rl_item *item = change->item;
    const bool reads = item->kind == RL_ITEM_READER;
    char slot[32] = "", time[32], left[64] = "";
    if (item->kind == RL_ITEM_SLOT) {
        snprintf(slot, sizeof slot, "slot %" PRIu32 " ", item->number);
    }
    if (item->left_ms >= 0) {
        snprintf(left, sizeof left, " for another %s",
                 rl_say_duration((double)item->left_ms, time, sizeof time));
    }
    switch (change->type) {
        case RL_CHANGE_RELEASED:
            snprintf(out, TEXT_MAX, reads ? "%s%s reads no longer" : "%sreleased by %s", slot,
                     item->who);
            break;
        case RL_CHANGE_ENDED:
            snprintf(out, TEXT_MAX,
                     "%sno longer %s by %s, whose time was over: not renewed, or just released",
                     slot, reads ? "read" : "held", item->who);
            break;
        case RL_CHANGE_HANDED_OVER:
            snprintf(out, TEXT_MAX, "%shanded over from %s to %s, on %" PRIu32 " of %zu nodes",
                     slot, change->from->who, item->who, item->votes, nodes);
            break;
        case RL_CHANGE_HELD:
            snprintf(out, TEXT_MAX, "%s%s by %s%s, on %" PRIu32 " of %zu nodes", slot,
                     reads ? "read" : "held", item->who, left, item->votes, nodes);
            break;
        case RL_CHANGE_WAITS:
            say_wait(item, out);
            break;
        default:
            assert(change->type == RL_CHANGE_LEFT);
            snprintf(out, TEXT_MAX, "%s waits no longer", item->who);
    }
    return out;
}

void rl_watch_report_change(const struct rl_watch_report *report, const struct rl_change *change) {
    static const char *const events[] = {"released", "ended", "handed_over",
                                         "held",     "waits", "left"};
    static const char *const kinds[] = {"exclusive", "shared", "slot",
                                        "exclusive", "shared", "permits"};
    const struct rl_item *item = change->item;
    const bool waits = item->kind >= RL_ITEM_WAITS;
    const bool has = change->type == RL_CHANGE_HELD || change->type == RL_CHANGE_HANDED_OVER;
    char text[TEXT_MAX];
    tell(report, events[change->type],
         JSON_MEMBERS(
             JSON_TEXT("kind", kinds[item->kind]), JSON_TEXT("holder", item->who),
             JSON_IF(item->kind == RL_ITEM_SLOT, JSON_INT("slot", item->number)),
             JSON_IF(item->kind == RL_ITEM_WAITS_FOR_PERMITS, JSON_INT("permits", item->number)),
             JSON_IF(waits, JSON_TEXT("client", item->id)),
             JSON_IF(waits, JSON_INT("waited_ms", item->waited_ms)),
             JSON_IF(!waits, JSON_TEXT_OR_NULL("token", item->token)),
             JSON_IF(has, JSON_INT("remaining_ms", item->left_ms)),
             JSON_IF(has, JSON_INT("votes", item->votes)),
             JSON_IF(change->from != NULL, JSON_TEXT("from", change->from->who))),
         "%s", say_change(change, report->n, text));
}

/* -- Other events -- */

void rl_watch_report_free(const struct rl_watch_report *report, size_t left_over) {
    char text[96] = "free";
    if (left_over > 0) {
        snprintf(text, sizeof text, "no client has a quorum; keys are left on %zu of %zu nodes",
                 left_over, report->n);
    }
    tell(report, left_over > 0 ? "left_over" : "free", JSON_MEMBERS(JSON_INT("keys", left_over)),
         "%s", text);
}

void rl_watch_report_unknown(const struct rl_watch_report *report, size_t answered) {
    const size_t n = report->n, quorum = report->needed;
    tell(report, "unknown",
         JSON_MEMBERS(JSON_INT("answered", answered), JSON_INT("quorum", quorum)),
         "not known, %zu of %zu nodes answer (%zu needed)", answered, n, quorum);
}

void rl_watch_report_kicked(const struct rl_watch_report *report, const struct rl_kick_note *note) {
    char said[RL_KICK_SAY_MAX], at[RL_WHEN_MAX];
    tell(report, "kicked", JSON_MEMBERS(RL_KICK_NOTE_JSON(note, at)), "%s",
         rl_kick_note_say(note, said));
}

void rl_watch_report_node(const struct rl_watch_report *report, const redlock_node_info *info,
                          uint64_t voting) {
    const size_t n = report->n, quorum = report->needed;
    char what[RL_LOOK_WHY_MAX + 32];
    tell(report, "node",
         JSON_MEMBERS(JSON_TEXT("node", info->node), JSON_BOOL("up", info->up != 0),
                      JSON_BOOL("voting", info->voting != 0),
                      JSON_TEXT("status", redlock_err_name(info->reason)),
                      JSON_INT("votes_in_ms", info->votes_in_ms), JSON_INT("nodes_voting", voting),
                      JSON_INT("quorum", quorum)),
         "node %s %s; %" PRIu64 " of %zu nodes can vote, %zu are needed", info->node,
         rl_look_state(info, "is up", what), voting, n, quorum);
}
