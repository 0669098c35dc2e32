-- Gives up each slot that has the value, and hands the slots over.
--
-- KEYS: the slots. ARGV: the value, how long a slot is reserved in ms ("0": it is deleted), how,
-- the number of permits if this node keeps none, and the resource. Returns "R W F S 0 0", and
-- works, as release_line.lua. "serve" gives any free slots, not only these, to the waiters, in
-- order; a slot above a number that was lowered is not given again.
--
-- A separate script, since a client sends its release script whole on each connection, and reserves
-- room for it: with this in it, every lock's script would be half as long again.
local v, grace, how = ARGV[1], ARGV[2], ARGV[3]
if #KEYS == 1 and how == 'serve' and
    redis.pcall('exists', 'libredlock:line:permits:{' .. ARGV[5] .. '}') == 0 and
    redis.pcall('get', KEYS[1]) == v then
    redis.call('del', KEYS[1])
    return '1 0 0 0 0 0'
end
-- include: part_line.lua
-- include: part_permit.lua
-- include: part_permit_serve.lua
-- include: part_count.lua
local given, served, others, e = 0, 0, 0
for i = 1, #KEYS do
    local x = redis.pcall('get', KEYS[i])
    local mine = x == v
    local del = mine or (how == 'serve' and x == 'reserved')
    if mine then
        given = 1
        if how ~= 'serve' and grace ~= '0' then
            del = redis.pcall('set', KEYS[i], 'reserved', 'PX', grace).err
        end
    elseif type(x) == 'table' and not string.find(x.err, 'WRONGTYPE', 1, true) then
        e = x
    elseif how ~= '' and type(x) == 'string' and x ~= 'reserved' then
        others = others + 1
    end
    if del then redis.call('del', KEYS[i]) end
end
local was = how == 'serve' and first(l)
if was then
    local k = kept(ARGV[4])
    if serve(redis.pcall('mget', slots(k)), k, 250) then served = 1 end
    heir(l, was)
end
if how ~= '' then count(l) end
return e or string.format('%.0f %.0f %.0f %.0f 0 0', given, w + others, longest, served)
