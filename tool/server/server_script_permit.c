/* See server_script_permit.h. What a slot has is read anew wherever a script remembers it: nothing
 * else changes it meanwhile. */
#include "server/server_script_permit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"

#define SERVE_MAX 64 /* as many members does a script serve or drop */
#define PERMITS_MAX 1024
#define GET_PERMITS "redis.call('get', pk"
#define SET_PERMITS "redis.call('set', pk"
#define EXISTS "redis.call('exists'"
#define RESERVE "redis.call('set', slot("
#define DEL_SLOT "redis.call('del', slot("

struct permit permit_of(struct script_run *run) {
    struct permit p = {.run = run, .resource = *script_arg(run, run->n_args)};
    p.key = text_of(RL_COMMAND_PERMITS_PREFIX "{", &p.resource, "}");
    p.line = text_of(RL_COMMAND_LINE_PREFIX "permits:{", &p.resource, "}");
    return p;
}

bool permit_breaks(const struct permit *p, enum server_permits_broken broken) {
    return (p->run->call->server->permits_broken & (uint32_t)broken) != 0;
}

static struct text slot_name(const struct permit *p, uint32_t slot) {
    char prefix[48];
    snprintf(prefix, sizeof prefix, RL_COMMAND_SLOT_PREFIX "%u:{", slot);
    return text_of(prefix, &p->resource, "}");
}

/* Why a command may not be used on a slot's key, or NULL. */
const char *permit_refusal(const struct permit *p, const char *command) {
    struct text name = slot_name(p, 0);
    struct resp_arg arg = text_arg(&name);
    return script_refusal(p->run, command, &arg, NULL);
}

const struct server_key *permit_slot(const struct permit *p, uint32_t slot) {
    struct text name = slot_name(p, slot);
    struct resp_arg arg = text_arg(&name);
    return find_key(p->run->call, &arg);
}

bool permit_slot_has(const struct permit *p, uint32_t slot, const struct text *value) {
    const struct server_key *key = permit_slot(p, slot);
    struct resp_arg has = {NULL, 0};
    if (key != NULL) {
        has = (struct resp_arg){key->value.data, key->value.length};
    }
    return key != NULL && key->elements == 0 && is_text(&has, value);
}

/* -- The number -- */

uint32_t permit_number(const struct resp_arg *text) {
    double number = 0;
    bool is_number = script_number(text, &number);
    assert(is_number && number >= 1 && number <= PERMITS_MAX);
    (void)is_number;
    return (uint32_t)number;
}

uint32_t permit_kept(const struct permit *p, const struct resp_arg *otherwise) {
    struct resp_arg value, key = text_arg(&p->key);
    bool is_there = false;
    double number = 0;
    if (script_refusal(p->run, "get", &key, NULL) != NULL ||
        script_try_get(p->run, &key, &value, &is_there) != NULL || !is_there ||
        !script_number(&value, &number)) {
        return permit_number(otherwise);
    }
    return number < 1 ? 0 : number > PERMITS_MAX ? PERMITS_MAX : (uint32_t)number;
}

void permit_keep(const struct permit *p, const struct resp_arg *k) {
    static const struct resp_arg day = {"86400000", 8};
    struct resp_arg key = text_arg(&p->key);
    script_raise_if(p->run, SET_PERMITS, script_refusal(p->run, "set", &key, NULL));
    if (!p->run->is_over) {
        script_set(p->run, SET_PERMITS, &key, k, false, &day);
    }
}

/* True: the script is over. */
bool permit_disagree(const struct permit *p, uint32_t k) {
    struct resp_arg value, key = text_arg(&p->key);
    double has = 0;
    bool in_use = false, is_there = false;
    script_raise_if(p->run, GET_PERMITS, script_refusal(p->run, "get", &key, NULL));
    if (!p->run->is_over) {
        is_there = script_get(p->run, GET_PERMITS, &key, &value);
    }
    if (p->run->is_over || !is_there || !script_number(&value, &has) || (has >= k && has <= k)) {
        return p->run->is_over;
    }
    script_raise_if(p->run, EXISTS, permit_refusal(p, "exists"));
    for (uint32_t i = 0; !p->run->is_over && i < PERMITS_MAX; i++) {
        in_use = in_use || permit_slot(p, i) != NULL;
    }
    if (!p->run->is_over && in_use) {
        char text[128];
        snprintf(text, sizeof text, "PERMITS this semaphore has %.0f permits, not %u", has, k);
        script_return_error(p->run, text);
    }
    return p->run->is_over;
}

/* -- Slots -- */

uint32_t permit_wants(const struct text *member) {
    unsigned wanted = 0;
    char digits[3] = "";
    if (member->length >= 18) {
        memcpy(digits, member->data + 16, 2);
    }
    return sscanf(digits, "%2x", &wanted) == 1 && wanted > 0 ? wanted : 1;
}

