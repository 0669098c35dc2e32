-- Deletes the key of one resource, if it has the value.
--
-- KEYS: the resource. ARGV: the value. Returns 1; 0: the key did not have it.
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
