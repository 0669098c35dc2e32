-- What the scripts of readers share. Who reads a resource has a lease: a member of the ZSET
-- "libredlock:readers:{r}", the value, with the end of the lease as its score, in ms of the node's
-- TIME. It lives if it ends later than now. While one lives, r is "redlock:shared".
--
-- Why is a lease a vote, as a token is? Because r, which refuses writers, plain SET NX and clients
-- of other libraries, ends with the last lease and not before: both keys have that one end
-- (PEXPIREAT), which every script sets anew after it has changed a lease. A lease is prolonged and
-- never shortened, and nobody but its owner takes it away. So a lease that was counted on stands,
-- and r above it, as long as it was counted on. A lease says nothing without r: where somebody
-- deleted that, what is left below it is dropped when the next reader comes, and extends nothing.
--
-- Unlike a line's, commands on leases raise what forbids them: without them there is no vote.
--
-- num: as whole numbers are written for Redis; newer ones would make 1e+12 of some.
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
