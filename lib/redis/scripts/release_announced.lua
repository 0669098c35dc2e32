-- Any number of resources: as release_all.lua, and announces each that was deleted to those who
-- wait, on the channel "redlock:" resource.
--
-- KEYS: the resources. ARGV: the value. Returns 1; 0: the token was under none of them.
--
-- An announcement that a node forbids does not count as an error (pcall).
local n, e = 0
for i = 1, #KEYS do
    local v = redis.pcall('get', KEYS[i])
    if v == ARGV[1] then
        n = 1
        redis.call('del', KEYS[i])
        redis.pcall('publish', 'redlock:' .. KEYS[i], '')
    elseif type(v) == 'table' and not string.find(v.err, 'WRONGTYPE', 1, true) then
        e = v
    end
end
return e or n
