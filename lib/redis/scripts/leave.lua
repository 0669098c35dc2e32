-- The place no longer wants its turn.
--
-- KEYS: the resource. ARGV: the place, the holder's name as it joined with ("": none), the life of
-- a reservation in ms. Returns 1: it was in the line, or the key was reserved for it; 0.
--
-- Can it end a lock? No: it writes to the key only where the reservation for this very place is, or
-- where one for nobody is or nothing. A reservation for this place goes to the next, or to the
-- readers that wait, or is deleted. A key with a token is left alone, whoever's it is: this
-- client's own attempt may have replaced the reservation meanwhile.
--
-- Where it was the last writer in the line, the readers that waited behind it are served, if it is
-- no writer that holds.
-- include: part_line.lua
-- include: part_serve.lua
local k, p = KEYS[1], ARGV[1]
local l = 'libredlock:line:{' .. k .. '}'
local was = first(l)
local n = redis.call('zrem', l, ARGV[2] == '' and p or p .. ':' .. ARGV[2])
local v = redis.pcall('get', k)
if v == 'reserved:' .. p then
    n = 1
    if not serve(k, l, ARGV[3]) and not serve_shared(k, ARGV[3]) then redis.call('del', k) end
elseif not first(l) and (not v or v == 'reserved' or v == 'redlock:shared') then
    serve_shared(k, ARGV[3], v == 'redlock:shared')
end
heir(l, was)
return n
