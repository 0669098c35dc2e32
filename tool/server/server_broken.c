/* How the library's scripts are broken on purpose: for each way, a piece of a script's text and its
 * replacement. The text is that on the wire, without comments and indentation.
 *
 * Failure mode: a piece that no script contains ends the program, since its control would show
 * nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/scripts/scripts.h"
#include "server/server_parts.h"

struct change {
    const char *broken; /* one of breaks */
    const char *script; /* prefix of its name; NULL: any */
    const char *from, *to;
};

#define OWN "redis.call('pexpire', k, math.max(redis.call('pttl', k), ms))"
#define HELD "if x ~= v then"
#define RESERVED "if x and x ~= v and not (turn and x == 'reserved') then"
#define ABOVE "if not c or above[i] and not shared then return 0 end"
#define HEIR "local function heir(l, was, me, k)\nlocal m\n"
#define SET "redis.call('set', k, v, 'PX', ms)"

/* In the order of their bits. */
static const struct {
    const char *name, *what;
} breaks[] = {
    {"late-expiry", "a key lives 1 ms longer"},
    {"one-database", "SELECT selects nothing"},
    {"loaded-scripts", "knows every script by its hash"},
    {"messages", "messages are not delivered"},
    {"blind-release", "a release deletes any value"},
    {"extend-shortens", "an extension may shorten"},
    {"raise-blind", "a raise sets the counter without checking token or counter"},
    {"raise-larger", "a raise says yes although the counter is higher, and leaves it"},
    {"raise-anywhere", "a raise does not need the token"},
    {"counter-ttl", "the counter lives as long as the lock"},
    {"counter-left", "an extension, or a turn's key, does not renew the counter"},
    {"partial-set", "of several keys, sets those that are free"},
    {"take-any", "TAKE overwrites any key"},
    {"take-shortens", "TAKE sets the requested ttl on its own key"},
    {"take-keeps", "TAKE leaves the ttl of an existing key"},
    {"pass-blind", "a release passes on any value"},
    {"pass-twice", "a release passes on, and reports its counter without incrementing it"},
    {"serve-stays", "a served client stays in the line"},
    {"heir-untold", "a client that becomes first is not notified"},
    {"leave-blind", "LEAVE deletes the key, whatever its value"},
    {"join-anew", "JOIN again gives a waiter a new score"},
    {"join-passes", "JOIN says yes although others are ahead"},
    {"join-dead", "JOIN does not drop the dead and the left behind"},
    {"share-any", "a reader overwrites any key"},
    {"share-shortens", "the key of readers ends with the lease that was set last"},
    {"share-ends", "a reader's release deletes the key although others read"},
    {"upgrade-blind", "an upgrade ignores other readers"},
    {"extend-converts", "each extension of a reader makes the key shared"},
    {"intent-unheard", "an intent does not keep readers out"},
    {"intent-shortens", "renewing an intent shortens it"},
    {"intent-stays", "an intent never ends"},
    {"permits-counted", "TAKE sets any free slots, if there are enough"},
    {"permits-above", "slots above a lowered number are passed on"},
    {"permits-pass", "a client that wants several does not block those behind it"},
    {"permits-twice", "all served clients are notified of the same slots"},
    {"permits-served", "a notified client does not get its slots"},
    {"permits-lies", "names slots that do not exist"},
    {"permits-left", "LEAVE serves nobody behind, readers neither"},
};
#define N_BREAKS (sizeof breaks / sizeof breaks[0])

