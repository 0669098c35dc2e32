-- Which slots of a semaphore are in use, and by whom, one by one; changes nothing.
--
-- KEYS: the permits' key. ARGV: the number of a slot, or "" for what there is of all; the resource.
-- Of all it returns nil: nothing; or "K N ": how many permits there are as this node keeps it (0:
-- it does not), and how many slots are to be looked at: those, and as many more as one that is
-- above a number that was lowered needs. Of one it returns nil: it is free; or "LEFT FENCE VALUE":
-- for how long it lives in ms (0: for ever), its counter (0: none), and the value, cut at 106
-- bytes as in read.lua. (With at most 10 and 16 digits before it all fits into a reply.)
--
-- Two steps, since what all slots have does not fit into a reply; and slot by slot, so that who
-- asks all nodes gets the same slot of each.
-- include: part_permit.lua
if ARGV[1] == '' then
    local k, n = math.max(kept(0), 0), 1024
    local above = redis.call('exists', slots(n))
    if k > 0 then above = above - redis.call('exists', slots(k)) end
    if above == 0 then n = k end
    while n > k and redis.call('exists', slot(n - 1)) == 0 do n = n - 1 end
    if n == 0 then return false end
    return string.format('%.0f %.0f ', k, n)
end
local s = slot(ARGV[1])
local t = redis.call('pttl', s)
if t == -2 then return false end
local f = tonumber(redis.pcall('get', 'libredlock:fence:' .. s))
if not (f and f >= 0 and f < 1e16) then f = 0 end
local v = redis.pcall('getrange', s, 0, 105)
if type(v) ~= 'string' then v = '(not a string)' end
t = t < 0 and 0 or math.max(1, math.min(t, 4294967295))
return string.format('%.0f %.0f ', t, f) .. v
