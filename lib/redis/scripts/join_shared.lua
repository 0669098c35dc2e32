-- Readers: the place gets its turn, or stays in the line of those who want to read the resource.
-- May be sent again and again.
--
-- KEYS: the resource. ARGV and answer: as join.lua. A yes says that readers may come, this place
-- among them; it is out of the line.
--
-- Yes, if the key is reserved for readers; or free, or shared, and no writer that lives has waited
-- longer than the place. So a stream of readers lets every writer in, and a reader that waits lets
-- one writer in at most: it is served when that one goes (release_line.lua). With a yes all others
-- that wait to read come, too; only where the key is shared and a writer waits none but this one.
-- If the key is free and the writer has waited longer, it is the writer who is served.
--
-- Can it take a lock away? No: it writes to the key where there is none, or a reservation for
-- nobody or for readers.
-- include: part_line.lua
-- include: part_serve.lua
-- gone: whether nobody listens on the channel of the place's client.
local function gone(m)
    local c = 'libredlock:client:' .. string.sub(m, 1, 16)
    return redis.pcall('pubsub', 'numsub', c)[2] == 0
end
local k, p, ms = KEYS[1], ARGV[1], ARGV[4]
local l, q = 'libredlock:line:shared:{' .. k .. '}', 'libredlock:line:{' .. k .. '}'
local me = ARGV[2] == '' and p or p .. ':' .. ARGV[2]
local v = redis.call('get', k)
local is, free = v == 'redlock:shared', not v or v == 'reserved'
local was, wrote, t = first(l), first(q), redis.call('time')
local s = string.format('%.0f', t[1] * 1000000 + t[2] - ARGV[3] * 1000)
redis.call('zadd', l, 'nx', s, me)
redis.call('pexpire', l, 600000)
for i = 1, 16 do
    local m = first(l)
    if not m or m == me then break end
    if string.sub(m, 1, 16) ~= string.sub(p, 1, 16) and not gone(m) then break end
    redis.call('zrem', l, m)
end
local w
for i = 1, 16 do
    w = first(q)
    if not w or not gone(w) then break end
    redis.pcall('zrem', q, w)
    w = first(q)
end
s = w and redis.pcall('zscore', q, w)
local before = type(s) ~= 'string' or tonumber(redis.call('zscore', l, me)) < tonumber(s)
local yes = v == 'reserved:shared' or before and (is or free)
if free and not before and not serve(k, q, ms) then yes = true end
if yes then
    redis.call('zrem', l, me)
    if free or not w then serve_shared(k, ms, is) end
    if not is then redis.call('set', k, 'reserved:shared', 'PX', ms) end
end
heir(q, wrote)
heir(l, was, me)
if yes then return '1' end
local left = redis.call('pttl', k)
if left == -2 then left = 0 end
if is then left = math.max(left, 1000) end
return string.format('0 %.0f %.0f', redis.call('zrank', l, me) or 0, left)
