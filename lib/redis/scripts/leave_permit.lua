-- The place no longer wants permits.
--
-- KEYS: the permits' key. ARGV: the place, the holder's name as it joined with ("": none), the life
-- of a reservation in ms, how many permits there are, if that is not kept here, the resource.
-- Returns 1: it was in the line, or slots were reserved for it; 0.
--
-- Can it end a hold? No: it deletes what is reserved for this very place and nothing else. Those
-- behind it are served where that is possible now: it may have wanted several.
-- include: part_line.lua
-- include: part_permit.lua
-- include: part_permit_serve.lua
local p, k = ARGV[1], kept(ARGV[4])
local was = first(l)
local n = redis.call('zrem', l, ARGV[2] == '' and p or p .. ':' .. ARGV[2])
local v = redis.pcall('mget', slots(k))
for i = 1, k do
    if v[i] == 'reserved:' .. p then
        redis.call('del', slot(i - 1))
        v[i] = false
        n = 1
    end
end
if was or n == 1 then serve(v, k, ARGV[3]) end
heir(l, was)
return n
