-- Reports the slots of a semaphore that are in use, and their holders, one by one; changes nothing.
--
-- KEYS: the permits' key. ARGV: the number of a slot, or "" for an overview; the resource. An
-- overview is nil: nothing in use; or "K N ": the number of permits that this node keeps (0: none),
-- and how many slots to look at: at least those, and more if a slot above a lowered number is in
-- use. A slot is nil: free; or "LEFT FENCE VALUE": its life in ms (0: for ever), its counter (0:
-- none), and the value, cut at 106 bytes as in read.lua. (With at most 10 and 16 digits before it,
-- all fits into a reply.)
--
-- Two steps, since all slots do not fit into one reply; and slot by slot, so that a client that
-- asks all nodes gets the same slot from each.
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
