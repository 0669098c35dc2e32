-- note: marks that a writer waits for the resource. Until the mark ends, a reader that asks without
-- a place is refused. An intent is prolonged, never shortened; where it is forbidden there is none.
local function note(k, ms)
    local q = 'libredlock:intent:{' .. k .. '}'
    local left = redis.pcall('pttl', q)
    if type(left) == 'number' and left < tonumber(ms) then redis.pcall('set', q, '1', 'PX', ms) end
end
