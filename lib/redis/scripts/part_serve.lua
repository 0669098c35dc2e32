-- Include after part_line.lua. serve: takes the first waiter that hears it out of the line, and
-- writes its value into the key, whatever the key has: the caller has checked. False: no waiter
-- heard (it tries at most 16), or the key could not be written and is unchanged.
local function serve(k, l, ms)
    for i = 1, 16 do
        local m = redis.pcall('zpopmin', l)[1]
        if not m then return false end
        if tell(m, 'turn') then return own(k, m, ms) end
    end
    return false
end
-- serve_shared: takes all waiting readers out of the line (at most 1,000), notifies them, and
-- reserves the key for any of them unless it is shared already (is). If writers wait, it tells the
-- readers to shut the door behind them.
local function serve_shared(k, ms, is)
    local l = 'libredlock:line:shared:{' .. k .. '}'
    if not first(l) then return false end
    local word = first('libredlock:line:{' .. k .. '}') and 'shut' or 'turn'
    local heard, m = false, redis.pcall('zpopmin', l, 1000)
    for i = 1, #m, 2 do
        heard = tell(m[i], word) or heard
    end
    heir(l)
    if heard and not is then redis.call('set', k, 'reserved:shared', 'PX', ms) end
    return heard
end
