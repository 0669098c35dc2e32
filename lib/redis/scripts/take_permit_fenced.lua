-- With a fence: as take_permit.lua, and raises the slots' counters above what each of them was, as
-- take_fenced.lua does, in the same step.
--
-- KEYS: the n slots, then their n counters. ARGV: the value, its life in ms, the least fence that is
-- good, the life of the counters in ms, the place, how many permits there are, the resource. Returns
-- "1 W F FENCE", "0 I LIFE", or the error PERMITS.
--
-- Keys and counters are looked at before the first is set.
-- include: part_permit.lua
-- include: part_count.lua
local n, g, p = #KEYS / 2, tonumber(ARGV[3]), ARGV[5]
local e = disagree(tonumber(ARGV[6]))
if e then return e end
-- include: part_may_take.lua
-- include: part_fence.lua
for i = 1, n do
    -- include: part_take_key.lua
    redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])
end
keep(ARGV[6])
count(l)
return string.format('1 %.0f %.0f %s', w, f, s)