bool permit_pick(const struct permit *p, uint32_t k, uint32_t n, uint32_t from,
                 const struct text *mine, struct picked *out) {
    const struct resp_arg nobody = {"", 0};
    const struct text reserved = text_of(RL_RESERVED, &nobody, "");
    const bool may_look = permit_refusal(p, "exists") == NULL;
    out->n = 0;
    k += permit_breaks(p, SERVER_PERMITS_ABOVE);
    for (uint32_t i = 0; p->is_readable && i < k; i++) {
        uint32_t slot = (from + i) % k;
        bool is_free = may_look && permit_slot(p, slot) == NULL;
        if (is_free || permit_slot_has(p, slot, &reserved) ||
            (mine != NULL && permit_slot_has(p, slot, mine))) {
            out->slot[out->n++] = slot;
            if (out->n == n) {
                return true;
            }
        }
    }
    return false;
}

void permit_reserve(const struct permit *p, const struct picked *picked,
                    const struct resp_arg *place, const struct resp_arg *ms) {
    struct text value = reservation_of(place);
    struct resp_arg arg = text_arg(&value);
    permit_set(p, RESERVE, picked, &arg, ms);
}

void permit_set(const struct permit *p, const char *at, const struct picked *picked,
                const struct resp_arg *value, const struct resp_arg *ms) {
    for (uint32_t i = 0; i < picked->n && !p->run->is_over; i++) {
        struct text name = slot_name(p, picked->slot[i]);
        struct resp_arg key = text_arg(&name);
        script_raise_if(p->run, at, script_refusal(p->run, "set", &key, NULL));
        if (!p->run->is_over) {
            script_set(p->run, at, &key, value, false, ms);
        }
    }
}

/* " 3 4" */
size_t permit_write(const struct permit *p, const struct picked *picked, char *text, size_t size) {
    const uint32_t more = permit_breaks(p, SERVER_PERMITS_LIES) ? 16 : 0;
    size_t length = 0;
    for (uint32_t i = 0; i < picked->n; i++) {
        length += (size_t)snprintf(text + length, size - length, " %u", picked->slot[i] + more);
    }
    assert(length < size);
    return length;
}

static bool tell_slots(const struct permit *p, const struct text *member,
                       const struct picked *picked) {
    char slots[TAKE_MAX * 5 + 1];
    struct resp_arg name = text_arg(member), place = front_of(&name, RL_PLACE_LEN);
    struct text channel = channel_of(member), message;
    struct resp_arg to = text_arg(&channel);
    slots[permit_write(p, picked, slots, sizeof slots)] = '\0';
    message = text_of("turn ", &place, slots);
    return count_listeners(p->run, &channel) != 0 &&
           script_refusal(p->run, "publish", NULL, &to) == NULL &&
           server_publish(p->run->call->server, to.data, to.length, message.data, message.length) >
               0;
}

/* A member of the line that finds what it wants, whoever is before it. */
static bool pass(const struct permit *p, uint32_t k, struct text *first, struct picked *picked) {
    const struct resp_arg name = text_arg(&p->line);
    struct server_member member;
    for (uint32_t i = 1; server_line_at(find_key(p->run->call, &name), i, &member); i++) {
        struct text one = text_of("", &member.name, "");
        if (permit_pick(p, k, permit_wants(&one), 0, NULL, picked)) {
            *first = one;
            return true;
        }
    }
    return false;
}

bool permit_serve(const struct permit *p, uint32_t k, const struct resp_arg *ms,
                  const struct text *me) {
    struct text first;
    struct picked picked;
    bool told = false, ignored;
    for (int i = 0; i < SERVE_MAX && line_first(p->run, &p->line, &first); i++) {
        struct resp_arg name = text_arg(&first);
        uint32_t n = permit_wants(&first);
        if (me != NULL && is_text(&name, me)) {
            break;
        }
        bool again = told && picked.n == n && permit_breaks(p, SERVER_PERMITS_TWICE);
        bool has = again || permit_pick(p, k, n, 0, NULL, &picked);
        if (!has && permit_breaks(p, SERVER_PERMITS_PASS)) {
            has = pass(p, k, &first, &picked);
            name = text_arg(&first);
        }
        if (!has && n <= k) {
            break;
        }
        line_drop(p->run, &p->line, &first, &ignored);
        if (has && tell_slots(p, &first, &picked)) {
            struct resp_arg place = front_of(&name, RL_PLACE_LEN);
            if (!permit_breaks(p, SERVER_PERMITS_SERVED)) {
                permit_reserve(p, &picked, &place, ms);
            }
            told = true;
        }
        if (p->run->is_over) {
            break;
        }
    }
    return told;
}

/* Deletes what is reserved for the place. Returns whether there was anything. */
bool permit_give_up(const struct permit *p, uint32_t k, const struct text *mine) {
    bool any = false;
    for (uint32_t i = 0; i < k && !p->run->is_over; i++) {
        struct text name = slot_name(p, i);
        struct resp_arg key = text_arg(&name);
        if (p->is_readable && permit_slot_has(p, i, mine)) {
            any = true;
            script_raise_if(p->run, DEL_SLOT, script_refusal(p->run, "del", &key, NULL));
            if (!p->run->is_over) {
                script_del(p->run, DEL_SLOT, &key);
            }
        }
    }
    return any;
}

/* -- Answers -- */

void permit_answer(struct script_run *run, const char *text) {
    reply_bulk(run->call, text, strlen(text));
    run->is_over = true;
}
