-- Reports the waiters in the line of the resource, one by one; changes nothing.
--
-- KEYS: the resource. ARGV: the index from 0, and the line: "" the writers', "shared" the readers'.
-- Returns nil: there are not so many; or "COUNT WAITED MEMBER": how many there are, how long this
-- one has waited in ms, and the token that it waits with, perhaps with a colon and its holder's
-- name. Cut at 105 bytes: a token of 40, a name of 64.
local l = 'libredlock:line:' .. (ARGV[2] and ARGV[2] .. ':' or '') .. '{' .. KEYS[1] .. '}'
local m = redis.call('zrange', l, ARGV[1], ARGV[1], 'withscores')
if not m[1] then return false end
local t, s = redis.call('time'), tonumber(m[2]) or 0
local ms = math.floor((t[1] * 1000000 + t[2] - s) / 1000)
ms = math.max(0, math.min(ms, 4294967295))
return string.format('%.0f %.0f ', redis.call('zcard', l), ms) .. string.sub(m[1], 1, 105)
