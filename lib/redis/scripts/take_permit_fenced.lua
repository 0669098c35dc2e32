-- With a fence: as take_permit.lua, and raises the slots' counters above what each of them was, as
-- take_fenced.lua does, in the same step.
--
-- KEYS: the n slots, then their n counters. ARGV: the value, its life in ms, the least fence that is
-- good, the life of the counters in ms, the place, how many permits there are, the resource. Returns "1 W F FENCE", "0 I LIFE", or the error PERMITS.
--
-- Keys and counters are looked at before the first is set.
-- include: part_permit.lua
-- include: part_count.lua
local n, g = #KEYS / 2, tonumber(ARGV[3])
local any = ARGV[5] == string.rep('*', 32)
local e = disagree(tonumber(ARGV[6]))
if e then return e end
for i = 1, n do
    local v = redis.call('get', KEYS[i])
    if v and v ~= ARGV[1] and v ~= 'reserved' and v ~= 'reserved:' .. ARGV[5] and
        not (any and string.sub(v, 1, 9) == 'reserved:') then
        return string.format('0 %.0f %.0f', i, redis.call('pttl', KEYS[i]))
    end
end
-- include: part_fence.lua
for i = 1, n do
    if redis.call('get', KEYS[i]) == ARGV[1] then
        redis.call('pexpire', KEYS[i], math.max(redis.call('pttl', KEYS[i]), ARGV[2]))
    else
        redis.call('set', KEYS[i], ARGV[1], 'PX', ARGV[2])
    end
    redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])
end
keep(ARGV[6])
count(l)
return string.format('1 %.0f %.0f %s', w, f, s)
