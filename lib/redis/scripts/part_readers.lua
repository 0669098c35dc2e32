-- Shared by the scripts of readers. A reader of resource r has a lease: a member of the ZSET
-- "libredlock:readers:{r}", its value, whose score is the end of the lease, in ms of the node's
-- TIME. A lease lives if it ends later than now. While one lives, r is "redlock:shared".
--
-- Why is a lease a vote, as a token is? Because r, which refuses writers, plain SET NX and clients
-- of other libraries, ends exactly with the last lease: both keys have the same end (PEXPIREAT),
-- which every script sets again after it has changed a lease. A lease is prolonged, never
-- shortened, and only its owner removes it. So a lease and r last as long as the client counts on
-- the lease. A lease without r means nothing: if r was deleted, the leases left in the ZSET extend
-- nothing, and the next reader drops them.
--
-- Unlike commands on a line, commands on leases raise errors: without a lease there is no vote.
--
-- num: formats an integer for Redis; newer servers would write some as 1e+12.
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function num(x)
    return string.format('%.0f', x)
end
local function readers(k)
    return 'libredlock:readers:{' .. k .. '}'
end
-- lease: when the value's lease ends, if it lives; else false.
local function lease(k, v)
    local e = tonumber(redis.call('zscore', readers(k), v) or 0)
    return e > now and e
end
