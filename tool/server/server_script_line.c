/* See server_script_line.h. */
#include "server/server_script_line.h"

#include <assert.h>
#include <string.h>

#include "redis/command.h"

#define TRIES 16         /* as many members does a script try to tell */
#define READERS_MAX 1000 /* ... and readers */
#define WAITED_MAX 4294967295.0
#define SET "redis.call('set'" /* where in the scripts */

bool script_breaks(const struct script_run *run, enum server_broken broken) {
    return is_set(run->call->server, broken);
}

static void append(struct text *text, const char *data, size_t length) {
    assert(text->length + length <= sizeof text->data);
    memcpy(text->data + text->length, data, length);
    text->length += length;
}

struct text text_of(const char *prefix, const struct resp_arg *name, const char *suffix) {
    struct text text = {.length = 0};
    append(&text, prefix, strlen(prefix));
    append(&text, name->data, name->length);
    append(&text, suffix, strlen(suffix));
    return text;
}

struct resp_arg text_arg(const struct text *text) {
    return (struct resp_arg){text->data, text->length};
}

struct text line_name(const struct resp_arg *resource) {
    return text_of(RL_COMMAND_LINE_PREFIX "{", resource, "}");
}

struct text line_shared_name(const struct resp_arg *resource) {
    return text_of(RL_COMMAND_LINE_SHARED_PREFIX "{", resource, "}");
}

struct resp_arg front_of(const struct resp_arg *name, size_t length) {
    return (struct resp_arg){name->data, name->length < length ? name->length : length};
}

struct text reservation_of(const struct resp_arg *member) {
    struct resp_arg place = front_of(member, RL_PLACE_LEN);
    return text_of(RL_RESERVED ":", &place, "");
}

struct text member_of(const struct resp_arg *place, const struct resp_arg *holder) {
    struct text text = text_of("", place, holder->length > 0 ? ":" : "");
    append(&text, holder->data, holder->length);
    return text;
}

bool is_text(const struct resp_arg *a, const struct text *b) {
    return a->length == b->length && memcmp(a->data, b->data, b->length) == 0;
}

bool is_word(const struct resp_arg *a, const char *word) {
    return a->length == strlen(word) && memcmp(a->data, word, a->length) == 0;
}

/* -- The line, by pcall -- */

const char *line_open(struct script_run *run, const char *command, const struct text *line,
                      struct server_key **key) {
    struct resp_arg name = text_arg(line);
    const char *error = script_refusal(run, command, &name, NULL);
    *key = error == NULL ? find_key(run->call, &name) : NULL;
    if (*key != NULL && !(*key)->is_line) {
        *key = NULL;
        error = WRONGTYPE_TEXT;
    }
    return error;
}

bool script_none_exists(struct script_run *run, const struct resp_arg *names, size_t count) {
    bool none = true;
    for (size_t i = 0; i < count; i++) {
        none = none && script_refusal(run, "exists", &names[i], NULL) == NULL &&
               find_key(run->call, &names[i]) == NULL;
    }
    return none;
}

bool line_first(struct script_run *run, const struct text *line, struct text *out) {
    struct server_key *key;
    struct server_member member;
    if (line_open(run, "zrange", line, &key) != NULL || !server_line_at(key, 0, &member)) {
        return false;
    }
    *out = text_of("", &member.name, "");
    return true;
}

static bool remove_at(struct script_run *run, struct server_key *key, uint32_t rank) {
    if (key == NULL || rank >= key->elements) {
        return false;
    }
    line_remove(key, rank);
    if (key->elements == 0) {
        keys_remove(&run->call->server->keys, key);
    }
    return true;
}

const char *line_drop(struct script_run *run, const struct text *line, const struct text *member,
                      bool *was_there) {
    struct server_key *key;
    const char *error = line_open(run, "zrem", line, &key);
    struct resp_arg name = text_arg(member);
    *was_there = error == NULL && key != NULL && remove_at(run, key, server_line_rank(key, &name));
    return error;
}

int count_listeners(struct script_run *run, const struct text *channel) {
    int count = 0;
    if (script_refusal(run, "pubsub|numsub", NULL, NULL) != NULL) {
        return -1;
    }
    for (const struct server_connection *c = run->call->server->first; c != NULL; c = c->next) {
        count += server_listens(c, channel->data, channel->length);
    }
    return count;
}

