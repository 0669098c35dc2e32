-- Include after part_readers.lua. hold: gives the value a lease until e, which the caller ensures
-- is no earlier than before. is: the resource is shared already.
--
-- The lease is written first, so that an error (a full server, a forbidden command) leaves no key:
-- a lease without a key refuses no client.
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
