-- Stands behind part_line.lua. serve: takes the first who hears it out of the line and writes its
-- value into the key, whatever is there: the caller has looked. False: nobody (at most 16 are
-- tried), or it cannot be written, and the key is as it was.
local function serve(k, l, ms)
    for i = 1, 16 do
        local m = redis.pcall('zpopmin', l)[1]
        if not m then return false end
        if tell(m, 'turn') then return own(k, m, ms) end
    end
    return false
end
-- serve_shared: the same for readers, for all that wait (1,000 at most), and the key is reserved
-- for any of them; unless it is shared already (is), which it stays. They are told to shut the door
-- behind them if writers wait.
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
