-- Reports the readers of the resource, one by one, in the order in which their leases end; changes
-- nothing.
--
-- KEYS: the resource. ARGV: the index from 0. Returns nil: there are not so many; or "COUNT LEFT
-- VALUE": how many there are, how long this one's lease lasts in ms, and its value, cut at 106
-- bytes as in read.lua. (With a COUNT of 9 digits at most, all fits into a reply.)
-- include: part_readers.lua
local k = KEYS[1]
if redis.call('get', k) ~= 'redlock:shared' then return false end
local z, from = readers(k), '(' .. num(now)
local m = redis.call('zrangebyscore', z, from, '+inf', 'withscores', 'limit', ARGV[1], 1)
if not m[1] then return false end
local c = math.min(redis.call('zcount', z, from, '+inf'), 999999999)
local left = math.min(tonumber(m[2]) - now, 4294967295)
return string.format('%.0f %.0f ', c, left) .. string.sub(m[1], 1, 106)
