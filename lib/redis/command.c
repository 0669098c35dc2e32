/* See command.h. Nothing here can fail but the size of the buffer, and that is settled by constants
 * for our own commands. */
#include "redis/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/sighting.h"
#include "redlock/redlock.h"

/* One resource; several; and of any number a release that is announced, what has a fence. */
enum variant { ONE, SEVERAL, ANNOUNCED, FENCED, VARIANTS };

struct script {
    const char *text;
    const char *sha1;
};

/* The hashes are compared with what a real node computes by the live tests; a wrong one would only
 * cost the detour over EVAL.
 *
 * A release looks at each key by pcall: one of another type cannot have the value, and must not
 * keep the others from being deleted. Other errors are told, after the work is done. An
 * announcement that a node forbids does not count as an error.
 *
 * An extension writes in any case: a key that lives longer anyway is given what it has left,
 * counted from now, which ends no earlier. So only a node that may write says yes. One that has
 * just become a replica does not, also where its new primary's extension was there first.
 *
 * An extension with a fence raises and keeps the counters as well. What hinders that, a node that
 * is full, a counter that is none, does not hinder the extension: the lock is worth more. (An ACL
 * that forbids the counters' names does; it would have forbidden the grant.)
 *
 * Who holds a key is asked by a script as well: its life and its value are then of one moment, and
 * the value, which may be anybody's and of any size, is cut on the node.
 */
static const struct script scripts[][VARIANTS] = {
    [RL_COMMAND_SET_ALL] =
        {[SEVERAL] = {"for i=1,#KEYS do local v=redis.call('get',KEYS[i]) "
                      "if v and v~=ARGV[1] then return 0 end end "
                      "for i=1,#KEYS do redis.call('set',KEYS[i],ARGV[1],'NX','PX',ARGV[2]) end "
                      "return 1",
                      "ff753c1c8cfc9059e370674d77bfbf5f152aa401"}},
    [RL_COMMAND_FENCE] =
        {[FENCED] =
             {"local n,f=#KEYS/2,tonumber(ARGV[3]) for i=1,n do "
              "local v=redis.call('get',KEYS[i]) if v and v~=ARGV[1] then return 0 end end "
              "for i=n+1,2*n do local c=redis.call('get',KEYS[i]) if c then c=tonumber(c) "
              "if not c or c<0 or c>=9007199254740991 then "
              "return redis.error_reply('ERR '..KEYS[i]..' is not the counter of a fence') end "
              "if c>=f then f=c+1 end end end "
              "local s=string.format('%.0f',f) "
              "for i=1,n do redis.call('set',KEYS[i],ARGV[1],'NX','PX',ARGV[2]) "
              "redis.call('set',KEYS[n+i],s,'PX',ARGV[4]) end return f",
              "5af8c42701cef82bde58dd2a90d2dfe34595a8ac"}},
    [RL_COMMAND_RAISE] =
        {[FENCED] = {"local n,f=#KEYS/2,tonumber(ARGV[2]) for i=1,n do "
                     "if redis.call('get',KEYS[i])~=ARGV[1] then return 0 end end "
                     "for i=n+1,2*n do local c=tonumber(redis.call('get',KEYS[i]) or 0) "
                     "if not c or c>f then return 0 end end "
                     "for i=n+1,2*n do redis.call('set',KEYS[i],ARGV[2],'PX',ARGV[3]) end return 1",
                     "9720c23f1e2496fb876eca070273e37e7fdda767"}},
    [RL_COMMAND_EXTEND] =
        {[ONE] = {"if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end "
                  "redis.call('pexpire',KEYS[1],math.max(redis.call('pttl',KEYS[1]),ARGV[2])) "
                  "return 1",
                  "fc8b88d55f5a871d02ac6a3637e8ef9b3c053acb"},
         [SEVERAL] =
             {"for i=1,#KEYS do if redis.call('get',KEYS[i])~=ARGV[1] then return 0 end end "
              "for i=1,#KEYS do "
              "redis.call('pexpire',KEYS[i],math.max(redis.call('pttl',KEYS[i]),ARGV[2])) end "
              "return 1",
              "079fed628bfbb9944983410404b5351764a2e000"},
         [FENCED] = {"local n,f=#KEYS/2,tonumber(ARGV[3]) "
                     "for i=1,n do if redis.call('get',KEYS[i])~=ARGV[1] then return 0 end end "
                     "for i=1,n do "
                     "redis.call('pexpire',KEYS[i],math.max(redis.call('pttl',KEYS[i]),ARGV[2])) "
                     "local k=KEYS[n+i] local c=redis.pcall('get',k) "
                     "if type(c)~='table' then c=tonumber(c or 0) if c and c<f then "
                     "redis.pcall('set',k,ARGV[3],'PX',ARGV[4]) "
                     "elseif c then redis.pcall('pexpire',k,ARGV[4]) end end end return 1",
                     "a9e0c18568bb11afb25973b78f1d6cf9fbd7e7b0"}},
    [RL_COMMAND_RELEASE] =
        {[ONE] = {"if redis.call('get',KEYS[1])==ARGV[1] then "
                  "return redis.call('del',KEYS[1]) end return 0",
                  "fab5aabdaac7aab1eaa85bbed1724dee07d7744a"},
         [SEVERAL] = {"local n,e=0 for i=1,#KEYS do local v=redis.pcall('get',KEYS[i]) "
                      "if v==ARGV[1] then n=1 redis.call('del',KEYS[i]) "
                      "elseif type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) "
                      "then e=v end end return e or n",
                      "da14326bf607ac1dc20e1aa96b204e87677d044d"},
         [ANNOUNCED] = {"local n,e=0 for i=1,#KEYS do local v=redis.pcall('get',KEYS[i]) "
                        "if v==ARGV[1] then n=1 redis.call('del',KEYS[i]) "
                        "redis.pcall('publish','redlock:'..KEYS[i],'') "
                        "elseif type(v)=='table' and not string.find(v.err,'WRONGTYPE',1,true) "
                        "then e=v end end return e or n",
                        "a8c6293086a71651ea4eaaec47d7ae2e96b041b0"}},
    [RL_COMMAND_READ] =
        {[ONE] = {"local t=redis.call('type',KEYS[1]).ok if t=='none' then return false end "
                  "local p=string.format('%.0f ',redis.call('pttl',KEYS[1])) "
                  "if t=='string' then return p..'s'..redis.call('getrange',KEYS[1],0,105) end "
                  "return p..'t'..t",
                  "459a6f17e5ef77b303561f0e93163b4dc12bdbd1"}},
};

