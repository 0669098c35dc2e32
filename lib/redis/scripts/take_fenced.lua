-- With a fence: as take.lua, and raises the counters above what each of them was, as set_fenced.lua
-- does, in the same step.
--
-- KEYS: the n resources, then their n counters. ARGV: the value, its life in ms, the least fence
-- that is good, the life of the counters in ms, the place. Returns "1 W F FENCE", or "0 I LIFE".
--
-- Keys and counters are looked at before the first is set. A reservation has no fence: it is never
-- raised, so it counts nothing up.
-- include: part_count.lua
local n, g, p = #KEYS / 2, tonumber(ARGV[3]), ARGV[5]
-- include: part_may_take.lua
-- include: part_fence.lua
for i = 1, n do
    -- include: part_take_key.lua
    redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])
    count('libredlock:line:{' .. KEYS[i] .. '}')
    count('libredlock:line:shared:{' .. KEYS[i] .. '}')
end
return string.format('1 %.0f %.0f %s', w, f, s)
