-- Extends several locks independently, as extend.lua does for a writer's key or a slot.
--
-- KEYS: each lock's key, followed by its counter if the lock has a fence. ARGV: for each lock the
-- value, the life in ms, the fence ("": none) and the life of the counter in ms. Returns a
-- character for each lock: 1: extended; 0: the token is gone; w: the key is not a string.
--
-- A key of another type refuses only its own lock. Any other error is the answer for all locks,
-- some of which may have been extended: the client then sends each extension alone (node.h).
-- include: part_raise.lua
local out, k = {}, 0
for i = 1, #ARGV, 4 do
    local v, ms, f = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local key = KEYS[k + 1]
    local x = redis.pcall('get', key)
    local is = type(x) == 'table' and 'w' or x == v and '1' or '0'
    if is == 'w' and not string.find(x.err, 'WRONGTYPE', 1, true) then return x end
    if is == '1' then
        redis.call('pexpire', key, math.max(redis.call('pttl', key), ms))
        if f ~= '' then raise(KEYS[k + 2], f, ARGV[i + 3]) end
    end
    k = k + (f == '' and 1 or 2)
    out[#out + 1] = is
end
return table.concat(out)
