-- Gives up each key that has the value, or the value's lease, and hands it on.
--
-- KEYS: the resources. ARGV: the value, for how long a key
-- is reserved in ms ("0": it is deleted), how, "1" if each key that was given up is announced on the
-- channel "redlock:" resource ("": it is not), the intent: for how many ms readers that come anew
-- are kept out where others read, since this writer waits for them; "0": they are no longer; "":
-- nothing; and "shared" for a reader. To pass a key on: the value that comes next ("": it is not
-- known), for how many ms it has the key, and with a fence the least that is good for it, and the
-- life of the counters in ms. Returns "R W F S T SECRET": R 1 if the value was under one of the keys, or a
-- lease of it lived; W wait in their lines, the first of them for F ms (0 and 0 if it does not
-- look); S 1 if somebody was served; T the node's TIME in us, and its secret (0: nothing was passed). Who has the turn,
-- or has just taken a key here, waits, too, and is counted: a client that holds at other nodes, and
-- hands the lock on or asks again, would never hear of it otherwise, and keep it waiting for ever.
-- (Not counted by a reader are other readers: they keep nobody waiting.)
--
-- A writer that knows who comes next passes the key on, on every node: the next value is written
-- into it with a life of its own, and its client is told "pass V TIME LIFE COUNTER MAC", from which it
-- knows that this node has voted for it, and since when; and who comes next, where it stood in line.
-- The counter is set with the key, to one more than it is and no less than the fence, so no number
-- is said twice (core/fence.h). The key ends so long after the TIME that is told, to the ms. Where nobody listens for the next value it goes on as if none were
-- known.
--
-- How: "" gives up: reserved for nobody, or deleted. "look" also counts who waits. "serve" hands on:
-- after a writer to all readers that wait, or else to the first writer who hears it; after the last
-- reader to a writer first. Nobody: the key is deleted.
-- That is done as well where there is no key, or one that is reserved for nobody: the release is
-- late, or is of an attempt that lost here. While others still read readers are let in, if no
-- writer waits. (Of several resources each may have another
-- home. Where nobody waits that is not known: what is reserved for nobody stays for who has his turn
-- at the home.)
--
-- What may be overwritten or deleted? A key with this value, which its owner has given up and never
-- sends again; this value's lease, and the key if no other lease lives; no key at all; and a
-- reservation for nobody. Never another token or lease.
--
-- A release must work where a reservation does not: reserved by pcall, and deleted if that fails (a
-- server that is full). So must the others if one key is of another type, which cannot have the
-- value; other errors are returned after the work is done. An announcement that a node forbids is
-- no error.
--
-- The first lines are the release of one key that looks at nobody, or that nobody waits for, which
-- is most of them: the same as what follows would do (but for a lease in the millisecond in which it
-- ends), without its functions, which take longer to make than to run.
local v, grace, how = ARGV[1], ARGV[2], ARGV[3] or ''
local announce, intent, mode = ARGV[4] or '', ARGV[5] or '', ARGV[6] or ''
local to, f, us, secret = ARGV[7] or '', ARGV[9] or '', '0', '0'
if #KEYS == 1 and announce == '' and intent == '' and to == '' then
    local k = KEYS[1]
    local l, q = 'libredlock:line:{' .. k .. '}', 'libredlock:line:shared:{' .. k .. '}'
    if mode ~= 'shared' then
        local plain = how == ''
        if (plain or how == 'serve' and redis.pcall('exists', l, q) == 0) and
            redis.pcall('get', k) == v then
            if not plain or grace == '0' or redis.pcall('set', k, 'reserved', 'PX', grace).err then
                redis.call('del', k)
            end
            return '1 0 0 0 0 0'
        end
    elseif how == 'serve' or how .. grace == '0' then
        local z = 'libredlock:readers:{' .. k .. '}'
        local m = redis.pcall('zrange', z, 0, 1)
        if m[1] == v and not m[2] and redis.pcall('get', k) == 'redlock:shared' and
            (how == '' or redis.pcall('exists', l, q) == 0) then
            redis.call('del', k, z)
            return '1 0 0 0 0 0'
        end
    end
end
-- include: part_line.lua
-- secret: the node's own, by which its clients know that a message is of this node, of this key, and
-- of its script. A number of 52 bits, for a day; "0": it cannot be kept, and messages are no votes.
local t, has = to ~= '' and redis.pcall('time') or {}
if t[2] then
    us = string.format('%.0f', t[1] * 1000000 + t[2])
    has = redis.pcall('get', 'libredlock:secret')
end
if type(has) == 'string' and #has < 17 and string.find(has, '^[1-9]%d*$') then
    secret = has
elseif has == false then
    has = string.format('%.0f', tonumber(string.sub(redis.sha1hex(v .. us), 1, 13), 16))
    if redis.pcall('set', 'libredlock:secret', has, 'PX', 86400000).ok then secret = has end
