-- A waiter gives up its place or its turn.
--
-- KEYS: the resource, or the permits' key. ARGV: the value that it joined with; how long the next
-- one has the key if it gets its turn, in ms; "line" if it only leaves the line; and the mode as in
-- take.lua. Returns 1: it was in the line, or its value was in the key; 0: neither.
--
-- Can it end a lock? No: the value belongs to a waiter that has not asked the nodes with it, and
-- never will; a waiter that has asked only leaves the line (core/place.h). So a key with the value
-- is nobody's, and goes to the next waiter or the waiting readers, or is deleted. A key with
-- another token is left alone. A reservation for readers is for every reader that has its turn, so
-- it stays, and expires.
--
-- If the last writer leaves the line, the readers that waited behind it are served, unless a writer
-- holds. Waiters behind one that wanted several permits may be served now.
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
