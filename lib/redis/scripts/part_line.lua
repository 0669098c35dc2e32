-- What the scripts that change a line share. A line is a ZSET of the values that wait, the first has
-- the lowest score. A value is what its client will hold with: a token, 40 hex digits of which the
-- first 16 are the client's, and, if there is one, a colon and the holder's name.
--
-- Every command on a line is a pcall: an ACL, a cluster's slots or a key of another type that
-- forbid it cost order, never a release. What cannot be read is empty, and who cannot be told has
-- not heard.
--
-- hears: whether the value's client listens. PUBLISH counts those who listen to a pattern, too; they
-- are no clients, so NUMSUB is asked. (Where it is forbidden, PUBLISH alone decides.)
local function hears(m)
    return redis.pcall('pubsub', 'numsub', 'libredlock:client:' .. string.sub(m, 1, 16))[2] ~= 0
end
-- tell: sends the word, the token and `more` behind it to the value's client; whether it was heard.
local function tell(m, word, more)
    if not hears(m) then return false end
    local text = word .. ' ' .. string.sub(m, 1, 40) .. (more or '')
    local n = redis.pcall('publish', 'libredlock:client:' .. string.sub(m, 1, 16), text)
    return type(n) == 'number' and n > 0
end
-- own: writes the value into the key, and counts up what counts the key's fences, where that is kept:
-- a number that another token was told must not be told by this one (core/fence.h). Whether it could.
local function own(k, m, ms)
    local c = 'libredlock:fence:' .. k
    local n = redis.pcall('get', c)
    n = type(n) == 'string' and tonumber(n)
    if n and redis.pcall('set', c, string.format('%.0f', n + 1), 'KEEPTTL').err then return false end
    return not redis.pcall('set', k, m, 'PX', ms).err
end
-- first: the first member; nil: nobody waits.
local function first(l)
    return redis.pcall('zrange', l, 0, 0)[1]
end
-- next_of: who comes next when the writer that holds the key goes; false or nil: nobody, or not a
-- writer, since readers that wait are let in first.
local function next_of(k)
    return not first('libredlock:line:shared:{' .. k .. '}') and first('libredlock:line:{' .. k .. '}')
end
-- heir: tells whoever is first now, unless it was so before, or is the one that asks and is told by
-- the answer. Who does not hear it is dropped, at most 16. The holder of the key k, if that is given,
-- is told who comes next.
local function heir(l, was, me, k)
    local m
    for i = 1, 16 do
        m = first(l)
        if not m or m == was or m == me or tell(m, 'heir') then break end
        redis.pcall('zrem', l, m)
    end
    local v = k and m ~= was and redis.pcall('get', k)
    if type(v) == 'string' and #v >= 40 then
        m = next_of(k)
        tell(v, 'next', m and ' ' .. m)
    end
end