#define SCRIPT_MAX 720 /* the longest, and some */
#define FRAME_MAX 32   /* "$65536\r\n" and "\r\n" around an argument */

static_assert(RL_COMMAND_TOKEN_LEN == REDLOCK_TOKEN_LENGTH, "one length of a token");
static_assert(RL_SIGHTING_TEXT_MAX == 1 + 105, "the script of READ cuts there");

struct writer {
    char *at;
    size_t left;
    bool overflow;
};

static void put_bytes(struct writer *w, const void *bytes, size_t length) {
    if (length >= w->left) {
        w->overflow = true;
        return;
    }
    memcpy(w->at, bytes, length);
    w->at += length;
    w->left -= length;
}

/* "*5\r\n" or "$40\r\n" */
static void put_count(struct writer *w, char prefix, size_t count) {
    char digits[24];
    char *at = digits + sizeof digits;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    *--at = prefix;
    put_bytes(w, at, (size_t)(digits + sizeof digits - at));
}

static void put_bulk(struct writer *w, const void *bytes, size_t length) {
    put_count(w, '$', length);
    put_bytes(w, bytes, length);
    put_bytes(w, "\r\n", 2);
}

static void put_text(struct writer *w, const char *text) {
    put_bulk(w, text, strlen(text));
}

static void put_number(struct writer *w, uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    put_bulk(w, digits, (size_t)length);
}

static void put_value(struct writer *w, const struct rl_command *command) {
    const struct rl_target *target = command->target;
    size_t behind = target->holder_length > 0 ? 1 + (size_t)target->holder_length : 0;
    put_count(w, '$', RL_COMMAND_TOKEN_LEN + behind);
    put_bytes(w, command->token, RL_COMMAND_TOKEN_LEN);
    if (behind > 0) {
        put_bytes(w, ":", 1);
        put_bytes(w, target->holder, target->holder_length);
    }
    put_bytes(w, "\r\n", 2);
}

static void put_set(struct writer *w, const struct rl_command *command) {
    put_count(w, '*', 6);
    put_text(w, "SET");
    put_bulk(w, command->target->resources[0].data, command->target->resources[0].length);
    put_value(w, command);
    put_text(w, "NX");
    put_text(w, "PX");
    put_number(w, command->ttl_ms);
}

/* Which numbers stand behind the value. */
static bool has_ttl(enum rl_command_kind kind) {
    return kind == RL_COMMAND_SET_ALL || kind == RL_COMMAND_FENCE || kind == RL_COMMAND_EXTEND;
}

