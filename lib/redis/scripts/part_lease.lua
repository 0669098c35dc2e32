-- Stands behind part_readers.lua. lease: when the value's lease ends, if it lives; else false.
local function lease(k, v)
    local e = tonumber(redis.call('zscore', readers(k), v) or 0)
    return e > now and e
end
