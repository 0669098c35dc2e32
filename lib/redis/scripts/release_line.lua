-- Gives up each key that has the value, or the value's lease, and hands it over.
--
-- KEYS: the resources. ARGV: the value; how long a key is reserved in ms ("0": it is deleted); how;
-- "1" to announce each key that was given up on the channel "redlock:" resource ("": no
-- announcement); the intent: for how many ms new readers are kept out where others read, since this
-- writer waits for them ("0": no longer; "": unchanged); and "shared" for a reader. To pass a key:
-- the next value ("": unknown), for how many ms it has the key, and with a fence the least
-- acceptable one and the life of the counters in ms. Returns "R W F S T SECRET": R 1 if one of the
-- keys had the value, or the value's lease lived; W wait in their lines, the first of them for F ms
-- (0 and 0 without counting); S 1 if a waiter was served; T the node's TIME in us, and its secret
-- (0: nothing was passed). W includes a client that has the turn, or has just taken a key here:
-- otherwise a client that held at other nodes, and hands over among its own locks or asks again,
-- would never hear of it, and keep it waiting for ever. (A reader does not count other readers,
-- which keep nobody waiting.)
--
-- A writer that knows its successor passes the key on every node: the script writes the next value
-- into it with a life of its own, and sends the next client "pass V TIME LIFE COUNTER MAC", by
-- which that client knows that this node has voted for it, and since when; and, on the node where
-- it stood in line, its own successor. The counter is set with the key, to one more than before and
-- at least the fence, so that no number is used twice (core/fence.h). The key ends exactly LIFE ms
-- after TIME. If no client listens for the next value, the script goes on as if the successor were
-- unknown.
--
-- How: "" reserves the key for nobody, or deletes it. "look" also counts the waiters. "serve" hands
-- over: after a writer to all waiting readers, or else to the first writer that hears it; after the
-- last reader to a writer first. If nobody waits, the key is deleted. It also serves where there is
-- no key, or one that is "reserved", since the release may be late, or belong to an attempt that
-- lost here. While others still read, readers are let in if no writer waits. (Each of several
-- resources may have another home, so an empty line here proves nothing: a "reserved" key stays for
-- the client that has its turn at home.)
--
-- What may it overwrite or delete? A key with this value, which its owner has given up and never
-- sends again; this value's lease, and the key if no other lease lives; an absent key; and a
-- "reserved" key. Never another token or lease.
--
-- A release must work where a reservation does not: it reserves by pcall, and deletes if that fails
-- (a full server). If one key is of another type, which cannot have the value, the other keys must
-- still be released; other errors are returned after the work is done. A forbidden announcement is
-- not an error.
--
-- The first lines serve the usual case, one key that needs no count or has no waiters. They do what
-- the rest would (except for a lease in the millisecond in which it ends), without its functions,
-- which take longer to make than to run.
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
-- secret: the node's own, which proves to its clients that a message is from this node's script and
-- about this key. A number of 52 bits, kept for a day; "0": it cannot be kept, and messages are not
-- votes.
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
-- pass: writes the next value into the key and notifies its client. Returns whether the client
-- heard; if not, the key is deleted or unchanged. Removes the first in line by ZPOPMIN, as serve()
-- does, since cli/top/view.c counts hand-overs by that.
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
    -- end_lease: returns whether the value's lease lived, and whether it was the last; or, third,
    -- the error.
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
