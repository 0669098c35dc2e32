-- Votes for a lock: sets every key if all may be taken, or no key at all.
--
-- KEYS: the resources, or the slots of a semaphore; with a fence their counters follow. ARGV: the
-- value, its life in ms, the least acceptable fence ("": no fence), the life of the counters in ms,
-- "1" if it has its turn ("": it has not), how long readers shut the door behind them in ms ("":
-- not at all), and the mode: "" exclusive, "shared", or the number of permits of a semaphore,
-- followed by its resource. Returns "1 W F FENCE": W wait in the lines of these resources here, the
-- first of them for F ms (0 and 0 for a writer without a turn); or "0 I LIFE": the first key that
-- refuses, counted from 1, and its life in ms (-1: it never ends); or the error PERMITS: this node
-- keeps another number, and slots are in use.
--
-- It is a vote, as SET NX is. What may it overwrite? In its turn a reservation, on which nobody
-- relies: a release wrote it in place of a token that its owner had given up. A reservation is
-- "reserved", or for readers "reserved:shared"; a token begins with hex digits. And its own key,
-- which home or the previous holder has written for it, and whose life it prolongs and never
-- shortens: a vote lasts as long as it is counted on.
--
-- A reader's vote is a lease, which refuses writers but not readers (part_readers.lua). An intent
-- keeps out readers that have no turn and no lease yet, or a stream of them would let no writer in;
-- this affects only order, so it may be forbidden or lost. A token refuses a reader, even its own
-- reader: a writer that becomes a reader uses extend.lua.
--
-- Can it stop halfway? No: it checks all keys and counters before it sets the first, so an error
-- (WRONGTYPE) leaves nothing set. A server that may not write, or is full, fails at the first
-- command that writes. The counting afterwards raises no error.
--
-- A writer's fence is one more than every counter. A reader's is the largest counter: no smaller
-- than the fence of any writer before it, and smaller than the next writer's. A reservation has no
-- fence.
--
-- The first lines serve the usual case, the first reader without a fence where no writer waits:
-- they do what the rest would, in half the commands and without its functions.
local v, ms, f = ARGV[1], ARGV[2], ARGV[3] or ''
local turn, shut, mode = ARGV[5] == '1', ARGV[6] or '', ARGV[7] or ''
if mode == 'shared' and #KEYS == 1 and not turn and shut == '' then
    local k = KEYS[1]
    local z = 'libredlock:readers:{' .. k .. '}'
    if redis.pcall('exists', k, z, 'libredlock:intent:{' .. k .. '}',
        'libredlock:line:{' .. k .. '}') == 0 then
        local c = redis.call('time')
        local till = string.format('%.0f', c[1] * 1000 + math.floor(c[2] / 1000) + ms)
        redis.call('zadd', z, till, v)
        redis.call('pexpireat', z, till)
        redis.call('set', k, 'redlock:shared', 'PX', ms)
        redis.call('pexpireat', k, till)
        return '1 0 0 0'
    end
end
local n = f == '' and #KEYS or #KEYS / 2
if mode == 'shared' then
    -- include: part_count.lua
    -- include: part_readers.lua
    -- include: part_hold.lua
    -- include: part_intent.lua
    local was, ends, g = {}, {}, 0
    for i = 1, n do
        local k = KEYS[i]
        local x = redis.call('get', k)
        was[i] = x == 'redlock:shared'
        if x and not was[i] and not (turn and (x == 'reserved' or x == 'reserved:shared')) then
            return string.format('0 %.0f %.0f', i, redis.call('pttl', k))
        end
        ends[i] = was[i] and lease(k, v)
        if not turn and not ends[i] then
            local left = redis.pcall('pttl', 'libredlock:intent:{' .. k .. '}')
            if type(left) == 'number' and left > 0 then
                return string.format('0 %.0f %.0f', i, left)
            end
        end
    end
    for i = n + 1, #KEYS do
        local c = tonumber(redis.call('get', KEYS[i]) or f)
        if not c or c < 0 or c >= 9007199254740991 then
            return redis.error_reply('ERR ' .. KEYS[i] .. ' is not the counter of a fence')
        end
        g = math.max(g, c)
    end
    for i = 1, n do
        hold(KEYS[i], v, math.max(ends[i] or 0, now + ms), was[i])
        if shut ~= '' then note(KEYS[i], shut) end
        if f ~= '' then redis.call('set', KEYS[n + i], num(g), 'PX', ARGV[4]) end
        count('libredlock:line:{' .. KEYS[i] .. '}')
    end
    return string.format('1 %.0f %.0f %.0f', w, longest, g)
end
local number, line
if mode ~= '' then
    -- include: part_permit.lua
    local e = disagree(tonumber(mode))
    if e then return e end
    number, line = pk, l
end
local owns = false
for i = 1, n do
    local x = redis.call('get', KEYS[i])
    owns = owns or x == v
    if x and x ~= v and not (turn and x == 'reserved') then
        return string.format('0 %.0f %.0f', i, redis.call('pttl', KEYS[i]))
    end
end
local g = tonumber(f) or 0
-- include: part_fence.lua
for i = 1, n do
    local k = KEYS[i]
    if owns and redis.call('get', k) == v then
        redis.call('pexpire', k, math.max(redis.call('pttl', k), ms))
    else
        redis.call('set', k, v, 'PX', ms)
    end
    if f ~= '' then redis.call('set', KEYS[n + i], s, 'PX', ARGV[4]) end
end
if line then redis.call('set', number, mode, 'PX', 86400000) end
if not turn then return '1 0 0 ' .. s end
-- include: part_count.lua
if line then
    count(line)
else
    for i = 1, n do
        count('libredlock:line:{' .. KEYS[i] .. '}')
        count('libredlock:line:shared:{' .. KEYS[i] .. '}')
    end
end
return string.format('1 %.0f %.0f %s', w, longest, s)
