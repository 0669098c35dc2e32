/* Findings and facts as a screen, or as one JSON document.
 *
 * On the screen, findings of one check with the same text for several nodes share one line, so that
 * five nodes with the same settings take no more room than one. */
#include "doctor/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "tool/json.h"

void rl_findings_put(struct rl_findings *findings, const char *check, enum rl_level level, int node,
                     const char *remedy, const char *text) {
    findings->items =
        rl_must_grow(findings->items, findings->count, &findings->room, sizeof *findings->items);
    struct rl_finding *finding = &findings->items[findings->count++];
    finding->check = check;
    finding->level = level;
    finding->node = node;
    snprintf(finding->text, sizeof finding->text, "%s", text);
    snprintf(finding->remedy, sizeof finding->remedy, "%s", remedy != NULL ? remedy : "");
}

#define LEVEL_WIDTH 9
#define CHECK_WIDTH 13
#define NAME_WIDTH_MAX 31

static const char *const level_names[] = {"ok", "note", "warning", "error"};
static const enum rl_paint level_paints[] = {RL_PAINT_GOOD, RL_PAINT_FAINT, RL_PAINT_WARN,
                                             RL_PAINT_BAD};
static const char *const checks[] = {"reachable", "tls",     "identity", "set",         "number",
                                     "mode",      "version", "role",     "persistence", "eviction",
                                     "uptime",    "guard",   "latency",  "clock",       "commands",
                                     "line",      "fences",  "readers",  "permits",     "quorum"};

static size_t count_level(const struct rl_findings *findings, enum rl_level level) {
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        count += findings->items[i].level == level;
    }
    return count;
}

static int exit_status_of(const struct rl_findings *findings) {
    return count_level(findings, RL_LEVEL_ERROR) > 0     ? RL_EXIT_ERRORS
           : count_level(findings, RL_LEVEL_WARNING) > 0 ? RL_EXIT_WARNINGS
                                                         : RL_EXIT_OK;
}

/* -- The screen -- */

static const char *role_of(const struct rl_facts *facts) {
    return strcmp(facts->info.role, "slave") == 0 ? "replica" : "primary";
}

/* "+0.31 ms", or "0 ms" if there is no difference. */
static const char *say_clock(const struct rl_wire_clock *clock) {
    const double ms = clock->ahead_ms < 0 ? -clock->ahead_ms : clock->ahead_ms;
    const bool is_nothing = ms < 0.01;
    return rl_text("%s%s",
                   is_nothing            ? ""
                   : clock->ahead_ms < 0 ? "-"
                                         : "+",
                   rl_say_duration(is_nothing ? 0 : ms));
}

static void print_facts(const struct rl_facts *facts, const struct rl_wires *wires) {
    struct rl_table table = {.heads = "node\t?set\tversion \trole   \tup      \tlatency \tclock",
                             .max = NAME_WIDTH_MAX};
    for (size_t i = 0; i < wires->n; i++) {
        const struct rl_facts *f = &facts[i];
        const char *node = f->wire->url.name;
        const char *set = rl_members_set_at(&wires->members, (uint32_t)i);
        const bool knows = f->no_info[0] == '\0';
        const bool has_clock = f->clock.is_known;
        if (!f->is_reachable) {
            rl_table_row(&table, "%s\t%s\t-", node, set);
            continue;
        }
        const char *up =
            f->info.uptime_s != 0 ? rl_say_duration((double)f->info.uptime_s * 1e3) : "0 s";
        rl_table_row(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%s", node, set, knows ? f->info.version : "?",
                     knows ? role_of(f) : "?", knows ? up : "?",
                     has_clock ? rl_say_duration(f->clock.latency_ms) : "?",
                     has_clock ? say_clock(&f->clock) : "");
    }
    rl_table_print(&table);
}

static bool says_the_same(const struct rl_finding *a, const struct rl_finding *b) {
    return strcmp(a->check, b->check) == 0 && a->level == b->level &&
           strcmp(a->text, b->text) == 0 && strcmp(a->remedy, b->remedy) == 0;
}

static bool was_said(const struct rl_findings *findings, size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (says_the_same(&findings->items[i], &findings->items[index])) {
            return true;
        }
    }
    return false;
}

/* " (all 5)", " (10.0.0.1:6379, 10.0.0.2:6379)" */
static void name_nodes(const struct rl_findings *findings, const struct rl_finding *finding,
                       const struct rl_facts *facts, size_t n, char *out, size_t size) {
    size_t count = 0, used = 0;
    out[0] = '\0';
    if (finding->node == RL_NODE_NONE) {
        return;
    }
    for (size_t i = 0; i < findings->count; i++) {
        const struct rl_finding *other = &findings->items[i];
        if (other->node != RL_NODE_NONE && says_the_same(other, finding) && used < size) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", count > 0 ? ", " : " (",
                                     facts[other->node].wire->url.name);
            count++;
        }
    }
    if (count == n && n > 1) {
        snprintf(out, size, " (all %zu)", n);
    } else if (count > 1 && finding->level == RL_LEVEL_OK) {
        snprintf(out, size, " (%zu of %zu)", count, n); /* the others are shown elsewhere */
    } else if (used + 1 < size) {
        snprintf(out + used, size - used, ")");
    }
}

