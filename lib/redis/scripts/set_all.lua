-- Several resources: sets every key where nothing is under any of them, or no key at all.
--
-- KEYS: the resources. ARGV: the value, its life in ms. Returns 1; -I: number I of them, counted
-- from 1, is the first that is held.
--
-- A key with this very value is our own, from a repair that was sent twice: it does not refuse. All
-- keys are looked at before the first is set, so that an error (a key of another type) leaves
-- nothing behind.
for i = 1, #KEYS do
    local v = redis.call('get', KEYS[i])
    if v and v ~= ARGV[1] then return -i end
end
for i = 1, #KEYS do
    redis.call('set', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
end
return 1
