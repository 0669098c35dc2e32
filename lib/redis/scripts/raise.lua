-- Sets the counters to the fence, if the token is still there and no counter is above it.
--
-- KEYS: the n resources, then their n counters. ARGV: the value, the fence, the life of the
-- counters in ms. Returns 1; 0: the token is gone, or a counter is above the fence or is none.
local n, f = #KEYS / 2, tonumber(ARGV[2])
for i = 1, n do
    if redis.call('get', KEYS[i]) ~= ARGV[1] then return 0 end
end
for i = n + 1, 2 * n do
    local c = tonumber(redis.call('get', KEYS[i]) or 0)
    if not c or c > f then return 0 end
end
for i = n + 1, 2 * n do
    redis.call('set', KEYS[i], ARGV[2], 'PX', ARGV[3])
end
return 1
