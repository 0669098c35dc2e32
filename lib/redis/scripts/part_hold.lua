-- Stands behind part_readers.lua. hold: the value has a lease that ends at e, which is no earlier
-- than before: the caller sees to that. is: the resource is shared already.
--
-- The lease comes first, so that an error (a server that is full, a command that is forbidden) finds
-- no key set: a lease without a key refuses nobody.
local function hold(k, v, e, is)
    local z = readers(k)
    if not is and redis.call('exists', z) == 1 then redis.call('del', z) end
    redis.call('zadd', z, num(e), v)
    redis.call('zremrangebyscore', z, '-inf', num(now))
    local last = tonumber(redis.call('zrange', z, -1, -1, 'withscores')[2])
    e = num(last)
    redis.call('pexpireat', z, e)
    if not is then redis.call('set', k, 'redlock:shared', 'PX', num(last - now)) end
    redis.call('pexpireat', k, e)
end
