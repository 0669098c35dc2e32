/* See token.h. */
#include "token.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

static bool has_slot(const struct rl_token *token, int32_t slot) {
    for (size_t i = 0; i < token->n_slots; i++) {
        if (token->slots[i] == slot) {
            return true;
        }
    }
    return false;
}

/* Parses "0,3" before an '@'. False: it is not a list of slots. */
static bool parse_slots(struct rl_token *token, const char *text, const char *end) {
    while (token->n_slots < REDLOCK_TAKE_MAX) {
        const size_t digits = strspn(text, "0123456789");
        int32_t slot = 0;
        for (size_t i = 0; i < digits && slot < REDLOCK_PERMITS_MAX; i++) {
            slot = slot * 10 + (text[i] - '0');
        }
        if (digits < 1 || slot >= REDLOCK_PERMITS_MAX || has_slot(token, slot)) {
            return false;
        }
        token->slots[token->n_slots++] = slot;
        text += digits;
        if (text == end) {
            return true;
        }
        if (*text++ != ',') {
            return false;
        }
    }
    return false;
}

bool rl_token_is_holder(const char *name) {
    size_t length = 0;
    while (name[length] >= '!' && name[length] <= '~') {
        length++;
    }
    return name[length] == '\0' && length >= 1 && length <= REDLOCK_HOLDER_MAX;
}

const char *rl_token_parse(struct rl_token *token, const char *text) {
    memset(token, 0, sizeof *token);
    const char *at = strchr(text, '@'), *colon = strchr(text, ':');
    if (at != NULL && (colon == NULL || at < colon)) { /* a holder's name may contain one, too */
        if (!parse_slots(token, text, at)) {
            return "what is before the @ is no list of slots; give what acquire printed";
        }
        text = at + 1;
    }
    size_t digits = strspn(text, "0123456789abcdef");
    if (text[0] == '\0') {
        return "it is empty (an unset variable?); give what acquire printed";
    }
    if (digits != REDLOCK_TOKEN_LENGTH || (text[digits] != '\0' && text[digits] != ':')) {
        return "not a token; give what acquire printed, 40 hex digits and what follows them";
    }
    memcpy(token->digits, text, digits);
    if (text[digits] == ':') {
        const char *holder = text + digits + 1;
        if (!rl_token_is_holder(holder)) {
            return "what is behind the colon is no holder's name; give what acquire printed";
        }
        memcpy(token->holder, holder, strlen(holder) + 1);
    }
    assert(strlen(token->digits) == REDLOCK_TOKEN_LENGTH);
    return NULL;
}

const char *rl_token_slots(const int32_t *slots, size_t n, const char *separator) {
    char text[RL_TOKEN_SLOTS_MAX + 1] = "";
    size_t used = 0;
    assert(n <= REDLOCK_TAKE_MAX);
    for (size_t i = 0; i < n; i++) {
        assert(slots[i] >= 0 && slots[i] < REDLOCK_PERMITS_MAX);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId32,
                                 i > 0 ? separator : "", slots[i]);
    }
    assert(used <= RL_TOKEN_SLOTS_MAX);
    return rl_text("%s", text);
}

const char *rl_token_show(const int32_t *slots, size_t n, const char *digits, const char *holder) {
    const bool has_holder = holder != NULL && holder[0] != '\0';
    static_assert(RL_TOKEN_TEXT_MAX <= RL_TEXT_MAX, "a token is a text");
    assert(strlen(digits) == REDLOCK_TOKEN_LENGTH);
    assert(!has_holder || strlen(holder) <= REDLOCK_HOLDER_MAX);
    return rl_text("%s%s%s%s%s", rl_token_slots(slots, n, ","), n > 0 ? "@" : "", digits,
                   has_holder ? ":" : "", has_holder ? holder : "");
}

static const char *end_key(struct rl_keys *keys, char *begin, const char *end, long typed) {
    size_t length = (size_t)(end - begin);
    if (length == 0) {
        return "a key is empty (an unset variable?)";
    }
    if (length > REDLOCK_RESOURCE_MAX) {
        return "a key is longer than 1024 bytes";
    }
    if (keys->count == REDLOCK_RESOURCES_MAX) {
        return "too many keys; at most 64";
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->items[i].length == length && memcmp(keys->items[i].data, begin, length) == 0) {
            return "a key is named twice";
        }
    }
    keys->typed_lengths[keys->count] = (int)typed;
    keys->items[keys->count++] = (redlock_bytes){begin, length};
    return NULL;
}

const char *rl_keys_parse(struct rl_keys *keys, const char *text) {
    static_assert(REDLOCK_RESOURCES_MAX == 64, "the sentence names the limit");
    static_assert(REDLOCK_RESOURCE_MAX == 1024, "the sentence names the limit");
    *keys = (struct rl_keys){.text = rl_must_print("%s", text)};
    char *begin = keys->text, *out = begin;
    const char *why = NULL, *typed = text;
    for (const char *in = text; why == NULL; in++) {
        if (*in == '\0' || *in == ',') {
            why = end_key(keys, begin, out, in - typed);
            typed = in + 1;
            begin = out;
            if (*in == '\0') {
                break;
            }
        } else if (*in == '\\' && (in[1] == ',' || in[1] == '\\')) {
            *out++ = *++in;
        } else {
            *out++ = *in;
        }
    }
    assert(why != NULL || keys->count > 0);
    return why;
}

const char *rl_keys_of(struct rl_keys *keys, const struct rl_args *args, const char *text) {
    if (args->command != RL_CMD_ELECT) {
        return rl_keys_parse(keys, text);
    }
    *keys = (struct rl_keys){.items = {{text, strlen(text)}}, .count = 1};
    return NULL;
}

void rl_keys_free(struct rl_keys *keys) {
    free(keys->text);
    keys->text = NULL;
    keys->count = 0;
}
