-- Any number of resources: gives up the lease of the value on each, and what nobody reads any more
-- is handed on; or, where the key has the value, as release_line.lua.
--
-- KEYS: the resources. ARGV: the value, for how long a key is reserved in ms ("0": it is deleted),
-- the mode, and "1": each key that is nobody's now is announced on the channel "redlock:" resource.
-- Returns "R W F S": R 1 if a lease of the value lived, or the value was under one of the keys; how
-- many wait in their lines, writers and readers, and the first of them for how many ms; S 1 if
-- somebody was served. Who has the turn, or has taken a key, is counted as one that waits, unless
-- they are readers: those keep no reader waiting.
--
-- The modes are those of release_line.lua. After the last reader "serve" hands on to the first
-- writer in line who hears it, else to the readers that wait; while others still read, to readers,
-- if no writer waits. And for a place a key is reserved as for any reader whose turn it is: others
-- have it as well.
--
-- What may be deleted? This value's own lease, which its owner has given up and never sends again,
-- and the key if no other lease lives; else the key ends with the last of them, where the others
-- count on it. Where there is no such lease the key is left alone. Leases of others are never
-- written to.
--
-- As in release_line.lua one key that forbids it does not keep the others from being released.
--
-- The first lines are for the only reader of one resource, where nobody waits, which is most of
-- them: they do what follows would do, and answer the same (but for a lease in the millisecond in
-- which it ends, which has lived until then), without its functions, as in release_line.lua.
local k, mode = KEYS[1], ARGV[3]
if #KEYS == 1 and ARGV[4] == '' and (mode == 'serve' or mode .. ARGV[2] == '0') then
    local z = 'libredlock:readers:{' .. k .. '}'
    local m = redis.pcall('zrange', z, 0, 1)
    if m[1] == ARGV[1] and not m[2] and redis.pcall('get', k) == 'redlock:shared' and
        (mode == '' or redis.pcall('exists', 'libredlock:line:{' .. k .. '}',
            'libredlock:line:shared:{' .. k .. '}') == 0) then
        redis.call('del', k, z)
        return '1 0 0 0'
    end
end
-- include: part_readers.lua
-- include: part_line.lua
-- include: part_serve.lua
-- include: part_count.lua
-- end_lease: whether the value's lease lived, and whether there is none any more but was one; or,
-- third, the error.
local function end_lease(k)
    local z = readers(k)
    local had = redis.pcall('zscore', z, ARGV[1])
    local n = type(had) == 'string' and redis.pcall('zrem', z, ARGV[1]) or had
    if type(n) ~= 'number' then return false, false, n end
    redis.pcall('zremrangebyscore', z, '-inf', num(now))
    local last = redis.pcall('zrange', z, -1, -1, 'withscores')
    if last[2] then
        local e = num(tonumber(last[2]))
        redis.pcall('pexpireat', z, e)
        redis.pcall('pexpireat', k, e)
    end
    return tonumber(had) > now, not last[1] and not last.err
end
local r, s, e = 0, 0
for i = 1, #KEYS do
    k = KEYS[i]
    local l, q = 'libredlock:line:{' .. k .. '}', 'libredlock:line:shared:{' .. k .. '}'
    local v = redis.pcall('get', k)
    local mine, is, bad = v == ARGV[1], v == 'redlock:shared', v
    local lived = mine
    if is then lived, mine, bad = end_lease(k) end
    if lived then r = 1 end
    if type(bad) == 'table' and not string.find(bad.err, 'WRONGTYPE') then e = bad end
    is = is and not mine
    local del, waits = mine, mode ~= ''
    if mode == 'serve' and (mine or not v or v == 'reserved') then
        local was, read = first(l), first(q)
        del, waits = mine or #KEYS == 1 and v, was or read
        if was and serve(k, l, 250) or read and serve_shared(k, 250) then
            s, del = 1, false
        end
        if was then heir(l, was) end
    elseif mode == 'serve' and is and not first(l) then
        if serve_shared(k, 250, true) then s = 1 end
    elseif mine and ARGV[2] ~= '0' then
        local to = #mode == 32 and 'reserved:shared' or 'reserved'
        del = redis.pcall('set', k, to, 'PX', ARGV[2]).err
    end
    if del then redis.call('del', k) end
    if mine and ARGV[4] == '1' then redis.pcall('publish', 'redlock:' .. k, '') end
    if waits then
        count(l)
        count(q)
    end
    local others = type(v) == 'string' and not mine and not is and v ~= 'reserved'
    if mode ~= '' and others and v ~= 'reserved:shared' then w = w + 1 end
end
return e or string.format('%.0f %.0f %.0f %.0f', r, w, f, s)
