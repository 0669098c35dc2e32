-- The place no longer wants its turn.
--
-- KEYS: the resource. ARGV: the place, the holder's name as it joined with ("": none), the life of
-- a reservation in ms. Returns 1: it was in the line, or the key was reserved for it; 0.
--
-- Can it end a lock? No: it writes to the key only where the reservation for this very place is.
-- That goes to the next, or is deleted. A key with a token is left alone, whoever's it is: this
-- client's own attempt may have replaced the reservation meanwhile.
-- include: part_line.lua
-- include: part_serve.lua
local k, p = KEYS[1], ARGV[1]
local l = 'libredlock:line:{' .. k .. '}'
local was = first(l)
local n = redis.call('zrem', l, ARGV[2] == '' and p or p .. ':' .. ARGV[2])
if redis.pcall('get', k) == 'reserved:' .. p then
    n = 1
    if not serve(k, l, ARGV[3]) then redis.call('del', k) end
end
heir(l, was)
return n
