-- For n resources, whose counters follow them in KEYS: raises g, the least acceptable fence, above
-- every counter that is not below it. s: g in the format of a counter.
--
-- A counter ends at 2^53, where Lua's numbers cease to be exact. "%.0f", since tostring() would
-- write large numbers as 1e+15.
for i = n + 1, #KEYS do
    local c = redis.call('get', KEYS[i])
    if c then
        c = tonumber(c)
        if not c or c < 0 or c >= 9007199254740991 then
            return redis.error_reply('ERR ' .. KEYS[i] .. ' is not the counter of a fence')
        end
        if c >= g then g = c + 1 end
    end
end
local s = string.format('%.0f', g)
