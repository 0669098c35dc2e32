-- A waiter no longer wants its turn.
--
-- KEYS: the resource, or the permits' key. ARGV: the value that it joined with; for how long the
-- next one has the key when it gets its turn, in ms; "line" if it only leaves the line; and the mode
-- as in take.lua. Returns 1: it was in the line, or its value was in the key; 0.
--
-- Can it end a lock? The value is that of a waiter which has not asked the nodes with it, and never
-- will; one that has leaves the line alone (line.h in lib/core). So a key that has it is nobody's,
-- and goes to the next, or to the readers that wait, or is deleted. A key with another token is left
-- alone. A reservation for readers is for all whose turn it is, so it is left to them, and ends by
-- itself.
--
-- Where it was the last writer in the line, the readers that waited behind it are served, if it is
-- no writer that holds. Those behind a waiter that wanted several permits may be served now.
-- include: part_line.lua
local k, me, ms, how, mode = KEYS[1], ARGV[1], ARGV[2], ARGV[3] or '', ARGV[4] or ''
local was, n
if mode == 'shared' or how == 'line' then
    local l = 'libredlock:line:' .. (mode == 'shared' and 'shared:' or '') .. '{' .. k .. '}'
    if how == 'line' and mode ~= '' and mode ~= 'shared' then
        l = 'libredlock:line:permits:{' .. ARGV[5] .. '}'
    end
    was = first(l)
    n = redis.call('zrem', l, me)
    heir(l, was, nil, how == '' and k)
    return n
elseif mode == '' then
    -- include: part_serve.lua
    local l = 'libredlock:line:{' .. k .. '}'
    was = first(l)
    n = redis.call('zrem', l, me)
    local v = redis.pcall('get', k)
    if v == me then
        n = 1
        if not serve(k, l, ms) and not serve_shared(k, 250) then redis.call('del', k) end
    elseif not first(l) and (not v or v == 'reserved' or v == 'redlock:shared') then
        serve_shared(k, 250, v == 'redlock:shared')
    end
    heir(l, was, nil, k)
    return n
end
-- include: part_permit.lua
-- include: part_permit_serve.lua
k, was = kept(mode), first(l)
n = redis.call('zrem', l, me)
local v = redis.pcall('mget', slots(k))
for i = 1, k do
    if v[i] == me then
        redis.call('del', slot(i - 1))
        v[i] = false
        n = 1
    end
end
if was or n == 1 then serve(v, k, ms) end
heir(l, was)
return n
