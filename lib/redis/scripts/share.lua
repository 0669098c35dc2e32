-- Any number of resources: a lease to read each that is free or read by others; or none at all.
--
-- KEYS: the n resources, and with a fence their n counters. ARGV: the value, the lease's life in
-- ms, the place ("": none), for how long to shut the door behind it in ms ("0": not at all); with a
-- fence the least that is good, and the life of the counters in ms. Returns "1 W F FENCE": so many
-- writers wait in the lines of these resources here, the first of them for F ms, and the fence (0:
-- without); or "0 I LIFE": the first resource that refuses, counted from 1, and in how many ms it
-- may do so no more (-1: for ever).
--
-- It is a vote, and a reader's: it holds writers back, and no readers. What may it overwrite? What
-- TAKE may, and for the same reason (take.lua): a reservation, by who has a place. One for readers
-- is for any of them. A token refuses, also the one with this value: a writer that becomes a reader
-- asks extend_shared.lua. That the vote stands as long as it is counted on: part_readers.lua.
--
-- An intent keeps out who has no place and no lease yet: writers wait, and a stream of readers
-- would let none of them in. That is order and not safety, so it may be forbidden or lost. The door
-- is shut by readers whose turn it is, on every node: they are the last for now.
--
-- A reader's fence is not counted up: it is the largest counter, where one is missing at least the
-- least that is good. So it is no smaller than the fence of any writer before it, and the next
-- writer's, which is counted up from there, is larger.
--
-- The first lines are for the first reader where no writer waits, without a fence, which is most of
-- them: they do what follows would do, and answer the same, with half of the commands and without
-- its functions, which take longer to make than to run.
if #KEYS == 1 and ARGV[3] == '' and ARGV[4] == '0' then
    local k = KEYS[1]
    local z = 'libredlock:readers:{' .. k .. '}'
    if redis.pcall('exists', k, z, 'libredlock:intent:{' .. k .. '}',
        'libredlock:line:{' .. k .. '}') == 0 then
        local c = redis.call('time')
        local till = string.format('%.0f', c[1] * 1000 + math.floor(c[2] / 1000) + ARGV[2])
        redis.call('zadd', z, till, ARGV[1])
        redis.call('pexpireat', z, till)
        redis.call('set', k, 'redlock:shared', 'PX', ARGV[2])
        redis.call('pexpireat', k, till)
        return '1 0 0 0'
    end
end
-- include: part_readers.lua
-- include: part_lease.lua
-- include: part_hold.lua
-- include: part_intent.lua
-- include: part_count.lua
local n = ARGV[5] and #KEYS / 2 or #KEYS
local v, ms, p = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local any, was, ends, g = p == string.rep('*', 32), {}, {}, 0
for i = 1, n do
    local k = KEYS[i]
    local x = redis.call('get', k)
    was[i] = x == 'redlock:shared'
    if x and not was[i] and (p == '' or x ~= 'reserved' and x ~= 'reserved:shared' and
        x ~= 'reserved:' .. p and not (any and string.sub(x, 1, 9) == 'reserved:')) then
        return string.format('0 %.0f %.0f', i, redis.call('pttl', k))
    end
    ends[i] = was[i] and lease(k, v)
    if p == '' and not ends[i] then
        local left = redis.pcall('pttl', 'libredlock:intent:{' .. k .. '}')
        if type(left) == 'number' and left > 0 then
            return string.format('0 %.0f %.0f', i, left)
        end
    end
end
for i = n + 1, #KEYS do
    local c = tonumber(redis.call('get', KEYS[i]) or ARGV[5])
    if not c or c < 0 or c >= 9007199254740991 then
        return redis.error_reply('ERR ' .. KEYS[i] .. ' is not the counter of a fence')
    end
    g = math.max(g, c)
end
for i = 1, n do
    hold(KEYS[i], v, math.max(ends[i] or 0, now + ms), was[i])
    if ARGV[4] ~= '0' then note(KEYS[i], ARGV[4]) end
    if ARGV[5] then redis.call('set', KEYS[n + i], num(g), 'PX', ARGV[6]) end
    count('libredlock:line:{' .. KEYS[i] .. '}')
end
return string.format('1 %.0f %.0f %.0f', w, f, g)
