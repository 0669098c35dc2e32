-- Stands behind part_line.lua. serve: takes the first who hears it out of the line and reserves the
-- key for it, whatever is there: the caller has looked. False: nobody (at most 16 are tried), and
-- the key is as it was.
local function serve(k, l, ms)
    for i = 1, 16 do
        local m = redis.pcall('zpopmin', l)[1]
        if not m then return false end
        if tell(m, 'turn') then
            redis.call('set', k, 'reserved:' .. string.sub(m, 1, 32), 'PX', ms)
            return true
        end
    end
    return false
end
