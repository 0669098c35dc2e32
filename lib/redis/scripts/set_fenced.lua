-- With a fence: sets every key where nothing is under any of them, and raises their counters above
-- what each of them was, in the same step.
--
-- KEYS: the n resources, then their n counters. ARGV: the value, its life in ms, the least fence
-- that is good, the life of the counters in ms. Returns the fence; -I: resource number I, counted
-- from 1, is the first that is held.
local n, g = #KEYS / 2, tonumber(ARGV[3])
for i = 1, n do
    local v = redis.call('get', KEYS[i])
    if v and v ~= ARGV[1] then return -i end
end
-- include: part_fence.lua
for i = 1, n do
    redis.call('set', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
    redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])
end
return g