end
-- pass: writes the next value into the key, and tells it; whether it was heard. If not the key is
-- gone, or as it was. Who is first in line is taken out by ZPOPMIN, as by serve(): hand-overs are
-- counted by that (cli/top/view.c).
local function pass(k, l)
    if not hears(to) then return false end
    local s, at = '0', us
    if f ~= '' then
        local counter = 'libredlock:fence:' .. k
        local c = redis.pcall('get', counter)
        c = type(c) ~= 'table' and tonumber(c or 0)
        if not c or c < 0 or c >= 9007199254740991 then return false end
        s = string.format('%.0f', math.max(c + 1, f))
        if redis.pcall('set', counter, s, 'PX', ARGV[10]).err or
            redis.pcall('set', k, to, 'PX', ARGV[8]).err then
            return false
        end
    elseif not own(k, to, ARGV[8]) then
        return false
    end
    if t[2] then
        local ends = t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[8]
        if redis.pcall('pexpireat', k, string.format('%.0f', ends)) ~= 1 then at = '0' end
    end
    local is_first = first(l) == to and redis.pcall('zpopmin', l)[1]
    local is_home = is_first or redis.pcall('zrem', l, to) == 1
    local m = is_home and next_of(k)
    local said = string.sub(to, 1, 40) .. ' ' .. at .. ' ' .. ARGV[8] .. ' ' .. s
    local mac = redis.sha1hex(secret .. ' ' .. said .. ' ' .. k)
    local heard = redis.pcall('publish', 'libredlock:client:' .. string.sub(to, 1, 16),
        'pass ' .. said .. ' ' .. mac .. (m and ' ' .. m or ''))
    if is_home then heir(l) end
    if type(heard) == 'number' and heard > 0 then return true end
    redis.pcall('del', k)
end
local passes = to ~= '' and to ~= v
local tried = passes and announce .. intent == '' and redis.pcall('get', KEYS[1]) == v
if tried and pass(KEYS[1], 'libredlock:line:{' .. KEYS[1] .. '}') then
    return '1 0 0 1 ' .. us .. ' ' .. secret
end
-- include: part_count.lua
-- include: part_serve.lua
-- include: part_intent.lua
local given, served, others, e = 0, 0, 0
local reads, end_lease = mode == 'shared'
if reads then
    -- include: part_readers.lua
    -- end_lease: whether the value's lease lived, and whether it was the last; or, third, the
    -- error.
    end_lease = function(k)
        local z = readers(k)
        local had = redis.pcall('zscore', z, v)
        local n = type(had) == 'string' and redis.pcall('zrem', z, v) or had
        if type(n) ~= 'number' then return false, false, n end
        redis.pcall('zremrangebyscore', z, '-inf', num(now))
        local last = redis.pcall('zrange', z, -1, -1, 'withscores')
        if last[2] then
            local ends = num(tonumber(last[2]))
            redis.pcall('pexpireat', z, ends)
            redis.pcall('pexpireat', k, ends)
        end
        return tonumber(had) > now, not last[1] and not last.err
    end
end
for i = 1, #KEYS do
    local k = KEYS[i]
    local l, q = 'libredlock:line:{' .. k .. '}', 'libredlock:line:shared:{' .. k .. '}'
    local x = tried and i == 1 and v or redis.pcall('get', k)
    local mine, shared = x == v, x == 'redlock:shared'
    local lived, bad = mine, x
    if reads and shared then lived, mine, bad = end_lease(k) end
    if lived then given = 1 end
    if type(bad) == 'table' and not string.find(bad.err, 'WRONGTYPE', 1, true) then e = bad end
    local waits = how ~= ''
    local del, was, read = mine, waits and first(l), waits and first(q)
    if passes and not tried and (mine or not x or x == 'reserved') and
        pass(k, l) then
        served, del = 1, false
    elseif how == 'serve' and (mine or not x or x == 'reserved') then
        del, waits = mine or #KEYS == 1 and x, was or read
        if reads and was and serve(k, l, 250) or read and serve_shared(k, 250) or
            not reads and was and serve(k, l, 250) then
            served, del = 1, false
        end
        if was then heir(l, was, nil, k) end
    elseif how == 'serve' and reads and shared and not was then
        if serve_shared(k, 250, true) then served = 1 end
    elseif mine and grace ~= '0' then
        del = redis.pcall('set', k, 'reserved', 'PX', grace).err
    end
    if del then redis.call('del', k) end
    if mine and announce == '1' then redis.pcall('publish', 'redlock:' .. k, '') end
    if waits then
        count(l)
        if read then count(q) end
    end
    if intent == '0' then
        redis.pcall('del', 'libredlock:intent:{' .. k .. '}')
    elseif intent ~= '' and shared then
        note(k, intent)
    end
    if how ~= '' and type(x) == 'string' and not mine and x ~= 'reserved' and
        not (reads and (shared or x == 'reserved:shared')) then
        others = others + 1
    end
end
return e or string.format('%.0f %.0f %.0f %.0f %s %s', given, w + others, longest, served, us, secret)