static bool has_counters(const struct rl_command *command) {
    return command->kind == RL_COMMAND_FENCE || command->kind == RL_COMMAND_RAISE ||
           (command->kind == RL_COMMAND_EXTEND && command->counter != 0);
}

bool rl_command_acquires(enum rl_command_kind kind) {
    return kind == RL_COMMAND_SET || kind == RL_COMMAND_SET_ALL || kind == RL_COMMAND_FENCE;
}

static const struct script *script_of(const struct rl_command *command) {
    enum variant variant = command->target->n == 1 ? ONE : SEVERAL;
    if (has_counters(command)) {
        variant = FENCED;
    } else if (command->kind == RL_COMMAND_RELEASE && command->announces &&
               command->target->notifies) {
        variant = ANNOUNCED;
    }
    return &scripts[command->kind][variant];
}

static void put_keys(struct writer *w, const struct rl_target *target, bool counters) {
    const size_t prefix = sizeof RL_COMMAND_COUNTER_PREFIX - 1;
    put_number(w, target->n * (counters ? 2 : 1));
    for (uint32_t i = 0; i < target->n; i++) {
        put_bulk(w, target->resources[i].data, target->resources[i].length);
    }
    for (uint32_t i = 0; counters && i < target->n; i++) {
        put_count(w, '$', prefix + target->resources[i].length);
        put_bytes(w, RL_COMMAND_COUNTER_PREFIX, prefix);
        put_bytes(w, target->resources[i].data, target->resources[i].length);
        put_bytes(w, "\r\n", 2);
    }
}

static void put_script(struct writer *w, const struct rl_command *command) {
    const struct script *script = script_of(command);
    const uint32_t n = command->target->n;
    const bool value = command->kind != RL_COMMAND_READ, ttl = has_ttl(command->kind),
               counters = has_counters(command);
    put_count(w, '*', 3 + (counters ? 2 : 1) * (size_t)n + value + ttl + (counters ? 2 : 0));
    put_text(w, command->whole_script ? "EVAL" : "EVALSHA");
    put_text(w, command->whole_script ? script->text : script->sha1);
    put_keys(w, command->target, counters);
    if (value) {
        put_value(w, command);
    }
    if (ttl) {
        put_number(w, command->ttl_ms);
    }
    if (counters) {
        put_number(w, command->counter);
        put_number(w, command->target->retention_ms);
    }
}

size_t rl_command_room(const struct rl_target *target) {
    size_t room = SCRIPT_MAX + RL_COMMAND_TOKEN_LEN + REDLOCK_HOLDER_MAX + 8 * FRAME_MAX;
    for (uint32_t i = 0; i < target->n; i++) { /* each, and its counter */
        room += 2 * (target->resources[i].length + FRAME_MAX) + sizeof RL_COMMAND_COUNTER_PREFIX;
    }
    return room;
}

size_t rl_command_format(char *wire, const struct rl_command *command) {
    const struct rl_target *target = command->target;
    assert(command->kind != RL_COMMAND_HANDSHAKE);
    assert(target->n >= 1 && target->n <= REDLOCK_RESOURCES_MAX);
    struct writer w = {wire, rl_command_room(target), false};
    bool is_of_one = command->kind == RL_COMMAND_SET || command->kind == RL_COMMAND_READ;
    assert(!is_of_one || target->n == 1);
    (void)is_of_one; /* without assertions */
    if (command->kind == RL_COMMAND_SET) {
        put_set(&w, command);
    } else {
        put_script(&w, command);
    }
    assert(!w.overflow);
    *w.at = '\0';
    return (size_t)(w.at - wire);
}

size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count) {
    assert(capacity > 0);
    struct writer w = {wire, capacity, false};
    put_count(&w, '*', count);
    for (size_t i = 0; i < count; i++) {
        put_text(&w, args[i]);
    }
    *w.at = '\0';
    return w.overflow ? 0 : (size_t)(w.at - wire);
}

const char *rl_command_script(enum rl_command_kind kind) {
    assert(kind == RL_COMMAND_EXTEND || kind == RL_COMMAND_RELEASE);
    return scripts[kind][ONE].text;
}

const char *rl_command_script_sha1(enum rl_command_kind kind) {
    assert(kind == RL_COMMAND_EXTEND || kind == RL_COMMAND_RELEASE);
    return scripts[kind][ONE].sha1;
}

const char *rl_command_script_at(size_t index, const char **sha1) {
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        for (size_t j = 0; j < VARIANTS; j++) {
            if (scripts[i][j].text != NULL && index-- == 0) {
                *sha1 = scripts[i][j].sha1;
                return scripts[i][j].text;
            }
        }
    }
    return NULL;
}