static void print_finding(const struct rl_findings *findings, const struct rl_finding *finding,
                          const struct rl_facts *facts, size_t n) {
    char nodes[2048], text[sizeof nodes + sizeof finding->text];
    name_nodes(findings, finding, facts, n, nodes, sizeof nodes);
    snprintf(text, sizeof text, "%s%s", finding->text, nodes);
    rl_say_painted(level_paints[finding->level], level_names[finding->level], LEVEL_WIDTH);
    rl_say_painted(RL_PAINT_NONE, finding->check, CHECK_WIDTH);
    rl_say_wrapped(text, LEVEL_WIDTH + CHECK_WIDTH);
    if (finding->remedy[0] != '\0') {
        rl_say_painted(RL_PAINT_NONE, "", LEVEL_WIDTH);
        rl_say_painted(RL_PAINT_FAINT, "remedy", CHECK_WIDTH);
        rl_say_wrapped(finding->remedy, LEVEL_WIDTH + CHECK_WIDTH);
    }
}

static void print_verdict(const struct rl_findings *findings, int64_t wait_s) {
    size_t errors = 0, warnings = 0;
    for (size_t i = 0; i < findings->count; i++) {
        bool counts = !was_said(findings, i);
        errors += counts && findings->items[i].level == RL_LEVEL_ERROR;
        warnings += counts && findings->items[i].level == RL_LEVEL_WARNING;
    }
    const char *soon = wait_s > 0 ? rl_text(" in %" PRId64 " s", wait_s) : "";
    printf("\n");
    if (errors == 0 && warnings == (wait_s > 0)) { /* the only warning is the wait itself */
        rl_say_painted(wait_s > 0 ? RL_PAINT_WARN : RL_PAINT_GOOD,
                       rl_text("These nodes can be trusted with locks%s.", soon), 0);
    } else {
        const char *text = errors > 0 ? rl_say_count(errors, "error") : "";
        if (warnings > 0) {
            text =
                rl_text("%s%s%s", text, errors > 0 ? ", " : "", rl_say_count(warnings, "warning"));
        }
        text = errors > 0
                   ? rl_text("%s: do not trust these nodes before the errors are fixed.", text)
                   : rl_text("%s: usable%s, if you can live with the warnings above.", text, soon);
        rl_say_painted(errors > 0 ? RL_PAINT_BAD : RL_PAINT_WARN, text, 0);
    }
    printf("\n");
}

static void show_screen(const struct rl_findings *findings, const struct rl_facts *facts,
                        const struct rl_wires *wires, int64_t wait_s) {
    print_facts(facts, wires);
    printf("\n");
    for (size_t check = 0; check < sizeof checks / sizeof checks[0]; check++) {
        for (size_t i = 0; i < findings->count; i++) {
            if (strcmp(findings->items[i].check, checks[check]) == 0 && !was_said(findings, i)) {
                print_finding(findings, &findings->items[i], facts, wires->n);
            }
        }
    }
    print_verdict(findings, wait_s);
}

/* -- JSON -- */

static void show_node(struct tool_json *json, const struct rl_facts *f, const char *set) {
    const bool has_clock = f->clock.is_known;
    tool_json_open(json, NULL, '{');
    tool_json_put(json, JSON_TEXT("node", f->wire->url.name),
                  JSON_BOOL("reachable", f->is_reachable));
    if (f->is_reachable && f->no_info[0] == '\0') {
        tool_json_put(
            json, JSON_TEXT("server", f->info.server), JSON_TEXT("version", f->info.version),
            JSON_TEXT("mode", f->info.mode), JSON_TEXT("role", role_of(f)),
            JSON_TEXT("run_id", f->info.run_id), JSON_INT("uptime_s", f->info.uptime_s),
            JSON_INT("replicas", f->info.replicas), JSON_BOOL("aof", f->info.aof_enabled != 0),
            JSON_TEXT("appendfsync", f->has_config ? f->appendfsync : NULL),
            JSON_TEXT("save", f->has_config ? f->save : NULL),
            JSON_TEXT("maxmemory_policy", f->info.policy),
            JSON_INT("maxmemory", f->info.maxmemory));
    }
    tool_json_put(json, JSON_IF(has_clock, JSON_REAL("latency_ms", f->clock.latency_ms)),
                  JSON_IF(has_clock, JSON_REAL("latency_max_ms", f->clock.latency_max_ms)),
                  JSON_IF(has_clock, JSON_REAL("clock_offset_ms", f->clock.ahead_ms)),
                  JSON_IF(has_clock, JSON_REAL("clock_error_ms", f->clock.error_ms)),
                  JSON_TEXT_OR_NULL("set", set));
    tool_json_close(json);
}

static void show_json(const struct rl_findings *findings, const struct rl_facts *facts,
                      const struct rl_wires *wires) {
    static const char *const verdicts[] = {"ok", "warnings", "errors"};
    struct tool_json json =
        tool_json_begin(stdout, JSON_TEXT("verdict", verdicts[exit_status_of(findings)]),
                        JSON_INT("quorum", rl_members_needed(&wires->members)));
    tool_json_open(&json, "nodes", '[');
    for (size_t i = 0; i < wires->n; i++) {
        show_node(&json, &facts[i], rl_members_set_at(&wires->members, (uint32_t)i));
    }
    tool_json_close(&json);
    tool_json_open(&json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct rl_finding *f = &findings->items[i];
        tool_json_object(
            &json, NULL, JSON_TEXT("check", f->check), JSON_TEXT("level", level_names[f->level]),
            JSON_TEXT("node", f->node == RL_NODE_NONE ? NULL : facts[f->node].wire->url.name),
            JSON_TEXT("text", f->text), JSON_TEXT_OR_NULL("remedy", f->remedy));
    }
    tool_json_end(&json);
}

int rl_doctor_show(const struct rl_findings *findings, const struct rl_facts *facts,
                   const struct rl_wires *wires, int64_t wait_s) {
    assert(findings->count > 0);
    if (wires->args->json) {
        show_json(findings, facts, wires);
    } else {
        show_screen(findings, facts, wires, wait_s);
    }
    return exit_status_of(findings);
}