static const struct change changes[] = {
    {"extend-shortens", "extend", "math.max(redis.call('pttl', KEYS[i]), ms)", "ms"},
    {"extend-shortens", "extend", "math.max(ends[i], now + ms)", "now + ms"},
    {"blind-release", "release", "if redis.call('get', KEYS[1]) == ARGV[1] then",
     "if redis.call('get', KEYS[1]) then"},
    {"blind-release", "release_line", "redis.pcall('get', k) == v then",
     "redis.pcall('get', k) then"},
    {"blind-release", "release_permit", "local mine = x == v", "local mine = type(x) == 'string'"},
    {"blind-release", "release_line", "local mine, shared = x == v,",
     "local mine, shared = type(x) == 'string',"},
    {"raise-blind", "raise", HELD, "if shared and x ~= v then"},
    {"raise-blind", "raise", ABOVE, "if not c then return 0 end"},
    {"raise-larger", "raise", ABOVE, "if not c or above[i] and not shared then return 1 end"},
    {"raise-anywhere", "raise", HELD, "if shared and x ~= v then"},
    {"counter-ttl", NULL, "redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])",
     "redis.call('set', KEYS[n + i], s, 'PX', ARGV[2])"},
    {"counter-ttl", "extend", "raise(KEYS[i], f, ARGV[4])", "raise(KEYS[i], f, ms)"},
    {"counter-left", "extend", "if type(c) ~= 'table' then", "if false then"},
    {"counter-left", NULL, "if n and redis.pcall('set', c,", "if false and redis.pcall('set', c,"},
    {"partial-set", "take", RESERVED, "if x and x ~= v and turn and x ~= 'reserved' then"},
    {"partial-set", "take", SET,
     "if not turn then redis.call('set', k, v, 'PX', ms, 'NX') else " SET " end"},
    {"take-any", "take", RESERVED, "if x and x ~= v and not turn then"},
    {"take-shortens", "take", OWN, "redis.call('pexpire', k, ms)"},
    {"take-keeps", "take", OWN, ""},
    {"take-keeps", "take", SET,
     "local left = redis.call('pttl', k)\nredis.call('set', k, v, 'PX', left > 0 and left or ms)"},
    {"pass-blind", "release_line", "not tried and (mine or not x or x == 'reserved') and",
     "not tried and"},
    {"pass-twice", "release_line", "math.max(c + 1, f)", "math.max(c, f)"},
    {"serve-stays", NULL, "local m = redis.pcall('zpopmin', l)[1]", "local m = first(l)"},
    {"serve-stays", "join", "elseif free then\nredis.call('zrem', l, m)", "elseif free then"},
    {"heir-untold", NULL, HEIR "for i = 1, 16 do", HEIR "for i = 1, 0 do"},
    {"leave-blind", "leave", "if v == me then", "if type(v) == 'string' then"},
    {"join-anew", "join", "redis.call('zadd', l, 'nx', s, me)", "redis.call('zadd', l, s, me)"},
    {"join-passes", "join", "if not m or m == me then\nyes = free",
     "if free or not m or m == me then\nyes = free"},
    {"join-dead", "join", "if hears(m) then break end", "if true then break end"},
    {"join-dead", "join", "if string.sub(m, 1, 16) == string.sub(me, 1, 16) then", "if false then"},
    {"share-any", "take", "if x and not was[i] and not (turn and", "if false and not (turn and"},
    {"share-shortens", NULL,
     "local last = tonumber(redis.call('zrange', z, -1, -1, 'withscores')[2])", "local last = e"},
    {"share-ends", "release_line", "return tonumber(had) > now, not last[1] and not last.err",
     "return tonumber(had) > now, true"},
    {"upgrade-blind", "upgrade",
     "if is[i] and redis.call('zcount', readers(k), '(' .. num(now), '+inf') > 1 then",
     "if false then"},
    {"extend-converts", "extend", "if is[i] or mode == 'convert' then", "if true then"},
    {"intent-unheard", "take", "if type(left) == 'number' and left > 0 then", "if false then"},
    {"intent-shortens", NULL, "and left < tonumber(ms) then", "then"},
    {"intent-stays", NULL, "left < tonumber(ms) then", "true then"},
    {"intent-stays", NULL, "redis.pcall('set', q, '1', 'PX', ms)", "redis.pcall('set', q, '1')"},

    {"permits-counted", "take", "number, line = pk, l\n",
     "number, line = pk, l\n"
     "local free = {}\n"
     "for i = 0, tonumber(mode) - 1 do\n"
     "local x = redis.call('get', slot(i))\n"
     "if not x or x == 'reserved' or x == v then free[#free + 1] = slot(i) end\n"
     "end\n"
     "if #free < n then return '0 1 100' end\n"
     "for i = 1, n do KEYS[i] = free[i] end\n"},
    {"permits-counted", "release_permit", "if #KEYS == 1 and how == 'serve' and", "if false and"},
    {"permits-counted", "release_permit", "local was = how == 'serve' and first(l)",
     "for i = 0, 15 do\n"
     "if redis.call('get', slot(i)) == v then redis.call('del', slot(i)) end\n"
     "end\n"
     "local was = how == 'serve' and first(l)"},
    {"permits-above", NULL, "for i = 0, k - 1 do\nlocal j = (from + i) % k\nlocal w = v[j + 1]",
     "k = k + 1\n"
     "for i = 0, k - 1 do\nlocal j = (from + i) % k\n"
     "local w = v[j + 1] or redis.call('get', slot(j))"},
    {"permits-pass", NULL, "if not s and n <= k then break end",
     "if not s and n <= k then\n"
     "local all = redis.call('zrange', l, 1, -1)\n"
     "for j = 1, #all do\n"
     "if not s then s, m = pick(v, k, wants(all[j]), 0), all[j] end\n"
     "end\n"
     "if not s then break end\n"
     "end"},
    {"permits-twice", NULL, "local s = pick(v, k, n, 0)",
     "local s = told and #told == n and told or pick(v, k, n, 0)"},
    {"permits-twice", NULL, "told = true\n", "told = s\n"},
    {"permits-served", NULL, "give(v, s, m, ms)\ntold = true\n", "told = true\n"},
    {"permits-left", "leave", "if was or n == 1 then serve(v, k, ms) end", ""},
    {"permits-left", "leave", "elseif not first(l) and (", "elseif false and ("},
    {"permits-lies", NULL, "table.concat(s, ' ')",
     "string.gsub(table.concat(s, ' '), '%d+', function(i) return i + 16 end)"},
};
#define N_CHANGES (sizeof changes / sizeof changes[0])

const char *server_break_name(size_t i, const char **what) {
    if (i >= N_BREAKS) {
        return NULL;
    }
    *what = breaks[i].what;
    return breaks[i].name;
}

uint64_t server_break(const char *name) {
    for (size_t i = 0; i < N_BREAKS; i++) {
        if (strcmp(breaks[i].name, name) == 0) {
            return UINT64_C(1) << i;
        }
    }
    fprintf(stderr, "server_broken.c: no break is named %s\n", name);
    abort();
}

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

void break_script(const char *name, uint64_t broken, struct bytes *text) {
    demand_all();
    for (size_t i = 0; i < N_CHANGES; i++) {
        if ((server_break(changes[i].broken) & broken) != 0 && is_of(&changes[i], name)) {
            replace(text, changes[i].from, changes[i].to);
        }
    }
}
