/* How the library's scripts are broken on purpose: for each way, what of a script's text is
 * replaced by what. It is the text on the wire, without comments and indentation.
 *
 * Failure mode: what is in no script any more ends the program, since a control would show
 * nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/scripts/scripts.h"
#include "server/server_parts.h"

struct change {
    uint32_t broken, permits;
    const char *script; /* as its name begins; NULL: any */
    const char *from, *to;
};

#define OWN_EACH "redis.call('pexpire', KEYS[i], math.max(redis.call('pttl', KEYS[i]), ARGV[2]))"
#define TOKEN_EACH "if redis.call('get', KEYS[i]) ~= ARGV[1] then return 0 end"
#define COUNTER "redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])"

static const struct change changes[] = {
    {SERVER_BREAK_EXTEND_SHORTENS, 0, "extend", "math.max(redis.call('pttl', KEYS[1]), ARGV[2])",
     "ARGV[2]"},
    {SERVER_BREAK_EXTEND_SHORTENS, 0, NULL, "math.max(redis.call('pttl', KEYS[i]), ARGV[2])",
     "ARGV[2]"},
    {SERVER_BREAK_EXTEND_SHORTENS, 0, "extend_shared", "math.max(ends[i], now + ms)", "now + ms"},
    {SERVER_BREAK_BLIND_RELEASE, 0, "release", "if redis.call('get', KEYS[1]) == ARGV[1] then",
     "if redis.call('get', KEYS[1]) then"},
    {SERVER_BREAK_BLIND_RELEASE, 0, "release", "local mine = v == ARGV[1]",
     "local mine = type(v) == 'string'"},
    {SERVER_BREAK_RAISE_BLIND, 0, "raise", TOKEN_EACH, ""},
    {SERVER_BREAK_RAISE_BLIND, 0, "raise", "if not c or c > f then return 0 end", ""},
    {SERVER_BREAK_RAISE_LARGER, 0, "raise", "if not c or c > f then return 0 end",
     "if not c or c > f then return 1 end"},
    {SERVER_BREAK_RAISE_ANYWHERE, 0, "raise", TOKEN_EACH, ""},
    {SERVER_BREAK_COUNTER_TTL, 0, NULL, COUNTER,
     "redis.call('set', KEYS[n + i], s, 'PX', ARGV[2])"},
    {SERVER_BREAK_COUNTER_TTL, 0, "extend_fenced", "'PX', ARGV[4])", "'PX', ARGV[2])"},
    {SERVER_BREAK_COUNTER_TTL, 0, "extend_fenced", "'pexpire', k, ARGV[4])",
     "'pexpire', k, ARGV[2])"},
    {SERVER_BREAK_COUNTER_TTL, 0, "extend_shared", "ARGV[5])", "ARGV[2])"},
    {SERVER_BREAK_COUNTER_LEFT, 0, "extend", "if type(c) ~= 'table' then", "if false then"},
    {SERVER_BREAK_PARTIAL_SET, 0, "set_", "if v and v ~= ARGV[1] then return -i end", ""},
    {SERVER_BREAK_TAKE_ANY, 0, "take", "if v and v ~= ARGV[1] and", "if false and"},
    {SERVER_BREAK_TAKE_SHORTENS, 0, "take", OWN_EACH, "redis.call('pexpire', KEYS[i], ARGV[2])"},
    {SERVER_BREAK_TAKE_LEAVES, 0, "take", OWN_EACH, ""},
    {SERVER_BREAK_TAKE_KEEPS, 0, "take", "redis.call('set', KEYS[i], ARGV[1], 'PX', ARGV[2])",
     "local left = redis.call('pttl', KEYS[i])\n"
     "redis.call('set', KEYS[i], ARGV[1], 'PX', left > 0 and left or ARGV[2])"},
    {SERVER_BREAK_TAKE_OTHERS, 0, "take", "local any = p == string.rep('*', 32)",
     "local any = true"},
    {SERVER_BREAK_SERVE_STAYS, 0, NULL, "local m = redis.pcall('zpopmin', l)[1]",
     "local m = first(l)"},
    {SERVER_BREAK_SERVE_STAYS, 0, "join", "elseif free then\nredis.call('zrem', l, m)",
     "elseif free then"},
    {SERVER_BREAK_HEIR_UNTOLD, 0, NULL, "local function heir(l, was, me)\nfor i = 1, 16 do",
     "local function heir(l, was, me)\nfor i = 1, 0 do"},
    {SERVER_BREAK_LEAVE_BLIND, 0, "leave", "if v == 'reserved:' .. p then",
     "if type(v) == 'string' then"},
    {SERVER_BREAK_JOIN_ANEW, 0, "join", "redis.call('zadd', l, 'nx', s, me)",
     "redis.call('zadd', l, s, me)"},
    {SERVER_BREAK_JOIN_PASSES, 0, "join", "if not m or m == me then\nyes = free",
     "if free or not m or m == me then\nyes = free"},
    {SERVER_BREAK_JOIN_DEAD, 0, "join",
     "if redis.pcall('pubsub', 'numsub', c)[2] ~= 0 then break end", "if true then break end"},
    {SERVER_BREAK_SHARE_ANY, 0, "share", "if x and not was[i] and (p == ''",
     "if false and (p == ''"},
    {SERVER_BREAK_SHARE_SHORTENS, 0, NULL,
     "local last = tonumber(redis.call('zrange', z, -1, -1, 'withscores')[2])", "local last = e"},
    {SERVER_BREAK_SHARE_ENDS, 0, "release_shared",
     "return tonumber(had) > now, not last[1] and not last.err",
     "return tonumber(had) > now, true"},
    {SERVER_BREAK_UPGRADE_BLIND, 0, "upgrade",
     "if is[i] and redis.call('zcount', readers(k), '(' .. num(now), '+inf') > 1 then",
     "if false then"},
    {SERVER_BREAK_EXTEND_CONVERTS, 0, "extend_shared", "if is[i] or ARGV[3] == '1' then",
     "if true then"},
    {SERVER_BREAK_INTENT_UNHEARD, 0, "share", "if type(left) == 'number' and left > 0 then",
     "if false then"},
    {SERVER_BREAK_INTENT_SHORTENS, 0, NULL, "and left < tonumber(ms) then", "then"},
    {SERVER_BREAK_INTENT_STAYS, 0, NULL, "left < tonumber(ms) then", "true then"},
    {SERVER_BREAK_INTENT_STAYS, 0, NULL, "redis.pcall('set', q, '1', 'PX', ms)",
     "redis.pcall('set', q, '1')"},

    {0, SERVER_PERMITS_COUNTED, "take_permit", "local n, p = #KEYS, ARGV[3]\n",
     "local n, p, free = #KEYS, ARGV[3], {}\n"
     "for i = 0, tonumber(ARGV[4]) - 1 do\n"
     "local v = redis.call('get', slot(i))\n"
     "if not v or v == 'reserved' or v == 'reserved:' .. p then free[#free + 1] = slot(i) end\n"
     "end\n"
     "if #free < n then return '0 1 100' end\n"
     "for i = 1, n do KEYS[i] = free[i] end\n"},
    {0, SERVER_PERMITS_COUNTED, "release_permit", "if #KEYS == 1 and ARGV[3] == 'serve' and",
     "if false and"},
    {0, SERVER_PERMITS_COUNTED, "release_permit", "local was = mode == 'serve' and first(l)",
     "for i = 0, 15 do\n"
     "if redis.call('get', slot(i)) == ARGV[1] then redis.call('del', slot(i)) end\n"
     "end\n"
     "local was = mode == 'serve' and first(l)"},
    {0, SERVER_PERMITS_ABOVE, NULL,
     "for i = 0, k - 1 do\nlocal j = (from + i) % k\nlocal w = v[j + 1]",
     "k = k + 1\n"
     "for i = 0, k - 1 do\nlocal j = (from + i) % k\n"
     "local w = v[j + 1] or redis.call('get', slot(j))"},
    {0, SERVER_PERMITS_PASS, NULL, "if not s and n <= k then break end",
     "if not s and n <= k then\n"
     "local all = redis.call('zrange', l, 1, -1)\n"
     "for j = 1, #all do\n"
     "if not s then s, m = pick(v, k, wants(all[j]), 0), all[j] end\n"
     "end\n"
     "if not s then break end\n"
     "end"},
    {0, SERVER_PERMITS_TWICE, NULL, "local s = pick(v, k, n, 0)",
     "local s = told and #told == n and told or pick(v, k, n, 0)"},
    {0, SERVER_PERMITS_TWICE, NULL, "told = true\n", "told = s\n"},
    {0, SERVER_PERMITS_SERVED, NULL, "reserve(v, s, string.sub(m, 1, 32), ms)", ""},
    {0, SERVER_PERMITS_LIES, NULL, "table.concat(s, ' ')",
     "string.gsub(table.concat(s, ' '), '%d+', function(i) return i + 16 end)"},
};
#define N_CHANGES (sizeof changes / sizeof changes[0])

