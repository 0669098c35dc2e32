-- Some slots of a semaphore: gives up each that has the value, and hands them on.
--
-- KEYS: the slots. ARGV: the value, for how long a slot is reserved in ms ("0": it is deleted), the
-- mode, how many permits there are, if that is not kept here, the resource. Returns "R W F S" as
-- release_line.lua does, and has its modes: "", "look", a place, "serve". To serve is to give
-- whatever slots are free, also others than these, to those who wait, in order.
--
-- What may be overwritten or deleted? A slot with this value, which its owner has given up and
-- never sends again; no key at all; and a reservation for nobody. Never another token, never what
-- is reserved for a place. A release must work where a reservation does not, as release_line.lua
-- says. A slot above a number that was lowered is given to nobody.
if #KEYS == 1 and ARGV[3] == 'serve' and
    redis.pcall('exists', 'libredlock:line:permits:{' .. ARGV[5] .. '}') == 0 and
    redis.pcall('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
    return '1 0 0 0'
end
-- include: part_line.lua
-- include: part_permit.lua
-- include: part_permit_serve.lua
-- include: part_count.lua
local mode, given, told, others, e = ARGV[3], 0, 0, 0
local to = #mode == 32 and 'reserved:' .. mode or 'reserved'
for i = 1, #KEYS do
    local v = redis.pcall('get', KEYS[i])
    local mine = v == ARGV[1]
    local del = mine or (mode == 'serve' and v == 'reserved')
    if mine then
        given = 1
        if mode ~= 'serve' and ARGV[2] ~= '0' then
            del = redis.pcall('set', KEYS[i], to, 'PX', ARGV[2]).err
        end
    elseif type(v) == 'table' and not string.find(v.err, 'WRONGTYPE', 1, true) then
        e = v
    elseif type(v) == 'string' and v ~= 'reserved' then
        others = others + 1
    end
    if del then redis.call('del', KEYS[i]) end
end
local was = mode == 'serve' and first(l)
if was then
    local k = kept(ARGV[4])
    if serve(redis.pcall('mget', slots(k)), k, 250) then told = 1 end
    heir(l, was)
end
if mode ~= '' then
    count(l)
    w = w + others
end
return e or string.format('%.0f %.0f %.0f %.0f', given, w, f, told)
