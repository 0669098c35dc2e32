-- Of the first n keys: ends the script with "0 I LIFE" if one of them may not be taken by the value,
-- ARGV[1], with the place p. What may be, and why: take.lua.
local any = p == string.rep('*', 32)
for i = 1, n do
    local v = redis.call('get', KEYS[i])
    if v and v ~= ARGV[1] and v ~= 'reserved' and v ~= 'reserved:' .. p and
        not (any and string.sub(v, 1, 9) == 'reserved:') then
        return string.format('0 %.0f %.0f', i, redis.call('pttl', KEYS[i]))
    end
end