static bool is_of(const struct change *change, const char *name) {
    return change->script == NULL || strncmp(name, change->script, strlen(change->script)) == 0;
}

static void demand_all(void) {
    static const char *const scripts[][2] = {
#define ROW(name, sha1, text) {name, text},
        RL_SCRIPTS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < N_CHANGES; i++) {
        bool is_there = false;
        for (size_t s = 0; s < sizeof scripts / sizeof scripts[0]; s++) {
            is_there = is_there || (is_of(&changes[i], scripts[s][0]) &&
                                    strstr(scripts[s][1], changes[i].from) != NULL);
        }
        if (!is_there) {
            fprintf(stderr, "server_broken.c: in no script: %s\n", changes[i].from);
            abort();
        }
    }
}

static void replace(struct bytes *text, const char *from, const char *to) {
    struct bytes changed = {NULL, 0, 0};
    const char *at = text->data, *found;
    while ((found = strstr(at, from)) != NULL) {
        bytes_append(&changed, at, (size_t)(found - at));
        bytes_append_text(&changed, to);
        at = found + strlen(from);
    }
    bytes_append_text(&changed, at);
    bytes_free(text);
    *text = changed;
}

void break_script(const char *name, uint32_t broken, uint32_t permits_broken, struct bytes *text) {
    demand_all();
    for (size_t i = 0; i < N_CHANGES; i++) {
        const bool is_wanted =
            (changes[i].broken & broken) != 0 || (changes[i].permits & permits_broken) != 0;
        if (is_wanted && is_of(&changes[i], name)) {
            replace(text, changes[i].from, changes[i].to);
        }
    }
}