struct text channel_of(const struct text *member) {
    struct resp_arg name = text_arg(member), client = front_of(&name, RL_CLIENT_ID_LEN);
    return text_of(RL_COMMAND_CLIENT_CHANNEL, &client, "");
}

bool line_tell(struct script_run *run, const struct text *member, const char *word) {
    struct resp_arg name = text_arg(member), place = front_of(&name, RL_PLACE_LEN);
    struct text channel = channel_of(member), message = text_of(word, &place, "");
    struct resp_arg to = text_arg(&channel);
    return count_listeners(run, &channel) != 0 &&
           script_refusal(run, "publish", NULL, &to) == NULL &&
           server_publish(run->call->server, to.data, to.length, message.data, message.length) > 0;
}

void line_heir(struct script_run *run, const struct text *line, const struct text *was,
               const struct text *me) {
    struct text first;
    bool ignored;
    for (int i = 0; i < TRIES && !script_breaks(run, SERVER_BREAK_HEIR_UNTOLD); i++) {
        if (!line_first(run, line, &first)) {
            return;
        }
        struct resp_arg name = text_arg(&first);
        if ((was != NULL && is_text(&name, was)) || (me != NULL && is_text(&name, me)) ||
            line_tell(run, &first, "heir ")) {
            return;
        }
        line_drop(run, line, &first, &ignored);
    }
}

bool line_serve(struct script_run *run, const struct resp_arg *name, const struct text *line,
                const struct resp_arg *ms) {
    for (int i = 0; i < TRIES; i++) {
        struct server_key *key;
        struct server_member member;
        if (line_open(run, "zpopmin", line, &key) != NULL || !server_line_at(key, 0, &member)) {
            return false;
        }
        struct text first = text_of("", &member.name, ""), value = reservation_of(&member.name);
        struct resp_arg arg = text_arg(&value);
        if (!script_breaks(run, SERVER_BREAK_SERVE_STAYS)) {
            remove_at(run, key, 0);
        }
        if (line_tell(run, &first, "turn ")) {
            script_set(run, SET, name, &arg, false, ms);
            return !run->is_over;
        }
    }
    return false;
}

bool line_serve_shared(struct script_run *run, const struct resp_arg *name,
                       const struct resp_arg *ms, bool is) {
    static const struct resp_arg reserved = {RL_RESERVED_SHARED, sizeof RL_RESERVED_SHARED - 1};
    struct text line = line_shared_name(name), writers = line_name(name), first;
    struct server_key *key;
    bool has_heard = false;
    if (!line_first(run, &line, &first)) {
        return false;
    }
    const char *word = line_first(run, &writers, &first) ? "shut " : "turn ";
    const char *error = line_open(run, "zpopmin", &line, &key);
    for (int i = 0; i < READERS_MAX && error == NULL; i++) {
        struct resp_arg line_arg = text_arg(&line);
        struct server_member member;
        key = find_key(run->call, &line_arg);
        if (!server_line_at(key, 0, &member)) {
            break;
        }
        first = text_of("", &member.name, "");
        remove_at(run, key, 0);
        has_heard = line_tell(run, &first, word) || has_heard;
    }
    line_heir(run, &line, NULL, NULL);
    if (has_heard && !is) {
        script_set(run, "if heard and not is", name, &reserved, false, ms);
    }
    return has_heard && !run->is_over;
}

double waited_ms(const struct script_run *run, double score) {
    double ms = ((double)run->call->now_us - score) / 1000;
    return ms < 1 ? 0 : ms > WAITED_MAX ? WAITED_MAX : (double)(uint64_t)ms;
}

void line_count(struct script_run *run, const struct text *line, struct count *count) {
    struct server_key *key;
    struct server_member member;
    if (line_open(run, "zrange", line, &key) != NULL || !server_line_at(key, 0, &member) ||
        line_open(run, "zcard", line, &key) != NULL) {
        return;
    }
    count->waiting += key->elements;
    if (script_refusal(run, "time", NULL, NULL) == NULL) {
        double ms = waited_ms(run, member.score);
        count->first_ms = ms > count->first_ms ? ms : count->first_ms;
    }
}
