/* The rules, the counters and the log of a fake node.
 *
 * Happy path: fake_rule_note() logs each command, fake_rule_take() finds the rule that applies to
 * it. Failure modes: more rules or names than there is room for end the program. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/fake_parts.h"

/* -- Rules -- */

static void remove_rule(struct fake_node *node, size_t index) {
    assert(index < node->n_rules);
    free((void *)(uintptr_t)node->rules[index].bytes);
    node->n_rules--;
    memmove(&node->rules[index], &node->rules[index + 1],
            (node->n_rules - index) * sizeof(node->rules[0]));
}

void fake_node_rule(struct fake_node *node, struct fake_rule rule) {
    fake_demand(node->n_rules < FAKE_RULES_MAX, "too many rules");
    if (rule.length == 0 && rule.bytes != NULL) {
        rule.length = strlen(rule.bytes);
    }
    if (rule.length > 0) {
        void *copy = malloc(rule.length);
        fake_demand(copy != NULL, "out of memory");
        memcpy(copy, rule.bytes, rule.length);
        rule.bytes = copy;
    } else {
        rule.bytes = NULL;
    }
    node->rules[node->n_rules++] = rule;
}

void fake_node_clear_rules(struct fake_node *node) {
    while (node->n_rules > 0) {
        remove_rule(node, node->n_rules - 1);
    }
}

static bool has_arg(const struct resp_command *command, const char *text) {
    bool has = text == NULL;
    for (size_t i = 1; i < command->count && !has; i++) {
        has = command->args[i].length == strlen(text) &&
              memcmp(command->args[i].data, text, command->args[i].length) == 0;
    }
    return has;
}

static bool fits(const struct fake_rule *rule, const struct resp_command *command, unsigned nth) {
    assert(nth > 0);
    const char *script = server_script_of(command);
    bool is_named = rule->command == NULL || resp_is(&command->args[0], rule->command) ||
                    (script != NULL &&
                     (strcmp(rule->command, script) == 0 || strcmp(rule->command, "script") == 0));
    return is_named && (rule->nth == 0 || rule->nth == nth) && has_arg(command, rule->key);
}

bool fake_rule_take(struct fake_node *node, const struct resp_command *command, unsigned nth,
                    struct bytes *bytes, struct fake_rule *taken) {
    for (size_t i = 0; i < node->n_rules; i++) {
        struct fake_rule *rule = &node->rules[i];
        if (!fits(rule, command, nth)) {
            continue;
        }
        if (rule->skip > 0) {
            rule->skip--;
            continue;
        }
        *taken = *rule;
        bytes_append(bytes, rule->bytes, rule->length);
        taken->bytes = NULL;
        if (rule->times == 1) {
            remove_rule(node, i);
        } else if (rule->times > 1) {
            rule->times--;
        }
        return true;
    }
    return false;
}

/* -- Counters and log -- */

static void count_name(struct fake_node *node, const struct resp_arg *name) {
    size_t i = 0;
    while (i < node->n_counts && !resp_is(name, node->counts[i].name)) {
        i++;
    }
    if (i == node->n_counts) {
        fake_demand(i < FAKE_NAMES_MAX, "too many names of commands");
        struct fake_count *count = &node->counts[node->n_counts++];
        snprintf(count->name, sizeof(count->name), "%.*s", (int)name->length, name->data);
    }
    node->counts[i].count++;
}

static void count_script(struct fake_node *node, const struct resp_command *command) {
    const char *script = server_script_of(command);
    if (script != NULL) {
        const struct resp_arg name = {script, strlen(script)}, any = {"script", 6};
        count_name(node, &name);
        count_name(node, &any);
    }
}

/* Appends one argument to a line, as far as there is room. Returns the line's new length. */
static size_t write_arg(char *line, size_t used, const struct resp_arg *arg) {
    assert(used < FAKE_LOG_LINE);
    if (used > 0 && used + 1 < FAKE_LOG_LINE) {
        line[used++] = ' ';
    }
    for (size_t i = 0; i < arg->length && used + 1 < FAKE_LOG_LINE; i++) {
        char c = arg->data[i];
        line[used++] = (char)(c > 0x20 && c < 0x7f ? c : '.');
    }
    line[used] = '\0';
    return used;
}

void fake_rule_note(struct fake_node *node, const struct resp_command *command) {
    char *line = node->log[node->commands % FAKE_LOG_LINES];
    size_t used = 0;
    assert(command->count > 0);
    const char *script = server_script_of(command);
    for (size_t i = 0; i < command->count; i++) {
        const bool is_text = i == 1 && script != NULL && resp_is(&command->args[0], "EVAL");
        const struct resp_arg name = {script, is_text ? strlen(script) : 0};
        used = write_arg(line, used, is_text ? &name : &command->args[i]);
    }
    count_name(node, &command->args[0]);
    count_script(node, command);
    node->commands++;
}

size_t fake_node_count(const struct fake_node *node, const char *command) {
    if (command == NULL) {
        return node->commands;
    }
    for (size_t i = 0; i < node->n_counts; i++) {
        if (strcasecmp(node->counts[i].name, command) == 0) {
            return node->counts[i].count;
        }
    }
    return 0;
}

const char *fake_node_log(const struct fake_node *node, size_t index) {
    bool there = index < node->commands && node->commands - index <= FAKE_LOG_LINES;
    return there ? node->log[index % FAKE_LOG_LINES] : "";
}
