-- With a fence: as extend_all.lua, and the counters last as long as a hold does. One that is below
-- the fence is raised to it.
--
-- KEYS: the n resources, then their n counters. ARGV: the value, the life in ms, the fence, the
-- life of the counters in ms. Returns 1; 0: the token is gone from one.
--
-- What hinders a counter, a node that is full, a counter that is none, does not hinder the
-- extension (pcall): the lock is worth more. (An ACL that forbids the counters' names does; it
-- would have forbidden the grant.)
local n, f = #KEYS / 2, tonumber(ARGV[3])
for i = 1, n do
    if redis.call('get', KEYS[i]) ~= ARGV[1] then return 0 end
end
for i = 1, n do
    redis.call('pexpire', KEYS[i], math.max(redis.call('pttl', KEYS[i]), ARGV[2]))
    local k = KEYS[n + i]
    local c = redis.pcall('get', k)
    if type(c) ~= 'table' then
        c = tonumber(c or 0)
        if c and c < f then
            redis.pcall('set', k, ARGV[3], 'PX', ARGV[4])
        elseif c then
            redis.pcall('pexpire', k, ARGV[4])
        end
    end
end
return 1
