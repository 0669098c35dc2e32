-- With a fence: sets every key where nothing is under any of them, and raises their counters above
-- what each of them was, in the same step.
--
-- KEYS: the n resources, then their n counters. ARGV: the value, its life in ms, the least fence
-- that is good, the life of the counters in ms. Returns the fence; -I: resource number I, counted
-- from 1, is the first that is held.
--
-- A counter ends at 2^53, up to where Lua's numbers are exact. "%.0f", since tostring() would write
-- large ones as 1e+15.
local n, f = #KEYS / 2, tonumber(ARGV[3])
for i = 1, n do
    local v = redis.call('get', KEYS[i])
    if v and v ~= ARGV[1] then return -i end
end
for i = n + 1, 2 * n do
    local c = redis.call('get', KEYS[i])
    if c then
        c = tonumber(c)
        if not c or c < 0 or c >= 9007199254740991 then
            return redis.error_reply('ERR ' .. KEYS[i] .. ' is not the counter of a fence')
        end
        if c >= f then f = c + 1 end
    end
end
local s = string.format('%.0f', f)
for i = 1, n do
    redis.call('set', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
    redis.call('set', KEYS[n + i], s, 'PX', ARGV[4])
end
return f
