/* How the library's scripts are broken on purpose: for each way, a piece of a script's text and its
 * replacement. The text is that on the wire, without comments and indentation.
 *
 * Failure mode: a piece that no script contains any more ends the program, since its control would
 * show nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/scripts/scripts.h"
#include "server/server_parts.h"

struct change {
    uint32_t broken, permits;
    const char *script; /* prefix of its name; NULL: any */
    const char *from, *to;
};

#define OWN "redis.call('pexpire', k, math.max(redis.call('pttl', k), ms))"
#define HELD "if x ~= v then"
#define RESERVED "if x and x ~= v and not (turn and x == 'reserved') then"
#define ABOVE "if not c or above[i] and not shared then return 0 end"
#define HEIR "local function heir(l, was, me, k)\nlocal m\n"
#define SET "redis.call('set', k, v, 'PX', ms)"

static const struct change changes[] = {
    {SERVER_BREAK_EXTEND_SHORTENS, 0, "extend", "math.max(redis.call('pttl', KEYS[i]), ms)", "ms"},
    {SERVER_BREAK_EXTEND_SHORTENS, 0, "extend", "math.max(ends[i], now + ms)", "now + ms"},
    {SERVER_BREAK_BLIND_RELEASE, 0, "release", "if redis.call('get', KEYS[1]) == ARGV[1] then",
     "if redis.call('get', KEYS[1]) then"},
    {SERVER_BREAK_BLIND_RELEASE, 0, "release_line", "redis.pcall('get', k) == v then",
     "redis.pcall('get', k) then"},
    {SERVER_BREAK_BLIND_RELEASE, 0, "release_permit", "local mine = x == v",
     "local mine = type(x) == 'string'"},
    {SERVER_BREAK_BLIND_RELEASE, 0, "release_line", "local mine, shared = x == v,",
     "local mine, shared = type(x) == 'string',"},
    {SERVER_BREAK_RAISE_BLIND, 0, "raise", HELD, "if shared and x ~= v then"},
    {SERVER_BREAK_RAISE_BLIND, 0, "raise", ABOVE, "if not c then return 0 end"},
    {SERVER_BREAK_RAISE_LARGER, 0, "raise", ABOVE,
     "if not c or above[i] and not shared then return 1 end"},
    {SERVER_BREAK_RAISE_ANYWHERE, 0, "raise", HELD, "if shared and x ~= v then"},
    {SERVER_BREAK_COUNTER_TTL, 0, NULL, "redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])",
     "redis.call('set', KEYS[n + i], s, 'PX', ARGV[2])"},
    {SERVER_BREAK_COUNTER_TTL, 0, "extend", "raise(KEYS[i], f, ARGV[4])", "raise(KEYS[i], f, ms)"},
    {SERVER_BREAK_COUNTER_LEFT, 0, "extend", "if type(c) ~= 'table' then", "if false then"},
    {SERVER_BREAK_COUNTER_LEFT, 0, NULL, "if n and redis.pcall('set', c,",
     "if false and redis.pcall('set', c,"},
    {SERVER_BREAK_PARTIAL_SET, 0, "take", RESERVED,
     "if x and x ~= v and turn and x ~= 'reserved' then"},
    {SERVER_BREAK_PARTIAL_SET, 0, "take", SET,
     "if not turn then redis.call('set', k, v, 'PX', ms, 'NX') else " SET " end"},
    {SERVER_BREAK_TAKE_ANY, 0, "take", RESERVED, "if x and x ~= v and not turn then"},
    {SERVER_BREAK_TAKE_SHORTENS, 0, "take", OWN, "redis.call('pexpire', k, ms)"},
    {SERVER_BREAK_TAKE_KEEPS, 0, "take", OWN, ""},
    {SERVER_BREAK_TAKE_KEEPS, 0, "take", SET,
     "local left = redis.call('pttl', k)\nredis.call('set', k, v, 'PX', left > 0 and left or ms)"},
    {SERVER_BREAK_PASS_BLIND, 0, "release_line",
     "not tried and (mine or not x or x == 'reserved') and", "not tried and"},
    {SERVER_BREAK_PASS_TWICE, 0, "release_line", "math.max(c + 1, f)", "math.max(c, f)"},
    {SERVER_BREAK_SERVE_STAYS, 0, NULL, "local m = redis.pcall('zpopmin', l)[1]",
     "local m = first(l)"},
    {SERVER_BREAK_SERVE_STAYS, 0, "join", "elseif free then\nredis.call('zrem', l, m)",
     "elseif free then"},
    {SERVER_BREAK_HEIR_UNTOLD, 0, NULL, HEIR "for i = 1, 16 do", HEIR "for i = 1, 0 do"},
    {SERVER_BREAK_LEAVE_BLIND, 0, "leave", "if v == me then", "if type(v) == 'string' then"},
    {SERVER_BREAK_JOIN_ANEW, 0, "join", "redis.call('zadd', l, 'nx', s, me)",
     "redis.call('zadd', l, s, me)"},
    {SERVER_BREAK_JOIN_PASSES, 0, "join", "if not m or m == me then\nyes = free",
     "if free or not m or m == me then\nyes = free"},
    {SERVER_BREAK_JOIN_DEAD, 0, "join", "if hears(m) then break end", "if true then break end"},
    {SERVER_BREAK_JOIN_DEAD, 0, "join", "if string.sub(m, 1, 16) == string.sub(me, 1, 16) then",
     "if false then"},
    {SERVER_BREAK_SHARE_ANY, 0, "take", "if x and not was[i] and not (turn and",
     "if false and not (turn and"},
    {SERVER_BREAK_SHARE_SHORTENS, 0, NULL,
     "local last = tonumber(redis.call('zrange', z, -1, -1, 'withscores')[2])", "local last = e"},
    {SERVER_BREAK_SHARE_ENDS, 0, "release_line",
     "return tonumber(had) > now, not last[1] and not last.err",
     "return tonumber(had) > now, true"},
    {SERVER_BREAK_UPGRADE_BLIND, 0, "upgrade",
     "if is[i] and redis.call('zcount', readers(k), '(' .. num(now), '+inf') > 1 then",
     "if false then"},
    {SERVER_BREAK_EXTEND_CONVERTS, 0, "extend", "if is[i] or mode == 'convert' then",
     "if true then"},
    {SERVER_BREAK_INTENT_UNHEARD, 0, "take", "if type(left) == 'number' and left > 0 then",
     "if false then"},
    {SERVER_BREAK_INTENT_SHORTENS, 0, NULL, "and left < tonumber(ms) then", "then"},
    {SERVER_BREAK_INTENT_STAYS, 0, NULL, "left < tonumber(ms) then", "true then"},
    {SERVER_BREAK_INTENT_STAYS, 0, NULL, "redis.pcall('set', q, '1', 'PX', ms)",
     "redis.pcall('set', q, '1')"},

    {0, SERVER_PERMITS_COUNTED, "take", "number, line = pk, l\n",
     "number, line = pk, l\n"
     "local free = {}\n"
     "for i = 0, tonumber(mode) - 1 do\n"
     "local x = redis.call('get', slot(i))\n"
     "if not x or x == 'reserved' or x == v then free[#free + 1] = slot(i) end\n"
     "end\n"
     "if #free < n then return '0 1 100' end\n"
     "for i = 1, n do KEYS[i] = free[i] end\n"},
    {0, SERVER_PERMITS_COUNTED, "release_permit", "if #KEYS == 1 and how == 'serve' and",
     "if false and"},
    {0, SERVER_PERMITS_COUNTED, "release_permit", "local was = how == 'serve' and first(l)",
     "for i = 0, 15 do\n"
     "if redis.call('get', slot(i)) == v then redis.call('del', slot(i)) end\n"
     "end\n"
     "local was = how == 'serve' and first(l)"},
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
    {0, SERVER_PERMITS_SERVED, NULL, "give(v, s, m, ms)\ntold = true\n", "told = true\n"},
    {0, SERVER_PERMITS_LEFT, "leave", "if was or n == 1 then serve(v, k, ms) end", ""},
    {0, SERVER_PERMITS_LEFT, "leave", "elseif not first(l) and (", "elseif false and ("},
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
