-- Of n resources, whose counters are behind them in KEYS: g, the least fence that is good, becomes
-- one more than each counter that is not below it. s: g as a counter is written.
--
-- A counter ends at 2^53, up to where Lua's numbers are exact. "%.0f", since tostring() would write
-- large ones as 1e+15.
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
