/* See token.h. Pure. */
#include "token.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *rl_token_parse(struct rl_token *token, const char *text) {
    size_t digits = strspn(text, "0123456789abcdef");
    memset(token, 0, sizeof *token);
    if (text[0] == '\0') {
        return "it is empty (an unset variable?); give what acquire printed";
    }
    if (digits != REDLOCK_TOKEN_LENGTH || (text[digits] != '\0' && text[digits] != ':')) {
        return "not a token; give what acquire printed, 40 hex digits and what follows them";
    }
    memcpy(token->digits, text, digits);
    if (text[digits] == ':') {
        const char *holder = text + digits + 1;
        if (holder[0] == '\0' || strlen(holder) > REDLOCK_HOLDER_MAX) {
            return "the holder's name behind the colon is missing or too long; give what acquire "
                   "printed";
        }
        memcpy(token->holder, holder, strlen(holder) + 1);
    }
    assert(strlen(token->digits) == REDLOCK_TOKEN_LENGTH);
    return NULL;
}

const char *rl_token_show(const char *digits, const char *holder, char out[RL_TOKEN_TEXT_MAX]) {
    bool has_holder = holder != NULL && holder[0] != '\0';
    assert(strlen(digits) == REDLOCK_TOKEN_LENGTH);
    assert(!has_holder || strlen(holder) <= REDLOCK_HOLDER_MAX);
    snprintf(out, RL_TOKEN_TEXT_MAX, "%s%s%s", digits, has_holder ? ":" : "",
             has_holder ? holder : "");
    return out;
}
