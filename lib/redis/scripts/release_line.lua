-- Any number of resources: gives up each key that has the value, and hands it on.
--
-- KEYS: the resources. ARGV: the value, for how long a key is reserved in ms ("0": it is deleted),
-- the mode, "1": each key that was given up is announced on the channel "redlock:" resource, and
-- the intent: for how many ms readers that come anew are kept out where others read, since this
-- writer waits for them; "0": they are no longer; "": nothing.
-- Returns "R W F S": R 1 if the value was under one of them; how many wait in their lines, and the
-- first of them for how many ms (0 and 0 in the mode ""); S 1 if somebody was served. Whose turn it
-- is, or who has just taken the key here, waits, too, and is counted: a client that holds at other
-- nodes, and hands the lock on or asks again, would never hear of it otherwise, and keep it waiting
-- for ever.
--
-- The modes: "" gives up: reserved for nobody, or deleted. "look" also counts who waits. A place,
-- 32 hex digits, is a client that has had its turn and could not take all: what it has taken here
-- is reserved for it again. "serve" hands on: after a writer to all readers that wait; if there is
-- none to the first in line who hears it, for whom the key is reserved; nobody: the key is deleted.
-- That is done as well where there is no key, or one that is reserved for nobody: the release is
-- late, or is of an attempt that lost here. (Of several resources each may have another home. Where
-- nobody waits that is not known: what is reserved for nobody, by the release of another, stays for
-- who has his turn at the home.)
--
-- What may be overwritten or deleted? A key with this value, which its owner has given up and never
-- sends again; no key at all; and a reservation for nobody. Never another token, never what is
-- reserved for a place.
--
-- A release must work where a reservation does not: reserved by pcall, and deleted if that fails (a
-- server that is full). So must the others if one key is of another type, which cannot have the
-- value; other errors are returned after the work is done. An announcement that a node forbids is
-- no error.
--
-- The first lines are the release of a lock that nobody waits for, which is most of them: the same
-- as what follows would do, without its functions, which take longer to make than to run.
if #KEYS == 1 and ARGV[3] == 'serve' and ARGV[4] == '' and ARGV[5] == '' and
    redis.pcall('exists', 'libredlock:line:{' .. KEYS[1] .. '}',
        'libredlock:line:shared:{' .. KEYS[1] .. '}') == 0 and
    redis.pcall('get', KEYS[1]) == ARGV[1] then
    redis.call('del', KEYS[1])
    return '1 0 0 0'
end
-- include: part_line.lua
-- include: part_serve.lua
-- include: part_count.lua
-- include: part_intent.lua
local mode, r, s, e = ARGV[3], 0, 0
local to = #mode == 32 and 'reserved:' .. mode or 'reserved'
for i = 1, #KEYS do
    local k = KEYS[i]
    local l, q = 'libredlock:line:{' .. k .. '}', 'libredlock:line:shared:{' .. k .. '}'
    local v = redis.pcall('get', k)
    local mine = v == ARGV[1]
    if mine then
        r = 1
    elseif type(v) == 'table' and not string.find(v.err, 'WRONGTYPE', 1, true) then
        e = v
    end
    local del, waits = mine, mode ~= ''
    local read = waits and first(q)
    if mode == 'serve' and (mine or not v or v == 'reserved') then
        local was = first(l)
        del, waits = mine or #KEYS == 1 and v, was or read
        if read and serve_shared(k, 250) or was and serve(k, l, 250) then
            s, del = 1, false
        end
        if was then heir(l, was) end
    elseif mine and ARGV[2] ~= '0' then
        del = redis.pcall('set', k, to, 'PX', ARGV[2]).err
    end
    if del then redis.call('del', k) end
    if mine and ARGV[4] == '1' then redis.pcall('publish', 'redlock:' .. k, '') end
    if waits then
        count(l)
        if read then count(q) end
    end
    if ARGV[5] == '0' then
        redis.pcall('del', 'libredlock:intent:{' .. k .. '}')
    elseif ARGV[5] ~= '' and v == 'redlock:shared' then
        note(k, ARGV[5])
    end
    local others = type(v) == 'string' and not mine and v ~= 'reserved'
    if mode ~= '' and others then w = w + 1 end
end
return e or string.format('%.0f %.0f %.0f %.0f', r, w, f, s)
