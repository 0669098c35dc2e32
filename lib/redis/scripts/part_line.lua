-- What the scripts that change a line share. A line is a ZSET of places, the first has the lowest
-- score. A member is a place, 32 hex digits of which the first 16 are its client's, and, if there
-- is one, a colon and the holder's name.
--
-- Every command on a line is a pcall: an ACL, a cluster's slots or a key of another type that
-- forbid it cost order, never a release. What cannot be read is empty, and who cannot be told has
-- not heard.
--
-- tell: sends "turn PLACE", "shut PLACE" or "heir PLACE", and `more` behind it, to the place's
-- client; whether it was heard. PUBLISH counts those who listen to a pattern, too; they are no
-- clients, so NUMSUB is asked before. (Where it is forbidden, PUBLISH alone decides.)
local function tell(m, word, more)
    local p = string.sub(m, 1, 32)
    local c = 'libredlock:client:' .. string.sub(p, 1, 16)
    if redis.pcall('pubsub', 'numsub', c)[2] == 0 then return false end
    local n = redis.pcall('publish', c, word .. ' ' .. p .. (more or ''))
    return type(n) == 'number' and n > 0
end
-- first: the first member; nil: nobody waits.
local function first(l)
    return redis.pcall('zrange', l, 0, 0)[1]
end
-- heir: tells whoever is first now, unless it was so before, or is the one that asks and is told by
-- the answer. Who does not hear it is dropped. At most 16.
local function heir(l, was, me)
    for i = 1, 16 do
        local m = first(l)
        if not m or m == was or m == me or tell(m, 'heir') then return end
        redis.pcall('zrem', l, m)
    end
end
