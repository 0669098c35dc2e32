-- Sets the counters to the fence, if every key still has the value.
--
-- KEYS: the resources or slots, then their counters. ARGV: the value, the fence, the life of the
-- counters in ms, and for a reader the mode "shared". Returns 1; 0: the token is gone, a counter is
-- not a number, or for a writer a counter is above the fence.
--
-- For a reader a counter above the fence stays, and is acceptable: another reader has raised it.
-- (No writer has, since this reader holds; and a reader's fence need only be below the next
-- writer's.) Only readers need TIME: users that neither read nor wait may lack the right.
local n, v, f, shared = #KEYS / 2, ARGV[1], tonumber(ARGV[2]), ARGV[4] == 'shared'
for i = 1, n do
    local x = redis.call('get', KEYS[i])
    if x ~= v then
        if not shared or x ~= 'redlock:shared' then return 0 end
        -- include: part_readers.lua
        if not lease(KEYS[i], v) then return 0 end
    end
end
local above = {}
for i = n + 1, #KEYS do
    local c = tonumber(redis.call('get', KEYS[i]) or 0)
    above[i] = c and c > f
    if not c or above[i] and not shared then return 0 end
end
for i = n + 1, #KEYS do
    if above[i] then
        redis.call('pexpire', KEYS[i], ARGV[3])
    else
        redis.call('set', KEYS[i], ARGV[2], 'PX', ARGV[3])
    end
end
return 1
