-- A reader becomes the writer of all its resources, if nobody else reads any of them; or of none.
--
-- KEYS: the n resources, and with a fence their n counters. ARGV: the value, the life in ms; with a
-- fence the least acceptable one, and the life of the counters in ms. Returns "1 0 0 FENCE" (0:
-- without); or "0 1 LIFE": others read, for LIFE ms more if they do not extend; "0 2 LIFE": and one
-- of them has asked for an upgrade too, so each would wait for the other; "0 3 0": the lease is
-- gone.
--
-- It is a vote, as TAKE is: it finds no lease but its own, and from then on the token refuses all
-- others. It shortens nothing: a lease of this value becomes the key, which lives at least as long.
-- If the round is not won, this vote also serves the reader (extend.lua).
--
-- A new fence is counted up, as in TAKE: a reader's fence is shared with other readers, and with
-- the last writer before them.
-- include: part_readers.lua
local n, v, g, code = ARGV[3] and #KEYS / 2 or #KEYS, ARGV[1], tonumber(ARGV[3] or 0), 0
local is, life = {}, 0
for i = 1, n do
    local x = redis.call('get', KEYS[i])
    is[i] = x == 'redlock:shared'
    if x ~= v and not (is[i] and lease(KEYS[i], v)) then return '0 3 0' end
end
for i = 1, n do
    local k = KEYS[i]
    if is[i] and redis.call('zcount', readers(k), '(' .. num(now), '+inf') > 1 then
        local u = 'libredlock:upgrade:{' .. k .. '}'
        local o = redis.pcall('get', u)
        if code == 0 then code, life = 1, redis.call('pttl', k) end
        if type(o) == 'string' and o ~= v and lease(k, o) then
            code = 2
        elseif type(o) ~= 'table' then
            redis.pcall('set', u, v, 'PX', 5000)
        end
    end
end
if code > 0 then return string.format('0 %.0f %.0f', code, life) end
-- include: part_fence.lua
for i = 1, n do
    local k = KEYS[i]
    redis.call('set', k, v, 'PX', num(math.max(redis.call('pttl', k), ARGV[2])))
    if is[i] then
        redis.call('del', readers(k))
        redis.pcall('del', 'libredlock:intent:{' .. k .. '}')
        redis.pcall('del', 'libredlock:upgrade:{' .. k .. '}')
    end
    if ARGV[3] then redis.call('set', KEYS[n + i], s, 'PX', ARGV[4]) end
end
return string.format('1 0 0 %s', s)
