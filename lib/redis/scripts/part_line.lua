-- Shared by the scripts that change a line: a ZSET of the waiting values, of which the first has
-- the lowest score. A value is what its client will hold with: a token of 40 hex digits, of which
-- the first 16 are the client's id, and perhaps a colon and the holder's name.
--
-- Every command on a line is a pcall: if an ACL, a cluster's slots or a key of another type forbids
-- it, that costs order, never a release. A line that cannot be read is empty; a client that cannot
-- be notified has not heard.
--
-- hears: whether the value's client listens. PUBLISH also counts subscribers to a pattern, which
-- are no clients, so this asks NUMSUB. (Where NUMSUB is forbidden, PUBLISH alone decides.)
local function hears(m)
    return redis.pcall('pubsub', 'numsub', 'libredlock:client:' .. string.sub(m, 1, 16))[2] ~= 0
end
-- tell: sends the value's client the word, the token and `more`. Returns whether the client heard
-- it.
local function tell(m, word, more)
    if not hears(m) then return false end
    local text = word .. ' ' .. string.sub(m, 1, 40) .. (more or '')
    local n = redis.pcall('publish', 'libredlock:client:' .. string.sub(m, 1, 16), text)
    return type(n) == 'number' and n > 0
end
-- own: writes the value into the key, and increments the key's fence counter if there is one, since
-- two tokens must not get one number (core/fence.h). Returns whether it could.
local function own(k, m, ms)
    local c = 'libredlock:fence:' .. k
    local n = redis.pcall('get', c)
    n = type(n) == 'string' and tonumber(n)
    if n and redis.pcall('set', c, string.format('%.0f', n + 1), 'KEEPTTL').err then return false end
    return not redis.pcall('set', k, m, 'PX', ms).err
end
-- first: the first member; nil: the line is empty.
local function first(l)
    return redis.pcall('zrange', l, 0, 0)[1]
end
-- next_of: the writer that comes next when the writer that holds the key releases it; false or nil:
-- none, or waiting readers go first.
local function next_of(k)
    return not first('libredlock:line:shared:{' .. k .. '}') and first('libredlock:line:{' .. k .. '}')
end
-- heir: notifies the first in line, unless it was first before, or is `me`, which learns it from
-- the answer. Drops waiters that do not hear it, at most 16. If k is given, also tells the holder
-- of the key k who comes next.
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
