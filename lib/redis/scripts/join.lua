-- The place gets its turn, or stays in the line of the resource. May be sent again and again.
--
-- KEYS: the resource. ARGV: the place, the holder's name ("": none), for how long it has waited and
-- the life of a reservation, both in ms. Returns "1": it is its turn, the key is reserved for it
-- and it is out of the line; or "0 RANK LIFE": so many are before it, and the key's life in ms (-1:
-- for ever; 0: there is no key; where others read it at least 1000, since that is not a reservation
-- which soon ends).
--
-- Can it take a lock away? No: it writes to the key only where there is none, or a reservation for
-- nobody or for this place. A key of another type is an error, before anything is written.
--
-- Who is first of all, by its score, is kept as it came: an answer that was lost and a JOIN that
-- comes twice change nothing. Places before it whose clients are gone are dropped, at most 16, and
-- those that this client has left where its LEAVE did not arrive. If the key is free and one before
-- it lives, that one is served; and before all writers readers that have waited longer.
-- include: part_line.lua
-- include: part_serve.lua
local k, p, ms = KEYS[1], ARGV[1], ARGV[4]
local l = 'libredlock:line:{' .. k .. '}'
local me = ARGV[2] == '' and p or p .. ':' .. ARGV[2]
local v = redis.call('get', k)
local was, t = first(l), redis.call('time')
local yes = v == 'reserved:' .. p
if not yes then
    local s = string.format('%.0f', t[1] * 1000000 + t[2] - ARGV[3] * 1000)
    redis.call('zadd', l, 'nx', s, me)
    redis.call('pexpire', l, 600000)
    local free = not v or v == 'reserved'
    local q = 'libredlock:line:shared:{' .. k .. '}'
    local r = free and redis.pcall('zrange', q, 0, 0, 'withscores')
    if r and r[2] then
        local w = redis.pcall('zrange', l, 0, 0, 'withscores')
        if w[2] and tonumber(r[2]) < tonumber(w[2]) and serve_shared(k, ms) then free = false end
    end
    for i = 1, 16 do
        local m = first(l)
        if not m or m == me then
            yes = free
            break
        end
        if string.sub(m, 1, 16) == string.sub(p, 1, 16) then
            redis.call('zrem', l, m)
        elseif free then
            redis.call('zrem', l, m)
            if tell(m, 'turn') then
                redis.call('set', k, 'reserved:' .. string.sub(m, 1, 32), 'PX', ms)
                break
            end
        else
            local c = 'libredlock:client:' .. string.sub(m, 1, 16)
            if redis.pcall('pubsub', 'numsub', c)[2] ~= 0 then break end
            redis.call('zrem', l, m)
        end
    end
end
if yes then
    redis.call('set', k, 'reserved:' .. p, 'PX', ms)
    redis.call('zrem', l, me)
end
heir(l, was, me)
if yes then return '1' end
local left = redis.call('pttl', k)
if left == -2 then left = 0 end
if v == 'redlock:shared' then left = math.max(left, 1000) end
return string.format('0 %.0f %.0f', redis.call('zrank', l, me) or 0, left)
