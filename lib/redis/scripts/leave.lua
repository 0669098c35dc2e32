-- The place no longer wants its turn.
--
-- KEYS: the resource, or the permits' key. ARGV: the place, the holder's name as it joined with
-- ("": none), the life of a reservation in ms, and the mode as in take.lua. Returns 1: it was in
-- the line, or something was reserved for it; 0.
--
-- Can it end a lock? No: it writes only where the reservation for this very place is, or where one
-- for nobody is or nothing. What was reserved for this place goes to the next, or to the readers
-- that wait, or is deleted. A key with a token is left alone, whoever's it is: this client's own
-- attempt may have replaced the reservation meanwhile. A reservation for readers is for all whose
-- turn it is, so it is left to them, and ends by itself.
--
-- Where it was the last writer in the line, the readers that waited behind it are served, if it is
-- no writer that holds. Those behind a place that wanted several permits may be served now.
-- include: part_line.lua
local k, p, ms, mode = KEYS[1], ARGV[1], ARGV[3], ARGV[4] or ''
local me = ARGV[2] == '' and p or p .. ':' .. ARGV[2]
local mine, was, n = 'reserved:' .. p
if mode == 'shared' then
    local l = 'libredlock:line:shared:{' .. k .. '}'
    was = first(l)
    n = redis.call('zrem', l, me)
    heir(l, was)
    return n
elseif mode == '' then
    -- include: part_serve.lua
    local l = 'libredlock:line:{' .. k .. '}'
    was = first(l)
    n = redis.call('zrem', l, me)
    local v = redis.pcall('get', k)
    if v == mine then
        n = 1
        if not serve(k, l, ms) and not serve_shared(k, ms) then redis.call('del', k) end
    elseif not first(l) and (not v or v == 'reserved' or v == 'redlock:shared') then
        serve_shared(k, ms, v == 'redlock:shared')
    end
    heir(l, was)
    return n
end
-- include: part_permit.lua
-- include: part_permit_serve.lua
k, was = kept(mode), first(l)
n = redis.call('zrem', l, me)
local v = redis.pcall('mget', slots(k))
for i = 1, k do
    if v[i] == mine then
        redis.call('del', slot(i - 1))
        v[i] = false
        n = 1
    end
end
if was or n == 1 then serve(v, k, ms) end
heir(l, was)
return n
