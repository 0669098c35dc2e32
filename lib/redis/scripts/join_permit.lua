-- The place gets slots of a semaphore, or stays in its line. May be sent again and again.
--
-- KEYS: the permits' key. ARGV: the place, the holder's name ("": none), for how long it has waited
-- and the life of a reservation, both in ms; how many permits there are; the slot from which on to
-- look for free ones ("": those that are reserved for it already, or any); "1": it only peeks, it
-- will hear nothing and does not stay in line; the resource. Returns "1 S1 .. Sm": its turn, these are reserved
-- for it, and it is out of the line; "0 RANK LIFE": so many are before it, and the life in ms of
-- the slot that ends first (-1: none ends; 0: there are free ones); or the error PERMITS: another
-- number is kept here, and slots are in use.
--
-- Can it take a slot away? No: it writes to a slot only where there is nothing, or a reservation
-- for nobody or for this place.
--
-- As in join.lua: who is first is kept as it came, the dead before it are dropped, at most 16, and
-- those of its own client that want as many and were left behind (a peek leaves them: another lock
-- of its client may stand there); who can be served before it is.
-- Asked to look elsewhere it gives up what is reserved for it: other nodes have refused that.
-- include: part_line.lua
-- include: part_permit.lua
-- include: part_permit_serve.lua
local p, ms, k = ARGV[1], ARGV[4], tonumber(ARGV[5])
local me = ARGV[2] == '' and p or p .. ':' .. ARGV[2]
local n, mine = wants(p), 'reserved:' .. p
local e = disagree(k)
if e then
    redis.pcall('zrem', l, me)
    return e
end
keep(ARGV[5])
local v, was, s = redis.call('mget', slots(k)), first(l), {}
for i = 1, k do
    if ARGV[6] == '' and v[i] == mine then s[#s + 1] = i - 1 end
end
if #s ~= n then
    s = nil
    if ARGV[7] == '' then
        local t = redis.call('time')
        local score = string.format('%.0f', t[1] * 1000000 + t[2] - ARGV[3] * 1000)
        redis.call('zadd', l, 'nx', score, me)
        redis.call('pexpire', l, 600000)
    end
    for i = 1, 16 do
        serve(v, k, ms, me)
        local m = first(l)
        if not m or m == me then
            s = pick(v, k, n, tonumber(ARGV[6]) or 0, mine)
            break
        end
        local c = 'libredlock:client:' .. string.sub(m, 1, 16)
        if (ARGV[7] ~= '' or string.sub(m, 1, 18) ~= string.sub(p, 1, 18)) and
            redis.pcall('pubsub', 'numsub', c)[2] ~= 0 then
            break
        end
        redis.call('zrem', l, m)
    end
end
if s then
    for i = 1, k do
        if v[i] == mine then
            redis.call('del', slot(i - 1))
            v[i] = false
        end
    end
    reserve(v, s, p, ms)
    redis.call('zrem', l, me)
    if ARGV[6] ~= '' then serve(v, k, ms) end
end
heir(l, was, me)
if s then return '1 ' .. table.concat(s, ' ') end
local left = 0
if not pick(v, k, n, 0, mine) then
    left = -1
    for i = 1, k do
        local t = redis.call('pttl', slot(i - 1))
        if t >= 0 and (left < 0 or t < left) then left = t end
    end
end
local rank = redis.call('zrank', l, me) or redis.call('zcard', l)
return string.format('0 %.0f %.0f', rank, left)
