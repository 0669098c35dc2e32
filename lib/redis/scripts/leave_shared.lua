-- Readers: the place no longer wants its turn.
--
-- KEYS: the resource. ARGV: the place, the holder's name as it joined with ("": none), the life of
-- a reservation in ms (of no use here). Returns 1: it was in the line; 0.
--
-- A reservation for readers is for all whose turn it is, so it is left to them, and ends by itself.
-- include: part_line.lua
local p, l = ARGV[1], 'libredlock:line:shared:{' .. KEYS[1] .. '}'
local was = first(l)
local n = redis.call('zrem', l, ARGV[2] == '' and p or p .. ':' .. ARGV[2])
heir(l, was)
return n
